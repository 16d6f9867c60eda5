/** The explorer: the strips below a token's map. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import type { ReplayPage, Score } from '../../client/index.js';
import { timeText } from '../../explorer/heatmap/ticks.js';
import { usd } from '../../explorer/state/format.js';
import { hasBrowser } from '../support/browser.js';
import { NOW_S } from '../support/service.js';
import { answers, at, fail, HOUR, ingest, replyTo, SOL, useExplorer } from './in-chromium.js';

const YEAR = new Date(NOW_S * 1000).getUTCFullYear();
/** A token with a single snapshot. */
const SINGLE_MINT = 'DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263';

describe.skipIf(!hasBrowser)('the strips', () => {
  useExplorer();

  it('have resistance above support, as the map has', async () => {
    const page = await at(`${HOUR}&venues=coinbase`, {
      prepare: (tab) =>
        tab.addInitScript(`{
          const { fillText } = CanvasRenderingContext2D.prototype;
          globalThis.sides = {};
          CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...rest) {
            if (text === 'Support' || text === 'Resistance') sides[text] = y;
            fillText.call(this, text, x, y, ...rest);
          };
        }`),
    });
    // Depth of one side alone.
    const series = await replyTo<Record<string, unknown>>(
      `/depth-series/${SOL}?from=-1h&step=1m&pct=2,25&score=true&group=venue&venues=coinbase`,
    );
    const none = (amounts: unknown): unknown => (Array.isArray(amounts) ? amounts.map(none) : 0);
    await answers(page, `/depth-series/${SOL}`, {
      body: JSON.stringify({ ...series, support_usd: none(series.support_usd) }),
    });
    await page.reload();
    await page.locator('.strips[data-state=ready]').waitFor();
    const { Support: below, Resistance: above } =
      await page.evaluate<Record<string, number>>('sides');
    expect(above).toBeLessThan(below);
    /** Rows with a colour of the strip, in the middle of its width. */
    const painted = () =>
      page.evaluate<{ rows: number[]; height: number }>(`(() => {
        const canvas = document.querySelector('.strip canvas');
        const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d');
        copy.drawImage(canvas, 0, 0);
        const x = Math.floor(canvas.width / 2);
        const { data } = copy.getImageData(x, 0, 1, canvas.height);
        const rows = [...Array(canvas.height).keys()].filter((y) => data[4 * y + 3] > 0);
        return { rows, height: canvas.height };
      })()`);
    await expect.poll(async () => (await painted()).rows.length).toBeGreaterThan(5);
    const { rows, height } = await painted();
    expect(Math.max(...rows)).toBeLessThanOrEqual(height / 2);
  });

  it('have their room from the start: the map keeps its height', async () => {
    const page = await at(`#/token/${SOL}?window=1h`, {
      prepare: (tab) =>
        tab.addInitScript(`
          window.heights = new Set();
          const look = () => {
            const frame = document.querySelector('.heatmap-frame');
            if (frame !== null) window.heights.add(Math.round(frame.clientHeight));
            requestAnimationFrame(look);
          };
          look();`),
    });
    await page.locator('.strips[data-state=ready]').waitFor();
    await page.getByRole('button', { name: 'Play', exact: false }).first().waitFor();
    const heights = await page.evaluate<number[]>('[...window.heights]');
    expect(Math.max(...heights) - Math.min(...heights)).toBeLessThanOrEqual(2);
  });

  it('state the amounts of the pinned moment, and at the cursor those of no later one', async () => {
    // Steps of a strip are five minutes here: this is in the middle of one.
    const pinnedS = Math.floor((NOW_S - 5 * 3600) / 300) * 300 + 140;
    const page = await at(`#/token/${SOL}?window=24h&at=${pinnedS}`);
    await page.locator('.strips[data-state=ready]').waitFor();
    const { service_score: score, data_time } = await replyTo<Score>(`/score/${SOL}?at=${pinnedS}`);
    const t = data_time ?? fail();
    const snapshotBy = async (group: string) => {
      const query = `from=${t}&to=${t + 1}&group=${group}&min_pct=-25&max_pct=25`;
      const { snapshots, ...page } = await replyTo<ReplayPage>(`/replay/${SOL}?${query}`);
      return { ...page, ...snapshots[0] };
    };
    const { bin, ...whole } = await snapshotBy('all');
    const within = (amounts: number[], pct: number): string =>
      usd(
        amounts.reduce(
          (sum, one, i) => sum + (Math.abs(1.01 ** bin[i] - 1) > pct / 100 ? 0 : one),
          0,
        ),
      );
    const stated = (strip: string) =>
      page.locator(`.strip:${strip} .strip-legend b`).allTextContents();
    await expect
      .poll(() => stated('last-child'))
      .toEqual([score?.toFixed(1), within(whole.support_usd, 2), within(whole.resistance_usd, 2)]);
    const times = page.locator('.strip :is(header > .note, li:last-child > .note)');
    expect(await times.allTextContents()).toEqual(Array(2).fill(`incl. perps, at ${timeText(t)}`));
    const largest = async (group: string): Promise<string> => {
      const { groups, markets, ...cells } = await snapshotBy(group);
      const index = cells.group_idx ?? cells.market_idx ?? [];
      const sums = (group === 'market' ? markets : groups).map((_, slot) =>
        index.reduce(
          (sum, one, i) =>
            sum + (one === slot ? cells.support_usd[i] + cells.resistance_usd[i] : 0),
          0,
        ),
      );
      return usd(Math.max(...sums));
    };
    for (const group of ['venue', 'type', 'market']) {
      await page.getByLabel('Split by').selectOption(group);
      await expect.poll(() => stated('first-child')).toContain(await largest(group));
    }
    const { x, y, width, height } = (await page.locator('.heatmap-cells').boundingBox()) ?? fail();
    for (const share of [0.31, 0.52, 0.73]) {
      await page.mouse.move(x + share * width, y + height / 2);
      await expect.poll(() => page.locator('.heatmap-tag-time').count()).toBe(1);
      const pointed = await page.locator('.heatmap-tag-time').textContent();
      const price = await page.locator('.heatmap-tag-price').textContent();
      // One moment and one price everywhere.
      expect(await times.allTextContents()).toEqual(Array(2).fill(`incl. perps, at ${pointed}`));
      expect(await page.locator('.strip-score ~ .note').count()).toBe(0);
      const readout = page.locator('.heatmap-readout');
      expect(await readout.locator('.heatmap-readout-head b').textContent()).toBe(price);
      expect(await readout.locator('.heatmap-readout-soft').first().textContent()).toContain(
        `${pointed}, `,
      );
      // Once the cursor rests, the amounts are those of its snapshot.
      const t = Date.parse(`${pointed} ${YEAR} UTC`) / 1000;
      const own = await replyTo<ReplayPage>(
        `/replay/${SOL}?from=${t}&to=${t + 1}&group=market&min_pct=-25&max_pct=25`,
      );
      const [{ market_idx: index = [], ...cells }] = own.snapshots;
      const sums = own.markets.map((_, slot) =>
        index.reduce(
          (sum, one, i) =>
            sum + (one === slot ? cells.support_usd[i] + cells.resistance_usd[i] : 0),
          0,
        ),
      );
      await expect.poll(() => stated('first-child')).toContain(usd(Math.max(...sums)));
      const near = (amounts: number[]): number =>
        amounts.reduce(
          (sum, one, i) => sum + (Math.abs(1.01 ** cells.bin[i] - 1) > 0.02 ? 0 : one),
          0,
        );
      const [, support, resistance] = (await stated('last-child')).map(amountOf);
      expect(Math.abs(support / near(cells.support_usd) - 1)).toBeLessThan(0.006);
      expect(Math.abs(resistance / near(cells.resistance_usd) - 1)).toBeLessThan(0.006);
    }
  });

  it('give a venue one colour, whatever else is chosen', async () => {
    const page = await at(HOUR);
    const coloursOf = () =>
      page.evaluate<Record<string, string>>(
        `Object.fromEntries([...document.querySelectorAll('.strip:first-child .strip-legend li')]
          .map((one) => [one.title, one.querySelector('i').style.background]))`,
      );
    await expect.poll(async () => Object.keys(await coloursOf()).length).toBe(7);
    const all = await coloursOf();
    expect(new Set(Object.values(all)).size).toBe(7);
    const third = Object.keys(all)[2];
    await page.locator('.venues button', { hasText: third }).first().click();
    await expect.poll(async () => Object.keys(await coloursOf())).toEqual([third]);
    expect(await coloursOf()).toEqual({ [third]: all[third] });
  });

  it('state the amounts of now once now and the cursor are out of sight', async () => {
    const page = await at(HOUR);
    await page.locator('.strips[data-state=ready]').waitFor();
    await page.locator('.side:not([aria-busy=true]) .depth-chart canvas').waitFor();
    const legends = (strip: string) =>
      page.locator(`.strip:${strip} .strip-legend li`).allTextContents();
    await expect.poll(async () => (await legends('last-child')).join()).toContain('$');
    const now = { layers: await legends('first-child'), lines: await legends('last-child') };
    const frame = page.locator('.heatmap-frame');
    await frame.focus();
    await page.keyboard.press('Shift+ArrowLeft');
    await page.locator('.heatmap-readout').waitFor();
    // Zooming keeps the cursor in sight, moving does not.
    for (const key of '++++++') await page.keyboard.press(key);
    for (let n = 0; n < 20; n++) await page.keyboard.press('ArrowLeft');
    await expect
      .poll(async () => Number((await frame.getAttribute('data-view'))?.split(' ')[1]))
      .toBeLessThan(NOW_S - 300);
    expect(await page.locator('.heatmap-readout').count()).toBe(0);
    await expect.poll(() => legends('first-child')).toEqual(now.layers);
    await expect.poll(() => legends('last-child')).toEqual(now.lines);
    // The newest amounts by type are those of a last point, which is not in sight.
    await page.getByLabel('Split by').selectOption('type');
    await page.locator('.strips[data-state=ready]').waitFor();
    await page.locator('.strip:first-child li', { hasText: 'pool' }).first().waitFor();
    expect(await page.locator('.strip:first-child .strip-legend b').count()).toBe(0);
  });

  it('have scales with round ends, of the score and of USD in plots of their own', async () => {
    const page = await at(HOUR);
    await page.locator('.strips[data-state=ready]').waitFor();
    const score = page.locator('.strip:last-child canvas.is-score');
    const depth = page.locator('.strip:last-child canvas.is-depth');
    await expect.poll(() => colouredRows(page, 'canvas.is-depth')).not.toEqual([]);
    expect(await colouredRows(page, 'canvas.is-score')).toEqual([]);
    const [above, below] = [await score.boundingBox(), await depth.boundingBox()];
    expect((above ?? fail()).y + (above ?? fail()).height).toBeLessThanOrEqual((below ?? fail()).y);
  });

  it('show a single snapshot', async () => {
    const cells = [
      [-3, 9000, 0],
      [-1, 12_000, 0],
      [1, 0, 8000],
    ];
    const markets = [{ source: 'Orca', exchange_type: 'DEX', pair: 'X/USDC', cells }];
    const row = { chain: 'mainchain', address: SINGLE_MINT, t: NOW_S - 1, price_usd: 2.5, markets };
    await ingest('snapshots', row);
    const page = await at(`#/token/${SINGLE_MINT}?window=24h`);
    await page.locator('.strips[data-state=ready]').waitFor();
    const amounts = () => page.locator('.strip .strip-legend b').allTextContents();
    await expect
      .poll(amounts)
      .toEqual([usd(29_000), expect.stringMatching(/^\d+\.\d$/), usd(12_000), usd(8000)]);
    // The depth has the colour of its venue, and the lines have those of both sides.
    const venue = await page.evaluate<string>(
      `getComputedStyle(document.querySelector('.strip:first-child .strip-legend i')).backgroundColor`,
    );
    expect(venue).toMatch(/^rgb\(/);
    const rows = await colouredRows(page, '.strip:first-child canvas', venue);
    expect(rows.length).toBeGreaterThan(1);
    expect((await colouredRows(page, 'canvas.is-depth')).length).toBeGreaterThan(1);
  });
});

/** `$1.24M` as a number. */
function amountOf(text: string): number {
  const [, digits = '', unit = ''] = /([\d.]+)([KMB]?)$/.exec(text) ?? [];
  return Number(digits) * { '': 1, K: 1e3, M: 1e6, B: 1e9 }[unit as 'K'];
}

/**
 * The rows of a strip, in CSS pixels, that have a pixel of a colour left of the scale.
 *
 * @param colour `rgb(1, 2, 3)`; default: either colour of depth
 */
async function colouredRows(page: Page, canvas: string, colour = ''): Promise<number[]> {
  const rgb = colour.match(/\d+/g)?.map(Number) ?? null;
  const plot = (await page.locator('.heatmap-cells').boundingBox()) ?? fail();
  return page.evaluate(`(() => {
    const canvas = document.querySelector('${canvas}');
    const { width, height, clientHeight } = canvas;
    // The browser warns about a canvas that is read several times.
    const copy = new OffscreenCanvas(width, height).getContext('2d');
    copy.drawImage(canvas, 0, 0);
    const { data } = copy.getImageData(0, 0, ${Math.floor(plot.width)}, height);
    const perRow = data.length / height;
    const rgb = ${JSON.stringify(rgb)};
    const isColoured = (at) =>
      data[at + 3] > 60 &&
      (rgb === null ? Math.abs(data[at] - data[at + 2]) > 60 : rgb.every((one, i) => data[at + i] === one));
    const hasColour = (row) => {
      for (let at = row * perRow; at < (row + 1) * perRow; at += 4) if (isColoured(at)) return true;
      return false;
    };
    return [...Array(height).keys()].filter(hasColour).map((row) => (row * clientHeight) / height);
  })()`);
}
