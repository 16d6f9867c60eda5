/** The explorer: what an order costs, and the orders of others. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import type { Slippage } from '../../client/index.js';
import { costPoint, costUsd } from '../../explorer/orders/cost.js';
import { finePercent, usd } from '../../explorer/state/format.js';
import { hasBrowser, seriousFindings } from '../support/browser.js';
import { answers, at, goTo, hashOf, HOUR, replyTo, SOL, useExplorer } from './in-chromium.js';

/** The page's requests to a path from now on. */
function requestsTo(page: Page, path: string): URL[] {
  const asked: URL[] = [];
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.pathname === `/api/v1${path}`) asked.push(url);
  });
  return asked;
}

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

  it('draws what an order costs by size, from the one request of the order', async () => {
    const page = await at(`${HOUR}&side=buy&usd=250000`, {
      viewport: { width: 1280, height: 1400 },
    });
    const asked = requestsTo(page, `/slippage/${SOL}`);
    await page.reload();
    const order = page.locator('.order-card');
    const curve = order.getByRole('slider', { name: 'Cost of buying by size' });
    await curve.waitFor();
    expect(asked.length).toBe(1);
    const sizes = asked[0].searchParams.get('usd')?.split(',').map(Number) ?? [];
    expect(sizes[0]).toBe(250_000);
    expect(sizes.length).toBeGreaterThan(15);
    // Each size is asked alone: the order of the amounts plays no part.
    const costOf = async (size: number) => {
      const { quotes } = await replyTo<Slippage>(`/slippage/${SOL}?side=buy&usd=${size}`);
      const point = costPoint(quotes[0]);
      if (point === null) throw new Error(`the ladder holds less than ${size}`);
      expect(point.inUsd.mean).toBe(costUsd(size, quotes[0].slippage_pct ?? NaN));
      return point;
    };
    const entered = await costOf(250_000);
    expect(await order.locator('dd').first().textContent()).toBe(usd(entered.inUsd.mean));
    expect(await curve.getAttribute('aria-valuetext')).toBe(
      `${usd(250_000)}: ${usd(entered.inUsd.mean)}, ${usd(entered.inUsd.least)} to ${usd(entered.inUsd.most)}`,
    );
    await curve.focus();
    await page.keyboard.press('End');
    const largest = Math.max(...sizes);
    const last = await costOf(largest);
    await expect.poll(() => curve.getAttribute('aria-valuetext')).toContain(`${usd(largest)}: `);
    expect(await curve.getAttribute('aria-valuetext')).toContain(usd(last.inUsd.most));
    await order.getByRole('button', { name: '%', exact: true }).click();
    await expect.poll(() => hashOf(page)).toContain('&cost=pct');
    await curve.focus();
    await page.keyboard.press('End');
    await expect
      .poll(() => curve.getAttribute('aria-valuetext'))
      .toContain(finePercent(last.inPct.mean / 100));
    expect(asked.length).toBe(1);
    await page.keyboard.press('ArrowLeft');
    const next = sizes.toSorted((a, b) => b - a)[1];
    await expect.poll(() => curve.getAttribute('aria-valuetext')).toContain(`${usd(next)}: `);
    await page.keyboard.press('Enter');
    await expect.poll(() => hashOf(page)).toContain(`usd=${next}`);
    await expect
      .poll(() => order.getByRole('textbox').inputValue())
      .toBe(next.toLocaleString('en'));
    await expect.poll(() => asked.length).toBe(2);
    expect(await seriousFindings(page)).toEqual([]);
  });

  it('ends the curve with what the ladder holds, and says why there is no cost', async () => {
    const page = await at(`${HOUR}&usd=900000000000`);
    const order = page.locator('.order-card');
    await order.getByText('The ladder holds only').waitFor();
    const { fillable_usd: holds } = await replyTo<Slippage>(`/slippage/${SOL}?side=sell&usd=1`);
    expect(await order.locator('p b').first().textContent()).toBe(usd(holds));
    for (const [status, text] of [
      [501, 'Broken'],
      [403, 'Not for this key'],
    ] as const) {
      const ended = await answers(page, `/slippage/${SOL}`, {
        status,
        body: JSON.stringify({ error: 'x', message: text }),
      });
      await order.getByRole('textbox').fill(String(status));
      await order.getByText(text).waitFor();
      await ended();
    }
    await order.getByRole('textbox').fill('5000');
    await order.getByRole('slider').waitFor();
  });
});
