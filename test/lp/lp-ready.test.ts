/** When the boards of a server that has just started are ready. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { dlmmBoardTask } from '../../compute/lp/dlmm-board.js';
import type { DlmmPool } from '../../compute/lp/dlmm-pool.js';
import { LpTools } from '../../server/lp/lp-tools.js';
import { storedRow } from '../reference/flat-store.js';
import { poolRow } from '../support/flat.js';
import { NO_LOGGER } from '../support/logger.js';

const NOW_S = 1_794_659_696;
const BASE = 'B'.repeat(40);
const USDC = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
const POOL = 'P'.repeat(40);

beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => vi.useRealTimers());

it('is when they have the ranges of all tokens, though replies do not wait as long', async () => {
  let readRanges = (): void => undefined;
  const noDepth = { snapshots: [], segmentIds: [], markets: [], nextT: null };
  const pool = storedRow<DlmmPool>(poolRow({ pubkey: POOL, token_x_mint: BASE }));
  const hours = {
    pubkeys: [POOL],
    pool: Uint32Array.of(0),
    hour: Uint32Array.of(NOW_S - (NOW_S % 3600)),
    feesUsd: Float64Array.of(1),
    volumeUsd: Float64Array.of(2),
    tvlUsd: Float64Array.of(3),
  };
  const noHours = { addresses: [], token: new Uint32Array(), hour: new Uint32Array() };
  const tools = new LpTools({
    source: {
      dlmmPools: () => Promise.resolve([pool]),
      dlmmHours: () => Promise.resolve(hours),
      tokenHours: () => Promise.resolve({ ...noHours, organicVolumeUsd: new Float64Array() }),
    },
    depth: {
      token: () => ({ tokenId: 1 }),
      plan: () => new Promise((resolve) => (readRanges = () => resolve(noDepth))),
    } as never,
    workers: {
      run: (_name: string, input: never) => Promise.resolve(dlmmBoardTask(input)),
    } as never,
    tokens: { table: { token: () => null }, onLoad: () => undefined } as never,
    clock: { nowS: () => NOW_S },
    quotes: [USDC],
    logger: NO_LOGGER,
  });
  const pass = async (seconds: number): Promise<void> => {
    for (let s = 0; s < seconds; s++) {
      await vi.advanceTimersByTimeAsync(1000);
      // Turns of the event loop are not timers.
      await new Promise(setImmediate);
    }
  };
  tools.start();
  const board = Promise.resolve(tools.poolBoard.get());
  await pass(6);
  expect((await board).period('1h')?.pool).toEqual(Uint32Array.of(0));
  await pass(60);
  expect(tools.isReady).toBe(false);
  readRanges();
  await pass(20);
  expect(tools.isReady).toBe(true);
  await tools.close();
});
