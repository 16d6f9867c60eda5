/** Token fields that several endpoints share, and the parameters that filter tokens by size. */
import Type, { type Static, type TObject } from '../api/type.js';
import { invalidParameter } from '../api/errors.js';
import {
  chainKey,
  document,
  nullable,
  tokenAddress,
  tokenName,
  tokenSymbol,
  word,
} from '../api/schemas.js';
import { type Standing, TOKEN_STATUSES } from './standing.js';
import { currentPriceUsd, dataTime, type LiveToken } from './token-table.js';

export const tokenStatus = word(TOKEN_STATUSES, {
  description:
    '`available`: scored. `pending`: not scored yet; the score follows its data within 15 seconds. ' +
    '`unsupported`: on mainchain, permanently excluded; on evmchain, not indexed yet, do not poll. ' +
    '`unscored`: depth and price only, never scored. `price_unavailable`: supported, but without a price.',
});

export const serviceScore = nullable(
  Type.Number({ minimum: 0, maximum: 100 }),
  'Liquidity score of the asset, 0 to 100 with one decimal; null if not scored.',
);

export const isStaleScore = Type.Optional(
  Type.Boolean({
    description:
      'True if the newest snapshot that the score is based on is older than the server allows ' +
      '(`stale_after`, 1 hour unless configured), absent otherwise. The score keeps its value.',
  }),
);

export function staleField({ asset }: Pick<Standing, 'asset'>): { stale?: boolean } {
  return asset?.isStale ? { stale: true } : {};
}

export const scoreMessage = Type.String({
  description: 'How support compares with resistance, or why there is no score.',
});

const identity = {
  address: tokenAddress,
  chain: chainKey,
  symbol: tokenSymbol,
  name: tokenName,
};
export const icon = nullable(Type.String(), 'URL of an icon; null if unknown.');
const size = {
  mcap: nullable(Type.Number(), 'Market capitalisation, USD; null if unknown.'),
  liquidity_usd: nullable(
    Type.Number(),
    'Liquidity from the token list, USD; null if unknown. `min_liquidity` and `max_liquidity` compare ' +
      'Support Liquidity, which is a different figure.',
  ),
};
export const priceUsd = nullable(Type.Number(), 'Current price, USD; null if unknown.');

/** The `token` of a board's row. */
export const boardToken = document('BoardToken', {
  ...identity,
  icon,
  ...size,
  price_usd: priceUsd,
});

export function boardTokenDocument(token: LiveToken): Static<typeof boardToken> {
  const { address, chain, symbol, name, icon, mcap, liquidity_usd } = token.details;
  return {
    address,
    chain,
    symbol,
    name,
    icon,
    mcap,
    liquidity_usd,
    price_usd: currentPriceUsd(token),
  };
}

export const lastRefresh = nullable(
  Type.Integer(),
  "Time of the snapshot that the price is from, else of the token's record, Unix epoch seconds; null " +
    'if there is neither.',
);

export function lastRefreshOf(token: LiveToken): number | null {
  return dataTime(token) ?? token.details.last_refresh;
}

/** The field `token` of a reply with one token's orders. */
export const ordersToken = document('OrdersToken', {
  ...identity,
  ...size,
  service_score: serviceScore,
  stale: isStaleScore,
  price_usd: priceUsd,
  last_refresh: lastRefresh,
});

export function ordersTokenDocument(token: LiveToken): Static<typeof ordersToken> {
  const { details, standing } = token;
  const { address, chain, symbol, name, mcap, liquidity_usd } = details;
  return {
    address,
    chain,
    symbol,
    name,
    mcap,
    liquidity_usd,
    service_score: standing.asset?.score.score ?? null,
    ...staleField(standing),
    price_usd: currentPriceUsd(token),
    last_refresh: lastRefreshOf(token),
  };
}

const NULL_FAILS = 'Tokens whose figure is unknown are excluded.';
const LIQUIDITY =
  "Support Liquidity, USD: DEX markets' support within 25% of the price in the newest snapshot, " +
  'constant product included.';

const bound = (description: string, example: number) =>
  Type.Optional(
    Type.Number({
      minimum: 0,
      description: `${description} ${NULL_FAILS}`,
      examples: [example],
    }),
  );

/** Query parameters that filter tokens by size. */
export const sizeRangeParameters = {
  min_mcap: bound('Minimum market capitalisation, USD.', 1e6),
  max_mcap: bound('Maximum market capitalisation, USD; not below `min_mcap`.', 1e12),
  min_liquidity: bound(`Minimum ${LIQUIDITY}`, 1e5),
  max_liquidity: bound('Maximum Support Liquidity, USD; not below `min_liquidity`.', 1e9),
};

/** USD, both ends included; undefined: open. */
interface Range {
  min: number | undefined;
  max: number | undefined;
}

export interface SizeRanges {
  mcap: Range;
  liquidity: Range;
}

/** @throws ApiError 400 invalid_parameter if a minimum is above its maximum */
export function readSizeRanges(query: Static<TObject<typeof sizeRangeParameters>>): SizeRanges {
  return {
    mcap: range('mcap', query.min_mcap, query.max_mcap),
    liquidity: range('liquidity', query.min_liquidity, query.max_liquidity),
  };
}

/** Whether a token lies within every range sent; an unknown figure is outside. */
export function isWithinSizeRanges(
  { details, newest }: Pick<LiveToken, 'details' | 'newest'>,
  { mcap, liquidity }: SizeRanges,
): boolean {
  return isWithin(details.mcap, mcap) && isWithin(newest?.supportLiquidityUsd ?? null, liquidity);
}

function range(name: string, min: number | undefined, max: number | undefined): Range {
  if (min !== undefined && max !== undefined && min > max) {
    throw invalidParameter(`min_${name}`, `expected at most max_${name}, ${max}; was ${min}`);
  }
  return { min, max };
}

function isWithin(value: number | null, { min, max }: Range): boolean {
  if (min === undefined && max === undefined) return true;
  return value !== null && value >= (min ?? -Infinity) && value <= (max ?? Infinity);
}
