/** The explorer: limits and failures, and its boards. */
import { readFileSync } from 'node:fs';
import type { Locator } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { percent, signedUsd, usd } from '../../explorer/state/format.js';
import { hasBrowser, seriousFindings } from '../support/browser.js';
import { NOW_S } from '../support/service.js';
import {
  answers,
  at,
  BARN,
  BOARD,
  BOARDS,
  fail,
  goTo,
  hashOf,
  HOUR,
  key,
  replyTo,
  smallKey,
  SOL,
  titled,
  url,
  useExplorer,
} from './in-chromium.js';

describe.skipIf(!hasBrowser)('the explorer', () => {
  useExplorer();

  it.each(BOARDS)(
    'on a phone, has all columns, its tokens and buttons in sight: %s',
    async (board) => {
      const page = await at(`#/${board}`, { viewport: { width: 390, height: 844 } });
      const row = page.locator('tr.row').first();
      await row.waitFor();
      // A board of one token names its orders.
      const named = row.locator(
        board.startsWith('orders') ? 'td:nth-child(2) code' : '.token-link',
      );
      const headings = page.locator('.board-table > thead th');
      expect(await page.locator('.board-table > thead th:visible').count()).toBe(
        await headings.count(),
      );
      const frame = (await page.locator('.table-frame').boundingBox()) ?? fail();
      const inSight = async (what: Locator): Promise<boolean> => {
        const { x, width } = (await what.boundingBox()) ?? fail();
        return x >= frame.x && x + width <= frame.x + frame.width;
      };
      for (const left of [0, 1e6]) {
        await page.locator('.table-frame').evaluate((one, to) => (one.scrollLeft = to), left);
        expect(await inSight(named)).toBe(true);
        for (const button of await row.locator('.controls button').all())
          expect(await inSight(button)).toBe(true);
      }
      // The last figure is not below the buttons.
      const last = (await row.locator('td').nth(-2).boundingBox()) ?? fail();
      const controls = (await row.locator('.controls').boundingBox()) ?? fail();
      expect(last.x + last.width).toBeLessThanOrEqual(controls.x + 1);
      await row.locator('.disclose').click();
      await page.locator('tr.details').waitFor();
      expect(await seriousFindings(page)).toEqual([]);
      // Figures fade into the colour of the open row.
      const fades = await page.evaluate<string[]>(`
        [...document.querySelectorAll('tr.open > td')]
          .flatMap((cell) => ['', '::before', '::after'].map((part) => getComputedStyle(cell, part)))
          .flatMap((style) => (style.backgroundColor + style.backgroundImage).match(/rgba?[(][^)]+[)]/g) ?? [])
          .filter((colour) => colour !== 'rgba(0, 0, 0, 0)')`);
      expect(new Set(fades).size).toBe(1);
    },
  );

  it('says that a window is empty', async () => {
    const page = await at(`#/token/${SOL}?from=${NOW_S - 9_000_000}&to=${NOW_S - 8_990_000}`);
    await page.locator('.heatmap[data-state=empty]').waitFor();
  });

  it('counts down after a 429, and resumes automatically', async () => {
    const page = await at(HOUR);
    await titled(page, 'SOL').waitFor();
    const headers = { 'retry-after': '2' };
    const limit = { status: 429, headers, body: '{"error":"Rate limit"}' };
    const letThrough = await answers(page, '/top-scores', limit);
    await goTo(page, '#/scores');
    await page.getByText('This key has reached its rate limit.').waitFor();
    await page.locator('.countdown').waitFor();
    await letThrough();
    await page.getByRole('table').waitFor();
    await page.getByText('This key has reached its rate limit.').waitFor({ state: 'detached' });
  });

  it('says that the server is busy, or that a key has no access, and quotes the server', async () => {
    const page = await at('#/scores');
    await page.getByRole('table').waitFor();
    const busy = '{"error":"Service Unavailable","message":"m","error_code":"replay_busy"}';
    const headers = { 'retry-after': '2' };
    const letThrough = await answers(page, '/dlmm-pools', { status: 503, headers, body: busy });
    await goTo(page, '#/dlmm-pools');
    await page.getByText('The server is busy.').waitFor();
    await letThrough();
    await page.locator(BOARD).first().waitFor();
    await answers(page, '/lp-cheat-sheet', { status: 403, body: '{"error":"Needs enterprise"}' });
    await goTo(page, '#/fee-density');
    await titled(page, 'Fee density').waitFor();
    await page.getByText('This key has no access to this').waitFor();
    await page.getByText('Needs enterprise').waitFor();
  });

  it('says that it is offline, and resumes with the connection', async () => {
    const page = await at('#/dca-pressure');
    await page.locator(BOARD).first().waitFor();
    await page.context().setOffline(true);
    await page.getByText('You are offline.').waitFor();
    await goTo(page, '#/scores');
    await page.context().setOffline(false);
    await page.getByRole('table').waitFor();
    await page.getByText('You are offline.').waitFor({ state: 'detached' });
  });

  it('reserves half of the requests of a small plan for the user', async () => {
    const page = await at(HOUR, { key: smallKey, reducedMotion: 'reduce' });
    await page.locator('.heatmap[data-state=ready]').waitFor();
    await page.locator('.depth-chart canvas').waitFor();
    const { x, y, width, height } = (await page.locator('.heatmap-cells').boundingBox()) ?? fail();
    const spared = page.getByText('The split has to wait');
    let remaining = 12;
    page.on('response', (response) => {
      remaining = Number(response.headers()['x-ratelimit-remaining'] ?? remaining);
    });
    // The split of each of these columns of the map takes a request.
    for (let share = 0.1; !(await spared.isVisible()); share += 0.02) {
      expect(share).toBeLessThan(1);
      const split = page.waitForResponse((response) => response.url().includes('/replay/'));
      await page.mouse.move(x + share * width, y + height / 3);
      await Promise.race([spared.waitFor(), split]);
    }
    expect(remaining).toBeGreaterThanOrEqual(5);
    // The curl command names the visible time, and a pressed button stays legible under the pointer.
    await page.mouse.wheel(0, -400);
    await page.locator('.request code', { hasText: /from=\d+&to=\d+/ }).waitFor();
    const ink = () =>
      page.evaluate(
        `getComputedStyle(document.querySelector('.segments [aria-pressed=true]')).color`,
      );
    const before = await ink();
    await page.getByRole('button', { name: '1h', exact: true }).hover();
    expect(await ink()).toBe(before);
  });

  it('says that the strips wait for requests of a small plan', async () => {
    const page = await at('#/scorez');
    await page.getByText('There is no page at this address').waitFor();
    let remaining = '0';
    await page.route(/\/api\/v1\/(?!stream)/, async (route) => {
      const response = await route.fetch();
      const limits = { 'x-ratelimit-limit': '12', 'x-ratelimit-remaining': remaining };
      await route.fulfill({ response, headers: { ...response.headers(), ...limits } });
    });
    await goTo(page, HOUR);
    const note = page.getByText('These have to wait');
    await note.waitFor();
    remaining = '12';
    await page.getByRole('button', { name: '6h', exact: true }).click();
    await page.locator('.strips[data-state=ready]').waitFor();
    expect(await note.count()).toBe(0);
  });

  it('sorts boards by their columns, and links rows to their tokens', async () => {
    const page = await at('#/scores');
    const prices = () => page.locator('tbody tr td:nth-child(6)').allTextContents();
    await page.getByRole('table').waitFor();
    const before = await prices();
    expect(before.length).toBeGreaterThan(1);
    await page.getByRole('button', { name: 'Price' }).click();
    await page.getByRole('button', { name: 'Price' }).click();
    await page.locator('th[aria-sort=ascending]').waitFor();
    expect(hashOf(page)).toBe('#/scores?order=-price');
    expect(new Set(await prices())).toEqual(new Set(before));
    // Anywhere in the row, and into a new tab too. The link covers the cell.
    const cell = page.getByRole('row', { name: 'SOL' }).getByRole('cell').nth(4);
    const [tab] = await Promise.all([
      page.context().waitForEvent('page'),
      cell.click({ modifiers: ['ControlOrMeta'], force: true }),
    ]);
    expect(tab.url()).toContain(`#/token/${SOL}`);
    await tab.close();
    await expect.poll(() => page.title()).toBe('Scores \u2013 Fathom');
    await cell.click({ force: true });
    await expect.poll(() => page.title()).toBe('SOL depth \u2013 Fathom');
    // The map keeps its token, which is not the best one.
    await goTo(page, `#/token/${BARN}?window=1h`);
    await titled(page, 'BARN').waitFor();
    await goTo(page, '#/dca-pressure');
    await page.locator(BOARD).first().waitFor();
    const depth = page.getByRole('link', { name: 'Depth' });
    expect(await depth.getAttribute('href')).toBe(`#/token/${BARN}?window=1h`);
  });

  it('shows the DCA figures of the ranked span, marks their heading, and scales the bars', async () => {
    const page = await at('#/dca-pressure?sort_timeframe=5_min&sort_dir=asc');
    const ranked = page.locator('th[aria-sort=ascending]', { hasText: 'Net 5m' });
    await ranked.waitFor();
    expect(await page.locator('th[aria-sort]').count()).toBe(1);
    const asked = '/dca-pressure?sort_by=usd&sort_timeframe=5_min&sort_dir=asc';
    const { tokens } = await replyTo<{ tokens: { impact: Record<string, number> }[] }>(asked);
    const place = await ranked.evaluate((cell) => (cell as { cellIndex: number }).cellIndex);
    const figures = page.locator(`tr.row td:nth-child(${place + 1})`);
    expect(await figures.allTextContents()).toEqual(
      tokens.map(({ impact }) => signedUsd(impact.net_usd_5_min)),
    );
    const flows = tokens.flatMap(({ impact }) =>
      ['5_min', '30_min', '1_hr', '6_hr', '24_hr'].map((span) => impact[`net_usd_${span}`]),
    );
    const largest = Math.max(...flows.map(Math.abs));
    await page.locator('th', { hasText: `log ±${usd(largest)}` }).waitFor();
    const lengths = await page
      .locator('tr.row .bars rect')
      .evaluateAll((bars) => bars.map((bar) => Number(bar.getAttribute('height'))));
    const logs = flows.map((flow) => Math.log10(1 + Math.abs(flow)));
    const longest = Math.max(...lengths);
    expect(lengths.filter((length) => length > 1).length).toBeGreaterThan(0);
    for (const [i, log] of logs.entries()) {
      if (lengths[i] > 1) expect(lengths[i] / longest).toBeCloseTo(log / Math.max(...logs), 6);
    }
    // Clicks on the ranked heading reverse the ranking, and restore it.
    await page.getByRole('button', { name: 'Net 5m' }).click();
    await page.locator('th[aria-sort=descending]', { hasText: 'Net 5m' }).waitFor();
    await page.getByRole('button', { name: 'Net 5m' }).click();
    await ranked.waitFor();
    await page.getByRole('button', { name: 'Impact', exact: true }).click();
    await page.locator('th[aria-sort=ascending]', { hasText: 'Impact 5m' }).waitFor();
    await page.getByRole('button', { name: 'Details of ' }).first().click();
    await page.getByRole('columnheader', { name: 'Next 5m' }).waitFor();
    // A name's first order is from A to Z.
    await page.getByRole('button', { name: 'Token', exact: true }).click();
    await page.locator('th[aria-sort=ascending]', { hasText: 'Token' }).waitFor();
    const names = await page.locator('tr.row .token-link b').allTextContents();
    expect(names).toEqual(names.toSorted((a, b) => a.localeCompare(b)));
  });

  it('compares fee densities on one scale, with the pools of the chosen window', async () => {
    const page = await at('#/fee-density?window=24h');
    await page.locator('tr.row').first().waitFor();
    interface Density {
      symbol: string;
      address: string;
      fee_density: number;
    }
    const { data } = await replyTo<{ data: Density[] }>('/lp-cheat-sheet?window=24h');
    const highest = Math.max(...data.map(({ fee_density: one }) => one));
    expect(highest).toBeGreaterThan(1);
    await page.locator('th', { hasText: `0 to ${percent(highest, 0)}` }).waitFor();
    const shares = await page
      .locator('tr.row td.chart > .share > span')
      .evaluateAll((bars) =>
        bars.map((bar) => parseFloat((bar as unknown as { style: { width: string } }).style.width)),
      );
    expect(shares).toHaveLength(data.length);
    for (const [i, { fee_density: one }] of data.entries()) {
      expect(shares[i]).toBeCloseTo((100 * one) / highest, 2);
    }
    await page.getByText('24h: this hour and the 23 before it, since').waitFor();
    for (const [window, period] of [
      ['24h', '24h'],
      ['6h', '12h'],
    ]) {
      await goTo(page, `#/fee-density?window=${window}`);
      const asked = `/dlmm-pools?mint=${data[0].address}&period=${period}`;
      const pools = await replyTo<{ data: { fees: number }[] }>(asked);
      const name = `Details of ${data[0].symbol}`;
      await page.getByRole('button', { name, expanded: false }).click();
      const table = page.getByRole('table', { name: `DLMM pools, ${period}` });
      await table.waitFor();
      const fees = await table.locator('tbody td:nth-child(7)').allTextContents();
      const inOrder = pools.data.map((pool) => pool.fees).toSorted((a, b) => b - a);
      expect(fees).toEqual(inOrder.map((one) => usd(one)));
      await page.getByRole('button', { name, expanded: true }).click();
    }
  });

  it('leads from a DLMM pool to its venue, or opens the pool if its depth is unknown', async () => {
    const page = await at('#/dlmm-pools');
    interface Pool {
      address: string;
      baseMint: string;
      rangeTvl: number | null;
    }
    const { data } = await replyTo<{ data: Pool[] }>('/dlmm-pools');
    const [pool] = data;
    await page.locator('tr.row a.token-link').first().click();
    await page.locator('.heatmap[data-state=ready]').waitFor();
    const { markets } = await replyTo<{ markets: { address: string; source: string }[] }>(
      `/coverage/${pool.baseMint}`,
    );
    const source = markets.find(({ address }) => address === pool.address)?.source;
    expect(source).toBe('Meteora DLMM');
    expect(hashOf(page)).toBe(`#/token/${pool.baseMint}?group=market&venues=meteora-dlmm`);
    await page.locator('.venues').getByText('Meteora DLMM').waitFor();
    await page.goBack();
    await page.locator('tr.row').first().waitFor();
    expect(hashOf(page)).toBe('#/dlmm-pools');
    const body = JSON.stringify({ count: 1, data: [{ ...pool, rangeTvl: null }] });
    await answers(page, '/dlmm-pools', { body });
    await goTo(page, '#/dlmm-pools?period=2h');
    await page.locator('tr.row button.token-link').click();
    await page.getByText(/^unknown: no market of \w+ has this address$/).waitFor();
    // A pool that the token's depth does not have, by an address that someone wrote.
    await goTo(page, `#/token/${SOL}?window=1h&pool=nowhere`);
    await titled(page, 'SOL').waitFor();
    expect(hashOf(page)).toBe(HOUR);
  });

  it('names the requests of holder flow once they are known, and its tokens in a file', async () => {
    const page = await at('#/scorez');
    let letThrough = (): void => undefined;
    const held = new Promise<void>((resolve) => (letThrough = resolve));
    await page.route('**/api/v1/whale-activity', async (route) => {
      await held;
      await route.continue();
    });
    await goTo(page, '#/whales');
    await page.getByText('Loading the board').waitFor();
    expect(await page.locator('.request').count()).toBe(0);
    letThrough();
    await page.locator('tr.row').first().waitFor();
    const commands = await page.locator('.request code > span').allTextContents();
    expect(commands[0]).toContain('/api/v1/top-scores?details=true');
    expect(commands[1]).toContain(`{"token_addresses":["${SOL}"`);
    await page.getByRole('button', { name: 'Export' }).click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'CSV', exact: true }).click(),
    ]);
    const [head, first] = readFileSync(await download.path(), 'utf8').split('\r\n');
    expect(head).toMatch(/^symbol,name,token_address,/);
    expect(head).toMatch(/,service_current_price$/);
    expect(first).toMatch(/^SOL,Wrapped SOL,So1/);
  });

  it('shows on every board how the scores of its tokens changed', async () => {
    const page = await at('#/dca-pressure?order=-token_score');
    await page.locator('.board-table .line-figure').first().waitFor();
    const { tokens } = await replyTo<{ tokens: { symbol: string; service_score: number }[] }>(
      '/top-scores?chain=all&details=true',
    );
    const scoreOf = new Map(tokens.map((one) => [one.symbol, one.service_score.toFixed(1)]));
    const rows = await page
      .locator('.board-table tr.row', { has: page.locator('.line-figure') })
      .evaluateAll((found) =>
        found.map((row) => [
          row.querySelector('.token-link b')?.textContent ?? '',
          row.querySelector('.line-figure > span')?.textContent ?? '',
        ]),
      );
    expect(rows.length).toBeGreaterThan(1);
    expect(rows).toEqual(rows.map(([symbol]) => [symbol, scoreOf.get(symbol)]));
    const scores = rows.map(([, score]) => Number(score));
    expect(scores).toEqual(scores.toSorted((a, b) => a - b));
    // The change has one name, which says that it is the score's.
    await page.getByRole('columnheader', { name: 'Score change, 24h' }).waitFor();
    await goTo(page, '#/scores');
    await page.getByRole('columnheader', { name: 'Score change, 24h' }).waitFor();
  });

  it.each([
    ['dlmm-pools', '{"data": []}', '24h', 'period=24h'],
    ['fee-density', '{"data": []}', '6h', 'window=6h'],
  ])('without rows offers longer periods: %s', async (board, body, label, choice) => {
    const page = await at('#/scores');
    await page.getByRole('table').waitFor();
    const path = board === 'fee-density' ? '/lp-cheat-sheet' : `/${board}`;
    const ended = await answers(page, path, { body });
    await goTo(page, `#/${board}`);
    const empty = page.locator('.state.empty');
    await empty.getByText('Try a longer one').waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await ended();
    await empty.getByRole('button', { name: label }).click();
    await page.locator('tr.row').first().waitFor();
    expect(hashOf(page)).toBe(`#/${board}?${choice}`);
  });

  it('says that prices may be old if tokens have no recent score', async () => {
    const page = await at('#/whales');
    await page.locator('tr.row').first().waitFor();
    await answers(page, '/top-scores', { body: '{"tokens": [], "stale_count": 2}' });
    await goTo(page, '#/dca-pressure');
    await page.getByText('without a recent score: their prices may be old').waitFor();
  });

  it('finds rows of a board, keeps favourites, and opens rows in place', async () => {
    const page = await at('#/scores');
    await page.getByRole('table').waitFor();
    const tokens = () => page.locator('tr.row .token-link b').allTextContents();
    const all = await tokens();
    await page.getByRole('searchbox').fill('wrapped so');
    await expect.poll(tokens).toEqual(['SOL']);
    expect(hashOf(page)).toBe('#/scores?find=wrapped+so');
    await page.getByRole('status').getByText(`1 of ${all.length} tokens`).waitFor();
    // The token's own page has its star, too.
    await page.locator('tr.row .token-link').click();
    const star = page.locator('.token-head').getByRole('button', { name: 'SOL is a favourite' });
    await star.click();
    expect(await star.getAttribute('aria-pressed')).toBe('true');
    await page.keyboard.press('/');
    await page.locator('#found b', { hasText: 'SOL ★' }).first().waitFor();
    await page.keyboard.press('Escape');
    await page.goBack();
    await page.locator('tr.row [aria-pressed=true].star').waitFor();
    await page.getByRole('searchbox').fill('no such token');
    await page.getByText("Nothing here matches 'no such token'").waitFor();
    await page.getByRole('button', { name: 'Show all rows' }).click();
    await expect.poll(tokens).toEqual(all);
    // On other boards and in later tabs too.
    const other = await page.context().newPage();
    await other.addInitScript(`sessionStorage.setItem('fathom.key', ${JSON.stringify(key)})`);
    await other.goto(`${url}/#/dca-pressure`);
    await other.locator('tr.row').first().waitFor();
    await other.getByRole('button', { name: 'Favourites', exact: true }).click();
    await expect.poll(() => other.locator('tr.row').count()).toBe(1);
    // A reload keeps the choice, and an address that is shared does not have it.
    await other.reload();
    await expect.poll(() => other.locator('tr.row').count()).toBe(1);
    expect(hashOf(other)).toBe('#/dca-pressure');
    await other.getByRole('button', { name: 'Details of SOL' }).click();
    await other.getByRole('table', { name: 'DCA orders by flow' }).waitFor();
    await other.getByRole('button', { name: 'SOL is a favourite' }).click();
    await other.getByText('No favourite is on this board').waitFor();
    // A tab in the background draws once a second.
    await other.close();
    await page.bringToFront();

    const details: Record<string, string> = {
      scores: 'How it is calculated',
      'dlmm-pools': 'Quote token',
      'fee-density': 'DLMM pools, 1h',
      whales: 'largest wallets',
      'dca-pressure': 'DCA orders by flow',
      orders: 'Away = its price / the price - 1',
    };
    const nameOf = (address: string): string => address.split('?')[0];
    const formulas: Record<string, RegExp> = {
      'fee-density': /^Fee density = .* = [\d,.]+%$/,
      'dlmm-pools': /^Fees \/ TVL = .* = [\d,.]+%$/,
      whales: /^Net 24h = .* tokens x \$.* = -?\$[\d,.]+$/,
      'dca-pressure': /^All orders: \$.* = -?\$[\d,.]+$/,
    };
    expect(Object.keys(details).toSorted()).toEqual(BOARDS.map(nameOf).toSorted());
    for (const address of BOARDS) {
      const board = nameOf(address);
      const { [board]: text } = details;
      await goTo(page, `#/${address}`);
      await page.locator(`main[data-view=${board}] tr.row`).first().waitFor();
      await page.getByRole('button', { name: 'Details of ' }).first().click();
      await page.getByText(text).waitFor();
      if (formulas[board] !== undefined) {
        await page.getByText('How it is calculated').click();
        await page.getByText(formulas[board]).waitFor();
      }
      expect([board, await seriousFindings(page)]).toEqual([board, []]);
    }
  });
});
