import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DutyCycle } from '../../server/duty-cycle.js';

describe('a duty cycle', () => {
  beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
  afterEach(() => vi.useRealTimers());

  /** A cycle whose work costs so much, and the times at which it was done. */
  function cycleOf(costMs: () => number | void, takesMs = 0) {
    const runs: number[] = [];
    const cycle = new DutyCycle({
      work: async () => {
        runs.push(performance.now());
        if (takesMs > 0) await new Promise((resolve) => setTimeout(resolve, takesMs));
        return costMs();
      },
    });
    return { cycle, runs, startMs: performance.now() };
  }

  it('does at once what is asked for after a quiet time, also twice in quick succession', async () => {
    const { cycle, runs, startMs } = cycleOf(() => 50);
    cycle.request();
    await vi.advanceTimersByTimeAsync(0);
    cycle.request();
    await vi.advanceTimersByTimeAsync(0);
    expect(runs.map((atMs) => atMs - startMs)).toEqual([0, 0]);
  });

  it('works one part in ten of the time while it is always asked, the last request included', async () => {
    const { cycle, runs, startMs } = cycleOf(() => 50);
    for (let ms = 0; ms < 10_000; ms += 10) {
      cycle.request();
      await vi.advanceTimersByTimeAsync(10);
    }
    expect(runs.length).toBeGreaterThanOrEqual(20);
    expect(runs.length).toBeLessThanOrEqual(24);
    const asked = performance.now();
    cycle.request();
    await vi.advanceTimersByTimeAsync(600);
    expect(runs[runs.length - 1]).toBeGreaterThan(asked);
    expect(runs[runs.length - 1] - startMs).toBeLessThan(10_600);
  });

  it('rests 100 ms and 15 s at the least and the most', async () => {
    for (const [costMs, pauseMs] of [
      [0, 100],
      [60_000, 15_000],
    ]) {
      const { cycle, runs } = cycleOf(() => costMs);
      for (let ms = 0; ms < 5 * pauseMs; ms += pauseMs / 50) {
        cycle.request();
        await vi.advanceTimersByTimeAsync(pauseMs / 50);
      }
      const gaps = runs.slice(1).map((atMs, i) => atMs - runs[i]);
      expect(Math.max(...gaps)).toBe(pauseMs);
      expect(runs.length).toBeLessThanOrEqual(8);
    }
  });

  it('counts all that the work took where it does not tell', async () => {
    const { cycle, runs } = cycleOf(() => undefined, 200);
    for (let i = 0; i < 1200; i++) {
      cycle.request();
      await vi.advanceTimersByTimeAsync(10);
    }
    const gaps = runs.slice(1).map((atMs, i) => atMs - runs[i]);
    expect(Math.max(...gaps)).toBeGreaterThanOrEqual(2000);
  });

  it('takes a slow run among fast ones for one that had to wait', async () => {
    const costs = [3000, 10, 10, 3000, 10, 10];
    const { cycle, runs } = cycleOf(() => costs.shift());
    for (let i = 0; i < 200; i++) {
      cycle.request();
      await vi.advanceTimersByTimeAsync(5);
    }
    const gaps = runs.slice(1, 6).map((atMs, i) => atMs - runs[i]);
    expect(Math.max(...gaps)).toBe(100);
  });

  it('runs once more for what is asked while it runs, and not for what is not', async () => {
    const { cycle, runs } = cycleOf(() => 0, 50);
    cycle.request();
    await vi.advanceTimersByTimeAsync(10);
    cycle.request();
    cycle.request();
    await vi.advanceTimersByTimeAsync(1000);
    expect(runs.length).toBe(2);
  });

  it('does at once what it is waited for, and nothing after it is closed', async () => {
    const { cycle, runs } = cycleOf(() => 1000);
    for (let i = 0; i < 4; i++) {
      cycle.request();
      await vi.advanceTimersByTimeAsync(0);
    }
    expect(runs.length).toBe(3);
    await cycle.settled();
    expect(runs.length).toBe(4);
    cycle.request();
    await cycle.close();
    cycle.request();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(runs.length).toBe(4);
  });
});
