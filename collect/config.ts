/** The configuration of `fathom collect`. */
import { readFile } from 'node:fs/promises';
import { isFields } from '../compute/ingest/fields.js';
import { canonicalAddress, chainOfAddress, CHAINS } from '../compute/market.js';
import { closeMatch } from '../compute/nearest.js';
import { UNITS_S } from '../compute/time.js';
import type { TokenName } from '../storage/contract.js';
import { InputError } from '../storage/errors.js';
import { JsonFields } from '../storage/import/fields.js';
import type { Source, SourceContext } from './source.js';
import { SOURCE_KINDS } from './source-kinds.js';

const MAX_CONFIG_BYTES = 1024 * 1024;
const MAX_SOURCES = 1_000;
const MAX_ID_CHARS = 100;
const DEFAULT_EVERY = '60s';
const MAX_EVERY_S = 86_400;
/** So many sources can be sampled and stored every second. */
const SOURCES_PER_S = 10;

export interface SourceConfig {
  id: string;
  /** A number, the id of the source whose price it is, or null: as the source knows it, otherwise 1. */
  quoteUsd: number | string | null;
  open(context: SourceContext): Source;
}

export interface TokenConfig {
  token: TokenName;
  /** The source whose price is that of the snapshots; null: the first one that has a sample. */
  price: string | null;
  sources: SourceConfig[];
}

export interface CollectConfig {
  everyS: number;
  tokens: TokenConfig[];
}

/** @throws InputError `file: field: what was expected` */
export async function readConfig(path: string): Promise<CollectConfig> {
  const text = await readFile(path, 'utf8').catch(({ code }: NodeJS.ErrnoException) => {
    throw new InputError(
      `${path}: ${code === 'ENOENT' ? 'no such file' : `cannot be read (${code})`}`,
    );
  });
  if (text.length > MAX_CONFIG_BYTES) throw new InputError(`${path}: longer than 1 MiB`);
  return parseConfig(text, path);
}

/** Lines that begin with `//`. Spaces and tabs alone: `\s` would match line ends, too, from each line anew. */
const COMMENTS = /^[ \t]*\/\/.*$/gm;
/** What a terminal obeys instead of showing it, and ends of lines. */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/u;

/** @param where names the text in errors. Lines that begin with `//` are comments. @throws InputError */
export function parseConfig(text: string, where: string): CollectConfig {
  let document: unknown;
  try {
    // Windows' editors put a byte order mark first.
    document = JSON.parse(text.replace(/^\uFEFF/, '').replaceAll(COMMENTS, ''));
  } catch (error) {
    throw new InputError(`${where}: expected JSON: ${(error as Error).message}`);
  }
  if (!isFields(document)) throw new InputError(`${where}: expected an object`);
  const fields = new JsonFields(where, document);
  refuseUnknown(fields, ['every', 'tokens']);
  const everyS = everyOf(fields);
  const tokens = objectsOf(fields, 'tokens', '').map(readToken);
  checkIds(fields, tokens);
  const sources = tokens.reduce((sum, token) => sum + token.sources.length, 0);
  if (sources > MAX_SOURCES)
    throw fields.fault('tokens', `expected at most ${MAX_SOURCES} sources`);
  const leastS = Math.ceil(sources / SOURCES_PER_S);
  if (everyS < leastS) {
    throw fields.fault('every', `expected at least ${leastS}s for ${sources} sources`);
  }
  return { everyS, tokens };
}

function everyOf(fields: JsonFields): number {
  const text = fields.textOrNull('every') ?? DEFAULT_EVERY;
  const match = /^([0-9]{1,6})([smh])$/.exec(text);
  const seconds = match === null ? 0 : Number(match[1]) * UNITS_S[match[2] as 's' | 'm' | 'h'];
  if (seconds >= 1 && seconds <= MAX_EVERY_S) return seconds;
  throw fields.fault('every', 'expected a duration from 1s to 24h, such as "60s" or "5m"');
}

/** The objects of a list that must not be empty. */
function objectsOf(fields: JsonFields, field: string, path: string): JsonFields[] {
  const list = fields.list(field);
  if (list.length === 0) throw fields.fault(field, 'expected at least one');
  return list.map((entry, i) => {
    if (!isFields(entry)) throw fields.fault(`${field}[${i}]`, 'expected an object');
    return new JsonFields(fields.where, entry, `${path}${field}[${i}].`);
  });
}

function refuseUnknown(fields: JsonFields, known: readonly string[]): void {
  for (const name of Object.keys(fields.object)) {
    if (known.includes(name)) continue;
    const near = closeMatch(name, known);
    const hint = near === null ? `expected ${known.join(', ')}` : `did you mean ${near}?`;
    throw fields.fault(name, `unknown; ${hint}`);
  }
}

function readToken(fields: JsonFields, i: number): TokenConfig {
  refuseUnknown(fields, ['token', 'price', 'sources']);
  const token = tokenOf(fields);
  const sources = objectsOf(fields, 'sources', `tokens[${i}].`).map((source) =>
    readSource(source, token),
  );
  const price = fields.textOrNull('price');
  if (price !== null && !sources.some(({ id }) => id === price)) {
    const ids = sources.map(({ id }) => id);
    throw fields.fault('price', `expected the id of one of its sources (${ids.join(', ')})`);
  }
  return { token, price, sources };
}

function tokenOf(fields: JsonFields): TokenName {
  const text = fields.text('token');
  const colon = text.indexOf(':');
  const chain = CHAINS.find((known) => known === text.slice(0, Math.max(colon, 0)));
  const address = text.slice(colon + 1);
  if (chain === undefined || chainOfAddress(address) !== chain) {
    throw fields.fault('token', `expected CHAIN:ADDRESS with CHAIN one of ${CHAINS.join(', ')}`);
  }
  return { chain, address: canonicalAddress(address) };
}

function readSource(fields: JsonFields, token: TokenName): SourceConfig {
  const kindName = fields.text('kind');
  const kinds = Object.keys(SOURCE_KINDS);
  const kind = Object.hasOwn(SOURCE_KINDS, kindName) ? SOURCE_KINDS[kindName] : undefined;
  if (kind === undefined) throw fields.fault('kind', `expected ${kinds.join(' or ')}`);
  refuseUnknown(fields, ['id', 'kind', 'quote_usd', ...kind.fields]);
  const id = fields.text('id');
  if (id.length > MAX_ID_CHARS || UNPRINTABLE.test(id)) {
    throw fields.fault('id', `expected at most ${MAX_ID_CHARS} printable characters`);
  }
  return { id, quoteUsd: quoteOf(fields), open: kind.read(fields, id, token) };
}

function quoteOf(fields: JsonFields): number | string | null {
  const value = fields.object.quote_usd;
  if (value === undefined || value === null) return null;
  if (typeof value === 'string' && value !== '') return value;
  if (typeof value === 'number' && value > 0 && value < Infinity) return value;
  throw fields.fault('quote_usd', 'expected a number above 0, or the id of a source');
}

/** Ids are unique over all tokens; a chain of prices must end. */
function checkIds(fields: JsonFields, tokens: readonly TokenConfig[]): void {
  const byId = new Map<string, SourceConfig>();
  const names = new Set<string>();
  for (const { token, sources } of tokens) {
    const name = `${token.chain}:${token.address}`;
    if (names.has(name)) throw fields.fault('tokens', `${name} is given twice`);
    names.add(name);
    for (const source of sources) {
      if (byId.has(source.id)) throw fields.fault('tokens', `the id ${source.id} is given twice`);
      byId.set(source.id, source);
    }
  }
  for (const source of byId.values()) {
    const seen = new Set<string>();
    for (let at = source; typeof at.quoteUsd === 'string';) {
      if (seen.has(at.id)) throw fields.fault('tokens', `the price of ${at.id} rests on itself`);
      seen.add(at.id);
      const next = byId.get(at.quoteUsd);
      if (next === undefined) {
        throw fields.fault('tokens', `quote_usd of ${at.id}: no source has the id ${at.quoteUsd}`);
      }
      at = next;
    }
  }
}

/** What `--example` prints. */
export const EXAMPLE = `{
  // One snapshot of each token at every multiple of this.
  "every": "60s",
  "tokens": [{
    "token": "mainchain:So11111111111111111111111111111111111111112",
    // The source whose price is that of the snapshots.
    "price": "kraken",
    "sources": [
      {"id": "kraken", "kind": "exchange", "exchange": "kraken", "symbol": "SOL/USD", "quote_usd": 1},
      {"id": "coinbase", "kind": "exchange", "exchange": "coinbase", "symbol": "SOL-USD", "quote_usd": 1},
      // quote_usd: USD of the currency that the prices are in, or the id of a source whose price it is.
      {"id": "binance", "kind": "exchange", "exchange": "binance", "symbol": "SOLUSDT", "quote_usd": 1},
      // Sizes of some markets are contracts: contract_size is the coins of one, contract_usd its USD.
      {"id": "okx-perp", "kind": "exchange", "exchange": "okx", "symbol": "SOL-USDT-SWAP", "type": "cex_perp", "contract_size": 1, "quote_usd": 1},
      // A pool on a chain, read from a node: rpc is any URL of one.
      {"id": "orca", "kind": "whirlpool", "rpc": "https://api.mainnet-beta.solana.com", "pool": "HJPjoWUrhoZzkNfRpHuieeFk9WcZWjwy6PBjZ81ngndJ", "quote_usd": 1}
    ]
  }]
}
`;
