/** Which snapshot an unjudged row belongs to, whatever the spelling of its fields. */
import { canonicalAddress, CHAINS, TIERS } from '../../compute/market.js';
import type { SnapshotKey } from '../contract.js';

/** The fields that name a snapshot, as untrusted rows give them. */
export interface RowHead {
  chain?: unknown;
  address?: unknown;
  t?: unknown;
  tier?: unknown;
}

/** The snapshot, or null where the row names none that could be stored. */
export function snapshotKey(row: unknown): SnapshotKey | null {
  if (typeof row !== 'object' || row === null) return null;
  const { chain, address, t, tier } = row as RowHead;
  const ownChain = CHAINS.find((known) => known === chain);
  const ownTier = TIERS.find((known) => known === (tier ?? 'raw'));
  if (ownChain === undefined || ownTier === undefined) return null;
  if (typeof address !== 'string' || typeof t !== 'number') return null;
  return { chain: ownChain, address: canonicalAddress(address), t, tier: ownTier };
}

/** One text for each snapshot. */
export const nameOfKey = ({ chain, address, tier, t }: SnapshotKey): string =>
  `${chain} ${address} ${tier} ${t}`;

/** As snapshotKey, as one text. */
export function snapshotName(row: unknown): string | null {
  const key = snapshotKey(row);
  return key === null ? null : nameOfKey(key);
}
