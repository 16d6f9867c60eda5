/** GET /dca-orders over sockets, compared with a plain implementation. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { plainDcaOrders } from '../reference/orders.js';
import type { Json } from '../support/conformance.js';
import { dcaOrder, dcaOrders } from '../support/orders.js';
import { NOW_S } from '../support/service.js';
import { BARE, LADDER, MINT, OrderService, PRICE_USD } from './order-service.js';

const service = await OrderService.held();

describe('GET /dca-orders', () => {
  it('has the fields of the specification', async () => {
    const order = dcaOrder({
      dcaAddress: 'one',
      tokenAddress: MINT,
      depositedUsd: 800,
      remainingUsd: 600,
      cycleUsd: 10,
      cycleFrequencyS: 1200,
      nextCycleAtS: NOW_S + 300,
      minUsd: 2,
    });
    const spent = { dcaAddress: 'two', depositedUsd: 0, minUsd: null, maxUsd: 1.99 };
    await service.hold({ dca: [order, { ...order, ...spent, direction: 'SELL' }] });
    const { status, body } = await service.dcaOf(MINT, { chain: 'all' });
    expect(status).toBe(200);
    expect(body.query_parameters).toEqual({
      token_address: MINT,
      sort_by: 'pct_impact',
      limit: 20,
      chain: 'mainchain',
    });
    expect(body.token).toEqual((await service.limitOf(MINT)).body.token);
    expect(body.count).toBe(2);
    const common = { chain: 'mainchain', symbol: 'AAA', paired_symbol: 'USDC' };
    expect(body.orders).toEqual([
      {
        ...common,
        dca_address: 'one',
        direction: 'BUY',
        deposited_usd: 800,
        remaining_usd: 600,
        pct_filled: 0.25,
        in_active_range: true,
        cycle_frequency: 1200,
        price_range: { min_usd: 2, max_usd: null, current_price_usd: 2 },
        flow_projections: {
          usd_next_5_min: 10,
          usd_next_30_min: 20,
          usd_next_1_hr: 30,
          usd_next_6_hr: 180,
          usd_next_24_hr: 600,
        },
      },
      {
        ...common,
        dca_address: 'two',
        direction: 'SELL',
        deposited_usd: 0,
        remaining_usd: 600,
        pct_filled: null,
        in_active_range: false,
        cycle_frequency: 1200,
        price_range: { min_usd: null, max_usd: 1.99, current_price_usd: 2 },
        flow_projections: {
          usd_next_5_min: 0,
          usd_next_30_min: 0,
          usd_next_1_hr: 0,
          usd_next_6_hr: 0,
          usd_next_24_hr: 0,
        },
      },
    ]);
  });

  it('have a negative fraction filled if more is left than was deposited', async () => {
    const more = dcaOrder({ tokenAddress: MINT, depositedUsd: 100, remainingUsd: 500 });
    await service.hold({ dca: [more] });
    expect((await service.dcaOf(MINT)).body.orders[0]).toMatchObject({ pct_filled: -4 });
  });

  const addresses = (body: Json): string[] =>
    body.orders.map((order: Json) => order.dca_address as string);
  const state = { priceUsd: PRICE_USD, ladder: LADDER };

  it('sorts and cuts like the plain implementation', async () => {
    await fc.assert(
      fc.asyncProperty(
        dcaOrders(NOW_S, MINT),
        fc.constantFrom('pct_impact' as const, 'usd_flow' as const),
        fc.constantFrom(1, 7, 50),
        async (orders, sort, limit) => {
          await service.hold({ dca: orders });
          const { body } = await service.dcaOf(MINT, { sort_by: sort, limit: String(limit) });
          expect(addresses(body)).toEqual(plainDcaOrders(orders, state, sort, NOW_S, limit));
        },
      ),
      { numRuns: 60 },
    );
    await service.hold({ dca: [dcaOrder({ tokenAddress: BARE })] });
    expect((await service.dcaOf(BARE)).body.orders[0]).toMatchObject({
      symbol: null,
      in_active_range: false,
      price_range: { current_price_usd: null },
    });
  });

  it('finds the largest of very many, for many concurrent requests', async () => {
    const [some] = fc.sample(dcaOrders(NOW_S, MINT), { numRuns: 1, seed: 7 });
    const many = Array.from({ length: 12_000 }, (_, i) =>
      dcaOrder({
        ...some[i % Math.max(some.length, 1)],
        dcaAddress: `dca-${(i * 7919) % 12_000}`,
        tokenAddress: MINT,
        remainingUsd: 1 + ((i * 104_729) % 5000),
      }),
    );
    await service.hold({ dca: many });
    const want = plainDcaOrders(many, state, 'pct_impact', NOW_S, 50);
    const replies = await Promise.all(
      Array.from({ length: 8 }, () => service.dcaOf(MINT, { limit: '50' })),
    );
    for (const { body } of replies) expect(addresses(body)).toEqual(want);
    // Other orders: the kept result is no longer valid.
    await service.hold({ dca: many.slice(0, 3) });
    expect((await service.dcaOf(MINT, { limit: '50' })).body.count).toBe(3);
  });

  it('has no orders for a token outside a range', async () => {
    await service.hold({
      dca: [MINT, BARE].map((tokenAddress, i) => dcaOrder({ dcaAddress: `${i}`, tokenAddress })),
    });
    const count = async (token: string, sent: Json) =>
      (await service.dcaOf(token, sent)).body.count;
    // Support Liquidity of the ladder is 1,050 USD, the row's liquidity 40,000.
    expect(await count(MINT, { min_liquidity: '1050', max_liquidity: '1050' })).toBe(1);
    expect(await count(MINT, { min_liquidity: '1050.01' })).toBe(0);
    expect(await count(MINT, { max_liquidity: '1049.99' })).toBe(0);
    expect(await count(MINT, { min_mcap: '5000000', max_mcap: '5000000' })).toBe(1);
    expect(await count(MINT, { min_mcap: '5000001' })).toBe(0);
    expect(await count(MINT, { max_mcap: '4999999' })).toBe(0);
    expect(await count(BARE, {})).toBe(1);
    expect(await count(BARE, { min_mcap: '0' })).toBe(0);
    expect(await count(BARE, { max_liquidity: '1000000' })).toBe(0);
    const { body } = await service.dcaOf(MINT, { min_mcap: '5000001' });
    expect(body.token.address).toBe(MINT);
  });
});
