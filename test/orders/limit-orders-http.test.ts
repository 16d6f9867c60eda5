/** GET /limit-orders over sockets, compared with a plain implementation. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { plainLimitOrders } from '../reference/orders.js';
import type { Json } from '../support/conformance.js';
import { limitOrder, limitOrders } from '../support/orders.js';
import { NOW_S } from '../support/service.js';
import {
  BARE,
  HALF,
  HALF_LEG,
  LEG,
  LEG_PRICE_USD,
  MINT,
  OrderService,
  PRICE_USD,
} from './order-service.js';

const service = await OrderService.held();

const near = (body: Json): [string, number][] =>
  body.orders.map((order: Json) => [order.order_address, order.pct_away]);

describe('GET /limit-orders', () => {
  it('has the fields of the specification', async () => {
    const buy = limitOrder({ orderAddress: 'one', tokenAddress: MINT, usdPrice: 1.5 });
    const sell = { orderAddress: 'two', direction: 'SELL', usdPrice: 2.2 } as const;
    await service.hold({
      limit: [buy, { ...buy, ...sell, remainingUsd: 33.25, platform: 'raydium' }],
    });
    const { status, body } = await service.limitOf(MINT);
    expect(status).toBe(200);
    const { body: score } = await service.ask(`/score/${MINT}`, {});
    expect(score.service_score).toBeGreaterThan(0);
    const common = {
      chain: 'mainchain',
      symbol: 'AAA',
      paired_symbol: 'USDC',
      maker: 'maker',
      current_price_usd: 2,
      pct_complete: 0.25,
      created_at: 1_794_000_000,
    };
    expect(body).toEqual({
      query_parameters: {
        token_address: MINT,
        low_pct_change: -0.9,
        high_pct_change: 10,
        limit: 100,
        chain: 'mainchain',
      },
      token: {
        address: MINT,
        chain: 'mainchain',
        symbol: 'AAA',
        name: 'Token A',
        mcap: 5_000_000,
        liquidity_usd: 40_000,
        service_score: score.service_score,
        price_usd: 2,
        last_refresh: NOW_S - 7,
      },
      count: 2,
      orders: [
        {
          ...common,
          order_address: 'two',
          direction: 'SELL',
          platform: 'raydium',
          usd_price: 2.2,
          pct_away: 2.2 / 2 - 1,
          usd_support_amount: 0,
          usd_resistance_amount: 33.25,
        },
        {
          ...common,
          order_address: 'one',
          direction: 'BUY',
          platform: 'jupiter',
          usd_price: 1.5,
          pct_away: -0.25,
          usd_support_amount: 10,
          usd_resistance_amount: 0,
        },
      ],
    });
  });

  it('filters by chain, merges, sorts and cuts like the plain implementation', async () => {
    const change = fc.constantFrom(-0.99, -0.5, -0.25, 0, 0.25, 1, 10);
    await fc.assert(
      fc.asyncProperty(
        limitOrders('mainchain', MINT),
        limitOrders('evmchain', LEG),
        fc.constantFrom(MINT, LEG),
        fc.constantFrom(undefined, 'mainchain', 'evmchain', 'all'),
        fc.tuple(change, change),
        fc.constantFrom(1, 5, 100),
        async (mainchain, evmchain, requested, chain, [a, b], limit) => {
          await service.hold({ limit: [...mainchain, ...evmchain] });
          const own = requested === MINT ? 'mainchain' : 'evmchain';
          const applied = chain ?? own;
          const legs = [
            { chain: 'mainchain', orders: mainchain, priceUsd: PRICE_USD },
            { chain: 'evmchain', orders: evmchain, priceUsd: LEG_PRICE_USD },
          ].filter((leg) => applied === 'all' || applied === leg.chain);
          const [low, high] = [Math.min(a, b), Math.max(a, b)];
          const sent = { low_pct_change: String(low), high_pct_change: String(high) };
          const filter = chain === undefined ? {} : { chain };
          const { body } = await service.limitOf(requested, {
            ...sent,
            ...filter,
            limit: String(limit),
          });
          expect(near(body)).toEqual(plainLimitOrders(legs, low, high, limit));
          expect(body.count).toBe(body.orders.length);
          expect(body.query_parameters).toMatchObject({ chain: applied, limit });
          // The token is the requested one, even if the orders are another leg's.
          expect(body.token).toMatchObject({ address: requested, chain: own });
          const prices = { mainchain: PRICE_USD, evmchain: LEG_PRICE_USD };
          const symbols = { mainchain: 'AAA', evmchain: 'AAAe' };
          for (const order of body.orders as (Json & { chain: keyof typeof prices })[]) {
            expect(String(order.order_address)).toContain(order.chain);
            expect(order.current_price_usd).toBe(prices[order.chain]);
            expect(order.symbol).toBe(symbols[order.chain]);
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  it('has no orders for a missing leg, or one without a price', async () => {
    await service.hold({
      limit: [
        limitOrder({ orderAddress: 'a', tokenAddress: BARE, usdPrice: 3 }),
        limitOrder({ orderAddress: 'b', tokenAddress: HALF, usdPrice: 3 }),
        limitOrder({ orderAddress: 'c', tokenAddress: HALF_LEG, chain: 'evmchain', usdPrice: 3 }),
      ],
    });
    const bare = await service.limitOf(BARE, { chain: 'evmchain' });
    expect(bare).toMatchObject({ status: 200, body: { count: 0, orders: [] } });
    expect(bare.body.query_parameters.chain).toBe('evmchain');
    expect((await service.limitOf(BARE)).body).toMatchObject({
      token: { symbol: null, name: null, mcap: null, liquidity_usd: null, service_score: null },
      count: 0,
    });
    expect((await service.limitOf(BARE)).body.token).toMatchObject({
      price_usd: null,
      last_refresh: null,
    });
    expect(near((await service.limitOf(HALF)).body)).toEqual([['b', 0]]);
    expect(near((await service.limitOf(HALF, { chain: 'all' })).body)).toEqual([['b', 0]]);
    expect(near((await service.limitOf(HALF_LEG)).body)).toEqual([]);
    expect(near((await service.limitOf(HALF_LEG, { chain: 'all' })).body)).toEqual([['b', 0]]);
    expect((await service.limitOf(HALF)).body.token.last_refresh).toBe(79);
  });

  it('accepts the ends of the allowed range', async () => {
    const sent = { low_pct_change: '-0.99', high_pct_change: '-0.99', limit: '500' };
    expect((await service.limitOf(MINT, sent)).status).toBe(200);
    // Below the default of `low_pct_change`: nothing is in between.
    const { status, body } = await service.limitOf(MINT, { high_pct_change: '-0.95' });
    expect([status, body.count]).toEqual([200, 0]);
  });
});
