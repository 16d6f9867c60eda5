/** The explorer: the palette finds whatever has a button, and search looks inside names. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { hasBrowser, seriousFindings } from '../support/browser.js';
import { at, BARN, hashOf, HOUR, SOL, titled, useExplorer } from './in-chromium.js';

const rows = (page: Page) => page.locator('.commands [role=option] b');

/** Types into the palette, and runs the row with this label. */
async function run(page: Page, text: string, label: string): Promise<void> {
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'A token, a view' }).fill(text);
  await page.locator('.commands [aria-selected=true]').getByText(label, { exact: true }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
}

describe.skipIf(!hasBrowser)('the palette', () => {
  useExplorer();

  it('presses the buttons of the page: windows, bands, splits, export, markets', async () => {
    const page = await at(HOUR);
    await page.locator('.heatmap[data-state=ready]').waitFor();
    await page.locator('.venues').waitFor();
    await run(page, '6h', '6h');
    await expect.poll(() => hashOf(page)).toBe(`#/token/${SOL}?window=6h`);
    await run(page, '±5', '±5%');
    await expect.poll(() => hashOf(page)).toBe(`#/token/${SOL}?window=6h&min_pct=-5&max_pct=5`);
    await run(page, 'split market', 'Split by Market');
    await expect.poll(() => hashOf(page)).toContain('&group=market');
    await run(page, 'export', 'Export');
    await page.getByRole('group', { name: 'Export' }).waitFor();
    await page.keyboard.press('Escape');
  });

  it('states what an order costs', async () => {
    const page = await at(HOUR);
    await page.locator('.order-card').waitFor();
    await run(page, 'buy 20k', 'Buy $20.0K');
    await expect.poll(() => hashOf(page)).toBe(`${HOUR}&side=buy&usd=20000`);
    await page.locator('.order-card').getByText('Average price').waitFor();
  });

  it('chooses types and venues, and takes the choice back', async () => {
    const page = await at(HOUR);
    await page.locator('.venues').waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'A token, a view' }).fill('perps');
    await rows(page).getByText('CEX perps', { exact: true }).waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await run(page, 'cex perps', 'CEX perps');
    await expect.poll(() => hashOf(page)).toBe(`${HOUR}&types=cex_perp`);
    await run(page, 'cex perps no longer', 'CEX perps');
    await expect.poll(() => hashOf(page)).toBe(HOUR);
    await run(page, 'orca venue', 'Orca');
    await expect.poll(() => hashOf(page)).toBe(`${HOUR}&venues=orca`);
  });

  it('lists no button twice, and none of the rows of a board', async () => {
    const page = await at('#/scores');
    await page.getByRole('table').waitFor();
    await page.keyboard.press('Control+k');
    const box = page.getByRole('combobox', { name: 'A token, a view' });
    await box.fill('favourite');
    await rows(page).getByText('Favourites', { exact: true }).waitFor();
    expect(await rows(page).allTextContents()).toEqual(['Favourites']);
  });

  it('and the search find a token by the middle of its name', async () => {
    const page = await at('#/scores');
    await page.getByRole('table').waitFor();
    // 'Barnacle' of the demo market.
    await run(page, 'nacl', 'BARN');
    await page.waitForURL(`**/#/token/${BARN}`);
    await titled(page, 'BARN').waitFor();
    await page.goBack();
    await page.getByRole('table').waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('nacl');
    // Before the results arrive.
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/#/token/${BARN}`);
    await page.keyboard.press('/');
    await page.keyboard.type('xyzzy');
    await page.getByText("No token is called 'xyzzy'").waitFor();
  });
});
