/** Chromium, and pages of a started server in it. */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { PATIENCE_MS } from './waiting.js';

/** The path in the variable, or the package of Debian, Ubuntu or Google. */
const PROGRAMS = [
  process.env.CHROMIUM ?? '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];
const program = PROGRAMS.find((one) => existsSync(one));
export const hasBrowser = program !== undefined;
if (!hasBrowser)
  console.warn(`Tests in a browser are skipped: there is none of ${PROGRAMS.join(', ')}`);

/** Without a graphics card, the processor draws. */
const FLAGS = ['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'];
/** Less work for the processor, but a canvas does not get its exact colours. */
const CHEAP = '--disable-gpu-compositing';

export const startBrowser = ({ hasExactColours = false } = {}): Promise<Browser> =>
  chromium.launch({
    executablePath: program ?? '',
    args: hasExactColours ? FLAGS : [...FLAGS, CHEAP],
  });

export interface Opened {
  page: Page;
  /** What the page has reported: errors of scripts, errors and warnings of the console, violations of its policy. */
  faults: string[];
}

interface OpenOptions extends BrowserContextOptions {
  /** A key that the tab already has. */
  key?: string;
  /** Runs before the page is loaded. */
  prepare?: (page: Page) => Promise<unknown>;
}

/** A separate tab. @param address what follows the server's URL, such as `/#key=...` */
export async function open(
  browser: Browser,
  url: string,
  address: string,
  { key, prepare, ...options }: OpenOptions = {},
): Promise<Opened> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 860 },
    reducedMotion: 'reduce',
    ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('console', (message) => {
    const text = message.text();
    // The browser also reports replies that tests provoke, such as a 429, and that it draws without a card.
    const isExpected = text.startsWith('Failed to load resource') || text.includes('GL Driver');
    if (['error', 'warning'].includes(message.type()) && !isExpected) faults.push(text);
  });
  if (key !== undefined)
    await page.addInitScript(`sessionStorage.setItem('fathom.key', ${JSON.stringify(key)})`);
  await prepare?.(page);
  await page.goto(`${url}${address}`);
  return { page, faults };
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Serious findings of axe, as `rule: element`. */
export async function seriousFindings(page: Page): Promise<string[]> {
  // A button that is fading between two colours has neither.
  await page.evaluate(
    `Promise.allSettled(document.getAnimations().filter((one) => one instanceof CSSTransition).map(({ finished }) => finished))`,
  );
  // Evaluated, since the page's policy allows no script.
  await page.evaluate(AXE);
  // Passed checks, thousands of elements on long pages, are neither described nor transferred.
  const { violations } = await page.evaluate<Pick<AxeResults, 'violations'>>(
    `axe.run({ resultTypes: ['violations'] }).then(({ violations }) => ({ violations }))`,
  );
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 160)}`));
}

/** Freezes the page's clock, which playwright moves only forward: a busy page is told a later time. */
export async function freezeClock(page: Page, fromMs = Date.now()): Promise<void> {
  for (let aheadMs = 1000; ; aheadMs *= 2) {
    try {
      return await page.clock.pauseAt(fromMs + aheadMs);
    } catch (error) {
      if (!/to the past/.test(String(error))) throw error;
    }
  }
}
