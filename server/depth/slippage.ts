/** GET /slippage/:address: from memory for the newest snapshot, else from the store. */
import Type, { type Static } from 'typebox';
import {
  ORDER_SIDES,
  type Slippage,
  slippage,
  type SlippageInput,
} from '../../compute/depth/slippage.js';
import { CHAINS, MARKET_TYPES } from '../../compute/market.js';
import type { ComputePool } from '../../compute/pool.js';
import { type ReplayFilter, slotsOfMarkets } from '../../compute/replay/query.js';
import type { DepthSource, TokenRecord } from '../../storage/contract.js';
import { type Call, defineEndpoint, type Handler } from '../api/endpoint.js';
import { invalidParameter } from '../api/errors.js';
import { nameDataTime } from '../api/replies.js';
import {
  chainKey,
  document,
  nullable,
  number,
  positives,
  tokenAddress,
  usd,
  word,
} from '../api/schemas.js';
import { whenReady } from '../board.js';
import type { Clock } from '../clock.js';
import { unlessBusy } from '../http/errors.js';
import {
  atParameter,
  filterParameters,
  filterWithoutPerps,
  instantAt,
} from '../replay/parameters.js';
import type { LiveTokens } from '../tokens/live-tokens.js';
import type { HeldToken } from '../tokens/newest-depth.js';
import { resolvedToken, sourceOf } from './coverage.js';

/** Amounts, and moves, of one request. */
const MAX_AMOUNTS = 20;
/** Cells to look at, once and again for each amount: more of them are the pool's work. */
const MAX_CELLS_ON_LOOP = 10_000;

const side = word(ORDER_SIDES, {
  description: '`sell` takes support, `buy` takes resistance.',
});
const whereFilled = (description: string) => nullable(Type.Number(), description);

export const getSlippage = defineEndpoint({
  operationId: 'getSlippage',
  method: 'GET',
  path: '/slippage/:address',
  tag: 'Depth',
  summary: 'What an order costs',
  description:
    'What an order of some USD costs, by venue, and how many USD move the price by some percent: computed on the ' +
    'ladder of one snapshot, added up over the chosen markets. Without a filter, perps are left out. Send `usd`, ' +
    '`move_pct` or both. A token without a snapshot has nulls and empty lists; it is never a 404. `X-Data-Time` is ' +
    'of the snapshot that is served.',
  dataTime: true,
  tier: 'premium',
  quotaCost: 1,
  rateBuckets: ['general'],
  chain: { kind: 'none', at: { in: 'path', name: 'address' }, supported: CHAINS },
  query: Type.Object({
    side,
    usd: positives(MAX_AMOUNTS, 'Amounts of the order, USD.', [50_000, 500_000]),
    move_pct: positives(
      MAX_AMOUNTS,
      'Moves of the price, percent: down for a sell, up for a buy.',
      [1, 2, 5],
    ),
    at: atParameter,
    ...filterParameters,
  }),
  body: null,
  response: document('Slippage', {
    token: tokenAddress,
    chain: chainKey,
    resolved_token: resolvedToken,
    t: nullable(Type.Integer(), 'Time of the snapshot, Unix epoch seconds; null without one.'),
    price_usd: nullable(Type.Number(), 'Price of the snapshot; null without one.'),
    side,
    fillable_usd: nullable(
      Type.Number(),
      'All that the chosen markets have on the side that the order takes, USD; null without a snapshot.',
    ),
    quotes: Type.Array(
      document('SlippageQuote', {
        usd: usd('Amount of the order'),
        filled: Type.Boolean({
          description:
            'Whether it is at most `fillable_usd`; otherwise prices and percents are null.',
        }),
        average_price_usd: whereFilled('USD by tokens.'),
        end_price_usd: whereFilled('Price at which the order ends, USD.'),
        slippage_pct: whereFilled(
          'The average price against the price, percent: negative for a sell, positive for a buy.',
        ),
        best_pct: whereFilled('The same if each bin had its amount at its near end.'),
        worst_pct: whereFilled('The same if each bin had its amount at its far end.'),
        venues: Type.Array(
          document('SlippageVenue', {
            key: Type.String(),
            label: Type.String(),
            type: word(MARKET_TYPES, { description: 'Type of market.' }),
            usd: usd('Its part of the order'),
          }),
          {
            description:
              'Venues that take part, largest first; of an order that is not filled, what there is.',
          },
        ),
      }),
      { description: 'One per item of `usd`.' },
    ),
    moves: Type.Array(
      document('SlippageMove', {
        move_pct: number('Move of the price, percent'),
        usd: usd('What stands between; all there is beyond the end of the ladder'),
      }),
      { description: 'One per item of `move_pct`.' },
    ),
  }),
  errors: ['window_out_of_range', 'replay_busy'],
});

export interface SlippageServices {
  depth: DepthSource;
  tokens: LiveTokens;
  pool: Pick<ComputePool, 'schedule'>;
  clock: Clock;
}

type SlippageCall = Call<typeof getSlippage>;
type SlippageDocument = Static<(typeof getSlippage)['response']>;

/** What a request asks for, and whose snapshots answer. */
interface SlippageRequest {
  /** null if the token is unknown. */
  source: TokenRecord | null;
  /** The reply's first fields. */
  named: Pick<SlippageDocument, 'token' | 'chain' | 'resolved_token'>;
  side: SlippageInput['side'];
  usd: readonly number[];
  movePct: readonly number[];
  filter: ReplayFilter;
  /** Epoch seconds, at most `nowS`; null: the newest snapshot. */
  atS: number | null;
  nowS: number;
}

/** Makes the handler of GET /slippage/:address. */
export function slippageHandler(services: SlippageServices): Handler<typeof getSlippage> {
  return (call) => {
    const request = slippageRequest(services, call);
    if (request.source === null) return slippageDocument(request, null);
    const depth = depthOf(services, call, request.source, request);
    return whenReady(depth, (held) => reply(services, call, request, held));
  };
}

/** @throws ApiError 400 */
function slippageRequest(
  { depth, clock }: SlippageServices,
  { token, query }: SlippageCall,
): SlippageRequest {
  const nowS = clock.nowS();
  const { usd, move_pct: movePct } = query;
  if (usd === undefined && movePct === undefined) {
    throw invalidParameter('usd', 'expected usd, move_pct or both, was neither');
  }
  const filter = filterWithoutPerps(query);
  const atS = instantAt(query.at, nowS);
  const { source, leg } = sourceOf(depth, token);
  return {
    source,
    named: {
      token: token.address,
      chain: leg?.chain ?? token.chain,
      ...(leg === null ? {} : { resolved_token: leg.address }),
    },
    side: query.side,
    usd: usd ?? [],
    movePct: movePct ?? [],
    filter,
    atS,
    nowS,
  };
}

/** The snapshot that answers; null if the client has disconnected. */
function depthOf(
  { tokens, pool }: SlippageServices,
  { exchange, key }: SlippageCall,
  source: TokenRecord,
  { atS, nowS }: SlippageRequest,
): HeldToken | Promise<HeldToken | null> {
  if (atS === null) return whenReady(tokens.known(source), (token) => tokens.depth(token));
  const at = { atS, nowS };
  return unlessBusy(
    pool.schedule('page', key.id, (run) => tokens.depthAt([source.tokenId], at, run), exchange),
  ).then((loaded) => loaded?.[0]?.held ?? null);
}

function reply(
  { pool }: SlippageServices,
  { exchange, key }: SlippageCall,
  request: SlippageRequest,
  held: HeldToken | null,
): SlippageDocument | Promise<SlippageDocument> {
  const cells = held?.newest?.cells;
  if (held === null || cells === undefined) return slippageDocument(request, null);
  nameDataTime(exchange, cells.t);
  const { side, usd, movePct, filter } = request;
  const slots = slotsOfMarkets(held.markets, { ...filter, group: 'venue' });
  const input = { cells, side, venueOf: slots.slot, venueCount: slots.count, usd, movePct };
  const make = (found: Slippage) => slippageDocument(request, { cells, slots, found });
  if (cells.bin.length * (1 + usd.length) <= MAX_CELLS_ON_LOOP) return make(slippage(input));
  const found = unlessBusy(pool.schedule('page', key.id, (run) => run('slippage', input)));
  return found.then(make);
}

interface Answer {
  cells: SlippageInput['cells'];
  slots: ReturnType<typeof slotsOfMarkets>;
  found: Slippage;
}

/** @param answer null: there is no snapshot */
function slippageDocument(
  { named, side, usd, movePct }: SlippageRequest,
  answer: Answer | null,
): SlippageDocument {
  if (answer === null) {
    const none = { t: null, price_usd: null, side, fillable_usd: null };
    return { ...named, ...none, quotes: [], moves: [] };
  }
  const { cells, slots, found } = answer;
  return {
    ...named,
    t: cells.t,
    price_usd: cells.priceUsd,
    side,
    fillable_usd: found.fillableUsd,
    quotes: found.costs.map((cost, i) => ({
      usd: usd[i],
      filled: cost.filled,
      average_price_usd: cost.averagePriceUsd,
      end_price_usd: cost.endPriceUsd,
      slippage_pct: cost.slippagePct,
      best_pct: cost.bestPct,
      worst_pct: cost.worstPct,
      venues: slots.groups
        .flatMap((group, venue) => {
          const part = cost.venueUsd[venue];
          return part > 0 ? [{ ...group, usd: part }] : [];
        })
        .sort((a, b) => b.usd - a.usd || (a.key < b.key ? -1 : 1)),
    })),
    moves: found.moves.map((amount, i) => ({ move_pct: movePct[i], usd: amount })),
  };
}
