/** The explorer with a key of few requests a minute. */
import { describe, expect, it } from 'vitest';
import { hasBrowser } from '../support/browser.js';
import { at, createdKey, SOL, useExplorer } from './in-chromium.js';

describe.skipIf(!hasBrowser)('the explorer', () => {
  useExplorer();

  it('fetches the newest page first and alone with a small plan, and draws it at once', async () => {
    const page = await at('#/scores', { key: (await createdKey(6)).key });
    const pages: { status: number; from: number; most: number; isDrawn: boolean }[] = [];
    let inFlight = 0;
    await page.route(`**/api/v1/replay/${SOL}?*`, async (route) => {
      const most = ++inFlight;
      const response = await route.fetch();
      inFlight--;
      const from = Number(new URL(route.request().url()).searchParams.get('from'));
      const isDrawn = (await page.locator('.heatmap-skeleton').count()) === 0;
      pages.push({ status: response.status(), from, most, isDrawn });
      await route.fulfill({ response });
    });
    await page.getByRole('table').waitFor();
    await page.evaluate(`location.hash = '#/token/${SOL}?window=24h'`);
    await page.locator('.heatmap[data-state=ready]').waitFor();
    const served = pages.filter(({ status }) => status === 200);
    expect(served.length).toBeGreaterThan(2);
    expect(served.map(({ from }) => from)).toEqual(
      served.map(({ from }) => from).toSorted((a, b) => b - a),
    );
    expect(served.map(({ isDrawn }) => isDrawn)).toEqual(served.map((_, at) => at > 0));
    expect(pages.map(({ most }) => most)).toEqual(pages.map(() => 1));
    // Each is refused at most once.
    expect(pages.length).toBeLessThanOrEqual(2 * served.length);
  });
});
