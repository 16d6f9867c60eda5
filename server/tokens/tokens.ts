/** GET /tokens: search, answered from memory. */
import { crc32 } from 'node:zlib';
import Type, { type Static } from '../api/type.js';
import { chainOfAddress, CHAINS } from '../../compute/market.js';
import type { ChainFilter } from '../api/chain.js';
import { defineEndpoint, type Handler } from '../api/endpoint.js';
import { invalidParameter } from '../api/errors.js';
import {
  chainFilter,
  chainKey,
  count,
  document,
  most,
  nullable,
  tokenAddress,
  tokenName,
  tokenSymbol,
} from '../api/schemas.js';
import { Turns } from '../../storage/turns.js';
import {
  icon,
  isStaleScore,
  lastRefresh,
  lastRefreshOf,
  priceUsd,
  serviceScore,
  staleField,
  tokenStatus,
} from './token-fields.js';
import { currentPriceUsd, type LiveToken, type TokenTable } from './token-table.js';
import type { Services } from '../services.js';

const MAX_QUERY_CHARS = 100;
const MAX_CURSOR_CHARS = 400;
const MAX_SCORE = 100;
/** Tokens compared between two checks of the clock. */
const TOKENS_AT_ONCE = 512;

const LIMIT = { maximum: 100, fallback: 20 };
const query = Type.String({ maxLength: MAX_QUERY_CHARS });
const cursor = Type.String({ maxLength: MAX_CURSOR_CHARS });

export const getTokens = defineEndpoint({
  operationId: 'getTokens',
  method: 'GET',
  path: '/tokens',
  tag: 'Tokens',
  summary: 'Tokens by symbol, name or address',
  description:
    'Tokens whose symbol, name or address begins with `query`, in any case (base58 in the exact case); all ' +
    'tokens without it. A token whose symbol is the query comes first, then by score, then by address. ' +
    'To get the next page, send `next_cursor` as `cursor` with the same `query` and `chain`, until it is null.',
  chain: { kind: 'list', supported: CHAINS },
  query: Type.Object({
    query: Type.Optional(
      Type.String({
        maxLength: MAX_QUERY_CHARS,
        description: 'Beginning of a symbol, name or address.',
        examples: ['so'],
      }),
    ),
    limit: most('tokens', LIMIT),
    cursor: Type.Optional(
      Type.String({
        maxLength: MAX_CURSOR_CHARS,
        description: '`next_cursor` of the page before.',
        examples: [
          'W2ZhbHNlLDk4LCJTbzExMTExMTExMTExMTExMTExMTExMTExMTExMTExMTExMTExMTExMTEyIiw4ODcwOTQ5MTBd',
        ],
      }),
    ),
  }),
  response: document('Tokens', {
    query_parameters: document('TokensParameters', {
      query: nullable(query),
      chain: chainFilter,
      limit: Type.Integer(),
      cursor: nullable(cursor),
    }),
    chain: chainFilter,
    count: count('Items of `tokens`'),
    next_cursor: nullable(Type.String(), '`cursor` of the next page; null on the last one.'),
    tokens: Type.Array(
      document('FoundToken', {
        address: tokenAddress,
        chain: chainKey,
        symbol: tokenSymbol,
        name: tokenName,
        icon,
        price_usd: priceUsd,
        service_score: serviceScore,
        stale: isStaleScore,
        status: tokenStatus,
        last_refresh: lastRefresh,
        first_snapshot_at: nullable(
          Type.Integer(),
          "Time of the token's first snapshot, Unix epoch seconds; null without one.",
        ),
        last_snapshot_at: nullable(
          Type.Integer(),
          'Time of its newest snapshot, Unix epoch seconds; null without one.',
        ),
      }),
      { maxItems: LIMIT.maximum },
    ),
  }),
});

type FoundToken = Static<(typeof getTokens)['response']>['tokens'][number];

/** A token's place among the results. */
interface Place {
  /** Whether its symbol is the query. */
  isExact: boolean;
  /** -1 without one. */
  score: number;
  address: string;
}

export function tokensHandler({ tokens, depth, clock }: Services): Handler<typeof getTokens> {
  const documentOf = async (token: LiveToken): Promise<FoundToken> => {
    const { tokenId, address, chain, symbol, name, icon: url } = token.details;
    const lastT = token.newest?.ref.t ?? null;
    const firstT = lastT === null ? null : await depth.firstSnapshotT(tokenId, clock.nowS());
    return {
      address,
      chain,
      symbol,
      name,
      icon: url,
      price_usd: currentPriceUsd(token),
      service_score: token.standing.asset?.score.score ?? null,
      ...staleField(token.standing),
      status: token.standing.status,
      last_refresh: lastRefreshOf(token),
      first_snapshot_at: firstT,
      last_snapshot_at: lastT,
    };
  };
  return async ({ chain, query: { query: text, limit, cursor: sent } }) => {
    const list = JSON.stringify([chain, text ?? '']);
    const after = sent === undefined ? null : placeOfCursor(sent, list);
    const found = await search(tokens.table, { text: text ?? '', chain, after, limit: limit + 1 });
    const page = found.slice(0, limit);
    return {
      query_parameters: { query: text ?? null, chain, limit, cursor: sent ?? null },
      chain,
      count: page.length,
      next_cursor: found.length > limit ? cursorOf(page[limit - 1].place, list) : null,
      tokens: await Promise.all(page.map(({ token }) => documentOf(token))),
    };
  };
}

interface Search {
  text: string;
  chain: ChainFilter;
  /** Results begin after it; null: with the first. */
  after: Place | null;
  limit: number;
}

/** The first `limit` results in their order. */
async function search(
  table: TokenTable,
  { text, chain, after, limit }: Search,
): Promise<{ token: LiveToken; place: Place }[]> {
  const turns = new Turns();
  const lower = text.toLowerCase();
  const best: { token: LiveToken; place: Place }[] = [];
  let compared = 0;
  for (const token of table.all()) {
    if (++compared % TOKENS_AT_ONCE === 0) await turns.take();
    if (chain !== 'all' && token.details.chain !== chain) continue;
    if (!matches(token, text, lower)) continue;
    const place = placeOf(token, lower);
    if (after !== null && compare(place, after) <= 0) continue;
    let at = best.length;
    while (at > 0 && compare(place, best[at - 1].place) < 0) at--;
    if (at === limit) continue;
    best.splice(at, 0, { token, place });
    if (best.length > limit) best.pop();
  }
  return best;
}

function matches({ details }: LiveToken, text: string, lower: string): boolean {
  const { chain, address, symbol, name } = details;
  return (
    beginsWith(symbol, lower) ||
    beginsWith(name, lower) ||
    // Base58 is case-sensitive.
    address.startsWith(chain === 'evmchain' ? lower : text)
  );
}

function beginsWith(value: string | null, lower: string): boolean {
  return value !== null && value.toLowerCase().startsWith(lower);
}

function placeOf({ details, standing }: LiveToken, lower: string): Place {
  return {
    isExact: details.symbol?.toLowerCase() === lower,
    score: standing.asset?.score.score ?? -1,
    address: details.address,
  };
}

/** Below 0: `a` comes first. */
function compare(a: Place, b: Place): number {
  if (a.isExact !== b.isExact) return a.isExact ? -1 : 1;
  if (a.score !== b.score) return b.score - a.score;
  return a.address < b.address ? -1 : Number(a.address > b.address);
}

/** @param list names the list that the place is in */
function cursorOf({ isExact, score, address }: Place, list: string): string {
  return cursorTextOf(isExact, score, address, crc32(list));
}

const cursorTextOf = (...parts: [boolean, number, string, number]): string =>
  Buffer.from(JSON.stringify(parts)).toString('base64url');

function placeOfCursor(text: string, list: string): Place {
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {
    parts = null;
  }
  const [isExact, score, address, name] = Array.isArray(parts) ? (parts as unknown[]) : [];
  if (
    typeof isExact !== 'boolean' ||
    typeof score !== 'number' ||
    (score !== -1 && !(score >= 0 && score <= MAX_SCORE)) ||
    typeof address !== 'string' ||
    chainOfAddress(address) === null ||
    typeof name !== 'number' ||
    cursorTextOf(isExact, score, address, name) !== text
  ) {
    throw invalidParameter('cursor', 'expected the next_cursor of a page');
  }
  if (name !== crc32(list)) {
    throw invalidParameter('cursor', 'expected one of the same query and chain');
  }
  return { isExact, score, address };
}
