import { isMainThread } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { benchCase, percentile } from '../../bench/case.js';
import { digestOf } from '../../bench/digest.js';
import { measureGroup } from '../../bench/measure.js';
import { mainThreadTimes } from '../../bench/processes.js';
import { figure } from '../../bench/report.js';

const EFFORT = { rounds: 3, turnMs: 2, warmups: 1 };

/** Keeps the thread busy for about this long. */
function spin(ms: number): number {
  const until = performance.now() + ms;
  while (performance.now() < until);
  return 1;
}

describe('measureGroup', () => {
  it('takes turns and counts every operation', async () => {
    const order: string[] = [];
    const calls = { fast: 0, slow: 0 };
    const spinning = (name: keyof typeof calls, ms: number) => ({
      name,
      run: () => {
        if (order.at(-1) !== name) order.push(name);
        calls[name]++;
        return spin(ms);
      },
      digest: () => 'same',
      work: { levels: 10 },
      inputBytes: 1e6,
    });
    const [fast, slow] = await measureGroup(
      [benchCase(spinning('fast', 1)), benchCase(spinning('slow', 4))],
      { ...EFFORT, turnMs: 40 },
    );
    // Warm-up, three turns, and the last operation, whose hash is compared.
    expect(order).toEqual(Array.from({ length: 5 }, () => ['fast', 'slow']).flat());
    expect(fast.p50Ms).toBeGreaterThanOrEqual(1);
    expect(slow.p50Ms).toBeGreaterThanOrEqual(4);
    expect([fast.samples, slow.samples]).toEqual([calls.fast - 2, calls.slow - 2]);
    expect(slow.extra.levelsPerSecond).toBeCloseTo(10 * slow.opsPerSecond);
    expect(slow.extra.megabytesPerSecond).toBeCloseTo(slow.opsPerSecond);
    expect(slow.extra.cpuMs).toBeGreaterThan(0);
  });

  it('waits for asynchronous operations', async () => {
    const run = async () => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      return 1;
    };
    const [result] = await measureGroup([benchCase({ name: 'a', run, digest: String })], EFFORT);
    expect(result.p50Ms).toBeGreaterThanOrEqual(4);
  });

  it('refuses a case whose answer changes', async () => {
    let calls = 0;
    const changing = benchCase({ name: 'changing', run: () => ++calls, digest: String });
    await expect(measureGroup([changing], EFFORT)).rejects.toThrow('changing: gave 1, then');
  });

  it('passes on the error of an operation', async () => {
    let calls = 0;
    const run = () => {
      if (++calls > 2) throw new Error('out of luck');
      return 1;
    };
    const failing = benchCase({ name: 'failing', run, digest: String });
    await expect(measureGroup([failing], EFFORT)).rejects.toThrow('out of luck');
  });
});

describe('the figures', () => {
  it('take the nearest rank as a percentile', () => {
    const sorted = Float64Array.from({ length: 100 }, (_, i) => i + 1);
    expect([0.5, 0.99, 1].map((share) => percentile(sorted, share))).toEqual([50, 99, 100]);
    expect(percentile(Float64Array.of(7), 0.99)).toBe(7);
  });

  it('keep three digits, and whole numbers whole', () => {
    expect([0.012345, 1.5, 12, 347, 123.456, 99_936.4].map(figure)).toEqual([
      '0.0123',
      '1.50',
      '12',
      '347',
      '123',
      '99,936',
    ]);
  });

  it('give equal bytes equal hashes, and the same bytes cut elsewhere different ones', () => {
    const bytes = Uint8Array.of(1, 2, 3, 4);
    expect(digestOf([bytes])).toBe('9f64a747');
    expect(digestOf([bytes.subarray(0, 1), bytes.subarray(1)])).not.toBe(
      digestOf([bytes.subarray(0, 2), bytes.subarray(2)]),
    );
  });
});

// Only Linux has these times, and vitest may run tests in another thread.
it.runIf(process.platform === 'linux' && isMainThread)(
  "reads the main thread's time exactly, not as of the kernel's last tick",
  () => {
    const read = mainThreadTimes() as () => readonly [number, number];
    const times = Array.from({ length: 200 }, () => read()[0]);
    expect(new Set(times).size).toBe(times.length);
  },
);
