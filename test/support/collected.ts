/** What a collector reads, as ingest bins it. */
import { expect } from 'vitest';
import { type PoolState, type PoolView, viewOf } from '../../collect/chains/pool-state.js';
import { binSnapshotRows } from '../../compute/ingest/snapshots.js';
import { MINT } from './runs.js';

/** `[bin, cents of support, cents of resistance]` of a body in a snapshot of this price. */
export function cellsOf(priceUsd: number, body: object): [number, number, number][] {
  const market = { source: 'Pool', exchange_type: 'DEX', address: 'pool', pair: null, ...body };
  const row = { chain: 'mainchain', address: MINT, t: 1, price_usd: priceUsd, markets: [market] };
  const { faults, runs } = binSnapshotRows([row], { firstLine: 1, mode: 'replace' });
  expect(faults).toEqual([]);
  const { bin, supportCents, resistanceCents } = runs[0].run;
  return Array.from(bin, (at, i) => [at, supportCents[i], resistanceCents[i]]);
}

/** Why a pool has no state; null if it has one. */
export const reasonOf = (state: PoolState | Error): string | null =>
  state instanceof Error ? state.message : null;

/** A pool as one of its tokens sees it. */
export function seen(state: PoolState | Error, token: string): PoolView {
  if (state instanceof Error) throw state;
  const view = viewOf(state, 'pool', token);
  if (typeof view === 'string') throw new Error(view);
  return view;
}
