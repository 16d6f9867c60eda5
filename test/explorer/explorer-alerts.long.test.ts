/** The explorer: alerts from the live channel. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { absoluteTime } from '../../explorer/state/format.js';
import { hasBrowser, seriousFindings } from '../support/browser.js';
import { NOW_S } from '../support/service.js';
import { at, HOUR, ingest, key, url, useExplorer } from './in-chromium.js';

const ADDRESS = `0x${'a1'.repeat(20)}`;
const VIEW = `#/token/${ADDRESS}?window=1h`;

/** A snapshot with an amount on each side of the price. */
const put = (agoS: number, supportUsd: number, resistanceUsd: number) =>
  ingest('snapshots', {
    ...{ chain: 'evmchain', address: ADDRESS, t: NOW_S - agoS, price_usd: 100 },
    markets: [
      {
        ...{ source: 'Kraken', exchange_type: 'CEX', type: 'cex_spot', pair: 'A/USD' },
        cells: [
          [-1, supportUsd, 0],
          [1, 0, resistanceUsd],
        ],
      },
    ],
  });

const dialog = (page: Page) => page.getByRole('dialog', { name: 'Alerts' });
const openAlerts = (page: Page) =>
  page.getByRole('button', { name: 'Alerts', exact: true }).click();
const watched = (page: Page) => page.getByRole('region', { name: 'What is watched' });
const fired = (page: Page) =>
  page.getByRole('region', { name: 'What fired' }).getByRole('listitem');
const keptText = (page: Page) =>
  page.evaluate<string | null>(`localStorage['fathom.alerts'] ?? null`);

async function add(page: Page, kind: 'Depth' | 'Score' | 'Wall', amount: string): Promise<void> {
  await dialog(page).getByRole('button', { name: kind, exact: true }).click();
  await dialog(page)
    .getByRole('textbox', { name: kind === 'Score' ? 'Score' : 'USD' })
    .fill(amount);
  await page.keyboard.press('Enter');
}

/** Counts notifications and requests for the permission in place of the browser. */
const NOTICES = `
  window.notices = [];
  window.asked = 0;
  window.Notification = class {
    static permission = 'default';
    static requestPermission() {
      window.asked++;
      this.permission = 'granted';
      return Promise.resolve('granted');
    }
    constructor(title, { body }) {
      window.notices.push(title + ': ' + body);
    }
    addEventListener() {}
  };`;

describe.skipIf(!hasBrowser)('alerts', () => {
  useExplorer();

  it('fire once as depth falls, again after it has risen, and are kept and deleted', async () => {
    await put(300, 5000, 5000);
    const page = await at(VIEW, { prepare: (tab) => tab.addInitScript(NOTICES) });
    await openAlerts(page);
    await add(page, 'Depth', 'much');
    await dialog(page).getByText('Expected an amount of USD').waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await add(page, 'Depth', '8k');
    await add(page, 'Score', '99.9');
    await watched(page)
      .getByText(`$10.0K at ${absoluteTime(NOW_S - 300)}`)
      .waitFor();
    // A score that is below its bound from the first does not fire.
    await watched(page).getByText('(holds now); fires again after it has been 100.9').waitFor();
    expect(await page.evaluate('asked')).toBe(0);
    // Another one about the same token is read at once from what the page knows.
    await add(page, 'Depth', '12k');
    await watched(page)
      .getByText(/^\$10\.0K at .* \(holds now\); fires again after it has been \$12\.6K$/)
      .waitFor();
    await expect.poll(() => watched(page).getByRole('listitem').count()).toBe(3);
    expect(await keptText(page)).not.toContain('"isOn":null');
    await watched(page)
      .getByRole('button', { name: /^Delete .* below \$12\.0K/ })
      .click();
    await dialog(page).getByLabel('A system notification').check();
    expect(await page.evaluate('asked')).toBe(1);
    await put(240, 3000, 4000);
    const first = 'Depth within 2% is $7.00K, below $8.00K';
    await fired(page).getByText(first).waitFor();
    const times = await fired(page).first().textContent();
    expect(times).toContain(`data of ${absoluteTime(NOW_S - 240)}; seen at `);
    expect(await page.evaluate('notices')).toEqual([`0xa1a1…a1a1: ${first}`]);
    expect(await seriousFindings(page)).toEqual([]);
    // It stays below: nothing more.
    await put(180, 100, 100);
    await watched(page)
      .getByText(`$200 at ${absoluteTime(NOW_S - 180)}`)
      .waitFor();
    expect(await fired(page).count()).toBe(1);
    // The tab and its view of what holds survive a reload.
    await page.reload();
    await openAlerts(page);
    await watched(page).getByText('$200 at').waitFor();
    expect(await fired(page).count()).toBe(1);
    await put(120, 9000, 9000);
    await watched(page).getByText('$18.0K at').waitFor();
    await page.keyboard.press('Escape');
    await dialog(page).waitFor({ state: 'hidden' });
    await put(60, 10, 10);
    const toast = page.getByRole('status').getByText('Depth within 2% is $20.0, below $8.00K');
    await toast.waitFor();
    // Two alerts are set; one has fired since the list was open.
    const badge = page.locator('.alerts-count');
    expect(await badge.textContent()).toBe('1');
    await page.getByRole('button', { name: 'Dismiss' }).click();
    await toast.waitFor({ state: 'detached' });
    await badge.waitFor({ state: 'detached' });
    await openAlerts(page);
    expect(await fired(page).count()).toBe(2);
    await watched(page)
      .getByRole('button', { name: /^Delete 0xa1.* Score below/ })
      .click();
    await expect.poll(() => watched(page).getByRole('listitem').count()).toBe(1);
    await dialog(page).getByRole('button', { name: 'Delete all alerts and the list' }).click();
    await dialog(page).getByText('No alerts yet.').waitFor();
    expect(await keptText(page)).toBeNull();
  });

  it('about walls tell what appeared and what went; another tab does not watch the same', async () => {
    await put(50, 1000, 1000);
    const page = await at(VIEW);
    await openAlerts(page);
    await add(page, 'Wall', '50k');
    await watched(page).getByText('none at').waitFor();
    await watched(page).getByText('This tab watches').waitFor();
    const other = await page.context().newPage();
    await other.addInitScript(`sessionStorage.setItem('fathom.key', ${JSON.stringify(key)})`);
    await other.goto(`${url}/${HOUR}`);
    await openAlerts(other);
    await watched(other).getByText('another tab of this browser does').waitFor();
    await put(40, 60_000, 1000);
    await fired(page).getByText('Wall appeared: $60.0K of support at $99.010').waitFor();
    // The other tab lists it, too.
    await fired(other).getByText('Wall appeared').waitFor();
    expect(await fired(other).count()).toBe(1);
    // Once the first tab has gone, the other one watches.
    await page.close();
    await watched(other).getByText('This tab watches').waitFor();
    await put(30, 1000, 1000);
    await fired(other).getByText('Wall went: $60.0K of support at $99.010').waitFor();
    expect(await fired(other).count()).toBe(2);
  });

  it('miss nothing while the server is away, and pause with the page', async () => {
    await put(25, 9000, 9000);
    const page = await at(VIEW);
    await openAlerts(page);
    await add(page, 'Depth', '8k');
    await watched(page)
      .getByText(`$18.0K at ${absoluteTime(NOW_S - 25)}`)
      .waitFor();
    await page.context().setOffline(true);
    await put(20, 1, 1);
    await put(15, 9000, 9000);
    await page.context().setOffline(false);
    await fired(page).getByText('Depth within 2% is $2.00, below $8.00K').waitFor();
    await watched(page)
      .getByText(`$18.0K at ${absoluteTime(NOW_S - 15)}`)
      .waitFor();
    expect(await fired(page).count()).toBe(1);
    await page.keyboard.press('Escape');
    await page.locator('.live').click();
    await openAlerts(page);
    await watched(page).getByText('or the page is paused').waitFor();
  });
});
