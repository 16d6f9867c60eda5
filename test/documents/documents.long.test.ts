/** The documents at /docs in a browser; skipped without one. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasBrowser, open, seriousFindings, startBrowser } from '../support/browser.js';
import { startTestService, type TestService } from '../support/service.js';

const PAGES = ['', '/api', '/deploy-nginx-conf'];
const LONG_PAGES = ['/api'];

describe.skipIf(!hasBrowser)('the documents', () => {
  let service: TestService;
  let browser: Browser;
  beforeAll(async () => {
    service = await startTestService({});
    browser = await startBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await service.stop();
  });

  /** @param address below /docs */
  async function openPage(address: string, options: Parameters<typeof open>[3] = {}) {
    const asked: string[] = [];
    const opened = await open(browser, service.server.url, `/docs${address}`, {
      prepare: (page) => Promise.resolve(page.on('request', (one) => asked.push(one.url()))),
      ...options,
    });
    return { ...opened, asked };
  }

  const results = (page: Page) => page.locator('#results [role=option]');
  const pathOf = (page: Page) => page.url().slice(service.server.url.length);

  it.each([
    [390, 'light'],
    [820, 'dark'],
    [1440, 'light'],
    [2560, 'dark'],
  ] as const)('fit %i pixels, in the %s theme', async (width, colorScheme) => {
    for (const address of PAGES) {
      const viewport = { width, height: 900 };
      const { page, faults, asked } = await openPage(address, { viewport, colorScheme });
      expect([address, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([
        address,
        width,
      ]);
      // It takes seconds on a long page, which has nothing that the others do not.
      if (!LONG_PAGES.includes(address))
        expect([address, await seriousFindings(page)]).toEqual([address, []]);
      expect(await page.evaluate('document.fonts.check("16px Plex")')).toBe(true);
      expect(await page.locator('html').getAttribute('data-theme')).toBe(colorScheme);
      expect(asked.filter((url) => !url.startsWith(service.server.url))).toEqual([]);
      expect(faults).toEqual([]);
      await page.close();
    }
  });

  it('copy their code', async () => {
    const { page } = await openPage('/data');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    const block = page.locator('.code', { hasText: 'tokens.ndjson' }).first();
    await block.hover();
    await block.getByRole('button', { name: 'Copy' }).click();
    await block.getByRole('button', { name: 'Copied' }).waitFor();
    const copied = await page.evaluate('navigator.clipboard.readText()');
    expect(copied).toBe(`${await block.locator('code').textContent()}\n`);
    await page.close();
  });

  it('let wide tables and code scroll in themselves', async () => {
    const { page } = await openPage('/api', { viewport: { width: 390, height: 844 } });
    expect(await seriousFindings(page)).toEqual([]);
    const wide = await page.evaluate<number>(
      `[...document.querySelectorAll('.table, pre')].filter((one) => one.scrollWidth > one.clientWidth).length`,
    );
    expect(wide).toBeGreaterThan(10);
    await page.close();
  });

  it('are searched by keyboard: type, choose, go', async () => {
    const { page, faults } = await openPage('/export', { colorScheme: 'dark' });
    await page.keyboard.press('/');
    await page.keyboard.type('price impact');
    await results(page).first().waitFor();
    expect(await results(page).first().innerText()).toMatch(
      /^Price impact\nDefinitions › Orders\n/,
    );
    expect(await page.locator('#count').innerText()).toMatch(/^\d+ results$/);
    expect(await results(page).first().locator('mark').first().innerText()).toMatch(/price/i);
    expect(await seriousFindings(page)).toEqual([]);
    const chosen = () => page.locator('[aria-selected=true]').getAttribute('id');
    expect(await chosen()).toBe('result-0');
    await page.keyboard.press('ArrowDown');
    expect(await chosen()).toBe('result-1');
    expect(await page.locator('#search').getAttribute('aria-activedescendant')).toBe('result-1');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('ArrowUp');
    expect(await chosen()).toBe(`result-${(await results(page).count()) - 1}`);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/docs/definitions#price-impact');
    // The heading is in sight, below the bar.
    const { top, bar } = await page.evaluate<{ top: number; bar: number }>(`({
      top: document.getElementById('price-impact').getBoundingClientRect().top,
      bar: document.querySelector('.bar').getBoundingClientRect().bottom,
    })`);
    expect(top).toBeGreaterThanOrEqual(bar);
    expect(top).toBeLessThan(bar + 60);
    expect(faults).toEqual([]);
    await page.close();
  });

  it('let go of the search with Escape, and move no page while one types', async () => {
    const { page, faults } = await openPage('/definitions#slippage');
    const place = () => page.evaluate<number>('scrollY');
    await page.waitForFunction('scrollY > 0');
    const before = await place();
    await page.keyboard.press('/');
    await page.keyboard.type('zzzzz nothing');
    await page.getByText('Nothing about “zzzzz nothing”').waitFor();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Escape');
    await page.locator('#found').waitFor({ state: 'hidden' });
    expect(await page.locator('#search').inputValue()).toBe('');
    await page.keyboard.press('Escape');
    expect(await page.evaluate('document.activeElement === document.body')).toBe(true);
    expect([await place(), pathOf(page)]).toEqual([before, '/docs/definitions#slippage']);
    expect(faults).toEqual([]);
    await page.close();
  });

  it('go to a result that is clicked, on the same page too', async () => {
    const { page } = await openPage('/definitions');
    await page.locator('#search').fill('fee density');
    await results(page).filter({ hasText: 'Definitions › Liquidity providing' }).first().click();
    await page.waitForURL('**/docs/definitions#fee-density');
    await page.locator('#found').waitFor({ state: 'hidden' });
    await page.close();
  });

  it('say if the texts of the search did not arrive, and try again', async () => {
    const { page } = await openPage('/api');
    let isOffline = true;
    await page.route('**/search-*.json', (route) => (isOffline ? route.abort() : route.continue()));
    await page.locator('#search').fill('ladder');
    await page.getByText('The texts did not arrive').waitFor();
    isOffline = false;
    await page.locator('#search').fill('ladder ');
    await results(page).first().waitFor();
    await page.close();
  });

  it('remember the theme, for the explorer too', async () => {
    const { page } = await openPage('', { colorScheme: 'light' });
    await page.locator('#theme').click();
    expect(await page.locator('html').getAttribute('data-theme')).toBe('dark');
    await page.goto(`${service.server.url}/docs/live`);
    expect(await page.locator('html').getAttribute('data-theme')).toBe('dark');
    expect(await page.locator('#theme').innerText()).toBe('Light');
    await page.goto(`${service.server.url}/`);
    await page.waitForFunction(`document.documentElement.dataset.theme === 'dark'`);
    await page.close();
  });

  it('show their contents on a phone when asked, and pictures', async () => {
    const { page } = await openPage('/explorer', { viewport: { width: 390, height: 844 } });
    const contents = page.locator('#contents');
    expect(await contents.isVisible()).toBe(false);
    await page.locator('#menu').click();
    expect(await page.locator('#menu').getAttribute('aria-expanded')).toBe('true');
    expect(await seriousFindings(page)).toEqual([]);
    await contents.getByRole('link', { name: 'Live' }).click();
    await page.waitForURL('**/docs/live');
    await page.goto(`${service.server.url}/docs/explorer`);
    const picture = page.locator('article img').first();
    await picture.scrollIntoViewIfNeeded();
    await page.waitForFunction(`document.querySelector('article img').naturalWidth > 100`);
    await page.close();
  });

  it('send links to operations of the former page to the reference', async () => {
    const { page } = await openPage('#/Depth/getReplay');
    await page.waitForURL('**/docs/api-reference#/Depth/getReplay');
    await page.locator('#operations-Depth-getReplay.is-open').waitFor();
    await page.close();
  });
});
