/** The sections of /whale-activity: each schema with the function that makes it from a holder flow. */
import Type, { type Static, type TSchema } from '../api/type.js';
import { recordOf } from '../../compute/collections.js';
import {
  FLOW_DAYS,
  HOLDER_TIERS,
  MAX_RANKED,
  SUMMARY_WINDOWS,
  flowDays,
  type HolderTier,
} from '../../compute/holders/flow-plan.js';
import type { FlowSums, HolderFlow, TierFlows } from '../../compute/holders/flow.js';
import { count, document, integer, nullable, number, text } from '../api/schemas.js';

export const hasCoverage = Type.Boolean({
  description: 'Whether holder snapshots of the token are available.',
});
export const lastSnapshotAt = nullable(
  Type.String(),
  'Time of the newest snapshot, ISO 8601 in UTC; null without coverage.',
);

/** States whether holders are known, and as of when. @param flow null: they are unknown */
export function coverageOf(flow: HolderFlow | null) {
  return {
    has_coverage: flow !== null,
    last_snapshot_at: flow === null ? null : new Date(flow.newestS * 1000).toISOString(),
  };
}

const perTier = <S extends TSchema>(name: string, schema: S) =>
  document(
    `${name}ByTier`,
    recordOf(HOLDER_TIERS, () => schema),
  );
const perWindow = <S extends TSchema>(name: string, schema: S) =>
  document(
    `${name}ByWindow`,
    recordOf(SUMMARY_WINDOWS, () => schema),
  );

const amounts = {
  net: number('Sum of `inflow` and `outflow`, tokens'),
  inflow: number('Sum of the increases in balance, tokens'),
  outflow: number('Sum of the decreases in balance, tokens; 0 or negative'),
};
const accumulating = count('Wallets of the tier that already held the token and hold more now');
const newWallets = count('Wallets of the tier that did not hold the token before');
const utcDay = Type.String({
  description: 'UTC day, YYYY-MM-DD',
  pattern: '^\\d{4,}-\\d\\d-\\d\\d$',
});

export const flowSummary = document('HolderSummary', {
  accumulating: perTier('AccumulatingHolders', perWindow('AccumulatingHolders', accumulating)),
  new_wallets: perTier('NewHolders', perWindow('NewHolders', newWallets)),
  net_flow: perTier('HolderFlows', perWindow('HolderFlows', document('HolderFlow', amounts))),
});

/** Counts and amounts by tier and window. */
export function summaryOf({ summary }: HolderFlow): Static<typeof flowSummary> {
  const table = <V>(valueOf: (sums: FlowSums) => V) =>
    recordOf(HOLDER_TIERS, (tier) =>
      recordOf(SUMMARY_WINDOWS, (window) => valueOf(summary[window][tier])),
    );
  return {
    accumulating: table((sums) => sums.accumulating),
    new_wallets: table((sums) => sums.newWallets),
    net_flow: table(({ net, inflow, outflow }) => ({ net, inflow, outflow })),
  };
}

export const flowSparkline = perTier(
  'HolderDays',
  Type.Array(
    document('HolderDay', { day: utcDay, accumulating, new_wallets: newWallets, ...amounts }),
    {
      minItems: FLOW_DAYS,
      maxItems: FLOW_DAYS,
      description: 'One item per day, ascending.',
    },
  ),
);

/** Counts and amounts by tier and day. */
export function sparklineOf({ newestS, days }: HolderFlow): Static<typeof flowSparkline> {
  const names = dayNames(newestS);
  const item = (flows: TierFlows, tier: HolderTier, day: string) => {
    const { accumulating, newWallets, net, inflow, outflow } = flows[tier];
    return { day, accumulating, new_wallets: newWallets, net, inflow, outflow };
  };
  return recordOf(HOLDER_TIERS, (tier) => days.map((flows, i) => item(flows, tier, names[i])));
}

const balanceChange = document('BalanceChange', {
  tokens: number('Change in the balance, tokens; 0 if no snapshot is that old'),
  pct: nullable(
    Type.Number(),
    'Change as a fraction of the earlier balance: 0.25 is 25%. Null if that balance was 0, or if no ' +
      'snapshot is that old.',
  ),
});
const activityItem = document('WalletDay', {
  day: utcDay,
  balance: nullable(
    Type.Number(),
    "Balance in the day's last snapshot, tokens; 0 if the wallet is not in it, null if the day has no " +
      'snapshot.',
  ),
  change: number(
    'Change since the last snapshot of an earlier day, tokens; 0 if either snapshot is missing',
  ),
});

export const flowWallets = Type.Array(
  document('Wallet', {
    rank: integer('1 for the largest balance; ties by address'),
    owner: text("The wallet's address"),
    balance: number('Balance in the newest snapshot, tokens'),
    balance_change: document('BalanceChanges', {
      '1d': balanceChange,
      '7d': balanceChange,
      '14d': balanceChange,
      '30d': balanceChange,
    }),
    activity: Type.Optional(
      Type.Array(activityItem, {
        minItems: FLOW_DAYS,
        maxItems: FLOW_DAYS,
        description:
          'With `wallet_activity=true`: one item per day, ascending, up to the day of the newest snapshot.',
      }),
    ),
  }),
  { maxItems: MAX_RANKED },
);
type Wallet = Static<typeof flowWallets>[number];

/** The largest holders, by rank. */
export function walletsOf(flow: HolderFlow, limit: number, withActivity: boolean): Wallet[] {
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
