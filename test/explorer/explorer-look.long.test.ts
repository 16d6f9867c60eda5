/** The explorer: colours by hand, the percent axis, the difference of two moments, marks beside the price, panels. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import type { Score } from '../../client/index.js';
import { absoluteTime, signedPercent } from '../../explorer/state/format.js';
import { hasBrowser, seriousFindings } from '../support/browser.js';
import { NOW_S } from '../support/service.js';
import {
  answers,
  at,
  BARN,
  fail,
  goTo,
  hashOf,
  HOUR,
  ingest,
  replyTo,
  SOL,
  useExplorer,
} from './in-chromium.js';

const ready = (page: Page) => page.locator('.heatmap[data-state=ready]').waitFor();
const scale = (page: Page) => page.locator('.heatmap-legend').getAttribute('data-scale');
const card = (page: Page) => page.locator('.difference-card');
const second = (page: Page) => page.getByLabel('Compared since');

const OTHER = `0x${'b2'.repeat(20)}`;

describe.skipIf(!hasBrowser)('the look of the map', () => {
  useExplorer();

  it('has colours by hand, in the address, until they are by the data again', async () => {
    const page = await at(HOUR);
    await ready(page);
    const byData = await scale(page);
    await page.getByRole('button', { name: 'Colours by data' }).click();
    const [low, high] = [
      page.getByLabel('USD of the faintest colour'),
      page.getByLabel('USD of the strongest colour'),
    ];
    await low.fill('5M');
    await high.fill('10k');
    await page.keyboard.press('Enter');
    await page.getByText('Expected two amounts of USD').waitFor();
    expect(hashOf(page)).toBe(HOUR);
    expect(await seriousFindings(page)).toEqual([]);
    await low.fill('10k');
    await high.fill('5M');
    await page.keyboard.press('Enter');
    await expect.poll(() => hashOf(page)).toBe(`${HOUR}&colours=10000,5000000`);
    await expect.poll(() => scale(page)).toBe('10000 5000000');
    await page.reload();
    await expect.poll(() => scale(page)).toBe('10000 5000000');
    await page.getByRole('button', { name: 'Colours by hand' }).click();
    await page.locator('.heatmap-legend-ticks').getByText('$5M', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'By the data' }).click();
    await expect.poll(() => scale(page)).toBe(byData);
    expect(hashOf(page)).toBe(HOUR);
  });

  it.each([1440, 820, 390])(
    'keeps its size while a moment is pinned, a time is refused, or the colours are open: %s wide',
    async (width) => {
      const page = await at(HOUR, { viewport: { width, height: 1500 } });
      await ready(page);
      await page.locator('.strips[data-state=ready]').waitFor();
      await page.getByRole('button', { name: 'Colours by data' }).waitFor();
      await page.locator('.day-change', { hasText: '%' }).waitFor();
      const map = async () => {
        const {
          y,
          width: wide,
          height,
        } = (await page.locator('.heatmap-frame').boundingBox()) ?? fail();
        return { wide, height, y };
      };
      // Figures of other widths move the baseline of a row by a part of a pixel.
      const expectUnmoved = async (): Promise<void> => {
        const { y, ...size } = await map();
        expect(size).toEqual({ wide: before.wide, height: before.height });
        expect(Math.abs(y - before.y)).toBeLessThan(1);
      };
      const before = await map();
      const cells = page.locator('.heatmap-cells');
      await cells.click({ position: { x: 100, y: 100 } });
      await expect.poll(() => hashOf(page)).toContain('&at=');
      await page.locator('.pinned').waitFor();
      const field = page.getByLabel('Time', { exact: true });
      await expect.poll(() => field.inputValue()).not.toBe('');
      await expectUnmoved();
      await field.fill('soon');
      await field.press('Enter');
      await page.getByText('Expected a time until now').waitFor();
      await page.getByRole('button', { name: 'Colours by data' }).click();
      await page.getByLabel('USD of the faintest colour').waitFor();
      await expectUnmoved();
      expect(await seriousFindings(page)).toEqual([]);
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'Now', exact: true }).click();
      await expect.poll(() => hashOf(page)).toBe(HOUR);
      await expectUnmoved();
    },
  );

  it('has an axis in percent, which the cursor reads, too', async () => {
    const page = await at(HOUR);
    await ready(page);
    await page.getByRole('button', { name: 'Axis in percent' }).click();
    await expect.poll(() => hashOf(page)).toBe(`${HOUR}&axis=pct`);
    await page.locator('.heatmap-frame').focus();
    await page.keyboard.press('Shift+ArrowUp');
    await page.locator('.heatmap-tag-price', { hasText: /^\+1\.\d\d%$/ }).waitFor();
    await page.getByRole('button', { name: 'Axis in USD' }).click();
    await page.locator('.heatmap-tag-price', { hasText: /^\d+\.\d+$/ }).waitFor();
    expect(hashOf(page)).toBe(HOUR);
  });

  it('says what is wrong in an address, and shows the rest', async () => {
    const page = await at(`${HOUR}&axis=log&colours=5,1&vs=yesterday`);
    await ready(page);
    const notice = page.getByRole('status').filter({ hasText: 'Part of the address was ignored' });
    await notice.getByText('expected usd or pct').waitFor();
    await notice.getByText('expected two amounts of USD, the lower one first').waitFor();
    await notice.getByText('expected epoch seconds').waitFor();
    expect(hashOf(page)).toBe(HOUR);
  });

  it('compares the moment shown with a second one: typed, clicked, from the address', async () => {
    const page = await at(HOUR);
    await ready(page);
    await second(page).fill('soon');
    await second(page).press('Enter');
    await card(page).getByText('Expected a time until now').waitFor();
    await second(page).fill('30 m ago');
    await second(page).press('Enter');
    await card(page).getByRole('table').waitFor();
    expect(hashOf(page)).toBe(`${HOUR}&vs=${NOW_S - 1800}`);
    expect(await seriousFindings(page)).toEqual([]);
    // The same from the API.
    const [before, after] = await Promise.all([
      replyTo<Score>(`/score/${SOL}?at=${NOW_S - 1800}`),
      replyTo<Score>(`/score/${SOL}`),
    ]);
    const share = (after.service_current_price ?? NaN) / (before.service_current_price ?? NaN) - 1;
    const times = `From ${absoluteTime(before.data_time ?? 0)} to ${absoluteTime(after.data_time ?? 0)}`;
    await card(page).getByText(times).waitFor();
    await card(page).getByText(signedPercent(share, 2), { exact: false }).first().waitFor();
    await page.locator('.heatmap-frame .heatmap-pin .second').waitFor();
    const box = await page.locator('.heatmap-cells').boundingBox();
    if (box === null) throw new Error('the map has no place');
    await page.keyboard.down('Shift');
    await page.mouse.click(box.x + box.width / 4, box.y + box.height / 2);
    await page.keyboard.up('Shift');
    await expect.poll(() => hashOf(page)).not.toContain(`vs=${NOW_S - 1800}`);
    expect(hashOf(page)).toMatch(/&vs=\d+$/);
    await card(page).getByRole('button', { name: 'Remove' }).click();
    await expect.poll(() => hashOf(page)).toBe(HOUR);
    await page.locator('.heatmap-pin .second').waitFor({ state: 'detached' });
    // Both at the same snapshot; and a moment that the server refuses.
    await goTo(page, `${HOUR}&vs=${NOW_S}`);
    await card(page).getByText('Both moments show the snapshot of').waitFor();
    await answers(page, `/score/${SOL}`, {
      status: 403,
      body: '{"error": "forbidden", "message": "Not for this key"}',
    });
    await goTo(page, `${HOUR}&vs=${NOW_S - 900}`);
    await card(page).getByText('Nothing at that time: Not for this key').waitFor();
  });

  it('states the change in 24 hours, the chain, and the leg on the other chain', async () => {
    const newestT = NOW_S - 60;
    const market = { source: 'Kraken', exchange_type: 'CEX', type: 'cex_spot', pair: 'A/USD' };
    const markets = [{ ...market, cells: [[-1, 5000, 0]] }];
    // 24 hours before, the price was 100.
    const prices = [
      [newestT, 110],
      [newestT - 86_399, 40],
      [newestT - 86_400 - 20, 100],
      [newestT - 86_400 - 800, 50],
    ];
    const rows = prices.map(([t, price_usd]) => ({ t, price_usd, markets }));
    const token = { chain: 'evmchain', address: OTHER };
    await ingest('snapshots', ...rows.map((row) => ({ ...token, ...row })));
    const page = await at(`#/token/${OTHER}?window=1h`);
    const change = page.locator('.day-change');
    await change.getByText('+10.00%').waitFor();
    await goTo(page, HOUR);
    const explained = await replyTo<Score>(`/score/${SOL}?explain=true`);
    await page.locator('.token-head h1', { hasText: 'SOL' }).waitFor();
    await change.getByText(/[+\u2212]\d+\.\d\d%/).click();
    await change.getByText('Change = price / price of 24 hours before - 1').waitFor();
    await page.locator('.token-head .chip').getByText('Mainchain', { exact: true }).waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    const other = explained.explain?.legs.find(({ address }) => address !== SOL)?.address;
    expect(other).toMatch(/^0x/);
    await page.getByRole('link', { name: 'also EVM' }).click();
    await page.waitForURL(({ hash }) => hash === `#/token/${other}`);
    await page.getByRole('link', { name: 'also Mainchain' }).waitFor();
    // One leg alone.
    await goTo(page, `#/token/${BARN}?window=1h`);
    await page.locator('.token-head h1', { hasText: 'BARN' }).waitFor();
    expect(await page.locator('.token-head .leg').count()).toBe(0);
  });

  it('hides panels in this browser until all are shown again', async () => {
    const page = await at(HOUR);
    await page.locator('.venues').waitFor();
    await page.getByRole('button', { name: /^Panels/ }).click();
    const menu = page.getByRole('group', { name: 'Panels' });
    for (const name of ['Ladder', 'Order', 'Score', 'Venues', 'Markets', 'Difference']) {
      await menu.getByLabel(name, { exact: true }).uncheck();
    }
    await page.locator('.side .card').first().waitFor({ state: 'detached' });
    expect(await seriousFindings(page)).toEqual([]);
    await page.reload();
    await ready(page);
    await page.getByRole('button', { name: 'Panels 0' }).click();
    expect(await page.locator('.side .card').count()).toBe(0);
    await page.getByRole('button', { name: 'Show all' }).click();
    await page.locator('.venues').waitFor();
    expect(await page.evaluate(`localStorage['fathom.layout'] ?? null`)).toBeNull();
    // What is not as it should be hides nothing.
    for (const text of [
      '{',
      '{"version":2,"hidden":["score"]}',
      '{"version":1,"hidden":"score"}',
    ]) {
      await page.evaluate(`localStorage['fathom.layout'] = ${JSON.stringify(text)}`);
      await page.reload();
      await page.locator('.score-card').waitFor();
    }
  });
});
