/** The explorer: what is in sight at the widths of phones, tablets and desks, and what its menus and files say. */
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { hasBrowser } from '../support/browser.js';
import { at, BOARD, fail, HOUR, SOL, useExplorer } from './in-chromium.js';

const WIDTHS = [390, 820, 1440, 2560];

describe.skipIf(!hasBrowser)('the layout', () => {
  useExplorer();

  it('shows no half of a number on any board, and depth on that of scores', async () => {
    const page = await at('#/scores');
    for (const board of ['scores', 'dca-pressure']) {
      await page.evaluate(`location.hash = '#/${board}'`);
      await page.locator(`main[data-view=${board}] ${BOARD}`).waitFor();
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 });
        await expect.poll(() => coveredColumns(page)).toEqual([]);
      }
    }
    await page.evaluate(`location.hash = '#/scores'`);
    await page.locator('main[data-view=scores] tr.row').first().waitFor();
    for (const width of WIDTHS.slice(1)) {
      await page.setViewportSize({ width, height: 900 });
      for (const side of ['Support', 'Resistance'])
        await page
          .getByRole('columnheader', { name: `${side} within 2%, without perps` })
          .filter({ visible: true })
          .and(page.locator('th:not(.is-cut)'))
          .waitFor();
    }
  });

  it('lets the page scroll the panels beside the map, which stays, and shows all on a wide screen', async () => {
    const page = await at(HOUR, { viewport: { width: 1440, height: 900 } });
    const venues = page.locator('.card', { has: page.locator('.venues') });
    await venues.locator('li').first().waitFor();
    const own = `(({ scrollHeight, clientHeight }) => scrollHeight - clientHeight)(document.querySelector('.side'))`;
    expect(await page.evaluate(own)).toBeLessThanOrEqual(1);
    const map = page.locator('.heatmap-frame');
    const before = (await map.boundingBox()) ?? fail();
    await page.evaluate(`scrollBy(0, 300)`);
    await expect.poll(() => page.evaluate(`scrollY`)).toBeGreaterThan(100);
    const after = (await map.boundingBox()) ?? fail();
    expect(after.height).toBe(before.height);
    expect(after.y).toBeGreaterThan(0);
    expect(after.y + after.height).toBeLessThan(900);
    await page.evaluate(`scrollTo(0, 0)`);
    await page.setViewportSize({ width: 2560, height: 1300 });
    const { y, height } = (await venues.boundingBox()) ?? fail();
    expect(y + height).toBeLessThan(1300);
  });

  it('has the ladder follow the band of the map, and says what 1% steps cannot show', async () => {
    const page = await at(HOUR);
    await page.locator('.depth-chart canvas').waitFor();
    const reach = () =>
      page
        .getByRole('group', { name: 'Reach around the price' })
        .locator('[aria-pressed=true]')
        .textContent();
    expect(await reach()).toBe('25%');
    expect(await page.getByText('stored in steps of 1%').count()).toBe(0);
    await page.getByRole('button', { name: '±2%' }).click();
    await expect.poll(reach).toBe('2%');
    await page.getByText('±2%, incl. perps').waitFor();
    await page.getByText('stored in steps of 1%').waitFor();
    // Where amounts within 2% are read, the page says which steps these are.
    const cover = page.getByText('whole 1% steps: \u22122.5% to +1.5%; not an imbalance');
    await expect.poll(() => cover.count()).toBe(2);
    // A reach of one's own stays.
    await page.getByRole('button', { name: '10%', exact: true }).click();
    await page.getByRole('button', { name: '±5%' }).click();
    await expect.poll(reach).toBe('10%');
  });

  it('clears the search on Escape', async () => {
    const page = await at('#/scores');
    const search = page.getByRole('combobox', { name: 'Find a token' });
    await search.fill('WET');
    await search.press('Escape');
    expect(await search.inputValue()).toBe('');
  });

  it('says how large a file will be, the smaller first, and refuses one with too many rows', async () => {
    const page = await at(`#/token/${SOL}?window=1h`);
    await page.locator('.heatmap[data-state=ready]').waitFor();
    await page.getByRole('button', { name: 'Export' }).click();
    await page.locator('.export-file .note').first().waitFor();
    const files = await page.locator('.export-file').allTextContents();
    expect(files.map((one) => /^[A-Za-z]+about/.exec(one)?.[0])).toEqual([
      'Parquetabout',
      'CSVabout',
    ]);
    const [, stated, unit] = /about ([\d.]+) (kB|MB)/.exec(files[1]) ?? fail();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'CSV', exact: true }).click(),
    ]);
    const bytes = readFileSync(await download.path()).length;
    const ratio = (Number(stated) * (unit === 'kB' ? 1e3 : 1e6)) / bytes;
    expect(ratio).toBeGreaterThan(0.7);
    expect(ratio).toBeLessThan(1.4);
    await page.keyboard.press('Escape');
    await page.route('**/plan?*', async (route) => {
      const reply = await route.fetch();
      const plan = (await reply.json()) as object;
      await route.fulfill({ response: reply, json: { ...plan, row_count: 2_000_001 } });
    });
    await page.getByRole('button', { name: 'Export' }).click();
    await page.getByText('a file has at most 2.00M').waitFor();
    expect(await page.getByRole('button', { name: 'CSV', exact: true }).isDisabled()).toBe(true);
  });
});

/** The visible headings of columns that a board's fixed columns cover in part. */
const coveredColumns = (page: Page): Promise<string[]> =>
  page.evaluate(`(() => {
    const headings = [...document.querySelectorAll('.board-table > thead th')];
    const isFixed = (one) => getComputedStyle(one).position === 'sticky' &&
      (getComputedStyle(one).left !== 'auto' || getComputedStyle(one).right !== 'auto');
    const edges = (one) => one.getBoundingClientRect();
    const fixed = headings.filter(isFixed).map(edges);
    return headings
      .filter((one) => !isFixed(one) && !one.classList.contains('is-cut'))
      .filter((one) => fixed.some(({ left, right }) => left + 5 < edges(one).right && edges(one).left + 5 < right))
      .map((one) => one.textContent);
  })()`);
