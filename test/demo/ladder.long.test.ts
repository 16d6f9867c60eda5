import { describe, expect, it } from 'vitest';
import { demoSnapshotRow, demoSnapshotTimes } from '../../demo/history.js';
import { fairPrice } from '../../demo/price.js';
import { type DemoToken, demoTokens } from '../../demo/tokens.js';
import { binSnapshotRows } from '../../compute/ingest/snapshots.js';
import { DEFAULT_BAND } from '../../compute/ladder.js';
import type { SnapshotRun } from '../../compute/segment/run.js';

const UNTIL_S = 1_794_659_696;
const SEEDS = [20_261];
const PAGE_CELLS = 100_000;
const PAGE_SNAPSHOTS = 288;
/** Three periods of a day, with twenty snapshots each. */
const SPELLS = 3;
const SPELL_SNAPSHOTS = 20;

/** Indexes in a run of a snapshot's cells within the default band, ascending by market and bin. */
function cellsOf(run: SnapshotRun, s: number): number[] {
  const cells: number[] = [];
  for (let i = run.cellOffsets[s]; i < run.cellOffsets[s + 1]; i++) {
    if (run.bin[i] >= DEFAULT_BAND.first && run.bin[i] <= DEFAULT_BAND.last) cells.push(i);
  }
  return cells;
}

/** How many cells of two snapshots differ between them. */
function changesOf(run: SnapshotRun, before: readonly number[], now: readonly number[]) {
  const placeOf = (i: number) => (i === undefined ? Infinity : run.market[i] * 1_000 + run.bin[i]);
  let changed = 0;
  let compared = 0;
  for (let b = 0, n = 0; b < before.length || n < now.length; compared++) {
    const [one, other] = [before[b], now[n]];
    const order = placeOf(one) - placeOf(other);
    if (
      order !== 0 ||
      run.supportCents[one] !== run.supportCents[other] ||
      run.resistanceCents[one] !== run.resistanceCents[other]
    ) {
      changed++;
    }
    if (order <= 0) b++;
    if (order >= 0) n++;
  }
  return { changed, compared };
}

/** Mean cells in the default band, and the share of cells that differ from snapshot to snapshot. */
function measure(token: DemoToken) {
  const times = demoSnapshotTimes(token, UNTIL_S - 86_400, UNTIL_S, 'raw');
  let cells = 0;
  let stored = 0;
  let changed = 0;
  let compared = 0;
  for (let spell = 0; spell < SPELLS; spell++) {
    const first = Math.floor((times.length / SPELLS) * spell);
    const rows = times
      .slice(first, first + SPELL_SNAPSHOTS)
      .map((t) => demoSnapshotRow(token, t, 'raw'));
    const batch = binSnapshotRows(rows, { firstLine: 1, mode: 'replace' });
    stored += batch.cells;
    const [{ run }] = batch.runs;
    const snapshots = rows.map((_, s) => cellsOf(run, s));
    snapshots.forEach((now, s) => {
      cells += now.length;
      if (s === 0) return;
      const step = changesOf(run, snapshots[s - 1], now);
      changed += step.changed;
      compared += step.compared;
    });
  }
  const snapshots = SPELLS * SPELL_SNAPSHOTS;
  return {
    cells: cells / snapshots,
    stored: (stored / snapshots) * times.length,
    changed,
    compared,
  };
}

describe.each(SEEDS)('ladders of the demo with seed %i', (seed) => {
  const traded = demoTokens(seed).filter((token) => token.markets.length > 0);
  const measured = traded.map((token) => ({ token, ...measure(token) }));

  it('change in about half of their cells from snapshot to snapshot', () => {
    for (const { token, changed, compared } of measured) {
      const share = changed / compared;
      expect(share, `${token.symbol} ${token.chain}`).toBeGreaterThan(0.35);
      expect(share, `${token.symbol} ${token.chain}`).toBeLessThan(0.68);
    }
    const changed = measured.reduce((sum, one) => sum + one.changed, 0);
    const compared = measured.reduce((sum, one) => sum + one.compared, 0);
    expect(changed / compared).toBeGreaterThan(0.45);
    expect(changed / compared).toBeLessThan(0.6);
  });

  it('end pages by cells for wide tokens, by snapshots for the others', () => {
    const perPage = PAGE_CELLS / PAGE_SNAPSHOTS;
    for (const { token, cells } of measured) {
      const isWide = token.markets.length > 5;
      if (isWide) expect(cells, token.symbol).toBeGreaterThan(1.2 * perPage);
      else expect(cells, token.symbol).toBeLessThan(0.98 * perPage);
    }
    expect(measured.filter(({ cells }) => cells > perPage).length).toBeGreaterThanOrEqual(8);
    expect(measured.filter(({ cells }) => cells > 2.5 * perPage).length).toBeGreaterThanOrEqual(2);
  });

  it('add up to tens of millions of raw cells', () => {
    const total = measured.reduce((sum, { stored }) => sum + stored, 0);
    expect(total).toBeGreaterThan(15e6);
    expect(total).toBeLessThan(30e6);
  });
});

describe('prices of the demo', () => {
  const tokens = demoTokens(20_261);
  const priced = tokens.flatMap(({ price, symbol, chain, kind, asset }) =>
    price !== null && kind !== 'stable' ? [{ price, symbol, chain, kind, asset }] : [],
  );
  const returns = (index: number, stepS: number, steps: number) => {
    const logs = Array.from({ length: steps }, (_, i) =>
      Math.log(fairPrice(priced[index].price, UNTIL_S - i * stepS)),
    );
    return logs.slice(1).map((x, i) => logs[i] - x);
  };
  const moments = (xs: number[]) => {
    const square = xs.reduce((sum, x) => sum + x * x, 0) / xs.length;
    const fourth = xs.reduce((sum, x) => sum + x ** 4, 0) / xs.length;
    return { deviation: Math.sqrt(square), kurtosis: fourth / square ** 2 };
  };

  it('move by a few to tens of basis points per minute, with fat tails and without memory', () => {
    let kurtosis = 0;
    let correlation = 0;
    const chosen = priced.map((_, i) => i).filter((i) => i % 4 === 0);
    for (const i of chosen) {
      const minute = returns(i, 60, 3 * 1_440);
      const { deviation, kurtosis: own } = moments(minute);
      expect(deviation, priced[i].symbol).toBeGreaterThan(3e-4);
      expect(deviation, priced[i].symbol).toBeLessThan(80e-4);
      kurtosis += own / chosen.length;
      const lagged = minute.slice(1).reduce((sum, x, k) => sum + x * minute[k], 0);
      correlation += lagged / minute.length / deviation ** 2 / chosen.length;
    }
    expect(kurtosis).toBeGreaterThan(4);
    expect(Math.abs(correlation)).toBeLessThan(0.08);
  });

  it('spread with the square root of time, like a random walk', () => {
    const ratios = priced
      .map((_, i) => i)
      .filter((i) => i % 5 === 0)
      .map((i) => {
        const hour = moments(returns(i, 3_600, 24 * 30)).deviation;
        return hour / moments(returns(i, 300, 12 * 24 * 8)).deviation;
      });
    const mean = ratios.reduce((sum, x) => sum + x, 0) / ratios.length;
    expect(mean / Math.sqrt(12)).toBeGreaterThan(0.85);
    expect(mean / Math.sqrt(12)).toBeLessThan(1.15);
  });

  it('stay within a factor of their base for a year', () => {
    for (const { price, symbol, kind } of priced) {
      const bound = kind === 'onchain' ? 20 : 5;
      for (let day = 0; day < 365; day += 3) {
        const factor = fairPrice(price, UNTIL_S + day * 86_400) / Math.exp(price.lnBase);
        expect(factor, symbol).toBeLessThan(bound);
        expect(factor, symbol).toBeGreaterThan(1 / bound);
      }
    }
  });

  it('of an asset’s legs differ by a few basis points', () => {
    for (const leg of priced.filter(({ asset, chain }) => asset !== null && chain === 'evmchain')) {
      const home = priced.find(({ asset, chain }) => asset === leg.asset && chain === 'mainchain');
      if (home === undefined) throw new Error(`${leg.symbol} has no home`);
      const gaps = Array.from({ length: 200 }, (_, i) => {
        const t = UNTIL_S - i * 433;
        return Math.abs(fairPrice(leg.price, t) / fairPrice(home.price, t) - 1);
      });
      expect(Math.max(...gaps)).toBeLessThan(0.001);
      expect(Math.max(...gaps)).toBeGreaterThan(0.0001);
    }
  });
});
