/** The cases that the bench measures, and their results. */

/** Additional figures of a case, by a name that ends in the unit. */
export type Extra = Record<string, number>;

/** Work that is repeated and timed in this process. */
export interface BenchCase<T = unknown> {
  /** `group/what it does`; the groups are measured one after the other. */
  name: string;
  run: () => T | Promise<T>;
  /** Short hash of a result; the same for every run of one seed. */
  digest: (result: T) => string;
  /** How much one operation processes, such as `{ levels: 1000 }`: reported per second. */
  work?: Record<string, number>;
  /** Bytes that one operation reads: reported as MB/s. */
  inputBytes?: number;
  /** Figures taken from a result, such as a ratio. */
  extra?: (result: T) => Extra;
}

/** Cases of any result types in one list. */
export function benchCase<T>(one: BenchCase<T>): BenchCase {
  return one as BenchCase;
}

/** A case's figures. Times are how long the caller of one operation waits. */
export interface CaseResult {
  name: string;
  opsPerSecond: number;
  p50Ms: number;
  p99Ms: number;
  samples: number;
  hash: string;
  extra: Extra;
}

/**
 * The sample that `share` of the samples do not exceed (nearest rank).
 * @param sorted ascending, not empty
 */
export function percentile(sorted: Float64Array, share: number): number {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
}

/** Median; for an even number, the mean of the middle two. */
export function median(values: Iterable<number>): number {
  const sorted = Float64Array.from(values).sort();
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** The cases of a group; `close` releases what they hold. */
export interface LoadedGroup {
  cases: BenchCase[];
  close: () => Promise<void>;
}
