/** Which snapshots the scores of a token rest on: its own, and those of its asset's other leg (docs/definitions.md#score). */
import { MAX_LEG_AGE_S } from '../../compute/scores/score.js';
import { DAY_S } from '../../compute/time.js';
import type { DayPlan, TokenPlans } from './depth-plan.js';
import type { ExportToken } from './source.js';

/** The tokens of assets, by asset. */
export type Assets = ReadonlyMap<string, readonly ExportToken[]>;

export async function assetsOf(tokens: AsyncIterable<ExportToken>): Promise<Assets> {
  const assets = new Map<string, ExportToken[]>();
  for await (const token of tokens) {
    if (token.asset === null) continue;
    const legs = assets.get(token.asset) ?? [];
    legs.push(token);
    assets.set(token.asset, legs);
  }
  return assets;
}

/** The asset's leg on the other chain; null if there is none. */
export function otherLeg(token: ExportToken, assets: Assets): ExportToken | null {
  const legs = token.asset === null ? [] : (assets.get(token.asset) ?? []);
  return legs.find(({ tokenId }) => tokenId !== token.tokenId) ?? null;
}

/** Changes with what decides, beside snapshots, which scores a token has. */
export const scoreFacts = (token: ExportToken, other: ExportToken | null): string =>
  JSON.stringify([token, other].map((leg) => leg && [leg.tokenId, leg.coverage, leg.isPriced]));

/** Whether a token's snapshots count for a score that GET /score gives under its address. */
export const isScoredToken = (token: ExportToken, other: ExportToken | null): boolean =>
  [token, ...(isAnswering(other) ? [other] : [])].every(({ coverage }) => coverage === 'full');

/** A bridged token gets the score of its mainchain leg. */
const isAnswering = (other: ExportToken | null): other is ExportToken =>
  other?.chain === 'mainchain';

/**
 * A day's plans of scores.
 * @param plans of the token's snapshots
 * @param other the asset's other leg, and its plans; null if there is none
 */
export async function planScores(
  plans: readonly DayPlan[],
  other: { leg: ExportToken; plans: TokenPlans } | null,
): Promise<DayPlan[]> {
  if (other === null || other.leg.coverage !== 'full' || plans.length === 0) return [...plans];
  const { dayS } = plans[0];
  const leg = await other.plans.shown(Math.max(0, dayS - MAX_LEG_AGE_S), dayS + DAY_S);
  const pricedFromS = await pricedFrom(other, leg.snapshots[0]?.t ?? Infinity, dayS);
  return plans.flatMap((plan) => {
    const snapshots = plan.snapshots.filter(({ t }) => t >= pricedFromS);
    return snapshots.length === 0 ? [] : [{ ...plan, snapshots, leg }];
  });
}

/** The first time of a day when the token that GET /score answers has a price. */
async function pricedFrom(
  { leg, plans }: { leg: ExportToken; plans: TokenPlans },
  firstT: number,
  dayS: number,
): Promise<number> {
  if (!isAnswering(leg) || leg.isPriced) return 0;
  const span = await plans.span();
  // A snapshot that is hidden is so by one of the same hour.
  return span !== null && span.firstT < dayS - MAX_LEG_AGE_S ? 0 : firstT;
}

/**
 * The days whose scores gain or lose a price when the first snapshot of the other leg becomes another one, besides those
 * for which its snapshots count.
 * @param wasT time of the first snapshot in an earlier run; Infinity: there was none
 */
export function repricedDays(
  leg: ExportToken,
  wasT: number,
  isT: number,
): (dayS: number) => boolean {
  if (!isAnswering(leg) || leg.isPriced) return () => false;
  const [sooner, later] = [Math.min(wasT, isT), Math.max(wasT, isT)];
  return (dayS) => sooner < dayS - MAX_LEG_AGE_S && later >= dayS - MAX_LEG_AGE_S;
}
