/** The amounts of a snapshot by venue, type or market, fetched for one snapshot at a time. */
import type { AddressClient } from '../../client/address-client.js';
import type { ReplayParameters, Snapshot } from '../../client/index.js';

/** How many snapshots' splits are kept. */
const MAX_KEPT_SPLITS = 200;
/** Most shares listed; the others are summed. */
const MAX_LISTED = 6;

export interface Share {
  label: string;
  supportUsd: number;
  resistanceUsd: number;
}

export class Splits {
  private readonly kept = new Map<number, Promise<Snapshot | null>>();

  constructor(
    private readonly client: AddressClient,
    private readonly address: string,
    /** With the filter; `group` decides how to split. */
    private readonly parameters: ReplayParameters,
  ) {}

  /** Whether the snapshot has been requested. */
  has(t: number): boolean {
    return this.kept.has(t);
  }

  /** The shares of one bin, largest first. */
  async sharesAt(t: number, bin: number, signal: AbortSignal): Promise<Share[]> {
    const snapshot = this.kept.get(t) ?? this.fetch(t, signal);
    this.kept.set(t, snapshot);
    for (const oldest of this.kept.keys()) {
      if (this.kept.size <= MAX_KEPT_SPLITS) break;
      this.kept.delete(oldest);
    }
    return sharesIn(await snapshot, bin);
  }

  private async fetch(t: number, signal: AbortSignal): Promise<Snapshot | null> {
    try {
      const query = { ...this.parameters, from: t, to: t + 1 };
      for await (const one of this.client.snapshots(this.address, query, { signal })) return one;
      return null;
    } catch (error) {
      this.kept.delete(t);
      throw error;
    }
  }
}

function sharesIn(snapshot: Snapshot | null, bin: number): Share[] {
  const shares: Share[] = [];
  for (const [i, one] of snapshot?.bin.entries() ?? []) {
    const slot = snapshot?.slots[snapshot.index[i]];
    if (one !== bin || snapshot === null || slot === undefined) continue;
    const label = 'label' in slot ? slot.label : [slot.source, slot.pair].filter(Boolean).join(' ');
    const { supportUsd, resistanceUsd } = snapshot;
    shares.push({ label, supportUsd: supportUsd[i], resistanceUsd: resistanceUsd[i] });
  }
  shares.sort((a, b) => b.supportUsd + b.resistanceUsd - a.supportUsd - a.resistanceUsd);
  const others = shares.splice(MAX_LISTED);
  if (others.length > 0) shares.push(total(`${others.length} others`, others));
  return shares;
}

function total(label: string, shares: readonly Share[]): Share {
  const sum = (side: 'supportUsd' | 'resistanceUsd') =>
    shares.reduce((usd, share) => usd + share[side], 0);
  return { label, supportUsd: sum('supportUsd'), resistanceUsd: sum('resistanceUsd') };
}
