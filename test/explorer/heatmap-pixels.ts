/** The heatmap on the screen, and what a plain computation from JSON pages expects of its pixels. */
import type { Page } from 'playwright-core';
import { expect, vi } from 'vitest';
import type { Snapshot } from '../../client/index.js';
import { colourOf, groundOf, hatchOf, type Rgb } from '../../explorer/heatmap/palette.js';
import { PATIENCE_MS } from '../support/waiting.js';

/** Between snapshots of the compared token. */
export const INTERVAL_S = 60;

export async function plotOf(page: Page) {
  return (await page.locator('.heatmap-cells').boundingBox()) ?? fail();
}

export function fail(): never {
  throw new Error('the heatmap has no place');
}

/** From, to, lowest and highest price of the picture. */
export async function viewOf(page: Page): Promise<number[]> {
  const text = await page.locator('.heatmap-frame').getAttribute('data-view');
  return (text ?? '').split(' ').map(Number);
}

export async function changed(page: Page, before: number[]): Promise<void> {
  await expect.poll(() => viewOf(page)).not.toEqual(before);
}

interface Pixels {
  width: number;
  height: number;
  at: (x: number, y: number) => number[];
}

/** The screen's pixels of the cells, without the line, the axes and the cursor on top of them. */
export async function pixelsOf(page: Page): Promise<Pixels> {
  const show = (visibility: string) =>
    page.evaluate(
      `for (const one of document.querySelectorAll('.heatmap-frame > :not(.heatmap-cells)')) one.style.visibility = '${visibility}'`,
    );
  const { x, y, width, height } = await plotOf(page);
  await show('hidden');
  const png = await page.screenshot({
    clip: {
      // As the browser aligns it to whole pixels.
      x: Math.round(x),
      y: Math.round(y),
      width: Math.floor(width),
      height: Math.floor(height),
    },
  });
  await show('');
  const base64 = await page.evaluate<string>(`(async () => {
    const bytes = Uint8Array.from(atob('${png.toString('base64')}'), (one) => one.charCodeAt(0));
    const image = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
    const context = new OffscreenCanvas(image.width, image.height).getContext('2d');
    context.drawImage(image, 0, 0);
    const { data } = context.getImageData(0, 0, image.width, image.height);
    let text = '';
    for (let i = 0; i < data.length; i += 8192) text += String.fromCharCode(...data.subarray(i, i + 8192));
    return btoa(text);
  })()`);
  const data = Buffer.from(base64, 'base64');
  const pixelsWide = Math.floor(width);
  return {
    width: pixelsWide,
    height: Math.floor(height),
    at: (px, py) => [0, 1, 2].map((channel) => data[4 * (py * pixelsWide + px) + channel]),
  };
}

/**
 * Compares pixels all over the picture, except those on the border of a cell or snapshot, until all of them are right: the
 * picture may still be moving.
 */
export const compare = (page: Page, all: readonly Snapshot[]) =>
  vi.waitFor(() => compareNow(page, all), { timeout: PATIENCE_MS });

async function compareNow(page: Page, all: readonly Snapshot[]) {
  await page.waitForTimeout(600);
  const [from, to, low, high] = await viewOf(page);
  const scaleText = await page.locator('.heatmap-legend').getAttribute('data-scale');
  const [lowUsd, highUsd] = (scaleText ?? '').split(' ').map(Number);
  const { width, height, at } = await pixelsOf(page);
  const perPx = (to - from) / width;
  /** Share of the height, from the top. */
  const yOf = (lnPrice: number) => (Math.log(high) - lnPrice) / Math.log(high / low);
  const inView = all.filter(({ t }) => t >= from && t < to).length;
  // As in docs/explorer.md: a power of two of seconds, at most a pixel.
  const stepS = inView > 2 * width ? 2 ** Math.floor(Math.log2(perPx)) : null;
  /** The snapshots that a span of time shows. */
  const shownIn = (begin: number, lengthS: number): Snapshot[] => {
    const begun = all.filter(({ t }) => t >= begin && t < begin + lengthS);
    // The interval is a minute; the gap is far longer than three of them.
    const middle = begin + lengthS / 2;
    const drawn = all.filter(({ t }) => t < begin && t + INTERVAL_S > middle).slice(-1);
    return begun.length > 0 ? begun : drawn;
  };
  const counts = { support: 0, resistance: 0, hatched: 0, stepS };
  for (let x = 3; x < width - 3; x += stepS === null ? 17 : 5) {
    const begin = from + x * perPx;
    const isNear = (t: number) =>
      [begin, begin + perPx].some((edge) => Math.abs(t - edge) < perPx / 50);
    if (all.some(({ t }) => isNear(t))) continue;
    const parts: Snapshot[][] = [];
    if (stepS === null) parts.push(shownIn(begin, perPx));
    else {
      const first = Math.ceil(begin / stepS) * stepS;
      for (let t = first; t < begin + perPx; t += stepS) parts.push(shownIn(t, stepS));
    }
    const shown = parts.filter((part) => part.length > 0);
    // The price line goes through the snapshots on both sides of the pixel.
    const onLine = all.filter(
      ({ t }) => t > begin - INTERVAL_S - perPx && t < begin + INTERVAL_S + 2 * perPx,
    );
    const lineY = onLine.map(({ priceUsd }) => height * yOf(Math.log(priceUsd)));
    for (let y = 3; y < height - 3; y += 9) {
      const lnPrice = Math.log(high) - ((y + 0.5) / height) * Math.log(high / low);
      if (y > Math.min(...lineY) - 5 && y < Math.max(...lineY) + 5) continue;
      const expected = expectedAt(shown, stepS === null ? lnPrice : rowAt(lnPrice), {
        lowUsd,
        highUsd,
      });
      if (expected === 'border') continue;
      const seen = at(x, y);
      if (shown.length === 0) {
        if (begin < all[0].t) continue;
        expect([groundOf('dark'), hatchOf('dark')].map(String)).toContain(String(seen));
        if (String(seen) === String(hatchOf('dark'))) counts.hatched++;
        continue;
      }
      const difference = Math.max(
        ...seen.map((channel, i) => Math.abs(channel - expected.colour[i])),
      );
      expect(difference, `${x} ${y}: ${seen} for ${expected.colour}`).toBeLessThanOrEqual(3);
      if (expected.side !== null) counts[expected.side]++;
    }
  }
  expect(Math.min(counts.support, counts.resistance)).toBeGreaterThan(200);
  return counts;
}

/** The middle of the quarter of a bin for which the means of steps are computed. */
function rowAt(lnPrice: number): number {
  const rowLn = Math.log(1.01) / 4;
  return (Math.floor(lnPrice / rowLn) + 0.5) * rowLn;
}

type Expected = { colour: Rgb; side: 'support' | 'resistance' | null } | 'border';

/** The colour at a price of the mean of steps, each the mean of its snapshots. */
function expectedAt(
  shown: readonly (readonly Snapshot[])[],
  lnPrice: number,
  { lowUsd, highUsd }: { lowUsd: number; highUsd: number },
): Expected {
  let [support, resistance] = [0, 0];
  const snapshots = shown.flatMap((part) =>
    part.map((one) => ({ ...one, share: 1 / shown.length / part.length })),
  );
  for (const { priceUsd, bin, supportUsd, resistanceUsd, share } of snapshots) {
    const position = (lnPrice - Math.log(priceUsd)) / Math.log(1.01);
    const toBorder = Math.abs(position + 0.5 - Math.round(position + 0.5));
    if (toBorder < 0.08 || Math.abs(position) < 0.08) return 'border';
    for (const [i, one] of bin.entries()) {
      if (one !== Math.round(position)) continue;
      if (one !== 0 || position < 0) support += supportUsd[i] * share;
      if (one !== 0 || position > 0) resistance += resistanceUsd[i] * share;
    }
  }
  const larger = Math.max(support, resistance);
  if (larger === 0) return { colour: groundOf('dark'), side: null };
  // If both are equally large, either may be shown.
  if (Math.min(support, resistance) > 0.99 * larger) return 'border';
  const side = support > resistance ? 'support' : 'resistance';
  const shade = Math.log(larger / lowUsd) / Math.log(highUsd / lowUsd);
  return { colour: colourOf('dark', side, shade), side };
}
