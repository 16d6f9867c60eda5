/** GET /coverage/:address, read from the store. */
import Type, { type Static } from '../api/type.js';
import {
  GAP_MEDIANS,
  MEDIAN_INTERVALS,
  medianIntervalS,
  newestGaps,
} from '../../compute/depth/coverage.js';
import { CHAINS, EXCHANGE_TYPES, MARKET_TYPES, TIERS } from '../../compute/market.js';
import type { StoredHistory } from '../../storage/contract.js';
import { Turns } from '../../storage/turns.js';
import { defineEndpoint, type Handler } from '../api/endpoint.js';
import {
  chainKey,
  count,
  document,
  epochSeconds,
  nullable,
  tokenAddress,
  word,
} from '../api/schemas.js';
import type { Services } from '../services.js';
import { resolvedToken, sourceOf } from './shown-token.js';

export const MAX_GAPS = 1000;

const tier = word(TIERS, { description: 'Density at which snapshots are kept.' });
/** Schema of a gap, also in a replay plan. */
export const historyGap = document('HistoryGap', {
  tier,
  from: epochSeconds('Time of the snapshot before the gap'),
  to: epochSeconds('Time of the snapshot after it'),
});

export const getCoverage = defineEndpoint({
  operationId: 'getCoverage',
  method: 'GET',
  path: '/coverage/:address',
  tag: 'Depth',
  summary: 'Stored history of one token',
  description:
    "The token's stored depth by tier, its gaps and its markets. Without history, all of these are " +
    'empty; the reply is never a 404.',
  chain: { kind: 'none', at: { in: 'path', name: 'address' }, supported: CHAINS },
  query: Type.Object({}),
  smaller: 'read its depth from /replay/:address with `group=all`, which names no market',
  response: document('Coverage', {
    token: tokenAddress,
    resolved_token: resolvedToken,
    chain: chainKey,
    tiers: Type.Array(
      document('TierCoverage', {
        tier,
        snapshot_count: count(
          'Stored snapshots; /replay leaves out those of a coarse tier if finer ones cover the same time.',
        ),
        first_t: epochSeconds('Time of the first'),
        last_t: epochSeconds('Time of the last'),
        median_interval_s: nullable(
          Type.Number(),
          `Median of the newest ${MEDIAN_INTERVALS} intervals between them, seconds; null with a ` +
            'single snapshot.',
        ),
      }),
      { description: 'Tiers that have snapshots, the finest first.' },
    ),
    gaps: Type.Array(historyGap, {
      maxItems: MAX_GAPS,
      description:
        `Neighbouring snapshots of a tier more than ${GAP_MEDIANS} times its median interval apart, ` +
        'newest first.',
    }),
    gaps_truncated: Type.Boolean({ description: `Whether there are more than ${MAX_GAPS} gaps.` }),
    markets: Type.Array(
      document('CoveredMarket', {
        source: Type.String(),
        exchange_type: word(EXCHANGE_TYPES),
        type: word(MARKET_TYPES, { description: 'Type of market.' }),
        address: nullable(Type.String(), 'Address of the pool or order book; null if it has none.'),
        pair: nullable(Type.String(), 'Null if the market has none.'),
        first_t: epochSeconds('Time of the first snapshot with any of its depth'),
        last_t: epochSeconds('Time of the last'),
      }),
      { description: 'Markets with any depth, in the order of their first appearance.' },
    ),
  }),
});

type Coverage = Static<(typeof getCoverage)['response']>;

const NO_HISTORY: StoredHistory = { times: { raw: [], '15m': [], '1h': [] }, markets: [] };

export function coverageHandler({ depth, clock }: Services): Handler<typeof getCoverage> {
  return async ({ token: { chain, address } }) => {
    const { source, leg } = sourceOf(depth, { chain, address });
    const history = source && (await depth.history(source.tokenId, clock.nowS()));
    return {
      token: address,
      ...(leg === null ? {} : { resolved_token: leg.address }),
      chain: leg?.chain ?? chain,
      ...(await coverageOf(history ?? NO_HISTORY)),
    };
  };
}

async function coverageOf({
  times,
  markets,
}: StoredHistory): Promise<Pick<Coverage, 'tiers' | 'gaps' | 'gaps_truncated' | 'markets'>> {
  const turns = new Turns();
  const { gaps, truncated } = await newestGaps(times, MAX_GAPS, { pause: () => turns.take() });
  // Encoding the reply takes another turn.
  await turns.take();
  return {
    tiers: TIERS.filter((tier) => times[tier].length > 0).map((tier) => {
      const parts = times[tier];
      const last = parts[parts.length - 1];
      return {
        tier,
        snapshot_count: parts.reduce((sum, { length }) => sum + length, 0),
        first_t: parts[0][0],
        last_t: last[last.length - 1],
        median_interval_s: medianIntervalS(parts),
      };
    }),
    gaps,
    gaps_truncated: truncated,
    markets: markets.map(({ market, firstT, lastT }) => ({
      source: market.source,
      exchange_type: market.exchangeType,
      type: market.type,
      address: market.address,
      pair: market.pair,
      first_t: firstT,
      last_t: lastT,
    })),
  };
}
