/** The age of data (docs/definitions.md#age): what replies say about it, and what the clock changes. */
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

/** NOW_S is the last second at which OLD's snapshot is not stale. */
const OLD_T = NOW_S - STALE_AFTER_S;
const FRESH_T = NOW_S - 10;
const MAIN_T = NOW_S - 7200;
const HOUR = NOW_S - (NOW_S % 3600);

let service: MarketService;

const depthOf = (address: string, t: number, usd = 5000) =>
  snapshot(t, [orca([[0, usd, usd]])], { address });

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

/** The addresses of the best scores of both chains, and how many are left out as stale. */
async function topScores(): Promise<unknown> {
  const of = async (chain: string) => {
    const { body } = await service.get(`/top-scores?chain=${chain}`);
    return [body.tokens.map(({ address }: Json) => address as string).sort(), body.stale_count];
  };
  const [mainchain, all] = [await of('mainchain'), await of('all')];
  expect(all).toEqual(mainchain);
  return mainchain;
}

/** The addresses on the boards of flows and fees. */
async function otherBoards(): Promise<unknown> {
  const { body: pressure } = await service.get('/dca-pressure');
  const { body: sheet } = await service.get('/lp-cheat-sheet');
  expect([pressure.stale_count, sheet.stale_count]).toEqual([undefined, undefined]);
  return {
    dca: pressure.tokens.map(({ token }: Json) => token.address as string).sort(),
    lp: sheet.data.map(({ address }: Json) => address as string).sort(),
  };
}

/** Replies with a score of each token: single, in a batch, in the search, and beside orders and depth. */
async function scoredReplies(): Promise<[string, Json][]> {
  const addresses = [FRESH, OLD, BARE, NONE, MAIN, LEG];
  const { body: batch } = await service.post({ addresses });
  const replies: [string, Json][] = batch.tokens.map((row: Json) => [row.address as string, row]);
  const { body: search } = await service.get('/tokens?chain=all');
  replies.push(...search.tokens.map((row: Json): [string, Json] => [row.address as string, row]));
  for (const address of addresses) {
    const of = async (path: string) => (await service.get(path)).body;
    replies.push([address, await of(`/market-depth?token_address=${address}`)]);
    replies.push([address, (await of(`/limit-orders?token_address=${address}`)).token as Json]);
    // Its mint's score answers for it, and only mints have DCA orders.
    if (address === LEG) continue;
    replies.push([address, await of(`/score/${address}`)]);
    replies.push([address, (await of(`/dca-orders?token_address=${address}`)).token as Json]);
  }
  return replies;
}

describe('the age of data', () => {
  it('is in X-Data-Time of every reply about a token, and in the fields of a score', async () => {
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
        // Twice: the second reply may come from the cache.
        expect([path, await dataTimeOf(path), await dataTimeOf(path)]).toEqual([path, t, t]);
      }
      expect([address, (await scoreOf(address)).data_time]).toEqual([address, t]);
    }
    // The delayed snapshot is another one, or there is none.
    const delayed = (address: string) => `/market-depth?token_address=${address}&delayed=true`;
    expect(await dataTimeOf(delayed(OLD))).toBe(OLD_T);
    expect(await dataTimeOf(delayed(FRESH))).toBe(null);
    const unknown = 'U'.repeat(40);
    expect(await dataTimeOf(`/score/${unknown}`)).toBe(null);
    expect((await scoreOf(unknown)).data_time).toBe(null);
    expect(await dataTimeOf(`/dlmm/${unknown}`)).toBe(null);
    // A bridged leg is answered as its mint, but counts by itself elsewhere.
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

  it('is given for each token of a batch, whose header has the oldest', async () => {
    const { body, headers } = await service.post({ addresses: [FRESH, LEG, NONE, MAIN, BARE] });
    expect(body.tokens.map((row: Json) => row.data_time as number)).toEqual([
      FRESH_T,
      FRESH_T - 1,
      null,
      MAIN_T,
      OLD_T,
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

  it('makes a score stale by the clock alone, and removes it only from the best scores', async () => {
    const before = await scoreOf(OLD);
    expect(before).toMatchObject({ status: 'available', service_score: expect.any(Number) });
    // MAIN's own snapshot is two hours old; its score uses its leg's snapshot.
    for (const [address, reply] of await scoredReplies()) {
      expect(Object.keys(reply), address).not.toContain('stale');
    }
    expect(await topScores()).toEqual([[FRESH, OLD, MAIN], 0]);
    const listed = { dca: [FRESH, OLD, NONE, MAIN], lp: [FRESH, OLD, MAIN] };
    expect(await otherBoards()).toEqual(listed);

    await service.turnTo(NOW_S + 1);
    expect(await scoreOf(OLD)).toEqual({ ...before, stale: true });
    const replies = await scoredReplies();
    expect(replies.length).toBe(34);
    // BARE's snapshot is as old, but BARE has no score.
    for (const [address, reply] of replies) {
      expect([address, 'stale' in reply, reply.stale]).toEqual(
        address === OLD ? [address, true, true] : [address, false, undefined],
      );
    }
    expect(await topScores()).toEqual([[FRESH, MAIN], 1]);
    expect(await otherBoards()).toEqual(listed);
  });

  it('makes an asset stale with its newest leg', async () => {
    await service.turnTo(FRESH_T - 1 + STALE_AFTER_S);
    expect(await scoreOf(MAIN)).not.toHaveProperty('stale');
    await service.turnTo(FRESH_T + STALE_AFTER_S);
    expect((await scoreOf(MAIN)).stale).toBe(true);
    expect((await service.get(`/market-depth?token_address=${LEG}`)).body.stale).toBe(true);
    expect((await service.get(`/market-depth?token_address=${MAIN}`)).body.stale).toBe(true);
    expect(await topScores()).toEqual([[FRESH], 2]);
  });

  it('is logged once when no token has fresh data, and once when one has again', async () => {
    const lines = (): (string | undefined)[] =>
      service.logged.flatMap((line) => {
        const { level, msg, newest } = JSON.parse(line) as Record<string, string>;
        return /^(every token's|snapshots are fresh)/.test(msg)
          ? [`${level}: ${msg}: ${newest}`]
          : [];
      });
    expect(lines()).toEqual([]);
    await service.turnTo(FRESH_T + STALE_AFTER_S + 1);
    await service.turnTo(FRESH_T + STALE_AFTER_S + 2);
    const stale = `warn: every token's newest snapshot is stale: ${new Date(FRESH_T * 1000).toISOString()}`;
    expect(lines()).toEqual([stale]);
    expect(await topScores()).toEqual([[], 3]);
    const t = FRESH_T + STALE_AFTER_S + 2;
    await commitRows(service.store, [depthOf(FRESH, t)]);
    await service.settled();
    const fresh = `info: snapshots are fresh again: ${new Date(t * 1000).toISOString()}`;
    expect(lines()).toEqual([stale, fresh]);
  });

  it('ends with the next snapshot', async () => {
    const t = FRESH_T + STALE_AFTER_S + 3;
    await commitRows(service.store, [depthOf(OLD, t, 9000)]);
    await service.turnTo(t);
    const score = await scoreOf(OLD);
    expect(score.data_time).toBe(t);
    expect(score).not.toHaveProperty('stale');
    expect(await topScores()).toEqual([[FRESH, OLD], 1]);
  });
});
