/** The API's reference in a browser; skipped without one. */
import { readFileSync } from 'node:fs';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasBrowser, open, seriousFindings, startBrowser } from '../support/browser.js';
import { MemoryDepth } from '../support/memory-depth.js';
import { KEY, MINT, startTestService, steadyStore, type TestService } from '../support/service.js';

const THEMES = readFileSync('explorer/styles/theme.css', 'utf8');

describe.skipIf(!hasBrowser)('the page at /docs/api-reference', () => {
  let service: TestService;
  let browser: Browser;

  beforeAll(async () => {
    const depth = new MemoryDepth().add('mainchain', MINT, steadyStore(40, 40));
    service = await startTestService({ depth });
    browser = await startBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await service.stop();
  });

  async function openDocs(options: Parameters<typeof open>[3] = {}) {
    const opened = await open(browser, service.server.url, '/docs/api-reference', options);
    const operation = opened.page.locator('#operations-Depth-getReplay');
    const openIt = () => operation.locator('.opblock-summary-control').click();
    const send = async () => {
      await operation.locator('.execute').click();
      await operation.locator('.live-responses-table').waitFor();
      return operation.locator('.responses-wrapper').innerText();
    };
    return { ...opened, operation, openIt, send };
  }

  it('sends requests with the key that was entered once, which stays in the tab', async () => {
    const { page, faults, openIt, send } = await openDocs();
    await page.locator('.btn.authorize').click();
    await page.locator('.auth-container input').fill(KEY);
    await page.locator('.auth-container input').press('Enter');
    await page.locator('.btn-done').click();
    await page.getByText('Your key is entered').waitFor();
    await openIt();
    const reply = await send();
    expect(reply).toContain(`"token": "${MINT}"`);
    expect(reply).toContain('x-api-tier: premium');
    // The examples of optional parameters are shown but not sent.
    expect(reply).toMatch(/Request URL\n.+\?min_pct=-50&max_pct=100\n/);
    expect(reply).toMatch(/A reply of [\d,]+ characters: lists are cut to 10 items here/);
    expect(await seriousFindings(page)).toEqual([]);
    const kept = () => page.evaluate('[sessionStorage["fathom.key"] ?? null, localStorage.length]');
    expect(await kept()).toEqual([KEY, 0]);
    await page.locator('.btn.authorize').click();
    await page.locator('.auth-container .btn.modal-btn', { hasText: 'Logout' }).click();
    expect(await kept()).toEqual([null, 0]);
    await page.getByText('Enter your key once').waitFor();
    expect(faults).toEqual([]);
    await page.close();
  });

  it("has the explorer's typeface and colours", async () => {
    for (const theme of ['light', 'dark'] as const) {
      const { page, openIt, operation } = await openDocs({ colorScheme: theme });
      await openIt();
      await operation.locator('.opblock-description').waitFor();
      const { face, ground } = await page.evaluate<{ face: string; ground: string }>(`({
        face: getComputedStyle(document.querySelector('.opblock-description')).fontFamily,
        ground: getComputedStyle(document.documentElement).getPropertyValue('--ground'),
      })`);
      expect(face).toMatch(/^"?Plex/);
      expect(await page.evaluate('document.fonts.check("14px Plex")')).toBe(true);
      const [, ofTheme] = THEMES.split(`:root[data-theme='${theme}'] {`);
      expect(ofTheme.split('}')[0]).toContain(`  --ground: ${ground};\n`);
      await page.close();
    }
  });

  it("uses the explorer's key and theme, on a phone", async () => {
    const viewport = { width: 390, height: 844 };
    const { page, faults, openIt, operation, send } = await openDocs({
      viewport,
      colorScheme: 'dark',
      key: KEY,
    });
    await openIt();
    await operation.locator('[data-param-name="from"] input').fill('-5m');
    expect(await send()).toContain('x-api-tier: premium');
    expect(await page.locator('html.dark-mode').count()).toBe(1);
    expect(await seriousFindings(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(viewport.width);
    // What the explorer stores, in a separate tab.
    const other = await page.context().newPage();
    await other.addInitScript(
      `localStorage['fathom.theme'] = 'light'; localStorage['fathom.key'] = ${JSON.stringify(KEY)}; sessionStorage.clear()`,
    );
    await other.goto(`${service.server.url}/docs/api-reference`);
    await other.getByText('Your key is entered').waitFor();
    expect(await other.locator('html.dark-mode').count()).toBe(0);
    await other.close();
    expect(faults).toEqual([]);
    await page.close();
  });
});
