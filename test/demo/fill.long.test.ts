/** The demo market: the same every time, and continued after a pause. */
import path from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { demoSnapshotTimes, type DemoUnitInput } from '../../demo/history.js';
import { demoTokens } from '../../demo/tokens.js';
import {
  extendDepth,
  collectFlat,
  fillDemo,
  readMarker,
  type DemoRequest,
} from '../../demo/fill.js';
import { replayBytes, withStoreOf } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import { storeIn } from '../support/ingest.js';
import { sharedPool } from '../support/pool.js';

const SEED = 7;
const UNTIL = 1_794_600_000;
const HOUR_S = 3600;

const directory = temporaryDirectory();
const traded = demoTokens(SEED).filter(({ markets }) => markets.length > 0);
/** A thin token of each chain: the whole market would take too long for a test. */
const tokens = [
  ...traded.filter(({ chain }) => chain === 'mainchain').slice(-1),
  ...traded.filter(({ chain }) => chain === 'evmchain').slice(-1),
];
const [thin] = tokens;
const only = ({ address }: { address: string }) =>
  tokens.some((token) => token.address === address);
const marker = { seed: SEED, untilS: UNTIL, filled: false };

async function request(data: string, more: Partial<DemoRequest> = {}): Promise<DemoRequest> {
  return { directory: data, pool: await sharedPool(2), useStore: storeIn(data), only, ...more };
}

/** Times of a token's stored raw snapshots. */
const timesOf = (data: string, { chain, address }: typeof thin) =>
  withStoreOf(data, async (store) => [
    ...(await store.snapshotTimes({ chain, address, tier: 'raw' })),
  ]);

/** A fill that is interrupted after its first commit. */
async function startFill(data: string): Promise<void> {
  const ending = new AbortController();
  const cut = await request(data, { signal: ending.signal, onProgress: () => ending.abort() });
  await fillDemo(cut, marker);
}

describe('the simulated market', () => {
  const [once, again] = [path.join(directory, 'once'), path.join(directory, 'again')];
  const between = (from: number, to: number) => demoSnapshotTimes(thin, from, to, 'raw');

  it('is the same in every directory, whether or not it was interrupted', async () => {
    const run = vi.spyOn(await sharedPool(2), 'runOther');
    const whole = await fillDemo(await request(once), marker);
    // Made in small chunks to keep the demo's memory small.
    const made = run.mock.calls.map(([, , input]) => input as DemoUnitInput);
    const market = demoTokens(SEED);
    const counts = made.map(
      ({ tokenIndex, fromS, toS, tier }) =>
        demoSnapshotTimes(market[tokenIndex], fromS, toS, tier).length,
    );
    expect(Math.max(...counts)).toBeLessThanOrEqual(128);
    expect(counts.reduce((sum, n) => sum + n, 0)).toBe(whole.snapshots);
    run.mockRestore();
    expect(await readMarker(once)).toEqual({ ...marker, filled: true });
    await startFill(again);
    expect(await readMarker(again)).toEqual(marker);
    const first = await timesOf(again, thin);
    expect(first.length).toBeGreaterThan(0);
    const rest = await fillDemo(await request(again), marker);
    // Existing data was not made again.
    expect(rest.snapshots).toBeLessThanOrEqual(whole.snapshots - first.length);
    expect(await readMarker(again)).toEqual({ ...marker, filled: true });
    const windows = [
      [UNTIL - 1000, UNTIL + 1],
      [UNTIL - 30 * HOUR_S, UNTIL - 20 * HOUR_S],
    ];
    const queries = tokens.flatMap(({ address }) =>
      windows.flatMap(([from, to]) =>
        ['market', 'all'].map((group) => `${address}?from=${from}&to=${to}&group=${group}`),
      ),
    );
    const bytes = await replayBytes(once, queries, UNTIL);
    expect(bytes.filter((answer) => !/^200 .*"snapshots":\[\{/.test(answer))).toEqual([]);
    expect(await replayBytes(again, queries, UNTIL)).toEqual(bytes);
  });

  it('is continued from the end of the store', async () => {
    const day = 24 * HOUR_S;
    const pause = 600;
    expect(await timesOf(once, thin)).toEqual(between(UNTIL + 1 - day, UNTIL + 1));
    const { snapshots } = await extendDepth(await request(once), SEED, UNTIL + pause);
    expect(snapshots).toBeGreaterThan(tokens.length);
    expect(await timesOf(once, thin)).toEqual(between(UNTIL + 1 - day, UNTIL + pause + 1));
    // Nothing is due yet; then more, without a gap.
    const idle = await extendDepth(await request(once), SEED, UNTIL + pause);
    expect(idle).toMatchObject({ snapshots: 0 });
    await extendDepth(await request(once), SEED, UNTIL + pause + 5);
    await extendDepth(await request(once), SEED, UNTIL + pause + 300);
    expect(await timesOf(once, thin)).toEqual(between(UNTIL + 1 - day, UNTIL + pause + 301));
  });

  it('is kept up to the present while its past is filled in, if it is live', async () => {
    const data = path.join(directory, 'live');
    const begunS = Math.floor(Date.now() / 1000) - 1200;
    const ending = new AbortController();
    const filling = await request(data, {
      isLive: true,
      signal: ending.signal,
      // The last two hours are there, and then the first of the rest.
      onProgress: (done) => {
        if (done > tokens.length) ending.abort();
      },
    });
    await fillDemo(filling, { ...marker, untilS: begunS });
    const times = await timesOf(data, thin);
    const newest = between(begunS - 2 * HOUR_S, Math.floor(Date.now() / 1000)).at(-1) ?? 0;
    expect(newest - (times.at(-1) ?? 0)).toBeLessThan(600);
    expect(await readMarker(data)).toMatchObject({ filled: false });
  });

  it('has orders, holders and pools that are collected over time', async () => {
    const mint = thin.address;
    const stand = (data: string) =>
      withStoreOf(data, async (store) => ({
        dca: (await store.orders.dca.of([mint])).sort((a, b) =>
          a.dcaAddress < b.dcaAddress ? -1 : 1,
        ),
        holders: [...(await store.holders.times(mint))],
        pools: (await store.lp.dlmmPools()).length,
      }));
    const filled = await stand(once);
    expect(await stand(again)).toEqual(filled);
    expect(filled.dca.length).toBeGreaterThan(3);
    expect(filled.holders.length).toBeGreaterThan(40);
    const marker = await readMarker(once);
    if (marker === null) throw new Error('no marker');
    const nowS = UNTIL + 7200;
    const collected = await collectFlat(await request(once), marker, nowS);
    expect(collected).toEqual({ ...marker, collectedS: nowS });
    expect(await readMarker(once)).toEqual(collected);
    const later = await stand(once);
    expect(later.dca).not.toEqual(filled.dca);
    expect(later.holders[later.holders.length - 1]).toBe(Math.floor(nowS / 60) * 60);
    expect(await collectFlat(await request(once), collected, nowS)).toBe(collected);
  });

  it('fills a pause of at most a day', async () => {
    const nowS = UNTIL + 5 * 24 * HOUR_S;
    await extendDepth(await request(again), SEED, nowS);
    const added = (await timesOf(again, thin)).filter((t) => t > UNTIL);
    expect(added).toEqual(between(nowS - 24 * HOUR_S, nowS + 1));
  });
});
