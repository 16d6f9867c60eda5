/** Fields that both forms of whale activity have. */
import Type, { type TSchema } from 'typebox';
import {
  FLOW_DAYS,
  HOLDER_TIERS,
  SUMMARY_WINDOWS,
  type HolderTier,
  type SummaryWindow,
} from '../../compute/holders/flow-plan.js';
import { count, document, nullable, number } from '../api/schemas.js';

/** What holder flow is, for the descriptions of its endpoints. */
export const HOLDER_FLOW_NOTES =
  'Tiers are the first 20, 50 and 100 of the newest holder snapshot, ranked by balance, ties by address; ' +
  'of a token with fewer holders, all of them. A window compares it with the newest snapshot at or before ' +
  "its time less the window; an owner who is not in that one held 0. Where there is none, the window's " +
  'counts and flows are 0. The sparkline compares the last snapshot of each of the 30 UTC days up to the ' +
  "newest snapshot's with the last one of any earlier day, by that day's ranking; a day where either is " +
  'missing has zeros. Amounts are in tokens.\n\n' +
  'Snapshots of the last two days are all kept; older ones are thinned to the last of each UTC hour for ' +
  'nine days, of each six hours for 33 days, of each day for 400: the 7-day window is exact to the hour, those of 14 and ' +
  '30 days to six hours, the days of the sparkline wholly. A server whose clock is frozen more than two ' +
  'days before the newest stored snapshot sees what is kept there.\n\n' +
  'A token without a visible snapshot is no error: `has_coverage` is false and `last_snapshot_at` null.';

const perTier = <S extends TSchema>(schema: S) =>
  document(Object.fromEntries(HOLDER_TIERS.map((tier) => [tier, schema])) as Record<HolderTier, S>);
const perWindow = <S extends TSchema>(schema: S) =>
  document(
    Object.fromEntries(SUMMARY_WINDOWS.map((window) => [window, schema])) as Record<
      SummaryWindow,
      S
    >,
  );

const flow = {
  net: number('Sum of `inflow` and `outflow`, tokens'),
  inflow: number('Sum of the positive changes of balance, tokens'),
  outflow: number('Sum of the negative changes of balance, tokens; at most 0'),
};
const accumulating = count('Wallets of the tier that held something before and hold more now');
const newWallets = count('Wallets of the tier that held nothing before');

export const flowSummary = document({
  accumulating: perTier(perWindow(accumulating)),
  new_wallets: perTier(perWindow(newWallets)),
  net_flow: perTier(perWindow(document(flow))),
});

export const utcDay = Type.String({
  description: 'UTC day, YYYY-MM-DD',
  pattern: '^\\d{4,}-\\d\\d-\\d\\d$',
});

export const flowSparkline = perTier(
  Type.Array(document({ day: utcDay, accumulating, new_wallets: newWallets, ...flow }), {
    minItems: FLOW_DAYS,
    maxItems: FLOW_DAYS,
    description: 'One item a day, ascending.',
  }),
);

export const hasCoverage = Type.Boolean({
  description: 'Whether there is a visible snapshot of the holders.',
});
export const lastSnapshotAt = nullable(
  Type.String(),
  'Time of the newest visible snapshot, ISO 8601 in UTC; null without coverage.',
);
