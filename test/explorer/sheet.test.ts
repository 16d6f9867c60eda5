/** How the drawn picture follows a move: rectangles, what new snapshots change, and moves by whole pixels. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Column } from '../../explorer/heatmap/columns.js';
import { History } from '../../explorer/heatmap/history.js';
import {
  contains,
  following,
  grown,
  type Rect,
  withoutColumns,
} from '../../explorer/heatmap/rects.js';
import { priceLineOf, spansOf } from '../../explorer/heatmap/view.js';

const areaOf = ({ left, top, right, bottom }: Rect): number => (right - left) * (bottom - top);

describe('a sheet', () => {
  it('follows moves, and draws each pixel that it lacks once', () => {
    const size = { width: 40, height: 30 };
    const move = fc.record({
      x: fc.integer({ min: -60, max: 60 }),
      y: fc.integer({ min: -50, max: 50 }),
    });
    const margins = fc.record({
      x: fc.integer({ min: 0, max: 12 }),
      y: fc.integer({ min: 0, max: 9 }),
    });
    fc.assert(
      fc.property(fc.array(move, { minLength: 1, maxLength: 20 }), margins, (moves, margin) => {
        let seen: Rect = { left: 0, top: 0, right: size.width, bottom: size.height };
        const limits = grown(seen, { x: 100, y: 70 });
        let sheet = { room: grown(seen, margin), drawn: seen };
        const roomArea = areaOf(sheet.room);
        for (const { x, y } of moves) {
          const left = Math.min(limits.right - size.width, Math.max(limits.left, seen.left + x));
          const top = Math.min(limits.bottom - size.height, Math.max(limits.top, seen.top + y));
          seen = { left, top, right: left + size.width, bottom: top + size.height };
          const to = following(sheet, seen, margin, limits);
          expect(contains(to.drawn, seen)).toBe(true);
          expect(contains(to.room, to.drawn)).toBe(true);
          expect(contains(limits, to.drawn)).toBe(true);
          expect(areaOf(to.room)).toBe(roomArea);
          const drawnTwice = (px: number, py: number): number =>
            [...to.parts, sheet.drawn].filter(
              (one) => px >= one.left && px < one.right && py >= one.top && py < one.bottom,
            ).length;
          for (let px = to.drawn.left; px < to.drawn.right; px++) {
            for (let py = to.drawn.top; py < to.drawn.bottom; py++) {
              if (drawnTwice(px, py) !== 1)
                expect([px, py, drawnTwice(px, py)]).toEqual([px, py, 1]);
            }
          }
          sheet = to;
        }
      }),
      { numRuns: 60 },
    );
  });

  it('keeps the larger part beside columns that have changed', () => {
    const rect = { left: 0, top: 0, right: 100, bottom: 10 };
    expect(withoutColumns(rect, 80, 95)).toEqual({ ...rect, right: 80 });
    expect(withoutColumns(rect, -5, 30)).toEqual({ ...rect, left: 30 });
    expect(withoutColumns(rect, 100, 120)).toEqual(rect);
    const { left, right } = withoutColumns(rect, -10, 120);
    expect(left).toBeGreaterThanOrEqual(right);
  });
});

describe('what a history has changed', () => {
  const column = (t: number, price: number): Column => ({
    t,
    tier: 'raw',
    stepS: 0,
    priceUsd: price,
    lnPrice: Math.log(price),
    firstBin: 0,
    lastBin: 0,
    codes: new Uint16Array(950),
  });
  const view = { from: 0, to: 1200, lnLow: Math.log(50), lnHigh: Math.log(200) };

  it('includes every pixel that other snapshots or another line change', () => {
    const part = fc
      .record({ from: fc.integer({ min: 0, max: 1100 }), spanS: fc.integer({ min: 1, max: 400 }) })
      .chain(({ from, spanS }) =>
        fc.record({
          from: fc.constant(from),
          to: fc.constant(from + spanS),
          seed: fc.integer({ min: 1, max: 9 }),
          everyS: fc.constantFrom(7, 10, 60, 500),
        }),
      );
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 6 }), (parts) => {
        const history = new History(100);
        const widthPx = 300;
        for (const { from, to, seed, everyS } of parts) {
          const shownBy = () => {
            const spans = spansOf(view, history.held, widthPx);
            const line = priceLineOf(view, history.held, widthPx);
            return Array.from({ length: widthPx }, (_, x) => {
              const first = history.held.slice(spans[2 * x], spans[2 * x] + spans[2 * x + 1]);
              const shown = first.map((one) => `${one.t} ${one.priceUsd}`).join();
              const isGap = spans[2 * x + 1] === 0 && spans[2 * x] > 0;
              return `${shown} ${isGap} ${line[2 * x]} ${line[2 * x + 1]}`;
            });
          };
          const before = shownBy();
          const columns: Column[] = [];
          for (let t = from; t < to; t += everyS) columns.push(column(t, 90 + seed + (t % 7)));
          history.replace(from, to, columns);
          const changed = history.takeChanged();
          expect(history.takeChanged()).toBe(null);
          const perPx = (view.to - view.from) / widthPx;
          for (const [x, shown] of shownBy().entries()) {
            if (shown === before[x]) continue;
            expect(changed).not.toBe(null);
            // As the sheet rounds.
            expect(x).toBeGreaterThanOrEqual(Math.floor((changed?.from ?? 0) / perPx) - 1);
            expect(x).toBeLessThan(Math.ceil((changed?.to ?? 0) / perPx) + 1);
          }
        }
      }),
    );
  });

  it('reaches only to the next snapshots', () => {
    const history = new History(100);
    const columns = Array.from({ length: 10 }, (_, i) => column(600 + 60 * i, 100));
    history.replace(600, 1200, columns);
    history.takeChanged();
    history.replace(0, 120, [column(0, 100), column(60, 100)]);
    const changed = history.takeChanged();
    expect(changed?.to).toBeLessThanOrEqual(600);
  });
});
