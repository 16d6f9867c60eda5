/** GET /dca-pressure over sockets, compared with the plain reference. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TIMEFRAMES } from '../../compute/orders/dca-orders.js';
import {
  plainInRange,
  plainPressure,
  plainRank,
  plainSupportLiquidity,
  type PlainFlowToken,
  type PlainPressure,
  type PlainTimeframe,
} from '../reference/flow.js';
import type { PlainStore } from '../reference/replay.js';
import { marketsOf } from '../scores/ladders.js';
import type { Json } from '../support/conformance.js';
import { MemoryDepth } from '../support/memory-depth.js';
import { MemoryOrders } from '../support/memory-sources.js';
import { dcaOrder } from '../support/orders.js';
import { heldService } from '../support/service.js';
import { expectClose } from './close.js';
import { NOW_S, dcaOrdersOf, plainTokens } from './orders.js';
import { becomes } from '../support/waiting.js';

const SEED = 6;
const EMPTY: PlainStore = { markets: [], snapshots: [] };
const [TOKENS] = fc.sample(plainTokens(30, 25), { seed: SEED, numRuns: 1 });
/** A token with a record and no orders, and one with orders and no record. */
const QUIET = 'Q'.repeat(40);
const UNKNOWN = 'U'.repeat(40);

const clock = { atS: NOW_S, nowS: () => clock.atS };

const storeOf = ({ price, markets }: PlainFlowToken): PlainStore =>
  markets === null
    ? EMPTY
    : {
        markets: marketsOf(markets),
        snapshots: [
          {
            t: NOW_S - 7,
            tier: 'raw',
            price: price ?? NaN,
            cells: markets.flatMap(({ cells }, market) =>
              [...cells]
                .sort((a, b) => a.bin - b.bin)
                .map(({ bin, support, resistance }) => ({
                  market,
                  bin,
                  support: BigInt(support),
                  resistance: BigInt(resistance),
                })),
            ),
          },
        ],
      };

const depth = new MemoryDepth();
const source = new MemoryOrders();
for (const token of TOKENS) {
  depth.add('mainchain', token.address, storeOf(token));
  source.dca.orders.push(...dcaOrdersOf(token));
}
depth.add('mainchain', QUIET, EMPTY);
source.dca.orders.push(dcaOrder({ tokenAddress: UNKNOWN }));
const details = Object.fromEntries(
  TOKENS.map(({ address, mcap, price, markets }) => [
    address,
    { mcap, symbol: address.slice(0, 4), price_usd: markets === null ? price : 77 },
  ]),
);
const service = await heldService({ depth, details, orderSource: source, clock });

const boardNowS = (): Promise<number> =>
  Promise.resolve(service.orders.pressure.current.ranking.nowS);

async function ask(parameters: Json = {}): Promise<{ status: number; body: Json }> {
  const query = new URLSearchParams(parameters as Record<string, string>);
  const response = await service.get(`/dca-pressure?${query}`);
  return { status: response.status, body: (await response.json()) as Json };
}

async function board(parameters: Json = {}): Promise<Json> {
  const { status, body } = await ask(parameters);
  expect([status, body.error_code]).toEqual([200, undefined]);
  return body;
}

/** The reference's numbers for a token, and the flows of its orders. */
function expectToken(item: Json, want: PlainPressure): void {
  expect(item).toMatchObject({
    token: { address: want.address, chain: 'mainchain' },
    buy_order_count: want.buyCount,
    sell_order_count: want.sellCount,
  });
  expectClose(item.total_buy_usd, want.totalBuy);
  expectClose(item.total_sell_usd, want.totalSell);
  expectClose(item.net_usd, want.totalBuy - want.totalSell);
  for (const timeframe of TIMEFRAMES) {
    expectClose(item.impact[`net_usd_${timeframe}`], want.netUsd[timeframe]);
    expectClose(item.impact[`net_pct_${timeframe}`], want.netPct[timeframe]);
  }
}

/** The tokens of a request, in order. */
function wanted(tokens: readonly PlainFlowToken[], query: Json, nowS = NOW_S): PlainPressure[] {
  const within = (value: number | null, min?: number, max?: number): boolean => {
    if (min === undefined && max === undefined) return true;
    return value !== null && value >= (min ?? -Infinity) && value <= (max ?? Infinity);
  };
  const kept = tokens.filter(
    ({ mcap, markets }) =>
      within(mcap, query.min_mcap, query.max_mcap) &&
      within(plainSupportLiquidity(markets), query.min_liquidity, query.max_liquidity),
  );
  return plainRank(
    kept.map((token) => plainPressure(token, nowS)),
    query.sort_by ?? 'usd',
    query.sort_dir ?? 'desc',
    (query.sort_timeframe ?? '24_hr') as PlainTimeframe,
  );
}

const addresses = (body: Json): string[] => body.tokens.map((item: Json) => item.token.address);

describe('GET /dca-pressure', () => {
  it('has the fields of the specification', async () => {
    const body = await board({ include_orders: true });
    expect(body.query_parameters).toEqual({
      sort_by: 'usd',
      sort_timeframe: '24_hr',
      include_orders: true,
      limit: 20,
      chain: 'mainchain',
    });
    expect(body.count).toBe(20);
    const [item] = body.tokens as Json[];
    const plain = TOKENS.find(({ address }) => address === item.token.address) as PlainFlowToken;
    expect(item.token).toMatchObject({ price_usd: plain.price, mcap: plain.mcap });
  });

  it('ranks, keeps and nests like the plain reference', async () => {
    const amount = fc.oneof(fc.constant(undefined), fc.integer({ min: 0, max: 1000 }));
    const liquidity = fc.oneof(fc.constant(undefined), fc.integer({ min: 0, max: 9e6 }));
    const query = fc.record({
      sort_by: fc.constantFrom(undefined, 'usd', 'impact'),
      sort_dir: fc.constantFrom(undefined, 'asc', 'desc'),
      sort_timeframe: fc.constantFrom(undefined, ...TIMEFRAMES),
      include_orders: fc.constantFrom(undefined, true, false),
      order_limit: fc.constantFrom(undefined, 1, 4, 20),
      limit: fc.constantFrom(undefined, 1, 3, 50),
      min_mcap: amount,
      max_mcap: amount,
      min_liquidity: liquidity,
      max_liquidity: liquidity,
    });
    await fc.assert(
      fc.asyncProperty(query, async (any) => {
        const sent: Json = {};
        for (const [name, value] of Object.entries(any)) {
          if (value !== undefined) sent[name] = value;
        }
        fc.pre(!(sent.min_mcap > sent.max_mcap) && !(sent.min_liquidity > sent.max_liquidity));
        const body = await board(sent);
        const want = wanted(TOKENS, sent).slice(0, sent.limit ?? 20);
        expect(addresses(body)).toEqual(want.map(({ address }) => address));
        expect(body.count).toBe(want.length);
        for (const [i, item] of (body.tokens as Json[]).entries()) {
          expectToken(item, want[i]);
          const shown = want[i].orders[(sent.sort_timeframe ?? '24_hr') as PlainTimeframe];
          const count = sent.include_orders === true ? (sent.order_limit ?? 5) : 0;
          expect(item.orders.map((order: Json) => order.dca_address)).toEqual(
            shown.slice(0, count),
          );
        }
      }),
      { numRuns: 80, seed: SEED },
    );
  });

  it('nests orders like GET /dca-orders', async () => {
    const { tokens } = await board({ include_orders: true, order_limit: 20, limit: 50 });
    expect(tokens).toHaveLength(TOKENS.length);
    for (const item of tokens as Json[]) {
      const plain = TOKENS.find(({ address }) => address === item.token.address) as PlainFlowToken;
      const reply = await service.get(`/dca-orders?token_address=${plain.address}&limit=50`);
      const listed = ((await reply.json()) as Json).orders as Json[];
      expect(item.orders).toHaveLength(Math.min(20, plain.orders.length));
      for (const order of item.orders as Json[]) {
        expect(listed).toContainEqual(order);
        const own = plain.orders.find(({ address }) => address === order.dca_address);
        expect(order.in_active_range).toBe(own && plainInRange(own, plain.price));
      }
    }
  });
});

describe('the board', () => {
  it('has neither tokens without orders nor orders without a record', async () => {
    const all = addresses(await board({ limit: 50 }));
    expect(all.sort()).toEqual(TOKENS.map(({ address }) => address).sort());
    expect(all).not.toContain(QUIET);
    expect(all).not.toContain(UNKNOWN);
  });

  it('follows orders automatically within a second', async () => {
    const [first] = TOKENS;
    const own = (order: { tokenAddress: string }) => order.tokenAddress === first.address;
    const before = source.dca.orders;
    const kept = dcaOrdersOf(first).slice(1);
    source.dca.orders = [...before.filter((order) => !own(order)), ...kept];
    source.dca.orders.push(dcaOrder({ tokenAddress: QUIET, remainingUsd: 1e12, cycleUsd: 1e12 }));
    service.orders.touch({ dcaTokens: [first.address, QUIET], limitTokens: [] });
    const lookAt = async (address: string) => {
      const { tokens } = await board({ limit: 50 });
      const item = (tokens as Json[]).find(({ token }) => token.address === address);
      return item === undefined ? null : [item.buy_order_count + item.sell_order_count];
    };
    await becomes(() => lookAt(QUIET), [1]);
    await becomes(() => lookAt(first.address), kept.length === 0 ? null : [kept.length]);
    // Its price is unknown: it has orders, but no flow.
    const quiet = ((await board({ limit: 50 })).tokens as Json[]).find(
      ({ token }) => token.address === QUIET,
    );
    expect(quiet).toMatchObject({ total_buy_usd: 1e12, impact: { net_usd_24_hr: 0 } });
    source.dca.orders = before;
    service.orders.touch({ dcaTokens: [first.address, QUIET], limitTokens: [] });
    await becomes(() => lookAt(QUIET), null);
  });

  it('follows the clock: flows are at most 15 seconds old', async () => {
    for (const passedS of [10, 600, 50_000]) {
      clock.atS = NOW_S + passedS;
      await becomes(boardNowS, NOW_S + passedS);
      const { tokens } = await board({ limit: 50, sort_by: 'impact' });
      const want = new Map(wanted(TOKENS, {}, clock.atS).map((one) => [one.address, one]));
      for (const item of tokens as Json[]) {
        expectToken(item, want.get(item.token.address) as PlainPressure);
      }
    }
    clock.atS = NOW_S;
    await becomes(boardNowS, NOW_S);
  });

  it('stays the same while the pool fails, and is ranked when it works again', async () => {
    const before = await board({ limit: 50 });
    const { pressure } = service.orders;
    const { options } = pressure as unknown as { options: { pool: object } };
    const { pool } = options;
    options.pool = { run: () => Promise.reject(new Error('no thread')) };
    const change = async (dca: MemoryOrders['dca']['orders']): Promise<void> => {
      source.dca.orders = dca;
      service.orders.touch({ dcaTokens: [QUIET], limitTokens: [] });
      await service.orders.settled();
    };
    const orders = source.dca.orders;
    await change([...orders, dcaOrder({ tokenAddress: QUIET })]);
    expect(service.logged.join('\n')).toContain('DCA pressure could not be ranked');
    expect(await board({ limit: 50 })).toEqual(before);
    options.pool = pool;
    // Nothing triggers this: it retries.
    await becomes(async () => addresses(await board({ limit: 50 })).includes(QUIET), true);
    await change(orders);
    expect(await board({ limit: 50 })).toEqual(before);
  });
});
