/** Whale activity as clients get it. */
import type { Static } from 'typebox';
import type { FlowSums, HolderFlow, TierFlows } from '../../compute/holders/flow.js';
import {
  FLOW_DAYS,
  HOLDER_TIERS,
  SUMMARY_WINDOWS,
  flowDays,
  type HolderTier,
  type SummaryWindow,
} from '../../compute/holders/flow-plan.js';
import type { WHALE_SECTIONS, getWhaleActivity } from './get-whale-activity.js';
import type { flowSparkline, flowSummary } from './whale-fields.js';

export type WhaleSection = (typeof WHALE_SECTIONS)[number];
export type WhaleDocument = Static<(typeof getWhaleActivity)['response']>;
type Wallet = NonNullable<WhaleDocument['wallets']>[number];

/** What a request wants to see of a flow. */
export interface WhaleView {
  sections: ReadonlySet<WhaleSection>;
  walletLimit: number;
  walletActivity: boolean;
}

/** A mint's whale activity; `flow` null: without coverage. */
export function whaleDocument(
  tokenAddress: string,
  flow: HolderFlow | null,
  { sections, walletLimit, walletActivity }: WhaleView,
): WhaleDocument {
  const document: WhaleDocument = {
    token_address: tokenAddress,
    chain: 'mainchain',
    ...coverage(flow),
    windows: [...SUMMARY_WINDOWS],
    tiers: [...HOLDER_TIERS],
  };
  if (sections.has('summary')) document.summary = flow === null ? {} : summaryOf(flow);
  if (sections.has('sparkline')) document.sparkline = flow === null ? {} : sparklineOf(flow);
  if (sections.has('wallets')) {
    document.wallets = flow === null ? [] : walletsOf(flow, walletLimit, walletActivity);
  }
  return document;
}

/** Whether, and as of when, a token's holders are known. */
export function coverage(flow: HolderFlow | null) {
  return {
    has_coverage: flow !== null,
    last_snapshot_at: flow === null ? null : new Date(flow.newestS * 1000).toISOString(),
  };
}

/** Counts and flows by tier and window. */
export function summaryOf({ summary }: HolderFlow): Static<typeof flowSummary> {
  const table = <V>(valueOf: (sums: FlowSums) => V) =>
    byTier(
      (tier) =>
        Object.fromEntries(
          SUMMARY_WINDOWS.map((window) => [window, valueOf(summary[window][tier])]),
        ) as Record<SummaryWindow, V>,
    );
  return {
    accumulating: table(({ accumulating }) => accumulating),
    new_wallets: table(({ newWallets }) => newWallets),
    net_flow: table(({ net, inflow, outflow }) => ({ net, inflow, outflow })),
  };
}

/** Counts and flows by tier and day. */
export function sparklineOf({ newestS, days }: HolderFlow): Static<typeof flowSparkline> {
  const names = dayNames(newestS);
  const item = (flows: TierFlows, tier: HolderTier, day: string) => {
    const { accumulating, newWallets, net, inflow, outflow } = flows[tier];
    return { day, accumulating, new_wallets: newWallets, net, inflow, outflow };
  };
  return byTier((tier) => days.map((flows, i) => item(flows, tier, names[i])));
}

function walletsOf(flow: HolderFlow, limit: number, withActivity: boolean): Wallet[] {
  const names = dayNames(flow.newestS);
  return flow.wallets.slice(0, limit).map(({ owner, balance, changes }, index) => ({
    rank: index + 1,
    owner,
    balance,
    balance_change: changes,
    ...(withActivity ? { activity: activityOf(flow, index, names) } : {}),
  }));
}

function activityOf(
  { dayBalances, dayChanges }: HolderFlow,
  wallet: number,
  names: readonly string[],
): NonNullable<Wallet['activity']> {
  return names.map((day, i) => {
    const balance = dayBalances[wallet * FLOW_DAYS + i];
    return {
      day,
      balance: Number.isNaN(balance) ? null : balance,
      change: dayChanges[wallet * FLOW_DAYS + i],
    };
  });
}

/** The days of a sparkline, YYYY-MM-DD. */
function dayNames(newestS: number): string[] {
  return flowDays(newestS).map((startS) => new Date(startS * 1000).toISOString().slice(0, 10));
}

function byTier<V>(valueOf: (tier: HolderTier) => V): Record<HolderTier, V> {
  return Object.fromEntries(HOLDER_TIERS.map((tier) => [tier, valueOf(tier)])) as Record<
    HolderTier,
    V
  >;
}
