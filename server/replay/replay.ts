import Type from 'typebox';
import { DEFAULT_MAX_PCT, DEFAULT_MIN_PCT } from '../../compute/ladder.js';
import { CHAINS, EXCHANGE_TYPES, MARKET_TYPES, TIERS } from '../../compute/market.js';
import { PAGE_LIMITS } from '../../compute/replay/page.js';
import { REPLAY_GROUPS } from '../../compute/replay/query.js';
import { defineEndpoint } from '../api/endpoint.js';
import {
  bounded,
  chainKey,
  count,
  document,
  epochSeconds,
  instant,
  list,
  nullable,
  number,
  tokenAddress,
  usd,
  word,
} from '../api/schemas.js';
import { ARROW_STREAM } from './representation.js';

const MIN_PCT = -90;
const MAX_PCT = 1000;
/** Items of a list parameter. */
const MAX_LIST_ITEMS = 100;
/** Characters of a venue key. */
const MAX_VENUE_CHARS = 200;

const marketType = word(MARKET_TYPES, { description: 'Type of market.' });
const venueKeys = Type.String({ maxLength: MAX_VENUE_CHARS });
const types = (description: string) => list(marketType, MAX_LIST_ITEMS, description);
const venues = (description: string) => list(venueKeys, MAX_LIST_ITEMS, description);
const keys = nullable(Type.Array(Type.String()), 'As sent; null where it was not.');
const indexes = (of: string) =>
  Type.Optional(
    Type.Array(Type.Integer({ minimum: 0 }), { description: `Index into \`${of}\`, a cell each.` }),
  );

const facets = document(
  {
    frames: count('Snapshots on the page'),
    types: Type.Array(document({ key: marketType, label: Type.String(), usd: usd('Mean depth') })),
    venues: Type.Array(
      document({
        key: Type.String(),
        label: Type.String(),
        type: marketType,
        usd: usd('Mean depth'),
      }),
    ),
  },
  {
    description:
      'Mean depth per snapshot of the page by type and by venue, within the band and before any ' +
      'filter. Left out with `group=all` and no filter.',
  },
);

const snapshot = document({
  t: epochSeconds('Time'),
  tier: word(TIERS, { description: 'How dense the snapshots around it are kept.' }),
  price_usd: usd('Price'),
  market_idx: indexes('markets'),
  group_idx: indexes('groups'),
  bin: Type.Array(Type.Integer(), { description: 'Bins: price = price_usd * 1.01^bin.' }),
  support_usd: Type.Array(Type.Number({ minimum: 0 }), { description: 'Support, exact cents.' }),
  resistance_usd: Type.Array(Type.Number({ minimum: 0 }), {
    description: 'Resistance, exact cents.',
  }),
});

export const getReplay = defineEndpoint({
  operationId: 'getReplay',
  method: 'GET',
  path: '/replay/:address',
  tag: 'Depth',
  summary: 'Depth history of one token',
  description:
    'Support and resistance per market and price bin, snapshot by snapshot, in columns: cell i of a ' +
    'snapshot is index i of each of its arrays. A page holds up to ' +
    `${PAGE_LIMITS.maxCells.toLocaleString('en-US')} cells and ${PAGE_LIMITS.maxSnapshots} snapshots; ` +
    'go on with `from` = `next_from` and the same `to` until `next_from` is null.',
  tier: 'premium',
  quotaCost: 1,
  rateBuckets: ['general'],
  chain: { kind: 'none', at: { in: 'path', name: 'address' }, supported: CHAINS },
  query: Type.Object({
    from: instant('Start of the window (inclusive). Default: 24 hours before `to`.'),
    to: instant('End of the window (exclusive). Default: now.'),
    group: Type.Optional(
      word(REPLAY_GROUPS, { description: 'What cells are summed by (`market` unless sent).' }),
    ),
    types: types('Types to keep.'),
    onchain: Type.Optional(
      Type.Boolean({ description: '`true` means `types=onchain_pool,onchain_limit_order`.' }),
    ),
    venues: venues('Venue keys to keep.'),
    exclude_types: types('Types to leave out; not together with `types`.'),
    exclude_venues: venues('Venue keys to leave out; not together with `venues`.'),
    markets: Type.Optional(
      word(['split', 'aggregate'], {
        deprecated: true,
        description: 'Use `group`: `split` is `group=market`, `aggregate` is `group=all`.',
      }),
    ),
    min_pct: bounded(MIN_PCT, MAX_PCT, {
      default: DEFAULT_MIN_PCT,
      description: "Lower end of the band around each snapshot's price, percent.",
    }),
    max_pct: bounded(MIN_PCT, MAX_PCT, {
      default: DEFAULT_MAX_PCT,
      description: 'Upper end of the band, percent; above `min_pct`.',
    }),
  }),
  body: null,
  response: document({
    token: tokenAddress,
    resolved_token: Type.Optional(
      Type.String({ description: 'The mint that a bridged `0x` leg was answered from.' }),
    ),
    chain: chainKey,
    window: document({
      from: epochSeconds('Start, after clamping to the last 365 days'),
      to: epochSeconds('End'),
      clamped: Type.Boolean(),
      served_from: nullable(Type.Integer(), 'First time on the page; null where it is empty.'),
      served_to: nullable(Type.Integer(), 'Last time on the page; null where it is empty.'),
    }),
    next_from: nullable(Type.Integer(), '`from` of the next page; null on the last one.'),
    group: word(REPLAY_GROUPS),
    filter: document({
      types: keys,
      venues: keys,
      exclude_types: keys,
      exclude_venues: keys,
      venues_not_found: Type.Array(Type.String()),
    }),
    markets_mode: word(['split', 'aggregate']),
    min_pct: number('Lower end of the band, percent'),
    max_pct: number('Upper end of the band, percent'),
    bin_ratio: number('Ratio of the prices of neighbouring bins'),
    snapshot_count: count('Snapshots on the page'),
    row_count: count('Cells on the page'),
    markets: Type.Array(
      document({
        source: Type.String(),
        exchange_type: word(EXCHANGE_TYPES),
        address: nullable(Type.String(), "The pool's or book's; null where it has none."),
        pair: nullable(Type.String(), 'Null where the market has none.'),
      }),
      { description: 'Empty with `group=all`.' },
    ),
    groups: Type.Array(document({ key: Type.String(), label: Type.String(), type: marketType }), {
      description: 'With `group=venue` and `group=type`, else empty.',
    }),
    facets: Type.Optional(facets),
    snapshots: Type.Array(snapshot),
  }),
  errors: ['invalid_group', 'window_out_of_range', 'replay_busy'],
  prepares: [ARROW_STREAM],
});
