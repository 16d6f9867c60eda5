/** Orders from a real store: what commits and the clock change. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { BUNDLE_VERSION } from '../../storage/bundle.js';
import type { FlatRowValues } from '../../storage/bundle.js';
import type { FlatDataset } from '../../storage/contract.js';
import { FLAT_TABLES } from '../../storage/flat-tables.js';
import { MarketService, NOW_S } from '../tokens/market-service.js';
import type { Json } from '../support/conformance.js';
import { commitFrames, commitRows, commitTokens, MINT, orca, snapshot } from '../support/stores.js';

let service: MarketService;
beforeAll(async () => {
  service = await MarketService.start();
  await commitTokens(service.store, [{ address: MINT, symbol: 'AAA', last_refresh: 5 }]);
});
afterAll(() => service.stop());

const DCA = {
  token_address: MINT,
  direction: 'BUY',
  paired_symbol: 'USDC',
  deposited_usd: 100,
  remaining_usd: 80,
  cycle_usd: 10,
  cycle_frequency: 600,
  next_cycle_at: NOW_S + 600,
  min_usd: null,
  max_usd: null,
};
const LIMIT = {
  chain: 'mainchain',
  token_address: MINT,
  direction: 'SELL',
  platform: 'jupiter',
  paired_symbol: 'USDC',
  maker: 'maker',
  usd_price: 3,
  remaining_usd: 50,
  pct_complete: 0,
  created_at: 9,
};

async function commit(dataset: FlatDataset, rows: Json[]): Promise<void> {
  const columns = Object.keys(FLAT_TABLES[dataset].columns);
  await commitFrames(service.store, [
    { kind: 'header', version: BUNDLE_VERSION, file: `${dataset}.ndjson`, mode: 'replace' },
    {
      kind: 'rows',
      dataset,
      rows: rows.map((row) => [...columns.map((name) => row[name]), true] as FlatRowValues),
    },
  ]);
  await service.orders.settled();
}

async function dca(): Promise<Json> {
  return (await service.get(`/dca-orders?token_address=${MINT}&sort_by=usd_flow`)).body;
}
async function limit(): Promise<Json> {
  return (await service.get(`/limit-orders?token_address=${MINT}`)).body;
}

it('appear with their commit', async () => {
  await commit('dca_orders', [{ ...DCA, dca_address: 'one' }]);
  await commit('limit_orders', [{ ...LIMIT, order_address: 'one' }]);
  const { orders, token } = await dca();
  expect(orders).toHaveLength(1);
  // Whether it would trade is unknown: there is no price.
  expect(orders[0]).toMatchObject({ dca_address: 'one', in_active_range: false });
  expect(token).toMatchObject({ price_usd: null, last_refresh: 5 });
  expect((await limit()).orders).toEqual([]);
});

it('follow the price', async () => {
  await commitRows(service.store, [
    snapshot(NOW_S - 7, [orca([[0, 5, 7.5]])]),
    snapshot(NOW_S + 1200, [orca([[0, 5, 7.5]])], { price_usd: 4 }),
  ]);
  await service.settled();
  const { orders, token } = await dca();
  expect(orders[0].in_active_range).toBe(true);
  expect(orders[0].flow_projections).toMatchObject({ usd_next_5_min: 0, usd_next_30_min: 30 });
  expect(token).toMatchObject({ price_usd: 2, last_refresh: NOW_S - 7, symbol: 'AAA' });
  const { orders: near } = await limit();
  expect(near).toMatchObject([{ order_address: 'one', pct_away: 0.5, current_price_usd: 2 }]);
});

it('follow the clock, second by second', async () => {
  const flowAt = async (nowS: number): Promise<number> => {
    await service.turnTo(nowS);
    return (await dca()).orders[0].flow_projections.usd_next_5_min as number;
  };
  expect(await flowAt(NOW_S + 299)).toBe(0);
  expect(await flowAt(NOW_S + 300)).toBe(10);
  expect(await flowAt(NOW_S + 599)).toBe(10);
  expect(await flowAt(NOW_S + 600)).toBe(0);
  await service.turnTo(NOW_S + 1200);
  expect((await limit()).orders[0]).toMatchObject({ pct_away: -0.25, current_price_usd: 4 });
});

it('disappear when they are used up', async () => {
  await commit('limit_orders', [{ ...LIMIT, order_address: 'two', usd_price: 4 }]);
  expect((await limit()).orders.map((order: Json) => order.order_address)).toEqual(['two', 'one']);
  const columns = Object.keys(FLAT_TABLES.limit_orders.columns);
  const gone = { ...LIMIT, order_address: 'two', remaining_usd: 0 } as Json;
  await commitFrames(service.store, [
    { kind: 'header', version: BUNDLE_VERSION, file: 'limit_orders.ndjson', mode: 'replace' },
    {
      kind: 'rows',
      dataset: 'limit_orders',
      rows: [[...columns.map((name) => gone[name]), false] as FlatRowValues],
    },
  ]);
  await service.orders.settled();
  expect((await limit()).orders.map((order: Json) => order.order_address)).toEqual(['one']);
});
