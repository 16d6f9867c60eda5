/** The explorer in Chromium, over a part of the demo market. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Browser, Page, Route } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { DEMO_SEED, demoTokens } from '../../demo/tokens.js';
import { absoluteTime, price, signedFinePercent, usd } from '../../explorer/state/format.js';
import { fieldTime } from '../../explorer/state/zone.js';
import { EXAMPLE_MINTS } from '../../server/api/schemas.js';
import { cleanUp, fathom, newKey, serveHere, temporaryDirectory } from '../support/cli.js';
import { demoMarket } from '../support/demo-market.js';
import { NOW_S } from '../support/service.js';
import {
  hasBrowser,
  open,
  type Opened,
  seriousFindings,
  startBrowser,
} from '../support/browser.js';

const [SOL] = EXAMPLE_MINTS;
const BARN = demoTokens(DEMO_SEED).find(({ symbol }) => symbol === 'BARN')?.address ?? '';
/** A short window has few pages to load. */
const HOUR = `#/token/${SOL}?window=1h`;
const BOARDS = ['scores', 'dca-pressure', 'dlmm-pools', 'fee-density', 'whales'];
/** A board with rows, or with the note that it has none. */
const BOARD = '.board :is(table, .empty)';
const MAP = '.part-map[data-state=ready]';
const WIDTHS = [
  { width: 360, height: 740 },
  { width: 820, height: 1180 },
  { width: 1440, height: 900 },
  { width: 2560, height: 1300 },
];
/** Lifts the limits of holder flow, which allow a request a second. */
const PLANS = '{"enterprise": {"rates": {"whale-get": "general", "whale-post": "general"}}}';

function fail(): never {
  throw new Error('the heatmap has no place');
}

let browser: Browser;
let directory: string;
let url: string;
let key: string;
/** A key with twelve requests a minute. */
let smallKey: string;
const opened: Opened[] = [];

describe.skipIf(!hasBrowser)('the explorer', () => {
  beforeAll(async () => {
    directory = await demoMarket();
    key = await newKey(directory);
    smallKey = await newKey(directory, 12);
    ({ url } = await serveHere(directory, ['--as-of', String(NOW_S)], { FATHOM_PLANS: PLANS }));
    browser = await startBrowser();
  });
  afterEach(async () => {
    for (const { page, faults } of opened.splice(0)) {
      await page.context().close();
      expect(faults).toEqual([]);
    }
  });
  afterAll(async () => {
    await browser.close();
    await cleanUp();
  });

  /** A tab that has the key and shows a view. */
  async function at(hash: string, options: Parameters<typeof open>[3] = {}): Promise<Page> {
    const tab = await open(browser, url, `/${hash}`, { key, ...options });
    opened.push(tab);
    return tab.page;
  }
  const goTo = (page: Page, hash: string) =>
    page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
  const hashOf = (page: Page) => new URL(page.url()).hash;
  /** Answers requests to a path in place of the server. @returns a function that ends this */
  async function answers(page: Page, path: string, answer: Parameters<Route['fulfill']>[0]) {
    const requests = `**/api/v1${path}*`;
    await page.route(requests, (route) =>
      route.fulfill({ contentType: 'application/json', ...answer }),
    );
    return () => page.unroute(requests);
  }
  const titled = (page: Page, name: string) => page.getByRole('heading', { name, exact: false });

  it('removes the key from the address, and opens with the best token', async () => {
    const tab = await open(browser, url, `/#key=${key}`);
    opened.push(tab);
    const { page } = tab;
    await titled(page, 'SOL').waitFor();
    await page.waitForURL(`**/#/token/${SOL}`);
    for (const name of ['Ladder', 'Score', 'Venues']) await titled(page, name).waitFor();
    await page.locator('.heatmap[data-state=ready]').waitFor();
    expect(await page.content()).not.toContain(key);
  });

  it('asks for a key, refuses a wrong one, and keeps the right one in this tab, or the browser if told to', async () => {
    const tab = await open(browser, url, '/#/scores');
    opened.push(tab);
    const { page } = tab;
    const enter = async (text: string) => {
      await page.getByRole('textbox', { name: 'API key' }).fill(text);
      await page.keyboard.press('Enter');
    };
    await titled(page, 'Enter an API key').waitFor();
    // What would not work without a key is not there.
    expect(await page.getByRole('navigation').count()).toBe(0);
    await enter('fathom_wrong');
    await titled(page, 'This key is not accepted').waitFor();
    expect(await page.getByRole('alert').textContent()).toContain('Invalid API key');
    await enter(key);
    await page.getByRole('table').waitFor();
    await page.reload();
    await page.getByRole('table').waitFor();
    const other = await page.context().newPage();
    await other.goto(`${url}/#/scores`);
    await titled(other, 'Enter an API key').waitFor();
    await other.getByRole('checkbox').check();
    await other.getByRole('textbox', { name: 'API key' }).fill(key);
    await other.keyboard.press('Enter');
    await other.getByRole('table').waitFor();
    const third = await page.context().newPage();
    await third.goto(`${url}/#/scores`);
    await third.getByRole('table').waitFor();
    await third.getByRole('button', { name: 'Key and limits' }).click();
    await third.getByRole('button', { name: 'Forget the key' }).click();
    await third.reload();
    await titled(third, 'Enter an API key').waitFor();
    // As npm start prints it.
    await third.goto(`${url}/#key=${key}&remember`);
    await titled(third, 'SOL').waitFor();
    const fourth = await page.context().newPage();
    await fourth.goto(`${url}/#/scores`);
    await fourth.getByRole('table').waitFor();
  });

  it('shows ages by the server\u2019s clock, times in UTC or local time, and its keys', async () => {
    const page = await at(HOUR, { timezoneId: 'Asia/Kolkata' });
    await titled(page, 'SOL').waitFor();
    await page.getByText('as of ').waitFor();
    // The market's newest snapshot is minutes old by that clock, and a part of a year by this machine's.
    expect(await page.locator('.token-head time').textContent()).toMatch(/^\d+ (s|min) old$/);
    const exact = () => page.locator('.token-head time').getAttribute('title');
    expect(await exact()).toMatch(/ UTC$/);
    await page.getByRole('button', { name: 'UTC' }).click();
    await expect.poll(exact).toMatch(/ GMT\+5:30$/);
    await page.reload();
    await titled(page, 'SOL').waitFor();
    expect(await exact()).toMatch(/ GMT\+5:30$/);
    await page.keyboard.press('?');
    await page.getByRole('dialog').getByText('find a token').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
  });

  it('says that there is no such page, and leads back', async () => {
    const page = await at('#/scorez');
    await page.getByText('There is no page at this address').waitFor();
    const places = page.getByRole('alert').getByRole('link');
    const views = page.getByRole('navigation').getByRole('link');
    expect(await places.count()).toBe(await views.count());
    await page.getByRole('alert').getByRole('link', { name: 'Scores' }).click();
    await page.getByRole('table').waitFor();
    const refused = page.waitForResponse((reply) => reply.url().includes('/stream/xyz'));
    await goTo(page, '#/token/xyz');
    expect((await refused).status()).toBe(400);
    await page.getByText('expected a base58 mint').waitFor();
    const back = page.getByRole('link', { name: 'one with the best score' });
    expect(await back.getAttribute('href')).toBe('#/');
    // The server is there, though it does not know the address.
    expect(await page.getByRole('button', { name: 'Not live' }).count()).toBe(0);
  });

  it('says what an address does not name, and shows the rest', async () => {
    const page = await at('#/token/barn');
    await page.getByText('Is it one of these?').waitFor();
    await page.getByRole('link', { name: 'BARN Barnacle' }).click();
    await titled(page, 'BARN').waitFor();
    // One letter is wrong: the address could be a token's, but none has it.
    await goTo(page, `#/token/${BARN.slice(0, -1)}${BARN.endsWith('1') ? '2' : '1'}`);
    await page.getByText('This server knows no token with this address').waitFor();
    expect(await page.locator('.score-card').count()).toBe(0);
    await page.getByRole('link', { name: 'BARN Barnacle' }).click();
    await titled(page, 'BARN').waitFor();
    await goTo(page, `#/compare?tokens=xyz,${SOL}`);
    await page.getByText('xyz is left out: address: expected ').waitFor();
    await page.locator('.line-chart li').getByText('SOL').waitFor();
    await goTo(page, `${HOUR}&venues=nosuch`);
    await page.getByText('The snapshot has no depth at nosuch.').waitFor();
  });

  it('finds a token with the keyboard', async () => {
    const page = await at('#/scores');
    await page.getByRole('table').waitFor();
    await page.keyboard.press('/');
    await page.locator('.search input:focus').waitFor();
    await page.locator('#found-1').waitFor();
    await page.keyboard.press('ArrowDown');
    await page.locator('#found-1[aria-selected=true]').waitFor();
    await page.keyboard.press('ArrowUp');
    await page.locator('#found-0[aria-selected=true]').waitFor();
    await page.keyboard.type('ba');
    // Before the results are there.
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/#/token/${BARN}`);
    await titled(page, 'BARN').waitFor();
    await page.goBack();
    await page.getByRole('table').waitFor();
  });

  it('filters by venue, keeps the view in the address, and goes back and forward', async () => {
    const page = await at(HOUR);
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    const venue = page.locator('.venues button').first();
    await venue.click();
    await page.waitForURL('**venues=*');
    const chosen = /venues=([\w-]+)/.exec(hashOf(page))?.[1] ?? '';
    await expect
      .poll(() => asked.filter((one) => one.includes(`venues=${chosen}`)).length)
      .toBeGreaterThan(1);
    const curl = await page.locator('.request code').textContent();
    expect(curl).toContain(`venues=${chosen}`);
    expect(curl).toContain('x-api-key: $KEY');
    await page.goBack();
    expect(hashOf(page)).toBe(HOUR);
    await page.goForward();
    await page.locator('.venues button[aria-pressed=true]').waitFor();
  });

  it('tells what an order costs, for what the view is filtered by', async () => {
    const page = await at(HOUR);
    const panel = page.locator('.order-card');
    await panel.getByRole('textbox').fill('$250k');
    const asked = async (query: string) => {
      const reply = await fetch(`${url}/api/v1/slippage/${SOL}?${query}`, {
        headers: { 'x-api-key': key },
      });
      const { quotes } = (await reply.json()) as { quotes: { slippage_pct: number }[] };
      return signedFinePercent(quotes[0].slippage_pct / 100);
    };
    const slippage = panel.locator('dd').first();
    await expect.poll(() => slippage.textContent()).toBe(await asked('side=sell&usd=250000'));
    await panel.getByRole('button', { name: 'Buy' }).click();
    const bought = await asked('side=buy&usd=250000');
    await expect.poll(() => slippage.textContent()).toBe(bought);
    await panel.getByRole('textbox').fill('900b');
    await panel.getByText('The ladder holds only').waitFor();
    await panel.getByRole('textbox').fill('much');
    await panel.getByText('Expected an amount of USD').waitFor();
    await page.getByRole('button', { name: /^All \d+ venues/ }).click();
    expect(await page.locator('.venues li').count()).toBeGreaterThan(8);
    await panel.getByRole('textbox').fill('250k');
    await expect.poll(() => slippage.textContent()).toBe(bought);
    for (const [card, text] of [
      [panel, /^Slippage = average \/ price - 1 = /],
      [page.locator('.card', { has: page.locator('.depth-chart') }), /^Support = .* = \$[\d,.]+$/],
    ] as const) {
      await card.getByText('How it is calculated').click();
      await card.getByText(text).waitFor();
    }
    await page.locator('.score-card').getByText('How it is calculated').click();
    await page.getByText('Perps are left out').waitFor();
    expect(await seriousFindings(page)).toEqual([]);
  });

  it('shows now where an address names a moment to come, and a zoom of too long ago', async () => {
    const [from, to] = [NOW_S - 400 * 86_400, NOW_S - 399 * 86_400];
    const page = await at(`#/token/${SOL}?at=${NOW_S + 86_400}&zoom=${from},${to}`);
    await page.locator('.heatmap[data-state=ready]').waitFor();
    await titled(page, 'Ladder').waitFor();
    expect(await page.locator('.pinned').count()).toBe(0);
  });

  it('tells of a pinned time, clicked or typed, until Escape', async () => {
    const page = await at(HOUR);
    await page.locator('.heatmap[data-state=ready]').waitFor();
    const scoreAt = async (query: string) => {
      const reply = await fetch(`${url}/api/v1/score/${SOL}${query}`, {
        headers: { 'x-api-key': key },
      });
      const { service_score: score, data_time: t } = (await reply.json()) as {
        service_score: number;
        data_time: number;
      };
      return { score: score.toFixed(1), t };
    };
    const shown = () => page.locator('.score-value b').textContent();
    const pinnedS = () => Number(/[?&]at=(\d+)/.exec(hashOf(page))?.[1] ?? NaN);
    const { x, y, width, height } = (await page.locator('.heatmap-cells').boundingBox()) ?? fail();
    await page.mouse.click(x + 0.3 * width, y + 0.4 * height);
    await page.waitForURL('**at=*');
    const clickedS = pinnedS();
    expect(Math.abs(clickedS - (NOW_S - 0.7 * 3600))).toBeLessThan(120);
    const clicked = await scoreAt(`?at=${clickedS}`);
    const pinned = page.locator('.pinned', { hasText: absoluteTime(clicked.t) });
    await pinned.waitFor();
    await expect.poll(shown).toBe(clicked.score);
    // Its line does not run through the readout.
    await page.locator('.heatmap-frame > .heatmap-pin ~ .heatmap-cursor').waitFor();
    const slippages: string[] = [];
    page.on('request', (request) => {
      if (request.url().includes('/slippage/')) slippages.push(request.url());
    });
    await page.locator('.order-card input').fill('10k');
    await page.locator('.order-card dd').first().waitFor();
    expect(new URL(slippages[0]).searchParams.get('at')).toBe(String(clickedS));
    // Typed, in the page's zone; it outlives a reload.
    const typedS = clickedS + 600;
    const field = page.getByLabel('Time', { exact: true });
    await field.fill(fieldTime(typedS));
    await field.dispatchEvent('change');
    await expect.poll(pinnedS).toBe(typedS);
    await page.reload();
    const typed = await scoreAt(`?at=${typedS}`);
    await page.locator('.pinned', { hasText: absoluteTime(typed.t) }).waitFor();
    await expect.poll(shown).toBe(typed.score);
    expect(await seriousFindings(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.locator('.pinned').waitFor({ state: 'detached' });
    expect(hashOf(page)).toBe(HOUR);
    const now = await scoreAt('');
    await expect.poll(shown).toBe(now.score);
  });

  it('shows the zoom of an address, with its pinned time in sight or not', async () => {
    const hash = `${HOUR}&zoom=${NOW_S - 1200},${NOW_S - 600}&at=${NOW_S - 3000}`;
    const page = await at(hash);
    await page.locator('.heatmap[data-state=ready]').waitFor();
    await page.getByRole('group', { name: 'Playback' }).waitFor();
    const view = await page.locator('.heatmap-frame').getAttribute('data-view');
    expect(view?.split(' ').slice(0, 2).map(Number)).toEqual([NOW_S - 1200, NOW_S - 600]);
    expect(hashOf(page)).toBe(hash);
    // A time that no key may ask for has no ladder to wait for.
    await goTo(page, `${HOUR}&at=1`);
    await page.locator('.pinned', { hasText: 'within the last 365 days' }).waitFor();
    expect(await page.getByText('Loading the ladder').count()).toBe(0);
    // A time that is typed then is brought into sight.
    const field = page.getByLabel('Time', { exact: true });
    await field.fill(fieldTime(NOW_S - 2400));
    await field.dispatchEvent('change');
    await page.locator('.heatmap-pin').first().waitFor();
  });

  it('plays what is in sight, steps and scrubs, and is live again at the end', async () => {
    const page = await at(HOUR);
    await page.locator('.heatmap[data-state=ready]').waitFor();
    const reply = await fetch(`${url}/api/v1/replay/${SOL}?from=-1h&to=now&group=venue`, {
      headers: { 'x-api-key': key },
    });
    const { snapshots } = (await reply.json()) as { snapshots: { t: number; price_usd: number }[] };
    const times = snapshots.map(({ t }) => t);
    const pinnedS = () => Number(/[?&]at=(\d+)/.exec(hashOf(page))?.[1] ?? NaN);
    const playback = page.getByRole('group', { name: 'Playback' });
    await playback.waitFor();
    // The first step back is to the newest snapshot.
    for (const [keys, back] of [
      [',', -1],
      [',,', -3],
      ['.', -2],
    ] as const) {
      for (const one of keys) await page.keyboard.press(one);
      await expect.poll(pinnedS).toBe(times.at(back));
      const { price_usd: priceUsd } = snapshots.at(back)!;
      await page.locator('.token-head .price', { hasText: price(priceUsd) }).waitFor();
      await page.locator('.side:not([aria-busy=true])').waitFor();
    }
    await playback.getByLabel('Moment').fill('0');
    await expect.poll(pinnedS).toBe(times[0]);
    const shown: string[] = [];
    await page.exposeFunction('tell', (time: string) => shown.push(time));
    await page.evaluate(`new MutationObserver(() =>
      tell(document.querySelector('.token-head time').dateTime)
    ).observe(document.querySelector('.token-head'), { subtree: true, attributes: true, attributeFilter: ['datetime'] })`);
    let pages = 0;
    page.on('request', (request) => {
      if (request.url().includes('group=venue')) pages++;
    });
    await playback.getByLabel('Snapshots a second').selectOption('20');
    await playback.getByLabel('Moment').press('p');
    await playback.getByRole('button', { name: 'Pause playback' }).waitFor();
    await page.locator('.pinned').waitFor({ state: 'detached' });
    await playback.getByRole('button', { name: 'Play', exact: true }).waitFor();
    expect(hashOf(page)).toBe(HOUR);
    const played = shown.map((time) => Date.parse(time) / 1000);
    expect(played).toEqual(played.toSorted((a, b) => a - b));
    expect(times).toEqual(expect.arrayContaining(played));
    expect(played.at(-1)).toBe(times.at(-1));
    // Some 48 ladders come with a page; the newest one is asked for anew.
    expect(pages).toBeLessThanOrEqual(Math.ceil(times.length / 24) + 1);
    expect(await seriousFindings(page)).toEqual([]);
  });

  it('says that a window is empty', async () => {
    const page = await at(`#/token/${SOL}?from=${NOW_S - 9_000_000}&to=${NOW_S - 8_990_000}`);
    await page.locator('.heatmap[data-state=empty]').waitFor();
  });

  it('counts down after a 429, and resumes by itself', async () => {
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

  it('reserves half of the requests of a small plan for what the user asks for', async () => {
    const page = await at(HOUR, { key: smallKey, reducedMotion: 'reduce' });
    await page.locator('.heatmap[data-state=ready]').waitFor();
    await page.locator('.depth-chart canvas').waitFor();
    const { x, y, width, height } = (await page.locator('.heatmap-cells').boundingBox()) ?? fail();
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    for (const share of [0.3, 0.5, 0.7]) {
      await page.mouse.move(x + share * width, y + height / 3);
      await page.waitForTimeout(600);
    }
    await page.getByText('The split has to wait').waitFor();
    // A request of the minute's twelve comes back every 5 s.
    expect(asked.length).toBeLessThanOrEqual(2);
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
    // Anywhere in the row, into a new tab too. The link lies over the cell.
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
    expect(await depth.getAttribute('href')).toBe(`#/token/${BARN}`);
  });

  it('shows on every board how the scores of its tokens went', async () => {
    const page = await at('#/dca-pressure?order=-token_score');
    await page.locator('.board-table .line-figure').first().waitFor();
    const asked = await fetch(`${url}/api/v1/top-scores?chain=all&details=true`, {
      headers: { 'x-api-key': key },
    });
    const { tokens } = (await asked.json()) as {
      tokens: { symbol: string; service_score: number }[];
    };
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
    await page.getByRole('button', { name: 'SOL is a favourite' }).click();
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
      'fee-density': 'DLMM pools, last hour',
      whales: 'largest wallets',
      'dca-pressure': 'DCA orders by flow',
    };
    const formulas: Record<string, RegExp> = {
      'fee-density': /^Fee density = .* = [\d,.]+%$/,
      'dlmm-pools': /^Fees \/ TVL = .* = [\d,.]+%$/,
      whales: /^Net 24h = .* tokens x \$.* = -?\$[\d,.]+$/,
      'dca-pressure': /^All orders: \$.* = -?\$[\d,.]+$/,
    };
    for (const [board, text] of Object.entries(details)) {
      await goTo(page, `#/${board}`);
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

  it('goes to tokens, views and times by ctrl+K, and does what is asked', async () => {
    const page = await at('#/scores');
    await page.getByRole('table').waitFor();
    const command = async (text: string, label: string): Promise<void> => {
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: 'A token, a view' }).fill(text);
      await page
        .locator('.commands [aria-selected=true]')
        .getByText(label, { exact: true })
        .waitFor();
    };
    await command('whal', 'Whales');
    expect(await seriousFindings(page)).toEqual([]);
    await page.keyboard.press('Enter');
    await page.locator('main[data-view=whales]').waitFor();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await command('barn', 'BARN');
    await page.keyboard.press('Enter');
    await titled(page, 'BARN').waitFor();
    const noon = new Date((NOW_S - 86_400) * 1000).toISOString().slice(0, 10);
    await command('yesterday 12:00', `${noon} 12:00:00 UTC`);
    await page.locator('.commands [aria-selected=true]').click();
    const t = Date.parse(`${noon}T12:00:00Z`) / 1000;
    await page.waitForURL(`**/#/token/${BARN}?from=${t - 10_800}&to=${t + 10_800}*`);
    await command('theme', 'Switch to the dark theme');
    await page.keyboard.press('Enter');
    await page.locator('html[data-theme=dark]').waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'A token, a view' }).fill('xyzzy');
    await page.getByText("Nothing is called 'xyzzy'").waitFor();
    await page.getByRole('combobox', { name: 'A token, a view' }).fill('400 d ago');
    await page.getByText('The API answers about the last 365 days').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  it('shows maps side by side, of tokens or of the parts of one, which move as one', async () => {
    const page = await at(`#/compare?tokens=${SOL},${BARN}&metric=maps&window=6h`);
    const maps = page.locator('.part-map[data-state=ready]');
    const views = (): Promise<number[][]> =>
      maps
        .locator('.heatmap-frame')
        .evaluateAll((frames) =>
          (frames as { dataset: { view?: string } }[]).map(({ dataset }) =>
            (dataset.view ?? '').split(' ').map(Number),
          ),
        );
    await expect.poll(() => maps.count()).toBe(2);
    const [sol, barn] = await views();
    // The last snapshots of the two come at other seconds of a minute.
    expect(Math.abs(sol[0] - barn[0])).toBeLessThanOrEqual(60);
    const scale = page.locator('.heatmap-legend');
    expect(await scale.count()).toBe(1);
    const frame = await maps.locator('.heatmap-frame').first().boundingBox();
    await page.mouse.move((frame?.x ?? 0) + 100, (frame?.y ?? 0) + 60);
    // The other one tells of the same time and distance from the price.
    const told = async (): Promise<string[]> => {
      const texts = await maps.locator('header > span:last-child').allTextContents();
      return texts.map((text) => /^[+\u2212]\d+(\.\d)?%/.exec(text)?.[0] ?? text);
    };
    await expect.poll(async () => new Set(await told()).size).toBe(1);
    expect((await told())[0]).toMatch(/%$/);
    const tags = page.locator('.part-map .heatmap-tag-time');
    expect(new Set(await tags.allTextContents()).size).toBe(1);
    await page.mouse.wheel(0, -500);
    await expect
      .poll(async () => (await views()).every(([from], i) => from > [sol, barn][i][0]))
      .toBe(true);
    await expect
      .poll(async () => {
        const [a, b] = await views();
        return [Math.abs(a[0] - b[0]), Math.abs(a[1] - b[1])].every((apartS) => apartS <= 2);
      })
      .toBe(true);
    expect(await seriousFindings(page)).toEqual([]);
    await page.getByRole('button', { name: 'Remove BARN' }).click();
    await page.getByRole('button', { name: 'By type' }).click();
    await expect.poll(() => maps.count()).toBeGreaterThan(2);
    const names = await maps.locator('h2').allTextContents();
    expect(names).toContain('On-chain pools');
    await page.locator('.part-map h2 a', { hasText: 'On-chain pools' }).click();
    await page.getByRole('link', { name: 'Maps side by side' }).waitFor();
    expect(hashOf(page)).toContain('types=onchain_pool');
  });

  it('compares tokens, and the venues of one', async () => {
    const page = await at('#/compare');
    await page.getByText('Add a token or two.').waitFor();
    const middleOf = async (selector: string) => {
      const { x, width } = (await page.locator(selector).boundingBox()) ?? fail();
      return x + width / 2;
    };
    expect(await middleOf('.compare-card > .state')).toBeCloseTo(
      await middleOf('.compare-card'),
      0,
    );
    const add = async (query: string, symbol: string): Promise<void> => {
      await page.locator('.compared input').fill(query);
      await page
        .locator('.compared [role=option]')
        .getByText(symbol, { exact: true })
        .first()
        .waitFor();
      await page.locator('.compared input').press('Enter');
      await page.locator('.compared-token').getByText(symbol).waitFor();
    };
    await add('barn', 'BARN');
    await add('wrapped', 'SOL');
    const legend = () => page.locator('.line-chart li').allTextContents();
    await expect.poll(async () => (await legend()).length).toBe(2);
    expect(hashOf(page)).toMatch(new RegExp(`^#/compare\\?tokens=${BARN},\\w+$`));
    // The newest point is the API's.
    const asked = `/depth-series/${BARN}?from=-7d&to=now&pct=2`;
    const reply = await fetch(`${url}/api/v1${asked}`, { headers: { 'x-api-key': key } });
    const { support_usd, resistance_usd } = (await reply.json()) as Record<string, number[][]>;
    const depth = (support_usd[0].at(-1) ?? NaN) + (resistance_usd[0].at(-1) ?? NaN);
    expect(await legend()).toContain(` BARN ${usd(depth)}`.trim());
    await page.getByRole('button', { name: 'Score', exact: true }).click();
    await expect.poll(async () => (await legend()).join()).toMatch(/\d\d?\.\d/);
    expect(await seriousFindings(page)).toEqual([]);
    await page.getByRole('button', { name: 'Remove BARN' }).click();
    await page.getByRole('button', { name: 'By venue' }).click();
    await expect.poll(async () => (await legend()).length).toBeGreaterThan(2);
    await page.reload();
    await expect.poll(async () => (await legend()).length).toBeGreaterThan(2);
    expect(hashOf(page)).toContain('group=venue');
  });

  it('gives what is in sight as a file, and its request as a program', async () => {
    const page = await at('#/scores?find=s&order=-price');
    await page.getByRole('table').waitFor();
    const save = async (format: string): Promise<string> => {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: format, exact: true }).click(),
      ]);
      return download.path();
    };
    await page.getByRole('button', { name: 'Export' }).click();
    const lines = readFileSync(await save('CSV'), 'utf8')
      .trim()
      .split('\r\n');
    const addresses = await page.evaluate<string[]>(
      `[...document.querySelectorAll('tr.row .token-link')].map(({ title }) => title)`,
    );
    const place = lines[0].split(',').indexOf('address');
    expect(lines.slice(1).map((line) => line.split(',')[place])).toEqual(addresses);
    await page.getByText(`${addresses.length} rows saved as scores.csv`).waitFor();

    await goTo(page, HOUR);
    await page.locator('.heatmap[data-state=ready]').waitFor();
    await page.getByRole('button', { name: 'Export' }).click();
    const parquet = readFileSync(await save('Parquet'));
    expect(parquet.subarray(0, 4).toString()).toBe('PAR1');
    expect(parquet.length).toBeGreaterThan(1000);
    await page.getByText(/^[\d,]+ rows saved as SOL-depth\.parquet$/).waitFor();
    const png = readFileSync(await save('PNG')).toString('base64');
    await page.getByText('Picture saved as SOL-depth.png').waitFor();
    const map = await page.locator('.heatmap-overlay').boundingBox();
    const [width, colours] = await page.evaluate<number[]>(`(async () => {
      const bytes = Uint8Array.from(atob('${png}'), (one) => one.charCodeAt(0));
      const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
      const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
      canvas.getContext('2d').drawImage(bitmap, 0, 0);
      const { data } = canvas.getContext('2d').getImageData(0, 0, bitmap.width, bitmap.height);
      return [bitmap.width, new Set(new Uint32Array(data.buffer)).size];
    })()`);
    // Twice the map's, and a margin; its colours, and those of letters.
    expect(width).toBe(2 * ((map?.width ?? 0) + 32));
    expect(colours).toBeGreaterThan(100);
    await page.getByRole('button', { name: 'Copy Python' }).click();
    await page.getByText('Copied').first().waitFor();
  });

  it('shows a new snapshot as it comes, and says when the server is not heard', async () => {
    const page = await at(HOUR);
    const live = page.locator('.live');
    await page.clock.install();
    await page.reload();
    await page.locator('.heatmap[data-state=ready]').waitFor();
    await page.locator('.live[data-connection=heard]').waitFor();
    // The page's time stands still: no poll comes.
    await page.clock.pauseAt(Date.now() + 1000);
    const priceText = () => page.locator('.token-head .price').textContent();
    const before = await priceText();
    const markets = [
      { source: 'Orca', exchange_type: 'DEX', pair: 'SOL/USDC', cells: [[0, 9e6, 9e6]] },
    ];
    const snapshot = { chain: 'mainchain', address: SOL, t: NOW_S, price_usd: 77.77, markets };
    const file = path.join(temporaryDirectory(), 'new.ndjson');
    writeFileSync(file, `${JSON.stringify(snapshot)}\n`);
    await fathom(['ingest', 'snapshots', file, '--data', directory]);
    for (let second = 0; (await priceText()) === before; second++) {
      expect(second).toBeLessThan(9);
      await page.clock.fastForward(1000);
    }
    const connection = async (passedMs: number): Promise<string | null> => {
      await page.clock.fastForward(passedMs);
      return live.getAttribute('data-connection');
    };
    await expect.poll(() => connection(13_000)).toBe('silent');
    expect(await live.textContent()).toContain('Not live');
    await expect.poll(() => connection(100)).toBe('heard');
    await live.click();
    await expect.poll(() => connection(100)).toBe('none');
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
      const entry = await open(browser, url, '/', { colorScheme, viewport });
      opened.push(entry);
      await titled(entry.page, 'Enter an API key').waitFor();
      expect(await seriousFindings(entry.page)).toEqual([]);
    },
  );
});
