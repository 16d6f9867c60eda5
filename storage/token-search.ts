/** Tokens by symbol, name or address, for commands; GET /tokens answers from the server's memory. */
import { CHAINS } from '../compute/market.js';
import type { FoundToken, TokenSearch, TokenSymbol } from './contract.js';
import type { Catalog, TokenEntry } from './depth/catalog.js';
import type { DepthReader } from './depth/depth-reader.js';
import type { Database } from './duckdb/database.js';

/** The most matches that are compared: of more, those with full coverage and the first addresses. */
const MAX_MATCHES = 1000;

interface Searched {
  database: Database;
  catalog: Catalog;
  depth: DepthReader;
}

/** Tokens that begin with a text: those with the symbol first, then scored ones, then by address. */
export async function searchTokens(
  { database, catalog, depth }: Searched,
  { query, chain, nowS, limit }: TokenSearch,
): Promise<FoundToken[]> {
  const rows = await database.rows(
    `SELECT token_id, coalesce(lower(symbol) = lower(q), false) AS is_exact
       FROM tokens, (SELECT ?::VARCHAR AS q, ?::VARCHAR AS on_chain)
      WHERE coalesce(chain = on_chain, true)
        AND (coalesce(starts_with(lower(symbol), lower(q)), false)
          OR coalesce(starts_with(lower(name), lower(q)), false)
          OR starts_with(address, CASE chain WHEN 'evmchain' THEN lower(q) ELSE q END))
      ORDER BY is_exact DESC, coverage = 'full' DESC, address
      LIMIT ${MAX_MATCHES}`,
    [query, chain],
  );
  const newestOf = async ({ tokenId }: TokenEntry) =>
    (await depth.newestSnapshots(tokenId, nowS, 0)).newest;
  const matches: {
    isExact: boolean;
    entry: TokenEntry;
    lastT: number | null;
    isScored: boolean;
  }[] = [];
  for (const [tokenId, isExact] of rows as [number, boolean][]) {
    const entry = catalog.tokenById(tokenId);
    if (entry === undefined) continue;
    const { asset, coverage, price_usd: priceUsd } = entry.row;
    const newest = await newestOf(entry);
    let isScored = false;
    // docs/definitions.md#status
    if (coverage === 'full' && (newest !== null || priceUsd !== null)) {
      for (const leg of asset === null ? [entry] : legsOf(catalog, asset)) {
        isScored ||= leg.row.coverage === 'full' && (await newestOf(leg)) !== null;
      }
    }
    matches.push({ isExact, entry, lastT: newest?.t ?? null, isScored });
  }
  matches.sort(
    (a, b) => Number(b.isExact) - Number(a.isExact) || Number(b.isScored) - Number(a.isScored),
  );
  const shown = matches.slice(0, Math.min(limit, MAX_MATCHES));
  return Promise.all(
    shown.map(async ({ entry: { tokenId, row }, lastT, isScored }) => {
      const { chain: own, address, symbol, name, price_usd: rowPriceUsd } = row;
      const moment = { chain: own, address, t: lastT ?? 0 };
      const [priceUsd] = lastT === null ? [NaN] : await depth.pricesNear([moment]);
      return {
        chain: own,
        address,
        symbol,
        name,
        isScored,
        priceUsd: Number.isNaN(priceUsd) ? rowPriceUsd : priceUsd,
        firstT: lastT === null ? null : await depth.firstSnapshotT(tokenId, nowS),
        lastT,
      };
    }),
  );
}

function legsOf(catalog: Catalog, asset: string): TokenEntry[] {
  return CHAINS.flatMap((chain) => catalog.leg(asset, chain) ?? []);
}

/** Tokens with one of some symbols, given in lower case. */
export async function tokensOfSymbols(
  database: Database,
  symbols: readonly string[],
): Promise<TokenSymbol[]> {
  const rows = await database.rows(
    `SELECT chain, address, symbol FROM tokens
      WHERE lower(symbol) IN (SELECT unnest(from_json(?::JSON, '["VARCHAR"]')))
      ORDER BY chain, address`,
    [JSON.stringify(symbols)],
  );
  return rows.map(([chain, address, symbol]) => ({ chain, address, symbol }) as TokenSymbol);
}
