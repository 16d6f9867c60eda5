/** The explorer in Chromium, with a part of the demo market: shared by its long tests. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Browser, Locator, Page, Route } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { DEMO_SEED, demoTokens } from '../../demo/tokens.js';
import { EXAMPLE_MINTS } from '../../server/api/schemas.js';
import { open, type Opened, startBrowser } from '../support/browser.js';
import { fathom, newKey, serveHere } from '../support/cli.js';
import { demoMarket } from '../support/demo-market.js';
import { temporaryDirectory } from '../support/folders.js';
import { NOW_S } from '../support/service.js';

export const [SOL] = EXAMPLE_MINTS;
export const BARN = demoTokens(DEMO_SEED).find(({ symbol }) => symbol === 'BARN')?.address ?? '';
/** A short window has few pages to load. */
export const HOUR = `#/token/${SOL}?window=1h`;
/** The boards by their names in the address. */
export const BOARDS = [
  'scores',
  `orders?token=${SOL}`,
  'dca-pressure',
  'dlmm-pools',
  'fee-density',
  'whales',
];
/** A board with rows, or with the note that it has none. */
export const BOARD = '.board :is(table, .empty)';
/** Lifts the limits of holder flow, which allow one request per second. */
const PLANS = '{"enterprise": {"rates": {"whale-get": "general", "whale-post": "general"}}}';

export let browser: Browser;
export let directory: string;
export let url: string;
export let key: string;
/** A key with twelve requests per minute. */
export let smallKey: string;
export const opened: Opened[] = [];

/** Starts a server and a browser for the tests of a file. After each test, checks that its tabs had no fault. */
export function useExplorer(): void {
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
  });
}

/** A key that a test may revoke. */
export async function createdKey(perMinute = 59): Promise<{ id: string; key: string }> {
  const rate = ['--rpm', String(perMinute)];
  const words = ['--tier', 'enterprise', ...rate, '--data', directory, '--json'];
  const { stdout } = await fathom(['keys', 'create', ...words]);
  return JSON.parse(stdout) as { id: string; key: string };
}

type TabOptions = Parameters<typeof open>[3];

/** Opens a tab that shows a view, or asks for a key. */
export async function atWithoutKey(hash: string, options: TabOptions = {}): Promise<Page> {
  const tab = await open(browser, url, `/${hash}`, options);
  opened.push(tab);
  return tab.page;
}

/** Opens a tab that has the key and shows a view. */
export const at = (hash: string, options: TabOptions = {}): Promise<Page> =>
  atWithoutKey(hash, { key, ...options });

/** What the server replies to the page's requests. */
export async function replyTo<T>(target: string): Promise<T> {
  const reply = await fetch(`${url}/api/v1${target}`, { headers: { 'x-api-key': key } });
  return (await reply.json()) as T;
}

/** Adds rows to the server's data. */
export async function ingest(dataset: 'snapshots' | 'tokens', ...rows: object[]): Promise<void> {
  const file = path.join(temporaryDirectory(), 'row.ndjson');
  writeFileSync(file, rows.map((row) => JSON.stringify(row)).join('\n'));
  await fathom(['ingest', dataset, file, '--data', directory]);
}

export const goTo = (page: Page, hash: string) =>
  page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
export const hashOf = (page: Page): string => new URL(page.url()).hash;
export const titled = (page: Page, name: string): Locator =>
  page.getByRole('heading', { name, exact: false });

/** Answers requests to a path in place of the server. @returns a function that ends this */
export async function answers(page: Page, path: string, answer: Parameters<Route['fulfill']>[0]) {
  const requests = `**/api/v1${path}*`;
  await page.route(requests, (route) =>
    route.fulfill({ contentType: 'application/json', ...answer }),
  );
  return () => page.unroute(requests);
}

export function fail(): never {
  throw new Error('the heatmap has no place');
}
