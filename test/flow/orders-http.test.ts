/** GET /dca-orders and GET /limit-orders over sockets, against what a plain reading gives. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DcaOrder } from '../../compute/flow/dca-order.js';
import type { LimitOrder } from '../../compute/flow/limit-order.js';
import { plainDcaOrders, plainLimitOrders } from '../reference/orders.js';
import type { PlainStore } from '../reference/replay.js';
import type { Json } from '../support/conformance.js';
import { MemoryDepth } from '../support/memory-depth.js';
import { dcaOrder, dcaOrders, limitOrder, limitOrders } from '../support/orders.js';
import { MARKETS, NOW_S, startTestService, type TestService } from '../support/service.js';

const MINT = 'A'.repeat(40);
const LEG = `0x${'a'.repeat(40)}`;
/** A mint with neither legs, depth nor price. */
const BARE = 'B'.repeat(40);
/** A mint whose other leg has no price. */
const HALF = 'C'.repeat(40);
const HALF_LEG = `0x${'c'.repeat(40)}`;
const UNKNOWN = 'D'.repeat(40);
const PRICE_USD = 2;
const LEG_PRICE_USD = 1.9;

/** `[bin, support, resistance]` of all markets but perps. */
const LADDER = [
  [-9, 700, 0],
  [-2, 300, 0],
  [-1, 0, 20],
  [0, 50, 60],
  [3, 0, 400],
  [12, 0, 90],
] as const;

const storeAt = (price: number): PlainStore => ({
  markets: MARKETS,
  snapshots: [
    {
      t: NOW_S - 7,
      tier: 'raw',
      price,
      cells: [
        ...LADDER.map(([bin, support, resistance]) => ({
          market: 0,
          bin,
          support: BigInt(support * 100),
          resistance: BigInt(resistance * 100),
        })),
        // Perps: flows do not move along them.
        { market: 4, bin: -5, support: 900_000n, resistance: 900_000n },
      ],
    },
  ],
});
const EMPTY: PlainStore = { markets: [], snapshots: [] };

let service: TestService;

beforeAll(async () => {
  const depth = new MemoryDepth();
  depth.add('mainchain', MINT, storeAt(PRICE_USD), { asset: 'one' });
  depth.add('evmchain', LEG, storeAt(LEG_PRICE_USD), { asset: 'one' });
  depth.add('mainchain', BARE, EMPTY);
  depth.add('mainchain', HALF, EMPTY, { asset: 'half' });
  depth.add('evmchain', HALF_LEG, EMPTY, { asset: 'half' });
  const details = {
    [MINT]: {
      symbol: 'AAA',
      name: 'Token A',
      icon: 'https://icons.example/a.png',
      mcap: 5_000_000,
      liquidityUsd: 40_000,
      lastRefreshS: 77,
    },
    [LEG]: { symbol: 'AAAe', name: 'Token A bridged', mcap: 9, lastRefreshS: 78 },
    [HALF]: { priceUsd: 3, lastRefreshS: 79 },
  };
  service = await startTestService({ depth, details });
});
afterAll(() => service.stop());

async function ask(path: string, parameters: Json): Promise<{ status: number; body: Json }> {
  const query = new URLSearchParams(parameters as Record<string, string>);
  const response = await service.get(`${path}?${query}`);
  return { status: response.status, body: (await response.json()) as Json };
}
const limitOf = (token: string, more: Json = {}) =>
  ask('/limit-orders', { token_address: token, ...more });
const dcaOf = (token: string, more: Json = {}) =>
  ask('/dca-orders', { token_address: token, ...more });

async function hold({ dca = [], limit = [] }: { dca?: DcaOrder[]; limit?: LimitOrder[] }) {
  const { orderSource, orders } = service;
  const before = [...orderSource.dca, ...orderSource.limit];
  orderSource.dca = dca;
  orderSource.limit = limit;
  const touched = [...before, ...dca, ...limit].map(({ tokenAddress }) => tokenAddress);
  const tokens = [...new Set(touched)];
  orders.touch({ dcaTokens: tokens, limitTokens: tokens });
  await orders.settled();
}

const near = (body: Json): [string, number][] =>
  body.orders.map((order: Json) => [order.order_address, order.pct_away]);

describe('GET /limit-orders', () => {
  it('answers in the fields of the specification', async () => {
    const buy = limitOrder({ orderAddress: 'one', tokenAddress: MINT, usdPrice: 1.5 });
    const sell = { orderAddress: 'two', direction: 'SELL', usdPrice: 2.2 } as const;
    await hold({ limit: [buy, { ...buy, ...sell, remainingUsd: 33.25, platform: 'raydium' }] });
    const { status, body } = await limitOf(MINT);
    expect(status).toBe(200);
    expect(Object.keys(body.orders[0] as Json)).toEqual([
      'order_address',
      'chain',
      'direction',
      'platform',
      'symbol',
      'paired_symbol',
      'maker',
      'usd_price',
      'current_price_usd',
      'pct_away',
      'usd_support_amount',
      'usd_resistance_amount',
      'pct_complete',
      'created_at',
    ]);
    const { body: score } = await ask(`/score/${MINT}`, {});
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

  it('filters by chain, merges, sorts and cuts as a plain reading does', async () => {
    const change = fc.constantFrom(-0.99, -0.5, -0.25, 0, 0.25, 1, 10);
    await fc.assert(
      fc.asyncProperty(
        limitOrders('mainchain', MINT),
        limitOrders('evmchain', LEG),
        fc.constantFrom(MINT, LEG),
        fc.constantFrom(undefined, 'mainchain', 'evmchain', 'all'),
        fc.tuple(change, change),
        fc.constantFrom(1, 5, 100),
        async (mainchain, evmchain, asked, chain, [a, b], limit) => {
          await hold({ limit: [...mainchain, ...evmchain] });
          const own = asked === MINT ? 'mainchain' : 'evmchain';
          const applied = chain ?? own;
          const legs = [
            { chain: 'mainchain', orders: mainchain, priceUsd: PRICE_USD },
            { chain: 'evmchain', orders: evmchain, priceUsd: LEG_PRICE_USD },
          ].filter((leg) => applied === 'all' || applied === leg.chain);
          const [low, high] = [Math.min(a, b), Math.max(a, b)];
          const sent = { low_pct_change: String(low), high_pct_change: String(high) };
          const filter = chain === undefined ? {} : { chain };
          const { body } = await limitOf(asked, { ...sent, ...filter, limit: String(limit) });
          expect(near(body)).toEqual(plainLimitOrders(legs, low, high, limit));
          expect(body.count).toBe(body.orders.length);
          expect(body.query_parameters).toMatchObject({ chain: applied, limit });
          // The token is the one asked for, also where the orders are another leg's.
          expect(body.token).toMatchObject({ address: asked, chain: own });
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

  it('has no orders of a leg that is not there, or has no price', async () => {
    await hold({
      limit: [
        limitOrder({ orderAddress: 'a', tokenAddress: BARE, usdPrice: 3 }),
        limitOrder({ orderAddress: 'b', tokenAddress: HALF, usdPrice: 3 }),
        limitOrder({ orderAddress: 'c', tokenAddress: HALF_LEG, chain: 'evmchain', usdPrice: 3 }),
      ],
    });
    const bare = await limitOf(BARE, { chain: 'evmchain' });
    expect(bare).toMatchObject({ status: 200, body: { count: 0, orders: [] } });
    expect(bare.body.query_parameters.chain).toBe('evmchain');
    expect((await limitOf(BARE)).body).toMatchObject({
      token: { symbol: null, name: null, mcap: null, liquidity_usd: null, service_score: null },
      count: 0,
    });
    expect((await limitOf(BARE)).body.token).toMatchObject({ price_usd: null, last_refresh: null });
    expect(near((await limitOf(HALF)).body)).toEqual([['b', 0]]);
    expect(near((await limitOf(HALF, { chain: 'all' })).body)).toEqual([['b', 0]]);
    expect(near((await limitOf(HALF_LEG)).body)).toEqual([]);
    expect(near((await limitOf(HALF_LEG, { chain: 'all' })).body)).toEqual([['b', 0]]);
    expect((await limitOf(HALF)).body.token.last_refresh).toBe(79);
  });

  it.each([
    ['low_pct_change', { low_pct_change: '-0.991' }],
    ['low_pct_change', { low_pct_change: 'x' }],
    ['low_pct_change', { low_pct_change: '0.5', high_pct_change: '0.4' }],
    ['high_pct_change', { high_pct_change: '10.01' }],
    ['high_pct_change', { high_pct_change: '' }],
    ['limit', { limit: '0' }],
    ['limit', { limit: '501' }],
    ['limit', { limit: '1.5' }],
  ])('refuses a bad %s: %o', async (parameter, sent) => {
    const { status, body } = await limitOf(MINT, sent);
    expect(status).toBe(400);
    expect(body).toMatchObject({ error_code: 'invalid_parameter', parameter });
  });

  it('takes the ends of what is allowed', async () => {
    const sent = { low_pct_change: '-0.99', high_pct_change: '-0.99', limit: '500' };
    expect((await limitOf(MINT, sent)).status).toBe(200);
    // Below what `low_pct_change` is by itself: nothing lies in between.
    const { status, body } = await limitOf(MINT, { high_pct_change: '-0.95' });
    expect([status, body.count]).toEqual([200, 0]);
  });
});

describe('GET /dca-orders', () => {
  it('answers in the fields of the specification', async () => {
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
    await hold({ dca: [order, { ...order, ...spent, direction: 'SELL' }] });
    const { status, body } = await dcaOf(MINT, { chain: 'all' });
    expect(status).toBe(200);
    expect(Object.keys(body)).toEqual(['query_parameters', 'token', 'count', 'orders']);
    expect(body.query_parameters).toEqual({
      token_address: MINT,
      sort_by: 'pct_impact',
      limit: 20,
      chain: 'mainchain',
    });
    expect(body.token).toEqual((await limitOf(MINT)).body.token);
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
    expect(Object.keys(body.orders[0] as Json)).toEqual([
      'dca_address',
      'chain',
      'direction',
      'symbol',
      'paired_symbol',
      'deposited_usd',
      'remaining_usd',
      'pct_filled',
      'in_active_range',
      'cycle_frequency',
      'price_range',
      'flow_projections',
    ]);
  });

  const addresses = (body: Json): string[] =>
    body.orders.map((order: Json) => order.dca_address as string);
  const state = { priceUsd: PRICE_USD, ladder: LADDER };

  it('sorts and cuts as a plain reading does', async () => {
    await fc.assert(
      fc.asyncProperty(
        dcaOrders(NOW_S, MINT),
        fc.constantFrom('pct_impact' as const, 'usd_flow' as const),
        fc.constantFrom(1, 7, 50),
        async (orders, sort, limit) => {
          await hold({ dca: orders });
          const { body } = await dcaOf(MINT, { sort_by: sort, limit: String(limit) });
          expect(addresses(body)).toEqual(plainDcaOrders(orders, state, sort, NOW_S, limit));
        },
      ),
      { numRuns: 60 },
    );
    await hold({ dca: [dcaOrder({ tokenAddress: BARE })] });
    expect((await dcaOf(BARE)).body.orders[0]).toMatchObject({
      symbol: null,
      in_active_range: false,
      price_range: { current_price_usd: null },
    });
  });

  it('finds the largest of very many, for many who ask at once', async () => {
    const [some] = fc.sample(dcaOrders(NOW_S, MINT), { numRuns: 1, seed: 7 });
    const many = Array.from({ length: 12_000 }, (_, i) =>
      dcaOrder({
        ...some[i % Math.max(some.length, 1)],
        dcaAddress: `dca-${(i * 7919) % 12_000}`,
        tokenAddress: MINT,
        remainingUsd: 1 + ((i * 104_729) % 5000),
      }),
    );
    await hold({ dca: many });
    const want = plainDcaOrders(many, state, 'pct_impact', NOW_S, 50);
    const replies = await Promise.all(
      Array.from({ length: 8 }, () => dcaOf(MINT, { limit: '50' })),
    );
    for (const { body } of replies) expect(addresses(body)).toEqual(want);
    // Other orders: what was kept holds no more.
    await hold({ dca: many.slice(0, 3) });
    expect((await dcaOf(MINT, { limit: '50' })).body.count).toBe(3);
  });

  it('has no orders of a token outside a range', async () => {
    await hold({
      dca: [MINT, BARE].map((tokenAddress, i) => dcaOrder({ dcaAddress: `${i}`, tokenAddress })),
    });
    const count = async (token: string, sent: Json) => (await dcaOf(token, sent)).body.count;
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
    const { body } = await dcaOf(MINT, { min_mcap: '5000001' });
    expect(body.token.address).toBe(MINT);
  });

  it.each([
    ['sort_by', { sort_by: 'usd' }],
    ['min_mcap', { min_mcap: '-1' }],
    ['min_mcap', { min_mcap: '2', max_mcap: '1' }],
    ['max_mcap', { max_mcap: 'x' }],
    ['min_liquidity', { min_liquidity: '2', max_liquidity: '1' }],
    ['max_liquidity', { max_liquidity: '1e999' }],
    ['limit', { limit: '0' }],
    ['limit', { limit: '51' }],
  ])('refuses a bad %s: %o', async (parameter, sent) => {
    const { status, body } = await dcaOf(MINT, sent);
    expect(status).toBe(400);
    expect(body).toMatchObject({ error_code: 'invalid_parameter', parameter });
  });
});

describe('the token of both', () => {
  it.each(['/dca-orders', '/limit-orders'])('%s answers 404 without a record', async (path) => {
    const { status, body } = await ask(path, { token_address: UNKNOWN });
    expect(status).toBe(404);
    expect(body.error_code).toBe('token_not_found');
    expect(service.queue.list()).toEqual([]);
    const missing = await ask(path, {});
    expect(missing.body).toMatchObject({
      parameter: 'token_address',
      error_code: 'invalid_parameter',
    });
    const invalid = await ask(path, { token_address: 'x' });
    expect(invalid.body.error_code).toBe('invalid_address');
  });

  it('is on the chain that its address says, where that is served', async () => {
    const refused = await dcaOf(LEG);
    expect(refused).toMatchObject({ status: 400, body: { error_code: 'chain_not_supported' } });
    expect(refused.body.supported_chains).toEqual(['mainchain']);
    const evm = await dcaOf(MINT, { chain: 'evmchain' });
    expect(evm.body).toMatchObject({ error_code: 'chain_not_supported', chain: 'evmchain' });
    const other = await limitOf(MINT, { chain: 'solana' });
    expect(other.body).toMatchObject({ error_code: 'invalid_chain', chain: 'solana' });
    expect((await dcaOf(MINT, { chain: 'mainchain' })).status).toBe(200);
  });
});
