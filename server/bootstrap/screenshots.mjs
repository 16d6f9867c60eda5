/**
 * `npm run screenshots`: takes the README's pictures of the explorer, of a new demo market, or with
 * `-- URL` and the variable FATHOM_KEY of a running server.
 */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { chromium } from 'playwright-core';
import { root } from './prepare.mjs';

const PROGRAM = process.env.CHROMIUM ?? '/usr/bin/chromium';
const FLAGS = ['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'];
const OUT = path.join(root, 'docs/images');
const MAIN = path.join(root, 'dist/server/cli/main.js');
/** The end of the market is fixed, so every run takes the same pictures. */
const UNTIL = '2026-11-20T12:00:00Z';
/** The real book of the README, and the end of it. */
const BOOKS = path.join(root, 'test/fixtures/books');
const BOOK_UNTIL = '2024-08-09T00:05:06Z';
const BTC = '9n4nbM75f5Ui33ZbPYXn59EwSgE8CGsHtAeTH5YFeJ9E';
const SOL = 'So11111111111111111111111111111111111111112';
/** Small enough for a README, in pixels and in bytes. */
const DESKTOP = { width: 1280, height: 860 };
const PICTURES = [
  {
    name: 'explorer-book',
    ofBook: true,
    hash: `#/token/${BTC}?window=1h&min_pct=-25&max_pct=25`,
    order: '500K',
    viewport: DESKTOP,
    colorScheme: 'dark',
  },
  {
    name: 'explorer-phone',
    hash: `#/token/${SOL}`,
    colorScheme: 'dark',
    viewport: { width: 390, height: 844 },
  },
  {
    name: 'explorer-maps',
    hash: `#/compare?tokens=${SOL}&metric=maps&group=venue&window=24h`,
    viewport: { width: 1280, height: 900 },
    colorScheme: 'light',
  },
];

const given = process.argv[2];
const data = mkdtempSync(path.join(tmpdir(), 'fathom-screenshots-'));
const servers = [];
let demoMarket;
try {
  const browser = await chromium.launch({ executablePath: PROGRAM, args: FLAGS });
  for (const { ofBook, ...picture } of PICTURES) {
    await take(browser, await (ofBook ? realBook() : market()), picture);
  }
  await browser.close();
} finally {
  for (const server of servers) {
    const ended = new Promise((resolve) => server.once('exit', resolve));
    server.kill();
    await ended;
  }
  rmSync(data, { recursive: true, force: true, maxRetries: 5 });
}

/** Runs a command. @returns what it prints on stdout */
function fathom(...words) {
  const options = { stdio: ['ignore', 'pipe', 'inherit'], encoding: 'utf8' };
  const { status, stdout } = spawnSync(process.execPath, [MAIN, ...words], options);
  if (status !== 0) throw new Error(`fathom ${words.join(' ')} ended with ${status}`);
  return stdout.trim();
}

/** The given server, or a demo market with a frozen clock. */
function market() {
  if (given !== undefined) return { url: given, key: process.env.FATHOM_KEY };
  return (demoMarket ??= demo());
}

function demo() {
  const folder = path.join(data, 'demo');
  const key = fathom('demo', '--data', folder, '--until', UNTIL);
  return serve(folder, UNTIL, key);
}

/** Serves the real book of the README. */
function realBook() {
  const folder = path.join(data, 'book');
  for (const [dataset, name] of [
    ['tokens', 'btc.ndjson'],
    ['cells', 'btc-usdt.csv.gz'],
  ]) {
    fathom('ingest', dataset, path.join(BOOKS, name), '--data', folder);
  }
  return serve(
    folder,
    BOOK_UNTIL,
    fathom('keys', 'create', '--tier', 'enterprise', '--data', folder),
  );
}

async function serve(folder, until, key) {
  const words = [
    'serve',
    '--data',
    folder,
    '--port',
    '0',
    '--as-of',
    until,
    '--log-format',
    'json',
  ];
  const server = spawn(process.execPath, [MAIN, ...words], { stdio: ['ignore', 'ignore', 'pipe'] });
  servers.push(server);
  let log = '';
  for await (const chunk of server.stderr.setEncoding('utf8')) {
    log += chunk;
    const url = /"url":"([^"]+)"/.exec(log)?.[1];
    if (url !== undefined) return { url, key, until };
  }
  throw new Error(`serve ended with this log: ${log}`);
}

async function take(browser, { url, key, until }, { name, hash, order, ...options }) {
  const context = await browser.newContext({ ...options, reducedMotion: 'reduce' });
  const page = await context.newPage();
  page.setDefaultTimeout(120_000);
  // The page computes ages from the same time.
  if (until !== undefined) await page.clock.setFixedTime(until);
  await page.goto(`${url}/#key=${key}`);
  await page.evaluate((to) => (location.hash = to), hash);
  const shown = [
    '.token:has(.strips[data-state=ready]):has(.depth-chart canvas)',
    '.map-grid:not(:has([data-state=loading]))',
  ];
  await page.locator(shown.join()).first().waitFor();
  if (order !== undefined) {
    await page.getByPlaceholder(order).fill(order);
    await page.getByPlaceholder(order).blur();
    await page.locator('.order-card table').first().waitFor();
  }
  const file = path.join(OUT, `${name}.png`);
  await page.screenshot({ path: file, animations: 'disabled' });
  await context.close();
}
