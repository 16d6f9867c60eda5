/** A smoke test of the explorer in Chromium; the long tests of this folder cover the rest. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasBrowser, open, seriousFindings, startBrowser } from '../support/browser.js';
import { MemoryDepth } from '../support/memory-depth.js';
import { ENTERPRISE_KEY, MINT, startTestService, steadyStore } from '../support/service.js';

type Browser = Awaited<ReturnType<typeof startBrowser>>;

describe.skipIf(!hasBrowser)('the explorer', () => {
  let service: Awaited<ReturnType<typeof startTestService>>;
  let browser: Browser;

  beforeAll(async () => {
    const depth = new MemoryDepth().add('mainchain', MINT, steadyStore(60, 5));
    service = await startTestService({ depth });
    browser = await startBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await service.stop();
  });

  it('removes the key from the address, and draws a token without errors', async () => {
    const address = `/#key=${ENTERPRISE_KEY}`;
    const { page, faults } = await open(browser, service.server.url, address);
    await page.goto(`${service.server.url}/#/token/${MINT}?window=1h`);
    await page.locator('.heatmap[data-state=ready]').waitFor();
    for (const name of ['Ladder', 'Score', 'Venues']) {
      await page.getByRole('heading', { name }).waitFor();
    }
    expect(page.url()).not.toContain(ENTERPRISE_KEY);
    expect(await page.content()).not.toContain(ENTERPRISE_KEY);
    expect(await seriousFindings(page)).toEqual([]);
    expect(faults).toEqual([]);
  });
});
