/** GET /coverage/:address, read from the store. */
import Type, { type Static } from '../api/type.js';
import {
  GAP_MEDIANS,
  MEDIAN_INTERVALS,
  medianIntervalS,
  newestGaps,
} from '../../compute/depth/coverage.js';
import { CHAINS, EXCHANGE_TYPES, MARKET_TYPES, TIERS } from '../../compute/market.js';
import { hasLongNames } from '../../compute/replay/names.js';
import { factsOfMarkets } from '../../compute/replay/query.js';
import type { StoredHistory, TokenRecord } from '../../storage/contract.js';
import { Turns } from '../../storage/turns.js';
import { defineEndpoint, type Handler } from '../api/endpoint.js';
import { encodeInTurns, replyLikePage } from '../api/replies.js';
import {
  chainKey,
  count,
  document,
  epochSeconds,
  nullable,
  tokenAddress,
  word,
} from '../api/schemas.js';
import { learnMarkets } from '../replay/page-plan.js';
import type { Services } from '../services.js';
import { resolvedToken, sourceOf } from './shown-token.js';

export const MAX_GAPS = 1000;

const tier = word(TIERS, { description: 'Density at which snapshots are kept.' });
/** Schema of a gap, also in a replay plan. */
/** A list of more markets is encoded in turns. */
const MAX_ENCODED_AT_ONCE = 1000;

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

export function coverageHandler(services: Services): Handler<typeof getCoverage> {
  return async (call) => {
    const { chain, address } = call.token;
    const { depth } = services;
    const { source, leg } = sourceOf(depth, { chain, address });
    const named = {
      token: address,
      ...(leg === null ? {} : { resolved_token: leg.address }),
      chain: leg?.chain ?? chain,
    };
    const known = source === null ? [] : depth.markets(source.tokenId);
    await learnMarkets(known);
    const isShort = known.length <= MAX_ENCODED_AT_ONCE && !hasLongNames(known);
    if (source === null || isShort) {
      const { markets, ...fields } = await coverageOf(services, source);
      return { ...named, ...fields, markets: markets.map(coveredMarket) };
    }
    // Those without depth count too: to leave them out, the whole history would have to be read.
    call.exchange.checkNames(factsOfMarkets(known).bytes);
    // Each holds its names several times.
    return replyLikePage(services.pool, call, async (form) => {
      const { markets, ...fields } = await coverageOf(services, source);
      return encodeInTurns({ ...named, ...fields }, { markets: markets.map(coveredMarket) }, form);
    });
  };
}

type CoveredMarkets = StoredHistory['markets'];

async function coverageOf(
  { depth, clock }: Services,
  source: TokenRecord | null,
): Promise<Pick<Coverage, 'tiers' | 'gaps' | 'gaps_truncated'> & { markets: CoveredMarkets }> {
  const { times, markets } =
    source === null ? NO_HISTORY : await depth.history(source.tokenId, clock.nowS());
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
    markets,
  };
}

const coveredMarket = ({ market, firstT, lastT }: CoveredMarkets[number]) => ({
  source: market.source,
  exchange_type: market.exchangeType,
  type: market.type,
  address: market.address,
  pair: market.pair,
  first_t: firstT,
  last_t: lastT,
});
