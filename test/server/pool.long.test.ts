import { constants, getPriority } from 'node:os';
import type { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  PoolClosedError,
  startPool,
  TaskLostError,
  ComputePool,
  type TaskInput,
} from '../../compute/pool.js';
import { PoolBusyError } from '../../compute/scheduler.js';
import { binsOfBand } from '../../compute/ladder.js';
import { encodeSegment } from '../../compute/segment/segment.js';
import { marketsOfPage } from '../../compute/replay/names.js';
import type { ReplayQuery } from '../../compute/replay/query.js';
import { runOf } from '../compute/replay-stores.js';
import { niceValuesOf } from '../support/processes.js';
import { MARKETS, MINT, steadyStore } from '../support/service.js';
import { eventually } from '../support/waiting.js';

const errors: Error[] = [];
const onError = (error: Error) => void errors.push(error);
const store = steadyStore(72, 69);

function pageInput(): TaskInput<'renderPage'> {
  const query: ReplayQuery = {
    group: 'market',
    types: null,
    excludeTypes: null,
    venues: null,
    excludeVenues: null,
    band: binsOfBand(-50, 100),
    minPct: -50,
    maxPct: 100,
  };
  return {
    segments: [new Uint8Array(encodeSegment(runOf('raw', store.snapshots)))],
    selection: {
      run: new Uint32Array(store.snapshots.length),
      row: Uint32Array.from(store.snapshots, (_, s) => s),
    },
    markets: marketsOfPage(MARKETS, query),
    query,
    windowContinues: false,
    envelope: {
      token: MINT,
      resolvedToken: null,
      chain: 'mainchain',
      window: { from: 0, to: 1, clamped: false },
    },
    format: 'json',
    encoding: 'br',
  };
}

it('a pool of a command starts its second thread when two tasks need one', async () => {
  const threads: Worker[] = [];
  const onThread = (thread: Worker) => void threads.push(thread);
  process.on('worker', onThread);
  const pool = await startPool({ threads: 2, threadsAtStart: 1, onError });
  for (let i = 0; i < 3; i++) await pool.run('ping', null);
  expect(threads).toHaveLength(1);
  const answered = await Promise.all([pool.run('ping', null), pool.run('ping', null)]);
  expect(new Set(answered).size).toBe(2);
  expect(threads).toHaveLength(2);
  await pool.close();
  process.off('worker', onThread);
});

it('a pool takes tasks while its threads start, and says if they cannot', async () => {
  const starting = new ComputePool({ threads: 2, onError });
  const ids = await Promise.all([starting.run('ping', null), starting.run('ping', null)]);
  expect(new Set(ids).size).toBe(2);
  await starting.close();
  const heaps = { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 1 };
  const small = new ComputePool({ threads: 1, heaps, onError: () => undefined });
  await expect(small.run('ping', null)).rejects.toThrow(/^compute pool: .*memory/);
  await small.close();
});

describe('the compute pool', () => {
  let pool: ComputePool;
  beforeAll(async () => {
    pool = await startPool({ threads: 2, onError });
  });
  afterAll(() => pool.close());

  it('is ready when every thread has run a task', async () => {
    const ids = await Promise.all([pool.run('ping', null), pool.run('ping', null)]);
    expect(new Set(ids).size).toBe(2);
    expect(pool.pendingJobs).toBe(0);
  });

  it('moves inputs and results instead of copying them', async () => {
    const input = pageInput();
    const { buffer } = input.segments[0];
    const result = await pool.run('renderPage', input, [buffer as ArrayBuffer]);
    expect(buffer.byteLength).toBe(0);
    if (result.status !== 'done') throw new Error(result.status);
    expect(result.body.byteOffset).toBe(0);
    expect(result.body.byteLength).toBe(result.body.buffer.byteLength);
  });

  it('refuses a page at once if the most allowed already wait, and takes other work', async () => {
    const small = await startPool({ threads: 1, pageLimits: { maxWaiting: 1 }, onError });
    const running = [0, 1, 2].map(() => small.run('renderPage', pageInput()));
    const refused = pageInput();
    let finished = 0;
    for (const page of running) void page.then(() => finished++);
    await expect(small.run('renderPage', refused)).rejects.toThrow(PoolBusyError);
    expect(finished).toBe(0);
    expect(await small.run('ping', null)).toBeGreaterThan(0);
    for (const { status } of await Promise.all(running)) expect(status).toBe('done');
    await small.close();
  });

  it('passes on a task’s error, and continues', async () => {
    const input = { ...pageInput(), segments: [new Uint8Array([1, 2, 3])] };
    await expect(pool.run('renderPage', input)).rejects.toThrow(/LZ4/);
    expect(await pool.run('ping', null)).toBeGreaterThan(0);
    expect(pool.pendingJobs).toBe(0);
  });

  it('gives up a task whose flag is set', async () => {
    const cancel = new Int32Array(new SharedArrayBuffer(4));
    Atomics.store(cancel, 0, 1);
    expect(await pool.run('renderPage', { ...pageInput(), cancel })).toEqual({
      status: 'cancelled',
    });
  });
});

it('a thread that hangs is ended, and so is the one that retries the task; then others take tasks', async () => {
  const threads: Worker[] = [];
  const onThread = (thread: Worker) => void threads.push(thread);
  process.on('worker', onThread);
  const lost: Error[] = [];
  const pool = await startPool({
    threads: 1,
    taskDeadlineMs: 200,
    onError: (error) => void lost.push(error),
  });
  // Minutes of work.
  const segment = pageInput().segments[0];
  const input = { segmentId: 1, segment, group: 'market' as const, marketCount: MARKETS.length };
  const endless = Array.from({ length: 10_000 }, () => input);
  await expect(pool.run('makeFragments', endless)).rejects.toThrow(TaskLostError);
  expect(lost.length).toBe(2);
  for (const error of lost) expect(error.message).toContain('no answer within 200 ms');
  // It ended before its task was given up: it no longer writes to any memory.
  expect(threads[0].threadId).toBe(-1);
  const answers = () =>
    pool.run('ping', null).then(
      () => true,
      () => false,
    );
  await eventually('another thread takes tasks', answers);
  process.off('worker', onThread);
  await pool.close();
});

it('closing the compute pool finishes what runs and waits, refuses what comes after, and is idempotent', async () => {
  const pool = await startPool({ threads: 1, onError });
  const tasks = [0, 1, 2].map(() => pool.run('renderPage', pageInput()));
  const closed = pool.close();
  await expect(pool.run('ping', null)).rejects.toThrow(PoolClosedError);
  for (const { status } of await Promise.all(tasks)) expect(status).toBe('done');
  await closed;
  await pool.close();
  expect(errors).toEqual([]);
});

describe.runIf(process.platform === 'linux')('the threads', () => {
  it('give way to the event loop if cores are scarce', async () => {
    const before = niceValuesOf(process.pid);
    const pool = await startPool({ threads: 2, onError });
    const started = [...niceValuesOf(process.pid)].filter(([id]) => !before.has(id));
    // The kernel has nothing below PRIORITY_LOW.
    const nice = Math.min(getPriority() + 10, constants.priority.PRIORITY_LOW);
    expect(started.map(([, value]) => value)).toEqual([nice, nice]);
    await pool.close();
  });
});
