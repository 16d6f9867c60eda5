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
const SOL = 'So11111111111111111111111111111111111111112';
/** Small enough for a README, in pixels and in bytes. */
const DESKTOP = { width: 1280, height: 860 };
const PICTURES = [
  {
    name: 'explorer-dark',
    hash: `#/token/${SOL}?window=6h&min_pct=-25&max_pct=25`,
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
let server = null;
try {
  const { url, key } = given === undefined ? await demo() : { url: given, key: process.env.FATHOM_KEY };
  const browser = await chromium.launch({ executablePath: PROGRAM, args: FLAGS });
  for (const picture of PICTURES) await take(browser, url, key, picture);
  await browser.close();
} finally {
  if (server !== null) {
    const ended = new Promise((resolve) => server.once('exit', resolve));
    server.kill();
    await ended;
  }
  rmSync(data, { recursive: true, force: true, maxRetries: 5 });
}

/** Serves a demo market with a frozen clock. */
async function demo() {
  const filled = spawnSync(process.execPath, [MAIN, 'demo', '--data', data, '--until', UNTIL], {
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
  });
  const words = ['serve', '--data', data, '--port', '0', '--as-of', UNTIL];
  server = spawn(process.execPath, [MAIN, ...words], { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  for await (const chunk of server.stderr.setEncoding('utf8')) {
    log += chunk;
    const url = /"url":"([^"]+)"/.exec(log)?.[1];
    if (url !== undefined) return { url, key: filled.stdout.trim() };
  }
  throw new Error(`serve ended with this log: ${log}`);
}

async function take(browser, url, key, { name, hash, ...options }) {
  const context = await browser.newContext({ ...options, reducedMotion: 'reduce' });
  const page = await context.newPage();
  page.setDefaultTimeout(120_000);
  // The page computes ages from the same time.
  if (given === undefined) await page.clock.setFixedTime(UNTIL);
  await page.goto(`${url}/#key=${key}`);
  await page.evaluate((to) => (location.hash = to), hash);
  const shown = [
    '.token:has(.strips[data-state=ready]):has(.depth-chart canvas)',
    '.map-grid:not(:has([data-state=loading]))',
  ];
  await page.locator(shown.join()).first().waitFor();
  const file = path.join(OUT, `${name}.png`);
  await page.screenshot({ path: file, animations: 'disabled' });
  await context.close();
}
