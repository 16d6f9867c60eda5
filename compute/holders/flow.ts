/** Holder flow: what a token's largest holders did (data.md section 4, Holder flow). */
import type { HolderSnapshot, OwnerNames } from './history.js';
import type { DayPlan, FlowPlan } from './needed.js';
import {
  HOLDER_TIERS,
  HOLDER_WINDOWS,
  MAX_RANKED,
  SUMMARY_WINDOWS,
  TIER_SIZES,
  type HolderTier,
  type HolderWindow,
  type SummaryWindow,
} from './periods.js';
import { balanceOf, largestHolders, ownerName, type RankedHolders } from './ranking.js';

/** Changes of a tier's holders from one snapshot to another; amounts in tokens. */
export interface FlowSums {
  /** Held something before and hold more. */
  accumulating: number;
  /** Held nothing before. */
  newWallets: number;
  net: number;
  inflow: number;
  /** At most 0. */
  outflow: number;
}
export type TierFlows = Record<HolderTier, FlowSums>;

export interface BalanceChange {
  tokens: number;
  /** A fraction of the balance before; null where that is 0, or there is no snapshot to tell. */
  pct: number | null;
}

export interface WalletFlow {
  owner: string;
  /** Tokens. */
  balance: number;
  changes: Record<HolderWindow, BalanceChange>;
}

export interface HolderFlow {
  /** Of the newest snapshot, epoch seconds. */
  newestS: number;
  summary: Record<SummaryWindow, TierFlows>;
  /** One each of flowDays(newestS). */
  days: TierFlows[];
  /** The largest holders, by rank. */
  wallets: WalletFlow[];
  /** Wallet `w`'s balance at the end of day `d` at `w * FLOW_DAYS + d`; NaN: the day has no snapshot. */
  dayBalances: Float64Array;
  /** The change against the last snapshot of any earlier day; 0 where either is missing. */
  dayChanges: Float64Array;
}

/** Snapshots by their time. */
export type SnapshotsAt = ReadonlyMap<number, HolderSnapshot>;

/**
 * Works a plan out.
 * @param snapshots has every one of neededTimes(plan)
 */
export function holderFlow(plan: FlowPlan, snapshots: SnapshotsAt, names: OwnerNames): HolderFlow {
  const newest = largestHolders(atTime(snapshots, plan.newestS), names, MAX_RANKED);
  const base = (window: HolderWindow) => snapshotOf(snapshots, plan.bases[window]);
  return {
    newestS: plan.newestS,
    summary: Object.fromEntries(
      SUMMARY_WINDOWS.map((window) => [window, tierFlows(newest, base(window))]),
    ) as HolderFlow['summary'],
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

/** The flows of every tier of ranked holders since a snapshot; zeros where there is none. */
function tierFlows({ owner, balance }: RankedHolders, base: HolderSnapshot | null): TierFlows {
  if (base === null) return NO_FLOWS;
  const sums = { accumulating: 0, newWallets: 0, inflow: 0, outflow: 0 };
  let rank = 0;
  // Each tier has those of the one before, and some more.
  const flows = HOLDER_TIERS.map((tier) => {
    for (; rank < Math.min(TIER_SIZES[tier], owner.length); rank++) {
      const before = balanceOf(base, owner[rank]);
      const change = balance[rank] - before;
      if (before === 0) sums.newWallets++;
      else if (change > 0) sums.accumulating++;
      if (change > 0) sums.inflow += change;
      else sums.outflow += change;
    }
    return [tier, { ...sums, net: sums.inflow + sums.outflow }];
  });
  return Object.fromEntries(flows) as TierFlows;
}

const NO_FLOWS = Object.fromEntries(
  HOLDER_TIERS.map((tier) => [
    tier,
    { accumulating: 0, newWallets: 0, net: 0, inflow: 0, outflow: 0 },
  ]),
) as TierFlows;

function walletFlows(
  { owner, balance }: RankedHolders,
  base: (window: HolderWindow) => HolderSnapshot | null,
  names: OwnerNames,
): WalletFlow[] {
  return Array.from(owner, (id, rank) => ({
    owner: ownerName(names, id),
    balance: balance[rank],
    changes: Object.fromEntries(
      HOLDER_WINDOWS.map((window) => [window, changeOf(balance[rank], id, base(window))]),
    ) as WalletFlow['changes'],
  }));
}

function changeOf(balance: number, owner: number, base: HolderSnapshot | null): BalanceChange {
  if (base === null) return { tokens: 0, pct: null };
  const before = balanceOf(base, owner);
  const tokens = balance - before;
  return { tokens, pct: before === 0 ? null : tokens / before };
}

/** What each owner held at the end of each day, and how that had changed. */
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
