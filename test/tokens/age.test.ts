/** The age of data (docs/definitions.md#age): what replies say of it, and what becomes of it by the clock. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commitFlat, dcaRow, limitRow, poolRow, tokenHourRow } from '../support/flat.js';
import type { Json } from '../support/conformance.js';
import { STALE_AFTER_S } from '../support/service.js';
import { commitRows, commitTokens, orca, snapshot } from '../support/stores.js';
import { MarketService, NOW_S } from './market-service.js';

const FRESH = 'A'.repeat(40);
const OLD = 'B'.repeat(40);
/** Depth and no score. */
const BARE = 'C'.repeat(40);
/** A record and no snapshot. */
const NONE = 'D'.repeat(40);
/** A mint whose leg has newer depth. */
const MAIN = 'E'.repeat(40);
const LEG = `0x${'e'.repeat(40)}`;

/** The newest second at which a snapshot of OLD is not stale yet is NOW_S. */
const OLD_T = NOW_S - STALE_AFTER_S;
const FRESH_T = NOW_S - 10;
const MAIN_T = NOW_S - 7200;
const HOUR = NOW_S - (NOW_S % 3600);

let service: MarketService;

const depthOf = (address: string, t: number, usd = 5000) =>
  snapshot(t, [orca([[0, usd, usd]])], {
    address,
    chain: address.startsWith('0x') ? 'evmchain' : 'mainchain',
  });

beforeAll(async () => {
  service = await MarketService.start();
  const { store } = service;
  await commitTokens(store, [
    { address: FRESH, mcap: 10 },
    { address: OLD, mcap: 1000 },
    { address: BARE, coverage: 'depth_only' },
    { address: NONE, price_usd: 3, last_refresh: 77 },
    { address: MAIN, asset: 'e' },
    { chain: 'evmchain', address: LEG, asset: 'e' },
  ]);
  await commitRows(store, [
    depthOf(FRESH, FRESH_T),
    depthOf(OLD, OLD_T, 9000),
    depthOf(BARE, OLD_T),
    depthOf(MAIN, MAIN_T),
    depthOf(LEG, FRESH_T - 1),
  ]);
  const orders = [FRESH, OLD, MAIN, NONE].map((token_address) =>
    dcaRow({ dca_address: `dca ${token_address}`, token_address }),
  );
  await commitFlat(store, 'dca_orders', orders);
  await commitFlat(store, 'limit_orders', [limitRow({ chain: 'mainchain', token_address: OLD })]);
  const pool = { token_x_mint: OLD, token_y_mint: NONE };
  await commitFlat(store, 'dlmm_pools', [poolRow(pool)]);
  const hours = [FRESH, OLD, MAIN].map((address) => tokenHourRow({ address, hour: HOUR }));
  await commitFlat(store, 'token_hours', hours);
  await service.turnTo(NOW_S);
});
afterAll(() => service.stop());

const scoreOf = async (address: string): Promise<Json> =>
  (await service.get(`/score/${address}`)).body;
const dataTimeOf = async (path: string): Promise<number | null> => {
  const { status, headers } = await service.get(path);
  expect(status, path).toBe(200);
  const sent = headers.get('x-data-time');
  return sent === null ? null : Number(sent);
};

/** The addresses on each board, and how many are left out. */
async function boards(more = ''): Promise<Record<string, unknown>> {
  const of = async (path: string, list: string, address: (row: Json) => string) => {
    const { body } = await service.get(path);
    return [(body[list] as Json[]).map(address).sort(), body.stale_count];
  };
  return {
    top: await of('/top-scores', 'tokens', (row) => row.address as string),
    all: await of('/top-scores?chain=all', 'tokens', (row) => row.address as string),
    dca: await of(`/dca-pressure?${more}`, 'tokens', (row) => row.token.address as string),
    lp: await of('/lp-cheat-sheet', 'data', (row) => row.address as string),
  };
}

describe('the age of data', () => {
  it('is in X-Data-Time of every reply on a token, and in the fields of a score', async () => {
    const pathsOf = (address: string) => [
      `/score/${address}`,
      `/score/${address}?explain=true`,
      `/market-depth?token_address=${address}`,
      `/dca-orders?token_address=${address}`,
      `/limit-orders?token_address=${address}`,
      `/limit-orders?token_address=${address}&chain=all`,
      `/dlmm/${address}`,
    ];
    const times = { [FRESH]: FRESH_T, [OLD]: OLD_T, [BARE]: OLD_T, [MAIN]: MAIN_T, [NONE]: null };
    for (const [address, t] of Object.entries(times)) {
      for (const path of pathsOf(address)) {
        // Twice: the second reply may be a kept one.
        expect([path, await dataTimeOf(path), await dataTimeOf(path)]).toEqual([path, t, t]);
      }
      expect([address, (await scoreOf(address)).data_time]).toEqual([address, t]);
    }
    // The delayed snapshot is another one, or none.
    const delayed = (address: string) => `/market-depth?token_address=${address}&delayed=true`;
    expect(await dataTimeOf(delayed(OLD))).toBe(OLD_T);
    expect(await dataTimeOf(delayed(FRESH))).toBe(null);
    const unknown = 'U'.repeat(40);
    expect(await dataTimeOf(`/score/${unknown}`)).toBe(null);
    expect((await scoreOf(unknown)).data_time).toBe(null);
    expect(await dataTimeOf(`/dlmm/${unknown}`)).toBe(null);
    // A bridged leg is answered as its mint, and stands for itself elsewhere.
    expect(await dataTimeOf(`/score/${LEG}`)).toBe(MAIN_T);
    expect(await dataTimeOf(`/market-depth?token_address=${LEG}`)).toBe(FRESH_T - 1);
    const head = await fetch(`${service.server.url}/api/v1/score/${OLD}`, {
      method: 'HEAD',
      headers: { 'x-api-key': 'fathom-test-key-of-an-enterprise-member' },
    });
    expect(head.headers.get('x-data-time')).toBe(String(OLD_T));
    for (const path of ['/top-scores', '/dca-pressure', '/lp-cheat-sheet', '/dlmm-pools']) {
      expect(await dataTimeOf(path)).toBe(null);
    }
  });

  it('is of each token in a batch, whose header has the oldest', async () => {
    const { body, headers } = await service.post({ addresses: [FRESH, LEG, NONE, MAIN, BARE] });
    expect(body.tokens.map((row: Json) => [row.data_time, row.stale])).toEqual([
      [FRESH_T, false],
      [FRESH_T - 1, false],
      [null, false],
      [MAIN_T, false],
      [OLD_T, false],
    ]);
    expect(headers.get('x-data-time')).toBe(String(MAIN_T));
    const bare = await service.post({ addresses: [NONE] });
    expect(bare.headers.get('x-data-time')).toBe(null);
  });

  it('is that of the newest leg in service_last_run', async () => {
    const lastRun = async (address: string) => (await scoreOf(address)).service_last_run as string;
    const iso = (t: number) => new Date(t * 1000).toISOString();
    expect(await lastRun(OLD)).toBe(iso(OLD_T));
    expect(await lastRun(MAIN)).toBe(iso(FRESH_T - 1));
    expect(await lastRun(BARE)).toBe(null);
  });

  it('makes a score stale by the clock alone, and takes it off the boards', async () => {
    const staleOf = async (): Promise<unknown[]> => {
      const { body } = await service.post({ addresses: [FRESH, OLD, BARE, NONE, MAIN, LEG] });
      const single = await Promise.all([FRESH, OLD, MAIN].map(scoreOf));
      const orders = await service.get(`/dca-orders?token_address=${OLD}`);
      const depth = await service.get(`/market-depth?token_address=${OLD}`);
      return [
        ...(body.tokens as Json[]).map(({ stale }) => stale as boolean),
        ...single.map(({ stale }) => stale as boolean),
        orders.body.token.stale,
        depth.body.stale,
      ];
    };
    const before = await scoreOf(OLD);
    // MAIN's own snapshot is two hours old; its score rests on that of its leg.
    expect(before).toMatchObject({ status: 'available', stale: false });
    expect(await staleOf()).toEqual(Array.from({ length: 11 }, () => false));
    expect(await boards()).toEqual({
      top: [[FRESH, OLD, MAIN], 0],
      all: [[FRESH, OLD, MAIN], 0],
      dca: [[FRESH, OLD, NONE], 1],
      lp: [[FRESH, OLD], 1],
    });

    await service.turnTo(NOW_S + 1);
    expect(await scoreOf(OLD)).toEqual({ ...before, stale: true });
    expect(await staleOf()).toEqual(
      // FRESH, OLD, BARE, NONE, MAIN, LEG; FRESH, OLD, MAIN; orders and depth of OLD
      [false, true, false, false, false, false, false, true, false, true, true],
    );
    const left = {
      top: [[FRESH, MAIN], 1],
      all: [[FRESH, MAIN], 1],
      dca: [[FRESH, NONE], 2],
      lp: [[FRESH], 2],
    };
    expect(await boards()).toEqual(left);
    // Only those that the request would list count.
    expect((await boards('max_mcap=100')).dca).toEqual([[FRESH], 0]);
    expect((await boards('min_mcap=100')).dca).toEqual([[], 1]);
  });

  it('makes an asset stale with its newest leg', async () => {
    await service.turnTo(FRESH_T - 1 + STALE_AFTER_S);
    expect((await scoreOf(MAIN)).stale).toBe(false);
    await service.turnTo(FRESH_T + STALE_AFTER_S);
    expect((await scoreOf(MAIN)).stale).toBe(true);
    expect((await service.get(`/market-depth?token_address=${LEG}`)).body.stale).toBe(true);
    expect((await service.get(`/market-depth?token_address=${MAIN}`)).body.stale).toBe(true);
    const { top, all } = await boards();
    expect([top, all]).toEqual([
      [[FRESH], 2],
      [[FRESH], 2],
    ]);
  });

  it('is logged once where no token has fresh data, and where one has again', async () => {
    const lines = (): (string | undefined)[] =>
      service.logged.flatMap(
        (line) => /msg="(every token's.*|snapshots are fresh.*)/.exec(line)?.[1] ?? [],
      );
    expect(lines()).toEqual([]);
    await service.turnTo(FRESH_T + STALE_AFTER_S + 1);
    await service.turnTo(FRESH_T + STALE_AFTER_S + 2);
    const stale = `every token's newest snapshot is stale" newest=${new Date(FRESH_T * 1000).toISOString()}`;
    expect(lines()).toEqual([stale]);
    expect((await boards()).all).toEqual([[], 3]);
    const t = FRESH_T + STALE_AFTER_S + 2;
    await commitRows(service.store, [depthOf(FRESH, t)]);
    await service.settled();
    const fresh = `snapshots are fresh again" newest=${new Date(t * 1000).toISOString()}`;
    expect(lines()).toEqual([stale, fresh]);
  });

  it('ends with the next snapshot', async () => {
    const t = FRESH_T + STALE_AFTER_S + 3;
    await commitRows(service.store, [depthOf(OLD, t, 9000)]);
    await service.turnTo(t);
    expect(await scoreOf(OLD)).toMatchObject({ stale: false, data_time: t });
    expect(await boards()).toEqual({
      top: [[FRESH, OLD], 1],
      all: [[FRESH, OLD], 1],
      dca: [[FRESH, OLD, NONE], 1],
      lp: [[FRESH, OLD], 1],
    });
  });
});
