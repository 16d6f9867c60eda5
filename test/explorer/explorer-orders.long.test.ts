/** The explorer: what an order costs, and the orders of others. */
import { describe, expect, it } from 'vitest';
import { hasBrowser } from '../support/browser.js';
import { at, goTo, hashOf, HOUR, useExplorer } from './in-chromium.js';

describe.skipIf(!hasBrowser)('the explorer', () => {
  useExplorer();

  it('keeps the order and the reach of the ladder in the address', async () => {
    const page = await at(HOUR);
    const order = page.locator('.order-card');
    const amount = order.getByRole('textbox');
    const pressed = (name: string) =>
      page.getByRole('button', { name, exact: true, pressed: true }).waitFor();
    await amount.fill('1.5M');
    await expect.poll(() => hashOf(page)).toBe(`${HOUR}&usd=1500000`);
    await order.getByRole('button', { name: 'Buy' }).click();
    await page.getByRole('group', { name: 'Reach around the price' }).getByText('10%').click();
    const hash = `${HOUR}&side=buy&usd=1500000&ladder=10`;
    await expect.poll(() => hashOf(page)).toBe(hash);
    expect(await amount.inputValue()).toBe('1.5M');
    const cost = await order.locator('dd').first().textContent();
    await page.reload();
    await expect.poll(() => amount.inputValue()).toBe('1,500,000');
    await pressed('Buy');
    await pressed('10%');
    await expect.poll(() => order.locator('dd').first().textContent()).toBe(cost);
    expect(hashOf(page)).toBe(hash);
    await goTo(page, `${HOUR}&usd=0.5`);
    await expect.poll(() => amount.inputValue()).toBe('0.5');
    await pressed('Sell');
    await goTo(page, `${HOUR}&usd=lots&side=long`);
    await page.getByText('usd=lots: expected USD from 0.01 to 1e13').waitFor();
    await expect.poll(() => hashOf(page)).toBe(HOUR);
    expect(await amount.inputValue()).toBe('');
  });
});
