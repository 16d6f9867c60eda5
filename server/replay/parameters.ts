/** The parameters of GET /replay/:address (docs/definitions.md#replay). */
import type { TokenName } from '../../storage/contract.js';
import Type, { type Static, type TObject } from '../api/type.js';
import {
  type BinRange,
  binsOfBand,
  DEFAULT_BAND,
  DEFAULT_MAX_PCT,
  DEFAULT_MIN_PCT,
} from '../../compute/ladder.js';
import { MARKET_TYPES, type Chain, type MarketType, venueKey } from '../../compute/market.js';
import {
  REPLAY_GROUPS,
  type ReplayFilter,
  type ReplayGroup,
  type ReplayQuery,
} from '../../compute/replay/query.js';
import { type RequestedTime, instantOf, isoOf, DAY_S, HOUR_S } from '../../compute/time.js';
import { invalidParameter } from '../api/errors.js';
import { instant, list, share, word } from '../api/schemas.js';
import { ApiError } from '../http/errors.js';

/** Data older than this is not served. */
const WINDOW_LIMIT_S = 365 * DAY_S;
/** The earliest time of which data is served. */
export const oldestServedS = (nowS: number): number => nowS - WINDOW_LIMIT_S;
/** The end of the window if `to` is not sent. */
const NOW: RequestedTime = { s: 0, fromNow: true };
/** Length of the window if `from` is not sent. */
const DEFAULT_WINDOW_S = DAY_S;

/** What `onchain=true` means. */
const ONCHAIN_TYPES: readonly MarketType[] = ['onchain_pool', 'onchain_limit_order'];
/** The `group` that each value of the deprecated `markets` means. */
const GROUP_OF_MARKETS = { split: 'market', aggregate: 'all' } as const;

/** A window after clamping, whole epoch seconds: `fromS <= t < toS`. */
interface ReplayWindow {
  fromS: number;
  toS: number;
  clamped: boolean;
  /** Whether the same parameters mean a different window later. */
  moves: boolean;
}

export interface ReplayRequest extends ReplayWindow {
  /** In canonical form. */
  address: string;
  chain: Chain;
  /** Only the newest snapshot of each step of this length counts; undefined: all do. */
  stepS?: number;
  query: ReplayQuery;
}

/** Bounds of a band. */
export const MIN_PCT = -90;
export const MAX_PCT = 1000;
/** The most items of a list parameter. */
const MAX_LIST_ITEMS = 100;
/** The most characters of a venue's key or name. */
const MAX_VENUE_CHARS = 200;

const marketType = word(MARKET_TYPES, { description: 'Type of market.' });
const venue = Type.String({ maxLength: MAX_VENUE_CHARS });
const types = (description: string, example: readonly MarketType[]) =>
  list(marketType, MAX_LIST_ITEMS, description, example);
const venues = (description: string, example: readonly string[]) =>
  list(venue, MAX_LIST_ITEMS, `${description} Case does not matter.`, example);

/** What `step` may be, and its length in seconds. */
export const STEPS = {
  '1m': 60,
  '5m': 300,
  '15m': 900,
  '1h': HOUR_S,
  '4h': 14_400,
  '1d': DAY_S,
} as const;
export type Step = keyof typeof STEPS;
export const STEP_NAMES = Object.keys(STEPS) as [Step, ...Step[]];

/** Parameters that choose markets; filterOf() reads them. */
export const filterParameters = {
  types: types('Market types to include.', ['cex_spot', 'cex_perp']),
  onchain: Type.Optional(
    Type.Boolean({ description: '`true` means `types=onchain_pool,onchain_limit_order`.' }),
  ),
  venues: venues('Venues to include, by key or by name.', ['binance', 'okx']),
  exclude_types: types('Market types to exclude; not together with `types`.', ['cex_perp']),
  exclude_venues: venues('Venues to leave out; not together with `venues`.', ['Binance Futures']),
};
type FilterParameters = Static<TObject<typeof filterParameters>>;

/** The window; windowOf() reads it. */
export const windowParameters = {
  from: instant('Start of the window (inclusive). Default: 24 hours before `to`.', '-1h'),
  to: instant('End of the window (exclusive). Default: now.', 'now'),
};

const group = Type.Optional(
  word(REPLAY_GROUPS, { description: 'How cells are grouped. Default: `market`.' }),
);
const band = {
  min_pct: share('percent', MIN_PCT, MAX_PCT, {
    default: DEFAULT_MIN_PCT,
    description: "Lower end of the band around each snapshot's price, percent.",
  }),
  max_pct: share('percent', MIN_PCT, MAX_PCT, {
    default: DEFAULT_MAX_PCT,
    description: 'Upper end of the band, percent; above `min_pct`.',
  }),
};
/** What each snapshot shows; viewOf() reads them. */
export const viewParameters = { group, ...filterParameters, ...band };

/** The endpoint's parameters, each checked by itself. */
export const replayParameters = Type.Object({
  ...windowParameters,
  group,
  ...filterParameters,
  step: Type.Optional(
    word(STEP_NAMES, {
      description:
        'Keeps only the newest snapshot of each step, an interval that ends at a multiple of this ' +
        'length (inclusive) since the Unix epoch. Default: every snapshot.',
    }),
  ),
  markets: Type.Optional(
    word(['split', 'aggregate'], {
      deprecated: true,
      description: 'Use `group`: `split` is `group=market`, `aggregate` is `group=all`.',
    }),
  ),
  ...band,
});
type ReplayParameters = Static<typeof replayParameters>;
type Markets = ReplayParameters['markets'];

/**
 * Combines the parameters into a request.
 *
 * @param nowS the server's time
 * @throws ApiError 400
 */
export function replayRequest(
  token: TokenName,
  parameters: ReplayParameters,
  nowS: number,
): ReplayRequest {
  const { step } = parameters;
  const window = windowOf(parameters, nowS);
  return {
    address: token.address,
    chain: token.chain,
    ...window,
    ...(step === undefined ? {} : { stepS: STEPS[step] }),
    query: viewOf(parameters),
  };
}

/** The part of the parameters that decides what each snapshot shows. @throws ApiError 400 */
export function viewOf(
  parameters: Pick<ReplayParameters, keyof typeof viewParameters> & { markets?: Markets },
): ReplayQuery {
  const { min_pct: minPct, max_pct: maxPct } = parameters;
  if (minPct >= maxPct) {
    throw invalidParameter(
      'min_pct',
      `expected less than \`max_pct\` (${maxPct} percent); was ${minPct}`,
    );
  }
  return {
    group: groupOf(parameters),
    ...filterOf(parameters),
    band: bandOf(minPct, maxPct),
    minPct,
    maxPct,
  };
}

/**
 * The window, its start clamped to 365 days before now. `to` may lie in the future, so that all pages of a
 * window keep the same `to`. Both ends are rounded up to whole seconds, the resolution of snapshots.
 */
export function windowOf(
  parameters: Pick<ReplayParameters, 'from' | 'to'>,
  nowS: number,
): ReplayWindow {
  const requested = { from: parameters.from ?? null, to: parameters.to ?? NOW };
  const to = instantOf(requested.to, nowS);
  const from = requested.from === null ? to - DEFAULT_WINDOW_S : instantOf(requested.from, nowS);
  if (from >= to) {
    throw invalidParameter(
      'from',
      `expected a time before \`to\` (${isoOf(to)}); was ${isoOf(from)}`,
    );
  }
  checkAge('to', to, nowS);
  const oldestS = oldestServedS(nowS);
  const fromS = Math.max(Math.ceil(from), oldestS);
  const moves = requested.to.fromNow || requested.from?.fromNow === true;
  return { fromS, toS: Math.ceil(to), clamped: from < oldestS, moves };
}

/** @throws ApiError 400 window_out_of_range for a time before the last 365 days */
function checkAge(name: string, atS: number, nowS: number): void {
  if (atS >= oldestServedS(nowS)) return;
  const message = `${name}: expected a time within the last 365 days; was ${isoOf(atS)}`;
  throw new ApiError(400, 'window_out_of_range', message);
}

/** The parameter `at` of endpoints that reply as of one time. */
export const atParameter = instant(
  'Uses the newest snapshot at or before this time, within the last 365 days. Default: the newest.',
  '-1h',
);

/**
 * The time of `at`, whole epoch seconds, at most now; null: it was not sent.
 * @throws ApiError 400 window_out_of_range
 */
export function instantAt(at: RequestedTime | undefined, nowS: number): number | null {
  if (at === undefined) return null;
  const atS = instantOf(at, nowS);
  checkAge('at', atS, nowS);
  return Math.min(Math.floor(atS), nowS);
}

/** Nearly every request has the default band, which is already computed. */
function bandOf(minPct: number, maxPct: number): BinRange {
  const isDefault = minPct === DEFAULT_MIN_PCT && maxPct === DEFAULT_MAX_PCT;
  return isDefault ? DEFAULT_BAND : binsOfBand(minPct, maxPct);
}

function groupOf({ group, markets }: Pick<ReplayParameters, 'group' | 'markets'>): ReplayGroup {
  if (markets === undefined) return group ?? 'market';
  const meant = GROUP_OF_MARKETS[markets];
  if (group !== undefined && group !== meant) {
    const message = `markets=${markets} means group=${meant}, yet group=${group} was sent too`;
    throw new ApiError(400, 'invalid_group', message);
  }
  return meant;
}

/**
 * As filterOf(), for an endpoint that counts perps only if `types` or `venues` names them: excluding markets never adds
 * depth.
 * @throws ApiError 400
 */
export function filterWithNamedPerps(parameters: FilterParameters): ReplayFilter {
  const filter = filterOf(parameters);
  if (filter.types !== null || filter.venues !== null) return filter;
  const excludeTypes = [...new Set([...(filter.excludeTypes ?? []), 'cex_perp' as const])];
  return { ...filter, excludeTypes };
}

/**
 * The markets that a request chooses. Venues are not checked: unknown ones have no depth.
 * @throws ApiError 400
 */
function filterOf(parameters: FilterParameters): ReplayFilter {
  const { exclude_types: excludeTypes } = parameters;
  const venues = venueKeysOf(parameters.venues);
  const excludeVenues = venueKeysOf(parameters.exclude_venues);
  const types = keptTypes(parameters);
  if (types !== undefined && excludeTypes !== undefined) {
    throw invalidParameter('exclude_types', 'cannot be combined with `types` or `onchain`');
  }
  if (venues !== undefined && excludeVenues !== undefined) {
    throw invalidParameter('exclude_venues', 'cannot be combined with `venues`');
  }
  return {
    types: types ?? null,
    excludeTypes: excludeTypes ?? null,
    venues: venues ?? null,
    excludeVenues: excludeVenues ?? null,
  };
}

/**
 * The keys of venues that are named by key or by name, in any case, each once. A text without a letter or
 * digit has no key and stays unchanged.
 */
function venueKeysOf(names: readonly string[] | undefined): readonly string[] | undefined {
  return names && [...new Set(names.map((name) => venueKey(name) || name))];
}

/** `types`, or what `onchain=true` means; both may be sent if they mean the same. */
function keptTypes({ types, onchain }: FilterParameters): readonly MarketType[] | undefined {
  if (onchain !== true) return types;
  const same = types === undefined || sameMembers(types, ONCHAIN_TYPES);
  if (!same) throw invalidParameter('onchain', `true means \`types\`=${ONCHAIN_TYPES.join(',')}`);
  return types ?? ONCHAIN_TYPES;
}

function sameMembers(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((member) => b.includes(member));
}
