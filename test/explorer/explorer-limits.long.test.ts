/** The explorer with a key of few requests a minute. */
import { describe, expect, it } from 'vitest';
import { hasBrowser } from '../support/browser.js';
import { at, createdKey, SOL, useExplorer } from './in-chromium.js';

describe.skipIf(!hasBrowser)('the explorer', () => {
  useExplorer();

  it('fetches the newest page first and alone with a small plan, and draws it at once', async () => {
    const page = await at('#/scores', { key: (await createdKey(6)).key });
    const pages: { status: number; from: number; most: number }[] = [];
    let inFlight = 0;
    // The ladder is split by venue.
    await page.route(new RegExp(`/replay/${SOL}[?].*group=all`), async (route) => {
      const most = ++inFlight;
      const response = await route.fetch();
      inFlight--;
      const from = Number(new URL(route.request().url()).searchParams.get('from'));
      // The page before this one is drawn although this one has not come.
      if (pages.some(({ status }) => status === 200)) {
        await page.locator('.heatmap-skeleton').waitFor({ state: 'detached' });
      }
      pages.push({ status: response.status(), from, most });
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
    expect(pages.map(({ most }) => most)).toEqual(pages.map(() => 1));
  });
});
