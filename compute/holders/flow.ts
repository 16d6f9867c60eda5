/** Holder flow: how a token's largest holders changed (docs/definitions.md#holder-flow). */
import { recordOf } from '../collections.js';
import { firstFrom } from '../search.js';
import { decodeHolderBlock } from './block-decoder.js';
import type { HolderSnapshot } from './block-format.js';
import {
  type DayPlan,
  type FlowPlan,
  HOLDER_TIERS,
  HOLDER_WINDOWS,
  type HolderTier,
  type HolderWindow,
  MAX_RANKED,
  neededTimes,
  SUMMARY_WINDOWS,
  type SummaryWindow,
  TIER_SIZES,
} from './flow-plan.js';
import { compareNames, ownerName, type OwnerNames } from './owners.js';

/** Changes of a tier's holders between two snapshots; amounts in tokens. */
export interface FlowSums {
  /** Holders that held something before and now hold more. */
  accumulating: number;
  /** Holders that held nothing before. */
  newWallets: number;
  net: number;
  inflow: number;
  /** At most 0. */
  outflow: number;
}
export type TierFlows = Record<HolderTier, FlowSums>;

interface BalanceChange {
  tokens: number;
  /** As a fraction of the earlier balance; null if that is 0 or its snapshot is missing. */
  pct: number | null;
}

interface WalletFlow {
  owner: string;
  /** Tokens. */
  balance: number;
  changes: Record<HolderWindow, BalanceChange>;
}

export interface HolderFlow {
  /** Time of the newest snapshot, epoch seconds. */
  newestS: number;
  summary: Record<SummaryWindow, TierFlows>;
  /** In the order of flowDays(newestS). */
  days: TierFlows[];
  /** The largest holders, by rank. */
  wallets: WalletFlow[];
  /** Index `w * FLOW_DAYS + d`: balance of wallet `w` at the end of day `d`; NaN without a snapshot. */
  dayBalances: Float64Array;
  /** Change since the last snapshot of any earlier day; 0 if either snapshot is missing. */
  dayChanges: Float64Array;
}

export interface HolderFlowInput {
  plan: FlowPlan;
  /** From HolderBlockEncoder, with all snapshots of the plan and possibly others. */
  blocks: readonly Uint8Array[];
  /** Names of all owners in the blocks. */
  names: OwnerNames;
}

type SnapshotsAt = ReadonlyMap<number, HolderSnapshot>;

/**
 * The holder flow of a plan: a task of the pool.
 * @returns null if the blocks lack a snapshot of the plan: the store has changed in the meantime
 * @throws Error if a block is damaged
 */
export function holderFlow({ plan, blocks, names }: HolderFlowInput): HolderFlow | null {
  const times = neededTimes(plan);
  const snapshots = new Map<number, HolderSnapshot>();
  for (const block of blocks) {
    for (const snapshot of decodeHolderBlock(block, times)) snapshots.set(snapshot.t, snapshot);
  }
  if (times.some((t) => !snapshots.has(t))) return null;
  const newest = largestHolders(atTime(snapshots, plan.newestS), names, MAX_RANKED);
  const base = (window: HolderWindow) => snapshotOf(snapshots, plan.bases[window]);
  return {
    newestS: plan.newestS,
    summary: recordOf(SUMMARY_WINDOWS, (window) => tierFlows(newest, base(window))),
    days: plan.days.map(({ lastS, earlierS }) =>
      lastS === null
        ? NO_FLOWS
        : tierFlows(
            largestHolders(atTime(snapshots, lastS), names, MAX_RANKED),
            snapshotOf(snapshots, earlierS),
          ),
    ),
    wallets: walletFlows(newest, base, names),
    ...activity(newest.owner, plan.days, snapshots),
  };
}

/** The flows of each tier of ranked holders since a snapshot; zeros without one. */
function tierFlows({ owner, balance }: RankedHolders, base: HolderSnapshot | null): TierFlows {
  if (base === null) return NO_FLOWS;
  const sums = { accumulating: 0, newWallets: 0, inflow: 0, outflow: 0 };
  let rank = 0;
  // Each tier includes the smaller ones.
  return recordOf(HOLDER_TIERS, (tier) => {
    for (; rank < Math.min(TIER_SIZES[tier], owner.length); rank++) {
      const before = balanceOf(base, owner[rank]);
      const change = balance[rank] - before;
      if (before === 0) sums.newWallets++;
      else if (change > 0) sums.accumulating++;
      if (change > 0) sums.inflow += change;
      else sums.outflow += change;
    }
    return { ...sums, net: sums.inflow + sums.outflow };
  });
}

const NO_FLOWS: TierFlows = recordOf(HOLDER_TIERS, () => {
  return { accumulating: 0, newWallets: 0, net: 0, inflow: 0, outflow: 0 };
});

function walletFlows(
  { owner, balance }: RankedHolders,
  base: (window: HolderWindow) => HolderSnapshot | null,
  names: OwnerNames,
): WalletFlow[] {
  return Array.from(owner, (id, rank) => ({
    owner: ownerName(names, id),
    balance: balance[rank],
    changes: recordOf(HOLDER_WINDOWS, (window) => changeOf(balance[rank], id, base(window))),
  }));
}

function changeOf(balance: number, owner: number, base: HolderSnapshot | null): BalanceChange {
  if (base === null) return { tokens: 0, pct: null };
  const before = balanceOf(base, owner);
  const tokens = balance - before;
  return { tokens, pct: before === 0 ? null : tokens / before };
}

/** Each owner's balance at the end of each day, and its change. */
function activity(
  owners: Uint32Array,
  days: readonly DayPlan[],
  snapshots: SnapshotsAt,
): Pick<HolderFlow, 'dayBalances' | 'dayChanges'> {
  const dayBalances = new Float64Array(owners.length * days.length).fill(NaN);
  const dayChanges = new Float64Array(dayBalances.length);
  days.forEach(({ lastS, earlierS }, day) => {
    if (lastS === null) return;
    const last = atTime(snapshots, lastS);
    const earlier = snapshotOf(snapshots, earlierS);
    for (let rank = 0; rank < owners.length; rank++) {
      const cell = rank * days.length + day;
      const balance = balanceOf(last, owners[rank]);
      dayBalances[cell] = balance;
      if (earlier !== null) dayChanges[cell] = balance - balanceOf(earlier, owners[rank]);
    }
  });
  return { dayBalances, dayChanges };
}

function snapshotOf(snapshots: SnapshotsAt, t: number | null): HolderSnapshot | null {
  return t === null ? null : atTime(snapshots, t);
}

function atTime(snapshots: SnapshotsAt, t: number): HolderSnapshot {
  const snapshot = snapshots.get(t);
  if (snapshot === undefined) throw new Error(`the holder snapshot of ${t} was not read`);
  return snapshot;
}

/** Holders as parallel columns, largest balance first. */
interface RankedHolders {
  owner: Uint32Array;
  balance: Float64Array;
}

/**
 * The `limit` largest holders, ties by address (bytes) ascending. Makes one pass over the balances and
 * sorts only candidates.
 */
export function largestHolders(
  { owner, balance }: HolderSnapshot,
  names: OwnerNames,
  limit: number,
): RankedHolders {
  const before = (a: number, b: number): number =>
    balance[b] - balance[a] || compareNames(names, owner[a], owner[b]);
  // Rows, sorted and cut to `limit` whenever there are twice as many.
  let best: number[] = [];
  let least = -Infinity;
  for (let row = 0; row < balance.length; row++) {
    // A row that ties with the smallest stays: its name may come first.
    if (balance[row] < least) continue;
    if (best.push(row) < 2 * limit) continue;
    best = best.sort(before).slice(0, limit);
    least = balance[best[limit - 1]];
  }
  best = best.sort(before).slice(0, limit);
  return {
    owner: Uint32Array.from(best, (row) => owner[row]),
    balance: Float64Array.from(best, (row) => balance[row]),
  };
}

/** An owner's balance in a snapshot; 0 if it is not in it. */
function balanceOf({ owner, balance }: HolderSnapshot, id: number): number {
  const row = firstFrom(owner, id);
  return owner[row] === id ? balance[row] : 0;
}
