/** The pool's entry point for the simulated market. */
import type { BinnedBatch } from '../ingest/batch.js';
import { binSnapshotRows } from '../ingest/snapshot-lines.js';
import type { Tier } from '../market.js';
import { demoSnapshotRow, demoSnapshotTimes, demoTokens, type DemoToken } from './market.js';

/** A DemoUnit as it crosses a thread boundary. */
export interface DemoUnitInput {
  seed: number;
  /** Position in demoTokens(seed). */
  tokenIndex: number;
  tier: Tier;
  fromS: number;
  toS: number;
}

let tokens: { seed: number; list: DemoToken[] } | null = null;

/** Simulates one token's snapshots of `[fromS, toS)` and bins them like a collector's rows. */
export function simulateDemo(input: DemoUnitInput): BinnedBatch {
  const { seed, tokenIndex, tier, fromS, toS } = input;
  if (tokens?.seed !== seed) tokens = { seed, list: demoTokens(seed) };
  const token = tokens.list[tokenIndex];
  const rows = demoSnapshotTimes(token, fromS, toS, tier).map((t) =>
    demoSnapshotRow(token, t, tier),
  );
  return binSnapshotRows(rows, { firstLine: 1, mode: 'replace' });
}
