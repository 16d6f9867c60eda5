/** The costs of an order in several tokens, by size or over time. */
import type { AddressClient } from '../../client/address-client.js';
import type { ReplayParameters, Snapshot } from '../../client/index.js';
import { stepName } from '../heatmap/detail.js';
import { costPoint, curveOf, sizesAround } from '../orders/cost.js';
import { walked } from '../orders/walk.js';
import { currentS } from '../state/clock.js';
import { type CompareView, type Preset, PRESET_S, type Side } from '../state/url.js';
import { type Costs, extended, knownCourse, stepS, type TimedCost } from './cost-lines.js';
import { ofTokens, type OfTokens } from './of-tokens.js';

/** If no amount is entered. */
export const USUAL_USD = 100_000;
export const orderUsd = ({ order }: CompareView): number => order.usd ?? USUAL_USD;

/**
 * @param last the costs of the view's last load: most times, only the newest step of their courses is loaded again
 * @throws FathomError if the server fails
 */
export function costsOf(
  view: CompareView,
  client: AddressClient,
  signal: AbortSignal,
  last: readonly Costs[],
): Promise<OfTokens<Costs>> {
  const { side } = view.order;
  return ofTokens(view.tokens, client, signal, async (address) => {
    if (view.metric === 'cost') {
      const reply = await client.getSlippage({ address, side, usd: sizesOf(view) }, { signal });
      return { address, curve: curveOf(reply), course: [], wholeAtMs: 0 };
    }
    const { course: known, wholeAtMs } = knownCourse(last, address, performance.now());
    const query = ladderQuery(view.window);
    const from = known.at(-1)?.t ?? query.from;
    const snapshots = client.snapshots(address, { ...query, from }, { signal });
    const fresh = await courseOf(snapshots, side, orderUsd(view));
    const course = extended(known, fresh, currentS() - PRESET_S[view.window]);
    return { address, curve: [], course, wholeAtMs };
  });
}

/** The same for all tokens, so that their curves share an axis. */
export const sizesOf = (view: CompareView): number[] => sizesAround(orderUsd(view), Infinity);

/** Whole ladders without perps, as `/slippage` takes them: one snapshot for each step of the window. */
export const ladderQuery = (window: Preset): ReplayParameters => ({
  from: `-${window}`,
  to: 'now',
  step: stepName(stepS(window)),
  group: 'all',
  exclude_types: ['cex_perp'],
  min_pct: -90,
  max_pct: 1000,
});

async function courseOf(
  snapshots: AsyncIterable<Snapshot>,
  side: Side,
  usd: number,
): Promise<TimedCost[]> {
  const course: TimedCost[] = [];
  for await (const { t, bin, supportUsd, resistanceUsd } of snapshots) {
    const ladder = { bin, usd: side === 'sell' ? supportUsd : resistanceUsd };
    course.push({ t, cost: costPoint(walked(ladder, side, usd)) });
  }
  return course;
}
