/** Latencies of an open-loop run. */
import { percentile } from '../case.js';

/** Milliseconds from the moment at which a request was due. */
export interface Latencies {
  p50Ms: number;
  p90Ms: number;
  p99Ms: number;
  p999Ms: number;
  maxMs: number;
}

/** @param times not empty */
export function latenciesOf(times: readonly number[]): Latencies {
  const sorted = Float64Array.from(times).sort();
  return {
    p50Ms: percentile(sorted, 0.5),
    p90Ms: percentile(sorted, 0.9),
    p99Ms: percentile(sorted, 0.99),
    p999Ms: percentile(sorted, 0.999),
    maxMs: sorted[sorted.length - 1],
  };
}
