/** Times a group's cases in turns, so that whatever slows the machine slows all of them. */
import { Bench } from 'tinybench';
import { percentile, type BenchCase, type CaseResult, type Extra } from './case.js';
import { turnOfLoop } from './clean-up.js';

/** How long to measure each case. */
interface Effort {
  /** Turns per case. */
  rounds: number;
  /** Milliseconds per turn; an operation that takes longer runs once. */
  turnMs: number;
  /** Operations before the first turn. */
  warmups: number;
}

interface Tally {
  isAsync: boolean;
  times: number[];
  cpuMs: number;
  hash: string;
  extra: Extra;
}

/**
 * Measures the cases of one group.
 * @throws Error if a case's last result differs from its first
 */
export async function measureGroup(
  cases: readonly BenchCase[],
  effort: Effort,
): Promise<CaseResult[]> {
  const tallies = new Map<BenchCase, Tally>();
  for (const one of cases) tallies.set(one, await warmUp(one, effort.warmups));
  for (let round = 0; round < effort.rounds; round++) {
    for (const [one, tally] of tallies) await takeTurn(one, tally, effort.turnMs);
  }
  const results: CaseResult[] = [];
  for (const [one, tally] of tallies) {
    const hash = one.digest(await one.run());
    if (hash !== tally.hash) throw new Error(`${one.name}: gave ${tally.hash}, then ${hash}`);
    results.push(resultOf(one, tally));
  }
  return results;
}

async function warmUp(one: BenchCase, warmups: number): Promise<Tally> {
  const running = one.run();
  const result = await running;
  for (let i = 1; i < warmups; i++) {
    await turnOfLoop();
    await one.run();
  }
  const isAsync = running instanceof Promise;
  return {
    isAsync,
    times: [],
    cpuMs: 0,
    hash: one.digest(result),
    extra: one.extra?.(result) ?? {},
  };
}

async function takeTurn(one: BenchCase, tally: Tally, turnMs: number): Promise<void> {
  await turnOfLoop();
  const bench = new Bench({
    time: turnMs,
    iterations: 1,
    warmup: false,
    retainSamples: true,
    throws: true,
  });
  // Otherwise tinybench finds out by an operation that it does not count.
  bench.add(one.name, one.run, { async: tally.isAsync });
  const before = process.cpuUsage();
  const [{ result }] = await bench.run();
  const { user, system } = process.cpuUsage(before);
  if (result.state !== 'completed') throw new Error(`${one.name}: ${result.state}`);
  tally.cpuMs += (user + system) / 1000;
  tally.times.push(...(result.latency.samples ?? []));
}

function resultOf(one: BenchCase, { times, cpuMs, hash, extra }: Tally): CaseResult {
  const sorted = Float64Array.from(times).sort();
  const opsPerSecond = (1000 * sorted.length) / sorted.reduce((sum, ms) => sum + ms, 0);
  const rates: Extra = { cpuMs: cpuMs / sorted.length };
  for (const [what, amount] of Object.entries(one.work ?? {})) {
    rates[`${what}PerSecond`] = amount * opsPerSecond;
  }
  if (one.inputBytes !== undefined)
    rates.megabytesPerSecond = (one.inputBytes * opsPerSecond) / 1e6;
  return {
    name: one.name,
    opsPerSecond,
    p50Ms: percentile(sorted, 0.5),
    p99Ms: percentile(sorted, 0.99),
    samples: sorted.length,
    hash,
    extra: { ...rates, ...extra },
  };
}
