/** GET /slippage/:address: from memory for the newest snapshot, else from the store. */
import Type, { type Static } from '../api/type.js';
import {
  type LadderInput,
  ORDER_SIDES,
  orderLadder,
  type OrderLadder,
  type OrderSide,
  slippage,
} from '../../compute/depth/slippage.js';
import {
  namesOfSlippage,
  type SlippageRequestFields,
  slippageDocument,
} from '../../compute/depth/slippage-document.js';
import { CHAINS, MARKET_TYPES } from '../../compute/market.js';
import { type PageGroup, type ReplayFilter, slotsOfMarkets } from '../../compute/replay/query.js';
import type { TokenRecord } from '../../storage/contract.js';
import { type Call, defineEndpoint, type Handler } from '../api/endpoint.js';
import { invalidParameter } from '../api/errors.js';
import { addDataTime, Reply, replyLikePage, type ReplyMemory } from '../api/replies.js';
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
import { learnMarkets } from '../replay/page-plan.js';
import { unlessBusy } from '../http/errors.js';
import {
  atParameter,
  filterParameters,
  filterWithNamedPerps,
  instantAt,
  oldestServedS,
} from '../replay/parameters.js';
import type { HeldToken } from '../tokens/newest-depth.js';
import {
  missingVenues,
  missingVenuesField,
  namedToken,
  resolvedToken,
  sourceOf,
} from './shown-token.js';
import type { Services } from '../services.js';

/** Maximum number of amounts, and of moves, in one request. */
const MAX_AMOUNTS = 20;
/** The pool computes a reply with more cells, or with more venues times amounts. */
const MAX_CELLS_ON_LOOP = 2000;
const MAX_PARTS_ON_LOOP = 100;
/** The names of more markets are counted before they go to the pool, and their replies are not cached. */
const MAX_CACHED_MARKETS = 1000;

const side = word(ORDER_SIDES, {
  description: '`sell` takes support, `buy` takes resistance.',
});
/** A number that is null if the order cannot be filled. */
const nullUnlessFilled = (description: string) => nullable(Type.Number(), description);

export const getSlippage = defineEndpoint({
  operationId: 'getSlippage',
  method: 'GET',
  path: '/slippage/:address',
  tag: 'Depth',
  summary: 'What an order costs',
  description:
    'What an order of some USD costs, by venue, and how many USD move the price by some percent: computed on the ' +
    'ladder of one snapshot, added up over the chosen markets. Perps count only if `types` or `venues` names them. ' +
    'Send `usd`, `move_pct` or both. A token without a snapshot has nulls and empty lists; it is never a 404. ' +
    '`X-Data-Time` is of the snapshot that is served.',
  dataTime: true,
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
  response: document('Slippage', {
    token: tokenAddress,
    chain: chainKey,
    resolved_token: resolvedToken,
    venues_not_found: missingVenuesField,
    t: nullable(Type.Integer(), 'Time of the snapshot, Unix epoch seconds; null without one.'),
    price_usd: nullable(Type.Number(), 'Price of the snapshot; null without one.'),
    side,
    fillable_usd: nullable(
      Type.Number(),
      'Depth of the chosen markets on the side that the order takes, USD; null without a snapshot.',
    ),
    quotes: Type.Array(
      document('SlippageQuote', {
        usd: usd('Amount of the order'),
        filled: Type.Boolean({
          description:
            'Whether it is at most `fillable_usd`; otherwise prices and percents are null.',
        }),
        average_price_usd: nullUnlessFilled('USD by tokens.'),
        end_price_usd: nullUnlessFilled('Price at which the order ends, USD.'),
        slippage_pct: nullUnlessFilled(
          'The average price against the price, percent: negative for a sell, positive for a buy.',
        ),
        best_pct: nullUnlessFilled('The same if each bin had its amount at its near end.'),
        worst_pct: nullUnlessFilled('The same if each bin had its amount at its far end.'),
        venues: Type.Array(
          document('SlippageVenue', {
            key: Type.String(),
            label: Type.String(),
            type: word(MARKET_TYPES, { description: 'Type of market.' }),
            usd: usd('Its part of the order'),
          }),
          {
            description:
              'Venues of the order, largest first; if it cannot be filled, all that they have.',
          },
        ),
      }),
      { description: 'One per item of `usd`.' },
    ),
    moves: Type.Array(
      document('SlippageMove', {
        move_pct: number('Move of the price, percent'),
        usd: usd('Depth up to the moved price; beyond the end of the ladder, all depth'),
      }),
      { description: 'One per item of `move_pct`.' },
    ),
  }),
  smaller: 'send fewer amounts in `usd`, or choose `venues` or `types`',
  errors: ['window_out_of_range', 'replay_busy'],
});

type SlippageCall = Call<typeof getSlippage>;
type SlippageDocument = Static<(typeof getSlippage)['response']>;
type SlippageReply = SlippageDocument | Reply<never>;

/** A checked request, and the token whose snapshots it uses. */
interface SlippageRequest {
  fields: SlippageRequestFields;
  /** null if the token is unknown. */
  source: TokenRecord | null;
  filter: ReplayFilter;
  /** Epoch seconds, at most `nowS`; null: the newest snapshot. */
  atS: number | null;
  nowS: number;
}

export function slippageHandler(services: Services): Handler<typeof getSlippage> {
  return (call) => {
    const request = slippageRequest(services, call);
    if (request.source === null) return withoutSnapshot(services, request);
    const depth = depthOf(services, call, request.source, request);
    return whenReady(depth, (held) => reply(services, call, request, held));
  };
}

function slippageRequest(
  { depth, clock }: Services,
  { token, query }: SlippageCall,
): SlippageRequest {
  const nowS = clock.nowS();
  const { usd, move_pct: movePct } = query;
  if (usd === undefined && movePct === undefined) {
    throw invalidParameter('usd', 'expected usd, move_pct or both, neither was sent');
  }
  const filter = filterWithNamedPerps(query);
  const atS = instantAt(query.at, nowS);
  const { source, leg } = sourceOf(depth, token);
  return {
    source,
    fields: {
      named: namedToken(token, leg),
      side: query.side,
      usd: usd ?? [],
      movePct: movePct ?? [],
    },
    filter,
    atS,
    nowS,
  };
}

/** The snapshot to use; null if the client has disconnected. */
function depthOf(
  { tokens, pool }: Services,
  { exchange, key }: SlippageCall,
  source: TokenRecord,
  { atS, nowS }: SlippageRequest,
): HeldToken | Promise<HeldToken | null> {
  if (atS === null) return whenReady(tokens.known(source), (token) => tokens.depth(token));
  const at = { atS, oldestS: oldestServedS(nowS), nowS };
  return unlessBusy(
    pool.schedule('page', key.id, (run) => tokens.depthAt([source.tokenId], at, run), exchange),
  ).then((loaded) => loaded?.[0]?.held ?? null);
}

function reply(
  services: Services,
  call: SlippageCall,
  request: SlippageRequest,
  held: HeldToken | null,
): SlippageReply | Promise<SlippageReply> {
  const { pool, kept } = services;
  const { exchange, key } = call;
  const newest = held?.newest ?? null;
  if (held === null || newest === null) return withoutSnapshot(services, request);
  const { ref, cells } = newest;
  addDataTime(exchange, cells.t);
  if (held.markets.length > MAX_CACHED_MARKETS) {
    return wideReply(pool, call, request, [
      held.markets,
      newest,
      request.fields.side,
      request.filter,
    ]);
  }
  const { filter } = request;
  const fields = withMissingVenues(request, held.markets);
  const small = smallLadder(kept, held.markets, newest, fields.side, filter);
  if (small !== null && fields.usd.length * small.groups.length <= MAX_PARTS_ON_LOOP) {
    const { t, priceUsd } = cells;
    const { groups, ladder } = small;
    // Not kept: most amounts are requested only once, and collecting what was kept takes longer than making it.
    return slippageDocument(fields, { t, priceUsd, groups, found: slippage(ladder, fields) });
  }
  // Segments never change: the snapshot's place identifies its content.
  const name = `slippage ${JSON.stringify([ref.segmentId, ref.row, fields, filter])}`;
  return Reply.remote({ memory: kept, key: name }, (form) => {
    const { input, groups } = ladderInput(held.markets, newest, fields.side, filter);
    return unlessBusy(
      pool.schedule('page', key.id, (run) => run('slippageReply', { fields, input, groups, form })),
    );
  });
}

async function withoutSnapshot(
  { depth }: Services,
  request: SlippageRequest,
): Promise<SlippageDocument> {
  const markets = request.source === null ? [] : depth.markets(request.source.tokenId);
  await learnMarkets(markets);
  return slippageDocument(withMissingVenues(request, markets), null);
}

/** Most requests miss no venue: their fields are not copied. */
function withMissingVenues(
  { fields, filter }: SlippageRequest,
  markets: HeldToken['markets'],
): SlippageRequestFields {
  const missing = missingVenues(filter, markets);
  if (missing.venues_not_found === undefined) return fields;
  return { ...fields, named: { ...fields.named, ...missing } };
}

/** The reply for a token with many markets, whose names may be too long for any reply. */
function wideReply(
  pool: Services['pool'],
  call: SlippageCall,
  request: SlippageRequest,
  chosen: Parameters<typeof ladderInput>,
): Reply<never> {
  const [markets, { cells }] = chosen;
  return replyLikePage(pool, call, async (form, run) => {
    await learnMarkets(markets);
    const fields = withMissingVenues(request, markets);
    const { input, groups } = ladderInput(...chosen);
    const found = await run('findSlippage', { fields, input });
    const named = namesOfSlippage(found, groups);
    call.exchange.checkNames(named.bytes);
    const { t, priceUsd } = cells;
    const answer = { t, priceUsd, groups: named.groups, found };
    return run('encodeSlippage', { fields, answer, form });
  });
}

/** The ladder of the markets that a request chooses, and their venues. */
interface VenueLadder {
  groups: readonly PageGroup[];
  ladder: OrderLadder;
}

/**
 * A ladder of at most MAX_CELLS_ON_LOOP cells, else null. It is cached, because most requests for a snapshot differ
 * only in their amounts.
 */
function smallLadder(
  kept: ReplyMemory,
  ...chosen: Parameters<typeof ladderInput>
): VenueLadder | null {
  const [, { ref, cells }, side, filter] = chosen;
  if (cells.bin.length > MAX_CELLS_ON_LOOP) return null;
  const name = `slippage ladder ${JSON.stringify([ref.segmentId, ref.row, side, filter])}`;
  const known = kept.get(name) as VenueLadder | undefined;
  if (known !== undefined) return known;
  const { input, groups } = ladderInput(...chosen);
  const made = { groups, ladder: orderLadder(input) };
  kept.set(name, made, { size: bytesOfLadder(made) });
  return made;
}

function ladderInput(
  markets: HeldToken['markets'],
  { cells }: NonNullable<HeldToken['newest']>,
  side: OrderSide,
  filter: ReplayFilter,
): { input: LadderInput; groups: readonly PageGroup[] } {
  const { slot, count, groups } = slotsOfMarkets(markets, { ...filter, group: 'venue' });
  return { input: { cells, side, venueOf: slot, venueCount: count }, groups };
}

function bytesOfLadder({ groups, ladder }: VenueLadder): number {
  const { cents, partsFrom, partVenue, partCents } = ladder;
  const bytes = [cents, partsFrom, partVenue, partCents].reduce((sum, a) => sum + a.byteLength, 0);
  return 1024 + 256 * groups.length + 2 * bytes;
}
