/** The heatmap in Chromium: compares its pixels with a plain computation from JSON pages. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { fathomClient, type Snapshot } from '../../client/index.js';
import { groundOf } from '../../explorer/heatmap/palette.js';
import { timeText } from '../../explorer/heatmap/ticks.js';
import { usd } from '../../explorer/state/format.js';
import type { PlainSnapshot } from '../reference/replay.js';
import { MemoryDepth } from '../support/memory-depth.js';
import {
  ENTERPRISE_KEY,
  MARKETS,
  MINT,
  NOW_S,
  startTestService,
  steadyStore,
  type TestService,
  WIDE_MINT,
} from '../support/service.js';
import { changed, compare, fail, INTERVAL_S, pixelsOf, plotOf, viewOf } from './heatmap-pixels.js';
import {
  hasBrowser,
  open,
  type Opened,
  seriousFindings,
  startBrowser,
} from '../support/browser.js';

const SNAPSHOTS = 700;
/** Missing snapshots, which make a gap. */
const GAP = { from: 420, to: 450 };
/** Snapshots of the future, which become visible as the clock advances. */
const LATER = 5;
/** So narrow that a pixel has more than two snapshots. */
const NARROW = { width: 390, height: 1100 };
/** Nine days of a token. */
const LONG = { mint: 'JUPyiwrYJFskUPiHa7hkeR8VUtAeFoSYbKedZNsDvCN', everyS: 900, snapshots: 864 };
const VIEW = `#/token/${MINT}?window=24h`;
/** Lets a test reach the context of the cells, and counts the pixels drawn in it. */
const WATCH_CARD = `
  window.drawnPixels = 0;
  window.drawnParts = 0;
  const { getContext } = HTMLCanvasElement.prototype;
  HTMLCanvasElement.prototype.getContext = function (type, options) {
    const made = getContext.call(this, type, options);
    if (type === 'webgl2') window.webgl = made;
    return made;
  };
  const { viewport } = WebGL2RenderingContext.prototype;
  WebGL2RenderingContext.prototype.viewport = function (x, y, width, height) {
    // Means of steps are drawn into textures.
    if (this.getParameter(this.FRAMEBUFFER_BINDING) === null) {
      drawnPixels += width * height;
      drawnParts++;
    }
    viewport.call(this, x, y, width, height);
  };`;

function history(): PlainSnapshot[] {
  const list: PlainSnapshot[] = [];
  for (let s = 0; s < SNAPSHOTS + LATER; s++) {
    if (s >= GAP.from && s < GAP.to) continue;
    const cells = [];
    for (const market of [0, 2]) {
      for (let bin = -30; bin <= 30; bin++) {
        const usd = 10 ** (2 + ((bin * bin * 31 + (s >> 4) * 17 + market * 7) % 40) / 10);
        const cents = BigInt(Math.round(usd * 100));
        // Some bins are empty; the bin of the price has both sides.
        if ((bin + 40) % 9 === 0) continue;
        const [support, resistance] = [bin <= 0 ? cents : 0n, bin >= 0 ? cents / 3n : 0n];
        cells.push({ market, bin, support, resistance });
      }
    }
    const t = NOW_S - 1 - (SNAPSHOTS - 1 - s) * INTERVAL_S;
    list.push({ t, tier: 'raw', price: 100 * Math.exp(0.1 * Math.sin(s / 60)), cells });
  }
  return list;
}

/** Whether a pixel has a colour, but for what rounding and a border mix into it. Hues differ by more. */
function isAlike(pixel: string, colour: string): boolean {
  const [own, other] = [pixel, colour].map((text) => text.match(/\d+/g)!.map(Number));
  return own.every((part, i) => Math.abs(part - other[i]) <= 16);
}

let service: TestService;
let browser: Browser;
let nowS = NOW_S;
const opened: Opened[] = [];

describe.skipIf(!hasBrowser)('the heatmap', () => {
  beforeAll(async () => {
    const depth = new MemoryDepth().add(
      'mainchain',
      MINT,
      { markets: MARKETS, snapshots: history() },
      { perSegment: 100 },
    );
    const lastT = NOW_S - 2 * 86_400;
    depth.add('mainchain', WIDE_MINT, steadyStore(3, 20, { lastT }));
    const { everyS, snapshots: count } = LONG;
    const long = steadyStore(count, 20, { lastT: NOW_S - 1, everyS });
    depth.add('mainchain', LONG.mint, long, { perSegment: 400 });
    service = await startTestService({ depth, clock: { nowS: () => nowS } });
    browser = await startBrowser({ hasExactColours: true });
  });
  afterEach(async () => {
    nowS = NOW_S;
    for (const { page, faults } of opened.splice(0)) {
      await page.context().close();
      expect(faults).toEqual([]);
    }
  });
  afterAll(async () => {
    await browser.close();
    await service.stop();
  });

  /** A tab with the key; `prepare` runs before the view is opened. */
  async function at(
    prepare?: (page: Page) => Promise<unknown>,
    view: string = VIEW,
  ): Promise<Page> {
    const options = { colorScheme: 'dark', key: ENTERPRISE_KEY, prepare } as const;
    const tab = await open(browser, service.server.url, `/${view}`, options);
    opened.push(tab);
    return tab.page;
  }
  async function ready(prepare?: (page: Page) => Promise<unknown>): Promise<Page> {
    const page = await at(prepare);
    await page.locator('.heatmap[data-state=ready]').waitFor();
    return page;
  }
  /** Turns the wheel three times, each once the page has drawn the one before. */
  async function zoomIn(page: Page): Promise<void> {
    for (let i = 0; i < 3; i++) {
      const view = await viewOf(page);
      await page.mouse.wheel(0, -250);
      await changed(page, view);
    }
  }
  /** Every snapshot visible now. */
  async function snapshots(group: 'all' | 'venue' = 'all'): Promise<Snapshot[]> {
    const client = fathomClient({ url: service.server.url, key: ENTERPRISE_KEY });
    const list: Snapshot[] = [];
    for await (const one of client.snapshots(MINT, { group })) list.push(one);
    return list;
  }

  it('shows the data in its colours: whole, zoomed in, and after a lost context', async () => {
    const page = await ready((tab) => tab.addInitScript(WATCH_CARD));
    const all = await snapshots();
    const whole = await compare(page, all);
    expect(whole.hatched).toBeGreaterThan(5);
    const size = page.viewportSize() ?? fail();
    await page.setViewportSize(NARROW);
    const narrow = await compare(page, all);
    expect([whole.stepS, narrow.stepS]).toEqual([null, 128]);
    await page.setViewportSize(size);
    const { x, y, width, height } = await plotOf(page);
    await page.mouse.move(x + width * 0.8, y + height * 0.4);
    for (let i = 0; i < 6; i++) await page.mouse.wheel(0, -200);
    await compare(page, all);
    const lose = `webgl.getExtension('WEBGL_lose_context')`;
    await page.evaluate(`(window.lost = ${lose}).loseContext()`);
    await page.waitForFunction('webgl.isContextLost()');
    await page.evaluate('lost.restoreContext()');
    await page.waitForFunction('!webgl.isContextLost()');
    await compare(page, all);
  });

  it('says when the newest snapshot was if a window has none, and leads to one that has it', async () => {
    const page = await at(undefined, `#/token/${WIDE_MINT}`);
    await page.getByText('The newest snapshot is of ').waitFor();
    expect(await page.locator('.heatmap-notice').textContent()).toContain(
      timeText(NOW_S - 2 * 86_400),
    );
    await page.getByRole('link', { name: /^Show / }).click();
    await page.locator('.heatmap[data-state=ready]').waitFor();
    expect(await seriousFindings(page)).toEqual([]);
  });

  it('shows a long window at once, finer when zoomed in, and earlier data', async () => {
    const steps: (string | null)[] = [];
    const watch = (tab: Page): Promise<unknown> => {
      tab.on('request', (request) => {
        const { pathname, searchParams } = new URL(request.url());
        const isOfMap = searchParams.get('group') === 'all';
        if (pathname.endsWith(`/replay/${LONG.mint}`) && isOfMap) {
          steps.push(searchParams.get('step'));
        }
      });
      return Promise.resolve();
    };
    const page = await at(watch, `#/token/${LONG.mint}?window=30d`);
    // A preset longer than the history says so, and is as fine as the history allows.
    await page.getByText('9 d of 30 d: history begins').waitFor();
    await page.getByText('A snapshot every 15 minutes;').waitFor();
    expect(steps[0]).toBe('1h');
    const [begin] = await viewOf(page);
    expect(Math.abs(begin - (NOW_S - 9 * 86_400))).toBeLessThanOrEqual(3600);
    const { x, y, width, height } = await plotOf(page);
    await page.mouse.move(x + width * 0.5, y + height / 2);
    await page.mouse.wheel(0, -2000);
    await page.locator('.heatmap:not(:has(.heatmap-progress, .heatmap-notes span))').waitFor();
    expect(steps.at(-1)).toBe(null);
    // The zoom survives a reload, and home is the whole window.
    await page.waitForURL(/zoom=\d+,\d+$/);
    const closer = await viewOf(page);
    await page.reload();
    await page.locator('.heatmap[data-state=ready]').waitFor();
    const isAsBefore = async (): Promise<boolean> =>
      (await viewOf(page)).slice(0, 2).every((t, i) => Math.abs(t - closer[i]) < 2);
    await expect.poll(isAsBefore).toBe(true);
    await page.mouse.dblclick(x + width / 2, y + height / 2);
    await expect.poll(async () => (await viewOf(page))[0]).toBe(begin);
    await page.waitForURL((to) => !to.hash.includes('zoom='));
    // A drag beyond the window shows the data there.
    await page.getByRole('button', { name: '6h', exact: true }).click();
    await expect.poll(async () => (await viewOf(page))[0]).toBeGreaterThan(begin);
    await page.locator('.heatmap[data-state=ready]').waitFor();
    const [before] = await viewOf(page);
    await page.mouse.move(x + width * 0.2, y + height / 2);
    await page.mouse.down();
    await page.mouse.move(x + width * 0.9, y + height / 2, { steps: 3 });
    await page.mouse.up();
    await page.mouse.move(x + width * 0.1, y + height / 2);
    await expect.poll(async () => (await viewOf(page))[0]).toBeLessThan(before);
    await page.locator('.heatmap-readout-head').waitFor();
  });

  it('moves what is drawn as one drags, and draws only what comes into sight', async () => {
    const page = await ready((tab) => tab.addInitScript(WATCH_CARD));
    const all = await snapshots();
    const { x, y, width, height } = await plotOf(page);
    await page.mouse.move(x + width / 2, y + height / 2);
    // A third of the times, and fewer prices than there are.
    await zoomIn(page);
    await page.locator('.heatmap-frame').focus();
    const [, , , high] = await viewOf(page);
    await page.keyboard.press('PageUp');
    await expect.poll(async () => (await viewOf(page))[3]).toBeLessThan(high);
    await compare(page, all);
    for (const [right, up] of [
      [-260, 0],
      [-30, 25],
      [380, -20],
    ]) {
      const before = await viewOf(page);
      await page.evaluate('drawnPixels = 0');
      await page.mouse.move(x + width / 2, y + height / 2);
      await page.mouse.down();
      await page.mouse.move(x + width / 2 + right, y + height / 2 - up, { steps: 10 });
      await page.mouse.up();
      const moved = async (): Promise<number[]> => {
        const after = await viewOf(page);
        const shareX = (before[0] - after[0]) / (after[1] - after[0]);
        const shareY = Math.log(before[2] / after[2]) / Math.log(after[3] / after[2]);
        return [shareX * width, shareY * height].map((px) => Math.round(10 * px) / 10 + 0);
      };
      await expect.poll(moved).toEqual([right, up]);
      await compare(page, all);
      // What came into sight, and what is drawn ahead of it.
      const share = await page.evaluate<number>(`drawnPixels / ${width * height}`);
      expect(share).toBeLessThan(Math.abs(right) / width + Math.abs(up) / height + 0.35);
    }
  });

  it('draws some pixels ahead of a drag, even if the history was unknown at first', async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const page = await at(async (tab) => {
      await tab.addInitScript(WATCH_CARD);
      await tab.route(`**/api/v1/coverage/**`, async (route) => {
        await held;
        await route.continue().catch(() => undefined);
      });
    }, `#/token/${LONG.mint}?window=24h`);
    await page.locator('.heatmap[data-state=ready]').waitFor();
    const { x, y, width, height } = await plotOf(page);
    const [from] = await viewOf(page);
    release();
    const drag = async (pixels: number): Promise<void> => {
      await page.mouse.move(x + width / 2, y + height / 2);
      await page.mouse.down();
      await page.mouse.move(x + width / 2 + pixels, y + height / 2, { steps: pixels });
      await page.mouse.up();
    };
    const isMoved = async (): Promise<boolean> => {
      // Longer than a click, which would pin a time.
      await drag(10);
      return (await viewOf(page))[0] < from;
    };
    await expect.poll(isMoved).toBe(true);
    await page.evaluate('drawnParts = 0');
    await drag(40);
    // Data that arrives meanwhile draws a few parts too.
    expect(await page.evaluate('drawnParts')).toBeLessThan(12);
  });

  it('zooms about the pointer, and moves by drag and keys', async () => {
    const page = await ready();
    const { x, y, width, height } = await plotOf(page);
    const [from, to, low, high] = await viewOf(page);
    await page.mouse.move(x + width * 0.75, y + height / 2);
    await page.mouse.wheel(0, -500);
    await changed(page, [from, to, low, high]);
    const near = await viewOf(page);
    const timeAt = (view: number[]) => view[0] + 0.75 * (view[1] - view[0]);
    expect(Math.abs(timeAt(near) - timeAt([from, to]))).toBeLessThan((to - from) / 500);
    expect(near[1] - near[0]).toBeLessThan(0.6 * (to - from));
    expect(near.slice(2)).toEqual([low, high]);
    await page.mouse.down();
    await page.mouse.move(x + width * 0.85, y + height / 2, { steps: 3 });
    await page.mouse.up();
    const movedBy = async () => (near[0] - (await viewOf(page))[0]) / (near[1] - near[0]);
    await expect.poll(movedBy).toBeCloseTo(0.1, 2);
    await page.locator('.heatmap-frame').focus();
    await page.keyboard.press('Home');
    await expect.poll(async () => (await viewOf(page))[0]).toBeCloseTo(from, 3);
    await page.keyboard.press('PageUp');
    await expect.poll(async () => (await viewOf(page))[3]).toBeLessThan(high);
    await page.keyboard.press('0');
    await expect.poll(async () => (await viewOf(page)).slice(0, 2)).toEqual([from, to]);
  });

  it('shows pages as they arrive, newest first, and how many there are', async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const page = await at((tab) =>
      tab.route(`**/api/v1/replay/${MINT}?*`, async (route) => {
        // Only the newest page is let through at once.
        const from = Number(new URL(route.request().url()).searchParams.get('from'));
        if (from < NOW_S - 14_400) await held;
        await route.continue().catch(() => undefined);
      }),
    );
    await page.getByText('Page 1 of 3').waitFor();
    const span = async () => (([from, to]) => to - from)(await viewOf(page));
    // From the token's first snapshot.
    await expect.poll(span).toBe(SNAPSHOTS * INTERVAL_S);
    const { at: colour, width, height } = await pixelsOf(page);
    expect(colour(Math.round(width * 0.3), height >> 1)).toEqual(groundOf('dark'));
    const shown = Array.from({ length: height }, (_, y) => colour(width - 9, y).join());
    expect(new Set(shown).size).toBeGreaterThan(10);
    release();
    await page.locator('.heatmap[data-state=ready]').waitFor();
    await compare(page, await snapshots());
  });

  it('shows a skeleton at first, and below the map the parts of its depth', async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const page = await at((tab) =>
      tab.route(`**/api/v1/replay/${MINT}/plan?*`, async (route) => {
        await held;
        await route.continue().catch(() => undefined);
      }),
    );
    await page.locator('.heatmap-skeleton').waitFor();
    expect(await page.locator('.heatmap-progress').textContent()).toContain('Loading');
    release();
    const strips = page.locator('.strips[data-state=ready]');
    const labels = () => page.locator('.strip:first-child .strip-legend span').allTextContents();
    const choose = async (group: string, expected: string[]) => {
      await page.getByLabel('Split by').selectOption(group);
      await expect.poll(async () => (await labels()).toSorted()).toEqual(expected);
    };
    await strips.waitFor();
    await expect.poll(async () => (await labels()).toSorted()).toEqual(['Orca', 'Phoenix v1']);
    await choose('type', ['On-chain limit orders', 'On-chain pools']);
    await choose('market', ['Orca A/USDC', 'Phoenix v1 A/USDC']);
    await choose('all', ['All']);
    await choose('venue', ['Orca', 'Phoenix v1']);
    // Both are drawn, on both sides, where the map has its newest snapshots, in the legend's colours.
    const hues = async (): Promise<boolean[]> => {
      const { seen, legend } = await page.evaluate<{ seen: string[]; legend: string[] }>(`(() => {
        const canvas = document.querySelector('.strip canvas');
        const { width, height } = canvas;
        const x = Math.round((width / canvas.clientWidth) * (canvas.clientWidth - 80));
        // The browser warns about a canvas that is read several times.
        const column = new OffscreenCanvas(1, height).getContext('2d');
        column.drawImage(canvas, -x, 0);
        const { data } = column.getImageData(0, 0, 1, height);
        const swatches = [...document.querySelectorAll('.strip:first-child .strip-legend i')];
        return {
          seen: Array.from({ length: height }, (_, y) => data.slice(4 * y, 4 * y + 3).join(', ')),
          legend: swatches.map((one) => getComputedStyle(one).backgroundColor),
        };
      })()`);
      const half = seen.length / 2;
      return [seen.slice(0, half), seen.slice(half)].flatMap((side) =>
        legend.map((colour) => side.some((one) => isAlike(one, colour))),
      );
    };
    await expect.poll(hues).toEqual([true, true, true, true]);
    const amounts = async () => page.locator('.strip:last-child .strip-legend b').allTextContents();
    const query = `from=${NOW_S - 900}&to=${NOW_S}&step=1m&pct=2&score=true&types=onchain_pool,onchain_limit_order`;
    const reply = await service.get(`/depth-series/${MINT}?${query}`);
    const { score, support_usd: support } = (await reply.json()) as {
      score: number[];
      support_usd: number[][];
    };
    const [shownScore, shownSupport] = await amounts();
    expect(shownScore).toBe(score[score.length - 1].toFixed(1));
    expect(shownSupport).toBe(usd(support[0][support[0].length - 1]));
    // A folded strip leaves its room to the map, even after the page is opened again.
    const mapHeight = async () => (await plotOf(page)).height;
    const before = await mapHeight();
    await page.getByRole('button', { name: 'Chart of Score' }).click();
    await expect.poll(mapHeight).toBeGreaterThan(before + 40);
    await page.reload();
    await strips.waitFor();
    expect(await page.locator('.strip:last-child canvas:visible').count()).toBe(0);
    await page.getByRole('button', { name: 'Chart of Score' }).click();
    await expect.poll(mapHeight).toBe(before);
    // A venue is added to a choice.
    await page.locator('.venues button', { hasText: 'Orca' }).click();
    await page.getByRole('button', { name: '+ Phoenix v1' }).click();
    await expect.poll(() => page.url()).toMatch(/venues=orca,phoenix-v1$/);
    await expect.poll(() => page.locator('.venues [aria-pressed=true]').count()).toBe(2);
    expect(await seriousFindings(page)).toEqual([]);
  });

  it('adds new snapshots without loading the rest again, and keeps the view', async () => {
    const page = await ready((tab) => tab.clock.install());
    await page.setViewportSize(NARROW);
    const before = await viewOf(page);
    const asked: string[] = [];
    // The ladder is requested by venue.
    const newest = /replay\/\w+\?.*group=all/;
    page.on('request', (request) => {
      if (newest.test(request.url())) asked.push(request.url());
    });
    nowS += LATER * INTERVAL_S;
    // A failed poll leaves the picture unchanged; the next one adds the snapshots.
    const body = '{"error":"m","error_code":"damaged_data"}';
    await page.route(newest, (route) => route.fulfill({ status: 500, body }), { times: 1 });
    await expect
      .poll(async () => {
        // The page may not be waiting yet.
        await page.clock.fastForward(60_000);
        return asked.length;
      })
      .toBeGreaterThan(0);
    await page.locator('.heatmap[data-state=ready]').waitFor();
    const by = LATER * INTERVAL_S;
    await expect
      .poll(async () => {
        await page.clock.fastForward(60_000);
        return Math.round((await viewOf(page))[1] - before[1]);
      })
      .toBe(by);
    expect(new URL(asked[1]).searchParams.get('from')).toBe(String(NOW_S - 1));
    await compare(page, await snapshots());
  });

  it('stays right while snapshots arrive during a drag', async () => {
    const page = await ready((tab) => tab.clock.install());
    const { x, y, width, height } = await plotOf(page);
    await page.mouse.move(x + width / 2, y + height / 2);
    await zoomIn(page);
    const heldOf = async () => {
      const label = await page.locator('.heatmap-cells').getAttribute('aria-label');
      return Number(/in (\d+) snapshots/.exec(label ?? '')?.[1]);
    };
    const held = await heldOf();
    /** How far the map has moved to the left since it showed `start`. */
    const movedPx = async (start: number): Promise<number> => {
      const [from, to] = await viewOf(page);
      return Math.round(((from - start) / (to - from)) * width);
    };
    const [start] = await viewOf(page);
    await page.mouse.down();
    await page.mouse.move(x + width / 2 + 90, y + height / 2 - 20, { steps: 5 });
    await expect.poll(() => movedPx(start)).toBe(-90);
    const before = await viewOf(page);
    nowS += LATER * INTERVAL_S;
    const arrived = async (): Promise<number> => {
      await page.clock.fastForward(60_000);
      return (await heldOf()) - held;
    };
    await expect.poll(arrived).toBe(LATER);
    const all = await snapshots();
    // What is held stays below the pointer.
    expect(await viewOf(page)).toEqual(before);
    await compare(page, all);
    await page.mouse.move(x + width / 2 - 60, y + height / 2, { steps: 5 });
    await expect.poll(() => movedPx(start)).toBe(60);
    await compare(page, all);
    await page.mouse.up();
    await compare(page, all);
  });

  it('reads out the amounts under the cursor, for the pointer and the keys', async () => {
    const page = await ready();
    const all = await snapshots('venue');
    const { x, y, width, height } = await plotOf(page);
    await page.mouse.move(x + width * 0.9, y + height * 0.62);
    const readout = page.locator('.heatmap-readout');
    await readout.getByText('Phoenix v1').or(readout.getByText('Binance')).first().waitFor();
    // As amounts are shown everywhere: with three digits.
    const amounts = (await readout.locator('td').allTextContents()).filter(Boolean);
    expect(amounts.length).toBeGreaterThan(0);
    for (const amount of amounts) expect(amount).toMatch(/^\$(\d{3}|\d\d\.\d|\d\.\d\d)[KMB]?$/);
    await page.mouse.move(x + width / 2, y - 30);
    await readout.waitFor({ state: 'detached' });
    await page.locator('.heatmap-frame').focus();
    // The newest snapshot, and four bins below its price.
    for (const key of ['Right', 'Down', 'Down', 'Down'])
      await page.keyboard.press(`Shift+Arrow${key}`);
    const last = all[all.length - 1];
    const cells = last.bin.flatMap((bin, i) => (bin === -3 ? [i] : []));
    const price = (last.priceUsd * 1.01 ** -3).toPrecision(5);
    const spoken = page.locator('.heatmap [aria-live]');
    for (const i of cells) {
      const slot = last.slots[last.index[i]];
      await spoken.getByText('label' in slot ? slot.label : slot.source).waitFor();
    }
    expect(cells.length).toBe(2);
    // Bins between have the same venues.
    await expect.poll(() => spoken.textContent()).toContain(price);
    expect(await spoken.textContent()).toContain('2.9%: support $');
    // At the right end the readout is as wide as elsewhere.
    const widthOf = async () => (await readout.boundingBox())?.width ?? fail();
    const atEnd = await widthOf();
    await page.evaluate(
      `document.querySelector('.heatmap-readout').style.setProperty('--left', '0%')`,
    );
    expect(await widthOf()).toBe(atEnd);
    // A zoom by keys keeps the cursor in sight, although the newest snapshot is not in the middle.
    const before = await spoken.textContent();
    for (const key of ['+', 'PageUp']) {
      for (let i = 0; i < 6; i++) await page.keyboard.press(key);
    }
    await readout.waitFor();
    expect(await spoken.textContent()).toBe(before);
    // What moves it out of sight hides it.
    for (let i = 0; i < 12; i++) await page.keyboard.press('ArrowLeft');
    await readout.waitFor({ state: 'detached' });
    // On a phone it is visible for a cursor in any quarter, and leaves most of the map free.
    await page.setViewportSize({ width: 360, height: 740 });
    for (const [right, down] of [
      [0.2, 0.2],
      [0.8, 0.2],
      [0.2, 0.8],
      [0.8, 0.8],
    ]) {
      const plot = await plotOf(page);
      await page.mouse.move(plot.x + plot.width * right, plot.y + plot.height * down);
      await expect.poll(async () => (await readout.boundingBox())?.x ?? -1).toBeGreaterThan(0);
      const { height: covered } = (await readout.boundingBox()) ?? fail();
      expect(covered).toBeLessThan(plot.height / 3);
    }
  });

  it('reports missing WebGL 2', async () => {
    const page = await at((tab) =>
      tab.addInitScript('HTMLCanvasElement.prototype.getContext = () => null'),
    );
    await page.getByText('This browser cannot draw the heatmap').waitFor();
  });
});
