/** The explorer: what an order costs, and the orders of others. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import type {
  DcaOrders,
  LimitOrder,
  LimitOrders,
  ReplayPage,
  Slippage,
} from '../../client/index.js';
import { costPoint, costUsd } from '../../explorer/orders/cost.js';
import { leftOf } from '../../explorer/orders/left.js';
import { finePercent, price, signedFinePercent, usd } from '../../explorer/state/format.js';
import { freezeClock, hasBrowser, seriousFindings } from '../support/browser.js';
import {
  answers,
  at,
  BARN,
  fail,
  goTo,
  hashOf,
  HOUR,
  replyTo,
  SOL,
  useExplorer,
} from './in-chromium.js';

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

  it('ends the curve with what an order can take: without perps, unless they are chosen', async () => {
    const page = await at(`${HOUR}&usd=200000000`);
    const asked = requestsTo(page, `/slippage/${SOL}`);
    await page.reload();
    const order = page.locator('.order-card');
    for (const types of ['', 'cex_perp']) {
      if (types !== '') await goTo(page, `${HOUR}&usd=200000000&types=${types}`);
      const query = types === '' ? '' : `&types=${types}`;
      await expect.poll(() => asked.length).toBe(types === '' ? 1 : 2);
      // Of the band of the page's ladder, as the server has it.
      const { t } = await replyTo<Slippage>(`/slippage/${SOL}?side=sell&usd=1`);
      const filter = types === '' ? '&exclude_types=cex_perp' : query;
      const { snapshots } = await replyTo<ReplayPage>(
        `/replay/${SOL}?from=${t}&to=${(t ?? 0) + 1}&group=all${filter}`,
      );
      const held = snapshots[0].support_usd.reduce((sum, one) => sum + Math.round(100 * one), 0);
      const sizes = asked.at(-1)?.searchParams.get('usd')?.split(',').map(Number) ?? [];
      expect(Math.max(...sizes.slice(1))).toBe(held / 100);
      const { quotes } = await replyTo<Slippage>(
        `/slippage/${SOL}?side=sell&usd=${held / 100}${query}`,
      );
      expect(quotes[0].filled).toBe(true);
      await order.getByText('The ladder holds only').waitFor();
    }
  });

  it('states the same slippage on the page of a token and on Compare: what the order loses', async () => {
    const page = await at(`${HOUR}&usd=250000`);
    const order = page.locator('.order-card');
    const { quotes } = await replyTo<Slippage>(`/slippage/${SOL}?side=sell&usd=250000`);
    expect(quotes[0].slippage_pct).toBeLessThan(0);
    const lost = finePercent(Math.abs(quotes[0].slippage_pct ?? NaN) / 100);
    await expect.poll(() => order.locator('dd').nth(1).textContent()).toBe(lost);
    const range = (await order.locator('dd').nth(2).textContent()) ?? '';
    expect(range).not.toContain('\u2212');
    await order.getByText('How it is calculated').click();
    await order.getByText('Slippage = 1 - average / price').waitFor();
    await goTo(page, `#/compare?tokens=${SOL}&metric=cost&usd=250000`);
    await page.locator('.cost-table tr', { hasText: 'SOL' }).getByText(lost).first().waitFor();
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

  it("lists a token's limit orders and DCA orders, sorted and filtered", async () => {
    const page = await at(`#/orders?token=${SOL}`);
    const rows = page.locator('tr.row');
    const cells = (column: number) => rows.locator(`td:nth-child(${column})`).allTextContents();
    await rows.first().waitFor();
    const { orders: limits } = await replyTo<LimitOrders>(
      `/limit-orders?token_address=${SOL}&limit=500`,
    );
    expect(limits.length).toBeGreaterThan(10);
    const left = (one: LimitOrder) => one.usd_support_amount + one.usd_resistance_amount;
    expect(await cells(4)).toEqual(limits.map((one) => price(one.usd_price)));
    expect(await cells(5)).toEqual(limits.map((one) => signedFinePercent(one.pct_away)));
    expect(await cells(6)).toEqual(limits.map((one) => usd(left(one))));
    const sum = (direction: string) =>
      usd(limits.reduce((all, one) => all + (one.direction === direction ? left(one) : 0), 0));
    await page
      .getByText(`${limits.length} orders, ${sum('BUY')} to buy, ${sum('SELL')} to sell`)
      .waitFor();
    await page.getByRole('button', { name: 'Left' }).click();
    await expect.poll(() => hashOf(page)).toContain('order=left');
    const bySize = limits.toSorted((a, b) => left(b) - left(a)).map((one) => usd(left(one)));
    expect(await cells(6)).toEqual(bySize);
    await page.getByRole('button', { name: 'Sells' }).click();
    await expect.poll(async () => new Set(await cells(3))).toEqual(new Set(['Sells']));
    expect(await rows.count()).toBe(limits.filter((one) => one.direction === 'SELL').length);
    const [{ maker }] = limits;
    await page.getByRole('button', { name: 'Both' }).click();
    await page.getByPlaceholder('Filter rows').fill(maker.slice(0, 12).toLowerCase());
    await expect
      .poll(() => rows.count())
      .toBe(limits.filter((one) => one.maker.slice(0, 12) === maker.slice(0, 12)).length);
    await rows.first().locator('.disclose').click();
    await page.getByText('Away = its price / the price - 1').waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await page.getByPlaceholder('Filter rows').fill('');
    await page.getByRole('button', { name: 'DCA orders' }).click();
    const { orders } = await replyTo<DcaOrders>(
      `/dca-orders?token_address=${SOL}&limit=50&sort_by=usd_flow`,
    );
    await expect.poll(() => cells(4)).toEqual(orders.map((one) => usd(one.remaining_usd)));
    expect(await cells(7)).toEqual(orders.map((one) => usd(one.flow_projections.usd_next_24_hr)));
    expect(await page.getByText('All chains').count()).toBe(0);
    const curl = await page.locator('.request code').textContent();
    expect(curl).toContain(`/dca-orders?token_address=${SOL}&limit=50&sort_by=usd_flow`);
    await page.getByRole('heading').getByRole('link', { name: 'SOL' }).click();
    await page.locator('.strips').waitFor();
  });

  it('asks whose orders to list, and says why it lists none', async () => {
    const page = await at('#/orders');
    await page.getByText('Of which token?').waitFor();
    const asked = requestsTo(page, '/limit-orders');
    await goTo(page, '#/orders?token=');
    await page.getByText('Of which token?').waitFor();
    await page.locator('.token-links a', { hasText: 'SOL' }).first().waitFor();
    expect(asked).toEqual([]);
    await page.locator('.token-links a', { hasText: 'SOL' }).first().click();
    await page.locator('tr.row').first().waitFor();
    // The header's link is about the token of the tab.
    await goTo(page, HOUR);
    await page.locator('.strips').waitFor();
    await page.getByRole('link', { name: 'Orders', exact: true }).click();
    await expect.poll(() => hashOf(page)).toBe(`#/orders?token=${SOL}`);
    await goTo(page, '#/orders?token=So22222222222222222222222222222222222222222&kind=stop');
    await page.getByText('kind=stop: expected limit or dca.').waitFor();
    await page.getByText('The server has no data about this').waitFor();
    const empty = { orders: [], count: 0 };
    await answers(page, '/limit-orders', { body: JSON.stringify(empty) });
    await goTo(page, `#/orders?token=${SOL}`);
    await page.getByText('This token has no active order of this kind.').waitFor();
  });

  it('draws the orders of others on the map, and reads them at the cursor', async () => {
    const page = await at(`${HOUR}&min_pct=-25&max_pct=25`);
    const asked = requestsTo(page, '/limit-orders');
    await page.locator('.strips').waitFor();
    const shown = page.getByRole('group', { name: 'Orders of others on the map' });
    expect(asked.length).toBe(0);
    await shown.getByRole('button', { name: 'Limit' }).click();
    await expect.poll(() => hashOf(page)).toContain('orders=limit');
    const { orders: limits } = await replyTo<LimitOrders>(
      `/limit-orders?token_address=${SOL}&limit=500`,
    );
    const of = (direction: string) => limits.filter((one) => one.direction === direction);
    const sum = (direction: string) =>
      usd(of(direction).reduce((all, one) => all + leftOf(one), 0));
    const note = page.locator('.order-note');
    await note
      .getByText(`${of('BUY').length} buy ${sum('BUY')}, ${of('SELL').length} sell ${sum('SELL')}`)
      .waitFor();
    expect(asked.length).toBe(1);
    // The largest one in sight since before the middle of the map.
    const frame = page.locator('.heatmap-frame');
    const [from, to, low, high] =
      (await frame.getAttribute('data-view'))?.split(' ').map(Number) ?? [];
    const [largest] = limits
      .filter((one) => one.created_at < (from + to) / 2)
      .filter((one) => one.usd_price > 1.01 * low && one.usd_price < 0.99 * high)
      .toSorted((a, b) => leftOf(b) - leftOf(a));
    const { x, y, width, height } = (await page.locator('.heatmap-cells').boundingBox()) ?? fail();
    const share = Math.log(largest.usd_price / low) / Math.log(high / low);
    await page.mouse.move(x + 0.6 * width, y + (1 - share) * height);
    const reading = page.locator('.heatmap-readout .order-reading');
    await reading
      .getByText(`${usd(leftOf(largest))} at`)
      .first()
      .waitFor();
    await shown.getByRole('button', { name: 'DCA' }).click();
    await expect.poll(() => hashOf(page)).toContain('orders=limit,dca');
    await note.getByText('DCA orders').waitFor();
    await page.mouse.move(x + 0.6 * width, y + (1 - share) * height - 1);
    // Everything at the cursor is of one price.
    await reading.getByText('DCA orders at').waitFor();
    const headline = await page.locator('.heatmap-readout-head b').textContent();
    expect(await reading.locator('b').last().textContent()).toBe(`DCA orders at ${headline}`);
    expect(await seriousFindings(page)).toEqual([]);
    await page.reload();
    await note.getByText('DCA orders').waitFor();
    await note.getByRole('link', { name: 'List' }).last().click();
    await expect.poll(() => hashOf(page)).toBe(`#/orders?token=${SOL}&kind=dca`);
  });

  it('leaves the newest columns of the map in sight under the orders of others', async () => {
    const page = await at(`${HOUR}&min_pct=-25&max_pct=25&orders=limit,dca`);
    await page.locator('.order-note').getByText('DCA orders').waitFor();
    /** The shares of pixels that hide the cells below, in tenths of the map from the left. */
    const hidden = () =>
      page.evaluate<number[]>(`(() => {
        const canvas = document.querySelector('.map-orders canvas');
        const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d');
        copy.drawImage(canvas, 0, 0);
        const { data, width, height } = copy.getImageData(0, 0, canvas.width, canvas.height);
        const counts = Array(10).fill(0);
        for (let at = 0; at < width * height; at++) {
          if (data[4 * at + 3] > 100) counts[Math.floor((10 * (at % width)) / width)]++;
        }
        return counts.map((count) => (10 * count) / (width * height));
      })()`);
    // The first tenth has the profile of DCA orders.
    await expect.poll(async () => (await hidden())[0]).toBeGreaterThan(0.3);
    const shares = await hidden();
    const middle = shares.slice(2, 8).reduce((sum, one) => sum + one, 0) / 6;
    expect(shares[9]).toBeLessThan(0.6 * middle);
  });

  it('says why the map has no orders', async () => {
    const page = await at(HOUR);
    const body = '{"error": "x", "message": "No record of it"}';
    await answers(page, '/limit-orders', { status: 404, body });
    await page.getByRole('button', { name: 'Limit', exact: true }).click();
    await page.locator('.order-note').getByText('No record of it').waitFor();
    await page.getByRole('button', { name: 'Limit', exact: true }).click();
    await page.locator('.order-note').waitFor({ state: 'detached' });
    expect(hashOf(page)).toBe(HOUR);
  });

  it('reloads of costs over time only the newest step, and no names', async () => {
    const page = await at(`#/compare?tokens=${SOL},${BARN}&metric=cost-time&window=1h&usd=20000`);
    await page.clock.install();
    await page.reload();
    const [replays, scores] = [
      requestsTo(page, `/replay/${SOL}`),
      requestsTo(page, `/score/${SOL}`),
    ];
    await page.locator('.line-chart li', { hasText: 'SOL' }).waitFor();
    const data = () => page.locator('.line-chart figcaption').textContent();
    const before = await data();
    await expect.poll(() => replays.length).toBeGreaterThan(0);
    const first = replays.length;
    expect(new Set(replays.map((one) => one.searchParams.get('from')))).toEqual(new Set(['-1h']));
    await freezeClock(page);
    const isAsked = async (): Promise<boolean> => {
      await page.clock.fastForward(1000);
      return replays.length > first;
    };
    await expect.poll(isAsked).toBe(true);
    const { t } = await replyTo<Slippage>(`/slippage/${SOL}?side=sell&usd=1`);
    expect(replays[first].searchParams.get('from')).toBe(String(t));
    expect(scores.length).toBe(1);
    expect(await data()).toBe(before);
  });

  it('compares costs by size and over time, as the API has them', async () => {
    const view = `#/compare?tokens=${SOL},${BARN}&metric=cost&window=1h&usd=20000`;
    const page = await at(view);
    const row = (symbol: string) => page.locator('.cost-table tr', { hasText: symbol });
    const costAt = async (token: string, query: string) => {
      const { quotes } = await replyTo<Slippage>(`/slippage/${token}?${query}`);
      return costPoint(quotes[0]);
    };
    for (const [symbol, token] of [
      ['SOL', SOL],
      ['BARN', BARN],
    ]) {
      await row(symbol).waitFor();
      const cost = await costAt(token, 'side=sell&usd=20000');
      const text = cost === null ? 'more than the ladder has' : usd(cost.inUsd.mean);
      expect(await row(symbol).textContent()).toContain(text);
    }
    await page.getByRole('button', { name: 'Cost over time' }).click();
    const amount = page.getByRole('textbox', { name: 'USD to sell' });
    await amount.fill('50k');
    await expect.poll(() => hashOf(page)).toContain('usd=50000');
    const legend = page.locator('.line-chart li', { hasText: 'SOL' });
    await legend.waitFor();
    const now = await costAt(SOL, 'side=sell&usd=50000');
    await expect.poll(() => legend.locator('b').textContent()).toBe(usd(now?.inUsd.mean));
    expect(await legend.textContent()).toContain(
      `${usd(now?.inUsd.least)} to ${usd(now?.inUsd.most)}`,
    );
    expect(await seriousFindings(page)).toEqual([]);
    // What is typed stays: no amount means the usual one, which the empty field names.
    await amount.fill('');
    await expect.poll(() => hashOf(page)).not.toContain('usd=');
    expect(await amount.inputValue()).toBe('');
    await page.getByText('Selling $100K at once').waitFor();
    expect(await amount.inputValue()).toBe('');
    expect(await amount.getAttribute('placeholder')).toBe('100,000');
  });
});
