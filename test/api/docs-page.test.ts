/** The documentation page in a browser; skipped where there is none. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHROMIUM, newPage, startBrowser } from '../support/browser.js';
import { MemoryDepth } from '../support/memory-depth.js';
import { KEY, MINT, startTestService, steadyStore, type TestService } from '../support/service.js';

interface AxeResults {
  violations: { id: string; impact: string; nodes: { html: string }[] }[];
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

describe.skipIf(CHROMIUM === null)('the page at /docs', () => {
  let service: TestService;
  let browser: Browser;

  beforeAll(async () => {
    const depth = new MemoryDepth();
    depth.add('mainchain', MINT, steadyStore(40, 40));
    service = await startTestService({ depth });
    browser = await startBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await service.stop();
  });

  async function openDocs(options: Parameters<typeof newPage>[1] = {}, key?: string) {
    const opened = await newPage(browser, options);
    if (key !== undefined)
      await opened.page.addInitScript(`sessionStorage["fathom.key"] = ${JSON.stringify(key)}`);
    await opened.page.goto(`${service.server.url}/docs`);
    const operation = opened.page.locator('#operations-Depth-getReplay');
    const openIt = () => operation.locator('.opblock-summary-control').click();
    const send = async () => {
      await operation.locator('.execute').click();
      await operation.locator('.live-responses-table').waitFor();
      return operation.locator('.responses-wrapper').innerText();
    };
    return { ...opened, operation, openIt, send };
  }

  /** What axe finds that is serious. */
  async function seriousFaults(page: Page): Promise<string[]> {
    await page.evaluate(`${AXE};0`);
    // What passes, thousands of elements, is neither described nor brought here.
    const { violations } = await page.evaluate<AxeResults>(
      `axe.run({ resultTypes: ['violations'] }).then(({ violations }) => ({ violations }))`,
    );
    return violations
      .filter(({ impact }) => ['serious', 'critical'].includes(impact))
      .map(({ id, nodes }) => `${id}: ${nodes[0].html}`);
  }

  it('sends requests with the key that was entered once, which stays in the tab', async () => {
    const { page, complaints, openIt, send } = await openDocs();
    await page.locator('.btn.authorize').click();
    await page.locator('.auth-container input').fill(KEY);
    await page.locator('.auth-container input').press('Enter');
    await page.locator('.btn-done').click();
    await openIt();
    const reply = await send();
    expect(reply).toContain(`"token": "${MINT}"`);
    expect(reply).toContain('x-api-tier: premium');
    // The examples of optional parameters are shown, not sent.
    expect(reply).toMatch(/Request URL\n.+\?min_pct=-50&max_pct=100\n/);
    expect(reply).toMatch(/A reply of [\d,]+ characters: lists are cut to 10 items here/);
    expect(await seriousFaults(page)).toEqual([]);
    const kept = () => page.evaluate('[sessionStorage["fathom.key"] ?? null, localStorage.length]');
    expect(await kept()).toEqual([KEY, 0]);
    await page.locator('.btn.authorize').click();
    await page.locator('.auth-container .btn.modal-btn', { hasText: 'Logout' }).click();
    expect(await kept()).toEqual([null, 0]);
    expect(complaints).toEqual([]);
    await page.close();
  });

  it("takes the explorer's key, on a phone, in the colours of the system", async () => {
    const viewport = { width: 390, height: 844 };
    const { page, complaints, openIt, operation, send } = await openDocs(
      { viewport, colorScheme: 'dark' },
      KEY,
    );
    await openIt();
    await operation.locator('[data-param-name="from"] input').fill('-5m');
    expect(await send()).toContain('x-api-tier: premium');
    expect(await page.locator('html.dark-mode').count()).toBe(1);
    expect(await seriousFaults(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(viewport.width);
    expect(complaints).toEqual([]);
    await page.close();
  });
});
