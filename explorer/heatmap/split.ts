/** The amounts of a snapshot by venue, type or market, fetched for one snapshot at a time. */
import type { AddressClient } from '../../client/address-client.js';
import type { ReplayParameters, Snapshot } from '../../client/index.js';
import { isWithin, NEAR_PCT } from '../ladder/ladder.js';
import { pause } from '../state/pause.js';
import { spared } from '../state/spare.js';

/** How long the cursor rests before the split is fetched, which takes a request. */
const REST_MS = 350;
/** How many snapshots' splits are kept. */
const MAX_KEPT_SPLITS = 200;
/** Most shares listed; the others are summed. */
const MAX_LISTED = 6;

export interface Share {
  label: string;
  supportUsd: number;
  resistanceUsd: number;
}

/** Where the cursor rests. */
interface Rest {
  t: number;
  bin: number;
  canSpare: () => boolean;
  /** Called while the key has no request to spare. */
  onDefer: () => void;
}

/** The split of a snapshot. */
export interface SplitAt {
  t: number;
  shares: Share[];
  /** Support and resistance within NEAR_PCT of the price by the key of the venue, type or market. */
  nearUsd: ReadonlyMap<string, number>;
}

type Slot = Snapshot['slots'][number];

/** The key of a venue or type, or of a market. */
export const keyOf = (slot: Slot): string =>
  'key' in slot ? slot.key : [slot.source, slot.pair, slot.address].join(' ');

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

  /** The split once the cursor has rested, and the key has a request to spare for it. */
  async rested({ t, bin, canSpare, onDefer }: Rest, signal: AbortSignal): Promise<SplitAt> {
    await pause(this.has(t) ? 0 : REST_MS, signal);
    await spared(() => this.has(t) || canSpare(), signal, onDefer);
    const split = await this.at(t, bin, signal);
    signal.throwIfAborted();
    return split;
  }

  /** The shares of one bin, largest first, and the amounts of all layers near the price. */
  async at(t: number, bin: number, signal: AbortSignal): Promise<SplitAt> {
    const snapshot = this.kept.get(t) ?? this.fetch(t, signal);
    this.kept.set(t, snapshot);
    for (const oldest of this.kept.keys()) {
      if (this.kept.size <= MAX_KEPT_SPLITS) break;
      this.kept.delete(oldest);
    }
    const found = await snapshot;
    return { t, shares: sharesIn(found, bin), nearUsd: nearIn(found) };
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

function nearIn(snapshot: Snapshot | null): Map<string, number> {
  const nearUsd = new Map<string, number>();
  for (const [i, bin] of snapshot?.bin.entries() ?? []) {
    const slot = snapshot?.slots[snapshot.index[i]];
    if (snapshot === null || slot === undefined || !isWithin(bin, NEAR_PCT)) continue;
    const usd = snapshot.supportUsd[i] + snapshot.resistanceUsd[i];
    nearUsd.set(keyOf(slot), (nearUsd.get(keyOf(slot)) ?? 0) + usd);
  }
  return nearUsd;
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
