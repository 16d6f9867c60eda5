/** Orders from a real store: what commits and the clock change. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { FlatDataset } from '../../storage/contract.js';
import { MarketService, NOW_S } from '../tokens/market-service.js';
import type { Json } from '../support/conformance.js';
import { commitFlat, dcaRow, limitRow } from '../support/flat.js';
import { commitRows, commitTokens, MINT, orca, snapshot } from '../support/stores.js';

let service: MarketService;
beforeAll(async () => {
  service = await MarketService.start();
  await commitTokens(service.store, [{ address: MINT, symbol: 'AAA', last_refresh: 5 }]);
});
afterAll(() => service.stop());

const dcaOrder = dcaRow({
  dca_address: 'one',
  deposited_usd: 100,
  remaining_usd: 80,
  max_usd: null,
  cycle_frequency: 600,
  next_cycle_at: NOW_S + 600,
});
const limitOrder = (order_address: string, more: Json = {}) =>
  limitRow({ order_address, chain: 'mainchain', token_address: MINT, usd_price: 3, ...more });

async function commit(dataset: FlatDataset, row: Json): Promise<void> {
  await commitFlat(service.store, dataset, [row]);
  await service.orders.settled();
}

async function dca(): Promise<Json> {
  return (await service.get(`/dca-orders?token_address=${MINT}&sort_by=usd_flow`)).body;
}
async function limit(): Promise<Json> {
  return (await service.get(`/limit-orders?token_address=${MINT}`)).body;
}

it('appear with their commit', async () => {
  await commit('dca_orders', dcaOrder);
  await commit('limit_orders', limitOrder('one'));
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
  await commit('limit_orders', limitOrder('two', { usd_price: 4 }));
  expect((await limit()).orders.map((order: Json) => order.order_address)).toEqual(['two', 'one']);
  await commit('limit_orders', limitOrder('two', { remaining_usd: 0 }));
  expect((await limit()).orders.map((order: Json) => order.order_address)).toEqual(['one']);
});
