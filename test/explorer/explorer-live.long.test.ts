/** The explorer while data arrives, and axe in every view at every width. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import type { Coverage } from '../../client/index.js';
import { fieldTime } from '../../explorer/state/zone.js';
import { freezeClock, hasBrowser, open, seriousFindings } from '../support/browser.js';
import { fathom, serveHere } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import { NOW_S } from '../support/service.js';
import {
  answers,
  at,
  atWithoutKey,
  BARN,
  BOARD,
  BOARDS,
  browser,
  createdKey,
  directory,
  goTo,
  hashOf,
  HOUR,
  ingest,
  key,
  opened,
  replyTo,
  SOL,
  titled,
  useExplorer,
} from './in-chromium.js';

const MAP = '.part-map[data-state=ready]';
const WIDTHS = [
  { width: 360, height: 740 },
  { width: 820, height: 1180 },
  { width: 1440, height: 900 },
  { width: 2560, height: 1300 },
];

/** What the header says of the connection after some time of the page's clock. */
async function connectionAfter(page: Page, passedMs: number): Promise<string | null> {
  await page.clock.fastForward(passedMs);
  return page.locator('.live').getAttribute('data-connection');
}

/** Revokes the page's key. The page's time is frozen, so it neither polls nor loads again: it has to be told. */
async function asksOnceRevoked(page: Page, id: string, data: string): Promise<void> {
  await freezeClock(page);
  await fathom(['keys', 'revoke', id, '--data', data]);
  const isAsked = async (): Promise<number> => {
    await page.clock.fastForward(20);
    return page.getByRole('heading', { name: 'This key is not accepted' }).count();
  };
  await expect.poll(isAsked).toBe(1);
}

describe.skipIf(!hasBrowser)('the explorer', () => {
  useExplorer();

  it('shows a new snapshot as it arrives, and says when the server is silent', async () => {
    const page = await at(HOUR);
    const live = page.locator('.live');
    // Such a page does not learn the server's frozen time, by which its data is new.
    await page.clock.install({ time: NOW_S * 1000 });
    await page.reload();
    await page.locator('.heatmap[data-state=ready]').waitFor();
    await page.locator('.live[data-connection=heard]').waitFor();
    // The page's time is frozen, so it does not poll.
    await freezeClock(page, NOW_S * 1000);
    const priceText = () => page.locator('.token-head .price').textContent();
    const before = await priceText();
    const markets = [
      { source: 'Orca', exchange_type: 'DEX', pair: 'SOL/USDC', cells: [[0, 9e6, 9e6]] },
    ];
    const row = { chain: 'mainchain', address: SOL, t: NOW_S, price_usd: 77.77, markets };
    await ingest('snapshots', row);
    // The page's time runs no faster than the server's, and not for as long as it waits between two polls.
    let passedMs = 0;
    const isNew = async (): Promise<boolean> => {
      await page.clock.fastForward(10);
      passedMs += 10;
      return (await priceText()) !== before;
    };
    await expect.poll(isNew, { interval: 100 }).toBe(true);
    expect(passedMs).toBeLessThan(9000);
    const connection = (passedMs: number) => connectionAfter(page, passedMs);
    await expect.poll(() => connection(13_000)).toBe('silent');
    expect(await live.textContent()).toContain('Not live');
    await expect.poll(() => connection(100)).toBe('heard');
    await live.click();
    await expect.poll(() => connection(100)).toBe('none');
  });

  it('says which markets the latest snapshot has and which are missing, as snapshots arrive', async () => {
    const address = `0x${'4d'.repeat(20)}`;
    const market = (source: string, pair: string) => ({
      ...{ source, exchange_type: 'CEX', type: 'cex_spot', pair },
      cells: [[0, 5e6, 5e6]],
    });
    const kraken = market('Kraken', 'SOL/USD');
    const coinbase = market('Coinbase', 'SOL-USD');
    const pool = { source: 'Orca', exchange_type: 'DEX', type: 'onchain_pool', address: 'a-pool' };
    const orca = { ...pool, pair: 'SOL/USDC', cells: [[0, 5e6, 5e6]] };
    const put = (agoS: number, markets: object[]) =>
      ingest('snapshots', { chain: 'evmchain', address, t: NOW_S - agoS, price_usd: 1, markets });
    await put(2 * 86_400, [coinbase]);
    await put(240, [kraken, orca]);
    await put(60, [kraken]);
    const page = await at(`#/token/${address}?window=1h`);
    const card = page.locator('.card', { has: page.locator('.markets') });
    const rows = () => card.getByRole('listitem').allTextContents();
    const timeOf = (agoS: number) => fieldTime(NOW_S - agoS);
    const day = `missing since ${timeOf(2 * 86_400).slice(0, 16)} (2 d ago)`;
    await expect
      .poll(rows)
      .toEqual([
        `Orca SOL/USDCpool a-poolmissing since ${timeOf(240).slice(11, 16)} (4 min ago)`,
        `Coinbase SOL-USDspot${day}`,
        'Kraken SOL/USDspot',
      ]);
    await card.getByText('1 of 3 in the latest snapshot').waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await page.locator('.live[data-connection=heard]').waitFor();
    await put(0, [coinbase, orca]);
    await expect
      .poll(rows)
      .toEqual([
        `Kraken SOL/USDspotmissing since ${timeOf(60).slice(11, 16)} (60 s ago)`,
        'Coinbase SOL-USDspot',
        'Orca SOL/USDCpool a-pool',
      ]);
    // They are those of now.
    await goTo(page, `#/token/${address}?window=1h&at=${NOW_S - 60}`);
    await page.locator('.pinned').waitFor();
    expect(await card.count()).toBe(0);
  });

  it('says in one place that data are old, although the server answers', async () => {
    const address = `0x${'5e'.repeat(20)}`;
    const put = (agoS: number) =>
      ingest('snapshots', {
        ...{ chain: 'evmchain', address, t: NOW_S - agoS, price_usd: 1 },
        markets: [
          { source: 'Kraken', exchange_type: 'CEX', pair: 'X/USD', cells: [[0, 5e6, 5e6]] },
        ],
      });
    for (const agoS of [720, 600, 480]) await put(agoS);
    const page = await at(`#/token/${address}?window=1h`);
    const live = page.locator('.live');
    const age = page.locator('.token-head time');
    await live.getByText('Old data').waitFor();
    expect(await live.getAttribute('title')).toContain('more than 3 intervals');
    expect([await age.textContent(), await age.getAttribute('class')]).toEqual([
      ...['8 min old', 'note old'],
    ]);
    const hue = () =>
      page.evaluate<string>(
        `getComputedStyle(document.querySelector('.live .dot')).backgroundColor`,
      );
    const warning = await hue();
    expect(await seriousFindings(page)).toEqual([]);
    await put(0);
    await expect.poll(() => live.textContent()).toMatch(/^Live/);
    await expect.poll(() => age.getAttribute('class')).toBe('note');
    expect(await hue()).not.toBe(warning);
    // Other pages follow no token.
    await goTo(page, '#/scores');
    await page.getByRole('table').waitFor();
    await expect.poll(() => live.textContent()).toMatch(/^Live/);
  });

  it('lists the first of a great many markets, and says how many more there are', async () => {
    const coverage = await replyTo<Coverage>(`/coverage/${SOL}`);
    const last = Math.max(...coverage.tiers.map(({ last_t: t }) => t));
    const markets = Array.from({ length: 65_535 }, (_, i) => ({
      ...{ ...coverage.markets[0], address: null },
      ...{ source: 'Venue', pair: `P${i}`, last_t: i === 65_000 ? last - 120 : last },
    }));
    const page = await at('#/scores');
    await answers(page, `/coverage/${SOL}`, { body: JSON.stringify({ ...coverage, markets }) });
    await goTo(page, HOUR);
    const rows = page.locator('.markets li');
    await page.getByText('65,534 of 65,535 in the latest snapshot').waitFor();
    expect(await rows.count()).toBe(8);
    expect(await rows.first().textContent()).toContain('Venue P65000');
    await page.getByRole('button', { name: 'The first 500 of 65,535 markets' }).click();
    await page.getByText('65,035 more are not listed.').waitFor();
    expect(await rows.count()).toBe(500);
  });

  it.each([
    ['a board', '#/scores', 'tr.row'],
    ['Compare', `#/compare?tokens=${SOL},${BARN}`, '.line-chart li'],
  ])('says when the server is silent, or away: %s', async (_, view, shown) => {
    const page = await at(view);
    await page.clock.install();
    await page.reload();
    await page.locator(shown).first().waitFor();
    const live = page.locator('.live');
    await page.locator('.live[data-connection=heard]').waitFor();
    expect(await live.getAttribute('title')).toContain('every 15 seconds');
    await freezeClock(page);
    const connection = (passedMs: number) => connectionAfter(page, passedMs);
    // Less than the time to the next request.
    await expect.poll(() => connection(13_000)).toBe('silent');
    expect(await live.textContent()).toContain('Not live');
    await expect.poll(() => connection(100)).toBe('heard');
    const requests = '**/api/v1/**';
    await page.route(requests, (route) => route.abort());
    await expect.poll(() => connection(1000)).toBe('silent');
    expect(await live.textContent()).toContain('Not live');
    await page.unroute(requests);
    await page.clock.resume();
    await page.locator('.live[data-connection=heard]').waitFor();
    expect(await live.textContent()).not.toContain('Not live');
  });

  it('says that an order waits for the server, and then what it costs', async () => {
    const page = await at(HOUR);
    await page.locator('.heatmap[data-state=ready]').waitFor();
    const requests = '**/api/v1/**';
    await page.route(requests, (route) => route.abort());
    const order = page.locator('.order-card');
    await order.getByRole('textbox').fill('10k');
    await order.getByText('The server does not answer').waitFor();
    await page.unroute(requests);
    await order.getByText('Average price').waitFor();
  });

  it.each([
    ['a token', HOUR, '.heatmap[data-state=ready]'],
    ['Compare', `#/compare?tokens=${SOL},${BARN}`, '.line-chart li'],
    ['a board that does not update', '#/whales', 'tr.row'],
  ])('asks for another key as soon as its key ends: %s', async (_, view, shown) => {
    const short = await createdKey();
    const page = await at(view, { key: short.key });
    await page.clock.install();
    const followed = page.waitForResponse('**/api/v1/stream/**');
    await page.reload();
    await page.locator(shown).first().waitFor();
    await followed;
    await asksOnceRevoked(page, short.id, directory);
    await page.clock.resume();
    await page.getByLabel('API key', { exact: true }).fill(key);
    await page.keyboard.press('Enter');
    await page.locator(shown).first().waitFor();
    expect(hashOf(page)).toBe(view);
  });

  it('asks for another key as soon as its key ends: a board of a server without data', async () => {
    const own = temporaryDirectory();
    const words = ['keys', 'create', '--tier', 'enterprise', '--data', own, '--json'];
    const short = JSON.parse((await fathom(words)).stdout) as { id: string; key: string };
    const { url: empty } = await serveHere(own, []);
    const tab = await open(browser, empty, '/#/scores', { key: short.key });
    opened.push(tab);
    const { page } = tab;
    await page.clock.install();
    const followed = page.waitForResponse('**/api/v1/stream/**');
    await page.reload();
    await page.getByText('Nothing to list').waitFor();
    expect((await followed).status()).toBe(200);
    await asksOnceRevoked(page, short.id, own);
  });

  it('shows the map by itself after the server was away for minutes', async () => {
    const page = await at(HOUR);
    await page.clock.install();
    await page.reload();
    await page.locator('.heatmap[data-state=ready]').waitFor();
    await freezeClock(page);
    const passed = async (what: string): Promise<number> => {
      await page.clock.fastForward(1000);
      return page.locator(what).count();
    };
    const requests = '**/api/v1/**';
    await page.route(requests, (route) => route.abort());
    await page.getByRole('button', { name: '6h', exact: true }).click();
    await expect.poll(() => passed('.heat-card .failed')).toBe(1);
    await page.unroute(requests);
    await expect.poll(() => passed('.heatmap[data-state=ready]')).toBe(1);
  });

  it.each(['dark', 'light'] as const)(
    'has no serious findings of axe in any view and at any width, %s, and fits it',
    async (colorScheme) => {
      const page = await at(HOUR, { colorScheme, viewport: WIDTHS[0], reducedMotion: 'reduce' });
      await page.locator('.heatmap[data-state=ready]').waitFor();
      await page.locator('.depth-chart canvas').waitFor();
      await page.getByRole('button', { name: 'Venues' }).first().click();
      const choice = await page.getByRole('checkbox').first().boundingBox();
      const [x, y] = [(choice?.x ?? 0) + 5, (choice?.y ?? 0) + 5];
      expect(await page.evaluate(`document.elementFromPoint(${x}, ${y})?.type`)).toBe('checkbox');
      await page.keyboard.press('Escape');
      const views = ['', ...BOARDS, `compare?tokens=${SOL}&metric=maps&window=1h`];
      for (const view of views) {
        if (view !== '') {
          await goTo(page, `#/${view}`);
          const [name] = view.split('?');
          await page.locator(`main[data-view=${name}] :is(${BOARD}, ${MAP})`).first().waitFor();
        }
        for (const viewport of WIDTHS) {
          await page.setViewportSize(viewport);
          const at = `${view} ${viewport.width}`;
          expect([at, await seriousFindings(page)]).toEqual([at, []]);
          const wide = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
          expect([at, wide]).toEqual([at, 0]);
        }
      }
      const [viewport] = WIDTHS;
      const entry = await atWithoutKey('', { colorScheme, viewport });
      await titled(entry, 'Enter an API key').waitFor();
      expect(await seriousFindings(entry)).toEqual([]);
    },
  );
});
