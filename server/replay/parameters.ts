/** The parameters of GET /replay/:address (api.md 4.13, data.md 4 'Replay'). */
import { DEFAULT_MAX_PCT, DEFAULT_MIN_PCT, binsOfBand } from '../../compute/ladder/ladder.js';
import { canonicalAddress, chainOfAddress } from '../../compute/market/address.js';
import { MARKET_TYPES, type Chain, type MarketType } from '../../compute/market/market.js';
import {
  REPLAY_GROUPS,
  type ReplayFilter,
  type ReplayGroup,
  type ReplayQuery,
} from '../../compute/replay/query.js';
import { ApiError, invalidParameter } from '../http/errors.js';
import { QueryParameters, excerpt, isOneOf } from '../http/query.js';
import { InstantError, parseInstant } from '../instant.js';

/** Data older than this is not served. */
export const WINDOW_LIMIT_S = 365 * 86_400;
/** Length of the window where `from` is not sent. */
const DEFAULT_WINDOW_S = 86_400;

const MIN_PCT = -90;
const MAX_PCT = 1000;
/** Items of a list parameter. */
const MAX_LIST_ITEMS = 100;
/** Characters of a venue key. */
const MAX_VENUE_CHARS = 200;

/** What `onchain=true` stands for. */
const ONCHAIN_TYPES: readonly MarketType[] = ['onchain_pool', 'onchain_limit_order'];
/** What the deprecated `markets` stands for. */
const GROUP_OF_MARKETS = { split: 'market', aggregate: 'all' } as const;

/** A replay request that is fit to be answered. */
export interface ReplayRequest {
  /** In canonical form. */
  address: string;
  chain: Chain;
  /** The window after clamping, whole epoch seconds: `fromS <= t < toS`. */
  fromS: number;
  toS: number;
  clamped: boolean;
  query: ReplayQuery;
}

/**
 * Checks a request; parameters that replay does not have are passed over.
 *
 * @param address the path's, decoded
 * @param queryString as sent, without its question mark
 * @param nowS the service's now
 * @throws ApiError 400
 */
export function parseReplayRequest(
  address: string,
  queryString: string,
  nowS: number,
): ReplayRequest {
  const chain = chainOfAddress(address);
  if (chain === null) {
    const expected = 'expected a base58 mint of 32-44 characters or 0x and 40 hex digits';
    throw new ApiError(400, 'invalid_address', `address: ${expected}; was '${excerpt(address)}'`);
  }
  const parameters = new QueryParameters(queryString);
  const window = parseWindow(parameters, nowS);
  const { minPct, maxPct } = parseBand(parameters);
  return {
    address: canonicalAddress(address),
    chain,
    ...window,
    query: {
      group: parseGroup(parameters),
      ...parseFilter(parameters),
      band: binsOfBand(minPct, maxPct),
      minPct,
      maxPct,
    },
  };
}

/**
 * `to` may lie in the future and is left there, so that pages of one window keep their `to`; `from`
 * is brought up to 365 days before now. Snapshots stand at whole seconds, so either end may be
 * raised to the next one; nothing of the answer depends on it.
 */
function parseWindow(parameters: QueryParameters, nowS: number) {
  const to = parseTime(parameters, 'to') ?? nowS;
  const from = parseTime(parameters, 'from') ?? to - DEFAULT_WINDOW_S;
  if (from >= to) {
    throw invalidParameter('from', `expected a time before to (${isoOf(to)}); was ${isoOf(from)}`);
  }
  const oldestS = nowS - WINDOW_LIMIT_S;
  if (to < oldestS) {
    const message = `to: expected a time within the last 365 days; was ${isoOf(to)}`;
    throw new ApiError(400, 'window_out_of_range', message);
  }
  const fromS = Math.max(Math.ceil(from), oldestS);
  return { fromS, toS: Math.ceil(to), clamped: from < oldestS };
}

/** Epoch seconds, perhaps with a fraction. */
function parseTime(parameters: QueryParameters, name: 'from' | 'to'): number | null {
  const text = parameters.get(name);
  if (text === null) return null;
  try {
    return parseInstant(text);
  } catch (error) {
    if (error instanceof InstantError) {
      throw invalidParameter(name, `${error.message}; was '${excerpt(text)}'`);
    }
    throw error;
  }
}

function isoOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');
}

function parseGroup(parameters: QueryParameters): ReplayGroup {
  const group = parameters.getWord('group', REPLAY_GROUPS);
  const markets = parameters.getWord('markets', ['split', 'aggregate'] as const);
  if (markets === null) return group ?? 'market';
  const meant = GROUP_OF_MARKETS[markets];
  if (group !== null && group !== meant) {
    const message = `markets=${markets} means group=${meant}, yet group=${group} was sent too`;
    throw new ApiError(400, 'invalid_group', message);
  }
  return meant;
}

function parseFilter(parameters: QueryParameters): ReplayFilter {
  const types = parseKeptTypes(parameters);
  const excludeTypes = parseTypes(parameters, 'exclude_types');
  const venues = parseVenues(parameters, 'venues');
  const excludeVenues = parseVenues(parameters, 'exclude_venues');
  if (types !== null && excludeTypes !== null) {
    throw invalidParameter(
      'exclude_types',
      'expected without types or onchain=true, were both sent',
    );
  }
  if (venues !== null && excludeVenues !== null) {
    throw invalidParameter('exclude_venues', 'expected without venues, were both sent');
  }
  return { types, excludeTypes, venues, excludeVenues };
}

/** `types`, or what `onchain=true` means; both where they mean the same. */
function parseKeptTypes(parameters: QueryParameters): readonly MarketType[] | null {
  const types = parseTypes(parameters, 'types');
  const onchain = parameters.getWord('onchain', ['true', 'false'] as const) === 'true';
  if (!onchain) return types;
  const same = types === null || sameMembers(types, ONCHAIN_TYPES);
  if (!same) throw invalidParameter('onchain', `true means types=${ONCHAIN_TYPES.join(',')}`);
  return types ?? ONCHAIN_TYPES;
}

function sameMembers(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((member) => b.includes(member));
}

function parseTypes(
  parameters: QueryParameters,
  name: 'types' | 'exclude_types',
): MarketType[] | null {
  const items = parameters.getList(name, MAX_LIST_ITEMS);
  return (
    items?.map((item) => {
      if (isOneOf(item, MARKET_TYPES)) return item;
      const expected = `expected any of ${MARKET_TYPES.join(', ')}`;
      throw invalidParameter(name, `${expected}; was '${excerpt(item)}'`);
    }) ?? null
  );
}

/** Venue keys are not checked: one that no venue has comes back in `venues_not_found`. */
function parseVenues(
  parameters: QueryParameters,
  name: 'venues' | 'exclude_venues',
): string[] | null {
  const items = parameters.getList(name, MAX_LIST_ITEMS);
  if (items?.some((item) => item.length > MAX_VENUE_CHARS)) {
    throw invalidParameter(name, `expected keys of at most ${MAX_VENUE_CHARS} characters`);
  }
  return items;
}

function parseBand(parameters: QueryParameters): { minPct: number; maxPct: number } {
  const minPct = parameters.getNumber('min_pct', MIN_PCT, MAX_PCT, DEFAULT_MIN_PCT);
  const maxPct = parameters.getNumber('max_pct', MIN_PCT, MAX_PCT, DEFAULT_MAX_PCT);
  if (minPct < maxPct) return { minPct, maxPct };
  throw invalidParameter('min_pct', `expected less than max_pct (${maxPct}); was ${minPct}`);
}
