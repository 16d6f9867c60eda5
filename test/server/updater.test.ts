import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DamageError } from '../../compute/damage.js';
import { Board } from '../../server/board.js';
import { Updater, type UpdaterOptions } from '../../server/updater.js';
import { loggerInto } from '../support/logger.js';

const logged: string[] = [];
beforeEach(() => {
  logged.length = 0;
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => vi.useRealTimers());

const logger = loggerInto(logged);
const passMs = (ms: number) => vi.advanceTimersByTimeAsync(ms);

describe('an updater', () => {
  /** An updater, and the batches it has worked on. */
  function updaterOf(options: Partial<UpdaterOptions<string>> = {}) {
    const batches: string[][] = [];
    const updater = new Updater<string>({
      failure: 'keys failed',
      keyField: 'key',
      logger,
      batchKeys: 2,
      ...options,
      work: async (keys) => {
        batches.push([...keys]);
        return options.work?.(keys);
      },
    });
    updater.start();
    return { updater, batches };
  }

  it('works on changed keys in order, in batches, and outside the call', async () => {
    const { updater, batches } = updaterOf();
    updater.touch(['b', 'a', 'b', 'c']);
    expect(batches).toEqual([]);
    expect([...updater.due]).toEqual(['b', 'a', 'c']);
    await updater.settled();
    expect(batches).toEqual([['b', 'a'], ['c']]);
  });

  it('begins after what else a commit causes at once', async () => {
    const done: string[] = [];
    const { updater } = updaterOf({ work: () => Promise.resolve(void done.push('work')) });
    updater.touch(['a']);
    // As live messages: steps that follow one another without a turn of the event loop.
    for (let step = 0; step < 100; step++) await Promise.resolve();
    done.push('messages');
    await updater.settled();
    expect(done).toEqual(['messages', 'work']);
  });

  it('does not search all finished keys for the next one', async () => {
    const work = () => Promise.resolve();
    const cpuOf = async (keys: number): Promise<number> => {
      const updater = new Updater<number>({ work, failure: '', logger, batchKeys: 16 });
      updater.touch(Array.from({ length: keys }, (_, i) => i));
      const before = process.cpuUsage();
      updater.start();
      await updater.settled();
      return process.cpuUsage(before).user;
    };
    // Ten times as many keys take ten times as long; a hundred times if each batch walks over the earlier ones.
    const tenth = await cpuOf(100_000);
    expect(await cpuOf(1_000_000)).toBeLessThan(25 * tenth);
  });

  it('works first on keys that somebody waits for, without others', async () => {
    let isAsked = false;
    const waits: Promise<void>[] = [];
    const { updater, batches } = updaterOf({
      work: ([key]) => {
        if (key === 'a') waits.push(updater.first('d'), updater.first('a'));
        if (key === 'd') isAsked = true;
        return Promise.resolve();
      },
    });
    updater.touch(['a', 'b', 'c', 'd', 'e']);
    await vi.waitFor(() => expect(waits).toHaveLength(2));
    // That a key is being worked on is enough for those who wait for it.
    await Promise.all(waits);
    expect(isAsked).toBe(true);
    await updater.settled();
    expect(batches).toEqual([['a', 'b'], ['d'], ['c', 'e']]);
  });

  it('waits until it is started', async () => {
    const batches: string[][] = [];
    const work = (keys: readonly string[]) => Promise.resolve(void batches.push([...keys]));
    const updater = new Updater<string>({ work, failure: 'keys failed', logger });
    updater.touch(['a']);
    await updater.settled();
    expect(batches).toEqual([]);
    updater.start();
    await updater.settled();
    expect(batches).toEqual([['a']]);
  });

  it('works again on a key that changes during its work', async () => {
    const { updater, batches } = updaterOf({
      work: () => {
        if (batches.length === 1) updater.touch(['a']);
        return Promise.resolve();
      },
    });
    updater.touch(['a']);
    await updater.settled();
    expect(batches).toEqual([['a'], ['a']]);
  });

  it('works on a failed batch key by key, logs one line, and tries the failed keys again', async () => {
    let isBroken = true;
    const { updater, batches } = updaterOf({
      batchKeys: 4,
      work: (keys) => {
        const fails = isBroken && keys.some((key) => key > 'b');
        return fails ? Promise.reject(new Error('no such key')) : Promise.resolve();
      },
    });
    updater.touch(['a', 'b', 'c', 'd']);
    await updater.settled();
    expect(batches.splice(0)).toEqual([['a', 'b', 'c', 'd'], ['a'], ['b'], ['c'], ['d']]);
    expect(logged).toHaveLength(1);
    expect(logged[0]).toContain('"key":"c","failed":2');
    isBroken = false;
    await passMs(4_999);
    expect(batches).toEqual([]);
    await passMs(1);
    expect(batches).toEqual([['c', 'd']]);
    await passMs(60_000);
    expect(batches).toHaveLength(1);
  });

  it('lets other work run between batches that never wait', async () => {
    vi.useRealTimers();
    let others = 0;
    let isDone = false;
    const keys = Array.from({ length: 100 }, (_, i) => String(i));
    const { updater } = updaterOf({
      batchKeys: 1,
      work: () => {
        const untilMs = performance.now() + 1;
        while (performance.now() < untilMs);
        return Promise.resolve();
      },
    });
    const look = (): void => {
      others++;
      if (!isDone) setImmediate(look);
    };
    setImmediate(look);
    updater.touch(keys);
    await updater.settled();
    isDone = true;
    expect(others).toBeGreaterThanOrEqual(5);
  });

  it('does not retry a failed key if it must not', async () => {
    const { updater, batches } = updaterOf({
      retryAfterMs: null,
      work: () => Promise.reject(new Error('no')),
    });
    updater.touch(['a']);
    await passMs(60_000);
    expect(batches).toEqual([['a']]);
    expect(logged).toHaveLength(1);
  });

  it('paces each key separately, but not urgent, free or new work', async () => {
    const free = [true, true];
    const { updater, batches } = updaterOf({
      batchKeys: 1,
      paced: true,
      work: () => Promise.resolve(free.shift() ? null : 50),
    });
    for (let i = 0; i < 5; i++) {
      updater.touch(['a']);
      await passMs(0);
    }
    expect(batches).toHaveLength(5);
    updater.touch(['a', 'b']);
    await passMs(499);
    expect(batches.slice(5)).toEqual([['b']]);
    await passMs(1);
    expect(batches.slice(6)).toEqual([['a']]);
    updater.touch(['a']);
    await passMs(0);
    expect(batches).toHaveLength(7);
    updater.touchNow(['a']);
    await passMs(0);
    expect(batches).toHaveLength(8);
    updater.forget('a');
    updater.touch(['a']);
    await passMs(0);
    expect(batches).toHaveLength(9);
  });

  it('ends with the work in progress', async () => {
    let end = () => {};
    const { updater, batches } = updaterOf({
      batchKeys: 1,
      work: () => new Promise((resolve) => (end = resolve)),
    });
    updater.touch(['a', 'b']);
    await passMs(0);
    let isClosed = false;
    const closing = updater.close().then(() => (isClosed = true));
    updater.touch(['c']);
    await passMs(10);
    expect(isClosed).toBe(false);
    end();
    await closing;
    await passMs(60_000);
    expect(batches).toEqual([['a']]);
  });
});

describe('a board', () => {
  /** A value with this build cost, and the times at which it was built. */
  function boardOf(costMs: () => number | undefined, takesMs = 0) {
    const runs: number[] = [];
    const board = new Board({
      failure: 'a value could not be built',
      logger,
      build: async () => {
        runs.push(performance.now());
        if (takesMs > 0) await new Promise((resolve) => setTimeout(resolve, takesMs));
        return { value: { run: runs.length }, costMs: costMs() };
      },
    });
    return { board, runs, startMs: performance.now() };
  }

  it('is a promise until it is built, then the last build', async () => {
    const { board } = boardOf(() => 50);
    expect(board.current).toBe(null);
    const first = board.get();
    expect(first).toBeInstanceOf(Promise);
    expect(await first).toEqual({ run: 1 });
    board.request();
    expect(board.get()).toEqual({ run: 1 });
    await board.settled();
    expect(board.get()).toEqual({ run: 2 });
  });

  it('keeps its value if a build fails, and is built again later; a first request fails with the build', async () => {
    const failures = [new Error('first'), null, new Error('third'), null];
    const board = new Board({
      failure: 'a value could not be built',
      logger,
      build: () => {
        const failure = failures.shift();
        if (failure) return Promise.reject(failure);
        return Promise.resolve({ value: { left: failures.length } });
      },
    });
    await expect(board.get()).rejects.toThrow('first');
    expect(await board.get()).toEqual({ left: 2 });
    board.request();
    await board.settled();
    expect(board.get()).toEqual({ left: 2 });
    expect(logged.filter((line) => line.includes('a value could not be built'))).toHaveLength(2);
    await passMs(5_000);
    expect(board.get()).toEqual({ left: 0 });
    await board.close();
    expect(board.get()).toEqual({ left: 0 });
  });

  it('is settled if damaged data prevents its build, which is not retried in vain', async () => {
    const damage = new DamageError(
      'IO Error: Corrupt database file: computed checksum 1 does not match',
    );
    let builds = 0;
    const board = new Board<object>({
      failure: 'a value could not be built',
      logger,
      build: () => {
        builds++;
        return Promise.reject(damage);
      },
    });
    expect(board.isSettled).toBe(false);
    await expect(board.get()).rejects.toBe(damage);
    expect(board.isSettled).toBe(true);
    await passMs(20_000);
    expect(builds).toBe(1);
    // New data may be intact.
    board.request();
    await board.settled();
    expect(builds).toBe(2);
    await board.close();
  });

  it('rejects those who wait for it when it is closed', async () => {
    const { board } = boardOf(() => 50);
    await board.close();
    await expect(board.get()).rejects.toThrow('closed');
  });

  it('is built at once after a quiet time, even twice in quick succession', async () => {
    const { board, runs, startMs } = boardOf(() => 50);
    board.request();
    await passMs(0);
    board.request();
    await passMs(0);
    expect(runs.map((atMs) => atMs - startMs)).toEqual([0, 0]);
  });

  it('takes a tenth of the time while constantly requested, the last request included', async () => {
    const { board, runs, startMs } = boardOf(() => 50);
    for (let ms = 0; ms < 10_000; ms += 10) {
      board.request();
      await passMs(10);
    }
    expect(runs.length).toBeGreaterThanOrEqual(20);
    expect(runs.length).toBeLessThanOrEqual(24);
    const requestedAtMs = performance.now();
    board.request();
    await passMs(600);
    expect(runs[runs.length - 1]).toBeGreaterThan(requestedAtMs);
    expect(runs[runs.length - 1] - startMs).toBeLessThan(10_600);
  });

  it('rests between 100 ms and 15 s', async () => {
    for (const [costMs, pauseMs] of [
      [0, 100],
      [60_000, 15_000],
    ]) {
      const { board, runs } = boardOf(() => costMs);
      for (let ms = 0; ms < 5 * pauseMs; ms += pauseMs / 50) {
        board.request();
        await passMs(pauseMs / 50);
      }
      const gaps = runs.slice(1).map((atMs, i) => atMs - runs[i]);
      expect(Math.max(...gaps)).toBe(pauseMs);
      expect(runs.length).toBeLessThanOrEqual(8);
    }
  });

  it('is charged with the whole time of a build that reports no cost', async () => {
    const { board, runs } = boardOf(() => undefined, 200);
    for (let i = 0; i < 1200; i++) {
      board.request();
      await passMs(10);
    }
    const gaps = runs.slice(1).map((atMs, i) => atMs - runs[i]);
    expect(Math.max(...gaps)).toBeGreaterThanOrEqual(2000);
    // Requests during a build wait for the rest after it.
    expect(runs.length).toBeLessThanOrEqual(8);
  });

  it('takes a slow build among fast ones for one that had to wait', async () => {
    const costs = [3000, 10, 10, 3000, 10, 10];
    const { board, runs } = boardOf(() => costs.shift());
    for (let i = 0; i < 200; i++) {
      board.request();
      await passMs(5);
    }
    const gaps = runs.slice(1, 6).map((atMs, i) => atMs - runs[i]);
    expect(gaps).toHaveLength(5);
    expect(Math.max(...gaps)).toBe(100);
  });

  it('is built once more if requested during a build, and not otherwise', async () => {
    const { board, runs } = boardOf(() => 0, 50);
    board.request();
    await passMs(10);
    board.request();
    board.request();
    await passMs(1000);
    expect(runs.length).toBe(2);
  });

  it('is built at once if somebody waits for that, and not once closed', async () => {
    const { board, runs } = boardOf(() => 1000);
    for (let i = 0; i < 4; i++) {
      board.request();
      await passMs(0);
    }
    expect(runs.length).toBe(3);
    await board.settled();
    expect(runs.length).toBe(4);
    board.request();
    await board.close();
    board.request();
    await passMs(60_000);
    expect(runs.length).toBe(4);
  });
});
