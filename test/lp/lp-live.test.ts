/** What boards do automatically: after commits, with more depth, and as the clock advances. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Dataset } from '../../storage/ingest/datasets.js';
import { MarketService, NOW_S } from '../tokens/market-service.js';
import type { Json } from '../support/conformance.js';
import { poolHourRow, poolRow, tokenHourRow } from '../support/flat.js';
import { ingest, lines } from '../support/ingest.js';
import { becomes } from '../support/waiting.js';

const HOUR_S = 3600;
const HOUR = NOW_S - (NOW_S % HOUR_S);
const BASE = 'B'.repeat(40);
const POOL = 'P'.repeat(40);

const pool = (pubkey = POOL) => poolRow({ pubkey, token_x_mint: BASE, reserve_x: 10 });
const hourRow = (hour: number, fees: number, pubkey = POOL) =>
  poolHourRow({ pubkey, hour, fees_usd: fees });
const mintRow = (hour: number, volume: number) =>
  tokenHourRow({ address: BASE, hour, organic_volume_usd: volume });
/** A snapshot with `usd` in the pool's bin 0. */
const snapshotRow = (t: number, usd: number, price = 2) => ({
  chain: 'mainchain',
  address: BASE,
  t,
  price_usd: price,
  markets: [{ source: 'M', exchange_type: 'DEX', address: POOL, cells: [[0, usd, 0]] }],
});

describe('the boards of a running service', () => {
  let service: MarketService;
  beforeEach(async () => {
    service = await MarketService.start();
  });
  afterEach(() => service.stop());

  /** Like `fathom ingest` while a server runs; the data is committed when this resolves. */
  async function put(dataset: Dataset, rows: readonly object[]): Promise<void> {
    const { path: directory } = service.directory;
    const file = path.join(directory, `${dataset}.ndjson`);
    writeFileSync(file, lines(rows));
    await ingest(directory, dataset, [file], { store: service.store });
  }

  const rows = async (query: string): Promise<Json[]> =>
    (await service.get(`/dlmm-pools?minTvl=0${query}`)).body.data as Json[];
  const column = async (name: string, query = ''): Promise<unknown[]> =>
    (await rows(query)).map((row) => row[name] as unknown);
  const densities = async (query = ''): Promise<unknown[]> => {
    const { body } = await service.get(`/lp-cheat-sheet?${query}`);
    return body.data.map((row: Json) => [row.organic_volume, row.denom_liquidity_usd] as unknown);
  };

  it('show an ingest within a second, also two in quick succession', async () => {
    await put('snapshots', [snapshotRow(HOUR + 60, 5_000)]);
    await put('dlmm_pools', [pool()]);
    await put('dlmm_hours', [hourRow(HOUR, 10)]);
    await becomes(() => column('rangeYield'), [10 / 5_000]);
    await put('dlmm_hours', [hourRow(HOUR, 20)]);
    await put('dlmm_hours', [hourRow(HOUR, 30)]);
    await becomes(() => column('rangeYield'), [30 / 5_000]);
    await put('token_hours', [mintRow(HOUR, 700)]);
    await put('token_hours', [mintRow(HOUR, 800)]);
    await becomes(densities, [[800, 5_000]]);
    await becomes(() => densities('denominator=range'), [[800, 5_000]]);
    // Depth after a quiet period, twice.
    await put('snapshots', [snapshotRow(HOUR + 120, 7_000)]);
    await put('snapshots', [snapshotRow(HOUR + 180, 9_000)]);
    await becomes(() => column('rangeTvl'), [7_000]);
    await becomes(densities, [[800, 9_000]]);
    // Another pool of the base token.
    const second = 'Q'.repeat(40);
    await put('dlmm_pools', [pool(second)]);
    await put('dlmm_hours', [hourRow(HOUR, 60, second)]);
    await becomes(() => column('captureShare', '&sort=fees'), [2 / 3, 1 / 3]);
    await becomes(() => column('tokenPoolCount'), [2, 2]);
  });

  it('show the current names and prices', async () => {
    await put('dlmm_pools', [pool()]);
    await put('dlmm_hours', [hourRow(HOUR, 10)]);
    await becomes(() => column('baseSymbol'), [null]);
    const token = { chain: 'mainchain', address: BASE, symbol: 'BBB', price_usd: 3 };
    await put('tokens', [token]);
    await becomes(() => column('baseSymbol'), ['BBB']);
    const reserve = async (): Promise<unknown> =>
      (await service.get(`/dlmm/${BASE}`)).body.pools[0].reserve_x_usd;
    expect(await reserve()).toBe(30);
    await put('snapshots', [snapshotRow(HOUR, 5_000, 4)]);
    await becomes(reserve, 40);
  });

  it('move to a new hour with the first row of any pool, and of any token', async () => {
    await put('snapshots', [
      snapshotRow(HOUR - 60, 1_000),
      snapshotRow(HOUR + 60, 2_000),
      snapshotRow(HOUR + HOUR_S + 60, 4_000),
    ]);
    await put('dlmm_pools', [pool()]);
    await put('dlmm_hours', [hourRow(HOUR - HOUR_S, 10), hourRow(HOUR + HOUR_S, 40)]);
    await put('token_hours', [mintRow(HOUR - HOUR_S, 100), mintRow(HOUR + HOUR_S, 400)]);
    const all = async (): Promise<unknown[]> => [
      ...(await column('fees')),
      ...(await column('rangeTvl')),
      ...(await column('fees', '&period=24h')),
      ...(await densities('denominator=range')),
    ];
    // No row for this hour yet: 'this hour' is the one before.
    await becomes(all, [10, 1_000, 10, [100, 2_000]]);
    await put('dlmm_hours', [hourRow(HOUR, 20)]);
    await becomes(all, [20, 2_000, 30, [100, 2_000]]);
    await put('token_hours', [mintRow(HOUR, 200)]);
    await becomes(all, [20, 2_000, 30, [200, 2_000]]);
    // The rows and the snapshot of the next hour become visible with it.
    await service.turnTo(HOUR + HOUR_S + 10);
    expect(await all()).toEqual([40, null, 70]);
    await service.turnTo(HOUR + HOUR_S + 60);
    expect(await all()).toEqual([40, 4_000, 70, [400, 4_000]]);
    // An hour without rows changes nothing; then the rows become old.
    await service.turnTo(HOUR + 2 * HOUR_S);
    expect(await all()).toEqual([40, 4_000, 70, [400, 4_000]]);
    await service.turnTo(HOUR + 3 * HOUR_S);
    expect(await column('fees')).toEqual([]);
    expect(await column('fees', '&period=4h')).toEqual([70]);
  });
});
