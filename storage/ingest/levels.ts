/** Dataset `levels`: each row is one level of an order book, in any order; snapshots are made from them. */
import {
  type FaultLog,
  type Fields,
  isFields,
  isPrice,
  MAX_FAULTS,
  MAX_T_S,
  NOT_NEGATIVE,
  POSITIVE,
  readHead,
} from '../../compute/ingest/fields.js';
import type { Chunk } from '../../compute/ingest/chunk.js';
import { LEVEL, LEVEL_WIDTH, type LevelRows } from '../../compute/ingest/level-rows.js';
import {
  type KeyedMarket,
  type MarketFieldNames,
  MarketParser,
  TOO_MANY_MARKETS,
} from '../../compute/ingest/market-fields.js';
import { MAX_MARKETS_PER_TOKEN } from '../../compute/market.js';
import type { ComputePool } from '../../compute/pool.js';
import type { RunKey } from '../../compute/segment/run.js';
import { DiskFullError, InputError, isDiskFull } from '../errors.js';
import { FIELDS, SIDES } from './fields.js';
import { LevelSorter } from './level-sorter.js';
import { FRACTION, NO_MAPPING } from './mapping.js';
import { type RowSource, rowBatches } from './rows.js';
import { VenueTypes } from './venue-types.js';

/** Levels of one snapshot, all in memory at once. */
const MAX_LEVELS_PER_SNAPSHOT = 1_000_000;
/** Markets of all tokens of a file. */
const MAX_MARKETS_PER_FILE = 1_000_000;

const NAMES: MarketFieldNames = { prefix: '', address: 'market_address' };
/** Used while no row gives the snapshot's price. */
const ANY_PRICE_USD = 1;

/** A file's levels, sorted; close it after use. */
interface SortedLevels {
  /** The snapshots as chunks; may be called again. */
  chunks(): AsyncGenerator<Chunk>;
  close(): Promise<void>;
}

interface LevelsRequest {
  /** The data directory, for levels that do not fit into memory. */
  directory: string;
  pool: Pick<ComputePool, 'run'>;
}

/**
 * Reads and sorts a file of levels.
 * @param faults gets the faults of rows; if there are any, nothing is sorted
 * @throws InputError if the file lacks a column or has too many rows; DiskFullError
 */
export async function sortedLevels(
  { directory, pool }: LevelsRequest,
  source: RowSource,
  faults: FaultLog,
): Promise<SortedLevels> {
  const sorter = new LevelSorter(directory, (rows) => pool.run('sortLevels', rows));
  const reader = new LevelReader(faults);
  try {
    const mapped = { ...source, mapping: source.mapping ?? NO_MAPPING };
    for await (const batch of rowBatches(mapped, FIELDS.levels, faults)) {
      for (const { line, row } of batch) {
        faults.line = line;
        const level = reader.read(row);
        const full = level !== null && faults.count === 0 ? sorter.add(level) : null;
        if (full !== null) await full;
        if (faults.count >= MAX_FAULTS) break;
      }
      if (faults.count >= MAX_FAULTS) break;
    }
  } catch (error) {
    await sorter.close();
    if (isDiskFull(error)) throw new DiskFullError(directory);
    if (error instanceof InputError && !error.message.startsWith(source.file)) {
      throw new InputError(`${source.file}: ${error.message}`);
    }
    throw error;
  }
  const { tokens, markets } = reader;
  return {
    async *chunks() {
      if (faults.count > 0) return;
      for await (const levels of wholeSnapshots(sorter.sorted())) {
        yield { kind: 'levelRows', ...levelRows(levels, tokens, markets) };
      }
    },
    close: () => sorter.close(),
  };
}

/** The rows with the tokens and markets that they name. */
function levelRows(
  rows: Float64Array,
  tokens: readonly RunKey[],
  markets: readonly KeyedMarket[],
): LevelRows {
  const named = { tokens: new Map<number, RunKey>(), markets: new Map<number, KeyedMarket>() };
  let last = -1;
  for (let at = 0; at < rows.length; at += LEVEL_WIDTH) {
    const market = rows[at + LEVEL.market];
    if (market === last) continue;
    last = market;
    named.markets.set(market, markets[market]);
    // A market belongs to one token.
    const token = rows[at + LEVEL.token];
    named.tokens.set(token, tokens[token]);
  }
  return { rows, ...named };
}

/** Sorted rows in other pieces: each ends at the end of a snapshot. @throws InputError if one has too many levels */
async function* wholeSnapshots(pieces: AsyncIterable<Float64Array>): AsyncGenerator<Float64Array> {
  const most = MAX_LEVELS_PER_SNAPSHOT * LEVEL_WIDTH;
  /** Rows of one snapshot. */
  let held: Float64Array[] = [];
  let length = 0;
  for await (const piece of pieces) {
    const first = held.at(0);
    const end = first === undefined ? 0 : endOfSnapshot(piece, first);
    if (length + end > most) {
      const line = piece[most - length + LEVEL.line];
      throw new InputError(
        `line ${line}: a snapshot has at most ${MAX_LEVELS_PER_SNAPSHOT} levels`,
      );
    }
    const cut = end === piece.length ? end : startOfLast(piece);
    if (cut > 0) held.push(piece.subarray(0, cut));
    length += cut;
    if (cut === piece.length) continue;
    if (length > 0) yield joined(held, length);
    held = [piece.subarray(cut)];
    length = piece.length - cut;
  }
  if (length > 0) yield joined(held, length);
}

const isSameSnapshot = (a: Float64Array, atA: number, b: Float64Array, atB: number): boolean =>
  a[atA + LEVEL.t] === b[atB + LEVEL.t] && a[atA + LEVEL.token] === b[atB + LEVEL.token];

/** The offset at which rows no longer belong to the snapshot of other rows. */
function endOfSnapshot(rows: Float64Array, others: Float64Array): number {
  let at = 0;
  while (at < rows.length && isSameSnapshot(rows, at, others, 0)) at += LEVEL_WIDTH;
  return at;
}

/** The offset of the first row of the last snapshot. */
function startOfLast(rows: Float64Array): number {
  const last = rows.length - LEVEL_WIDTH;
  let at = last;
  while (at > 0 && isSameSnapshot(rows, at - LEVEL_WIDTH, rows, last)) at -= LEVEL_WIDTH;
  return at;
}

function joined(parts: readonly Float64Array[], length: number): Float64Array {
  const all = new Float64Array(length);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Checks rows, and numbers their tokens and markets in order of first arrival. */
class LevelReader {
  readonly tokens: RunKey[] = [];
  readonly markets: KeyedMarket[] = [];
  private readonly tokenIds = new Map<string, number>();
  /** How many markets each token has. */
  private readonly marketCounts: number[] = [];
  private readonly marketIds = new Map<string, number>();
  private readonly venues = new VenueTypes();
  private readonly parser: MarketParser;
  private readonly level = new Float64Array(LEVEL_WIDTH);
  /** The last row that named a token, and the token. */
  private lastToken: { row: Fields; token: number } | null = null;
  /** The last row that named a market without a fault, and the market. */
  private lastMarket: { row: Fields; token: number; market: number } | null = null;

  constructor(private readonly faults: FaultLog) {
    this.parser = new MarketParser(faults);
  }

  /** A row as numbers, until the next one is read; or null and its faults. */
  read(row: unknown): Float64Array | null {
    const { faults, level } = this;
    if (!isFields(row)) {
      faults.add('json', 'must be an object');
      return null;
    }
    const before = faults.count;
    const token = this.token(row);
    const market = this.market(token, row);
    const side = SIDES.findIndex((name) => name === row.side);
    if (side < 0) faults.add('side', 'must be bid or ask');
    level[LEVEL.token] = token;
    level[LEVEL.t] = row.t as number;
    level[LEVEL.market] = market;
    level[LEVEL.fraction] = (row[FRACTION] as number | undefined) ?? 0;
    level[LEVEL.side] = side;
    level[LEVEL.price] = this.number(row, 'price', POSITIVE);
    level[LEVEL.line] = faults.line;
    level[LEVEL.size] = this.number(row, 'size', NOT_NEGATIVE);
    level[LEVEL.quoteUsd] = isNone(row.quote_usd) ? 1 : this.number(row, 'quote_usd', POSITIVE);
    level[LEVEL.priceUsd] = isNone(row.price_usd) ? NaN : (row.price_usd as number);
    return faults.count > before ? null : level;
  }

  private number(row: Fields, name: string, rule: typeof POSITIVE): number {
    const value = row[name];
    if (typeof value === 'number' && rule.holds(value)) return value;
    this.faults.add(name, rule.expected);
    return NaN;
  }

  private token(row: Fields): number {
    const { t, price_usd: price } = row;
    const { lastToken } = this;
    const isPlain =
      (isNone(price) || isPrice(price)) &&
      typeof t === 'number' &&
      Number.isInteger(t) &&
      t >= 1 &&
      t <= MAX_T_S;
    if (lastToken !== null && isPlain && isSame(row, lastToken.row, TOKEN_FIELDS)) {
      return lastToken.token;
    }
    const given = isNone(price) ? { ...row, price_usd: ANY_PRICE_USD } : row;
    const head = readHead(given, this.faults);
    if (head === null) return -1;
    const name = `${head.chain} ${head.address} ${head.tier}`;
    let token = this.tokenIds.get(name);
    if (token === undefined) {
      token = this.tokens.push({ chain: head.chain, address: head.address, tier: head.tier }) - 1;
      this.tokenIds.set(name, token);
    }
    this.lastToken = { row, token };
    return token;
  }

  private market(token: number, row: Fields): number {
    const { faults, parser, lastMarket } = this;
    if (lastMarket?.token === token && isSame(row, lastMarket.row, MARKET_FIELDS)) {
      return lastMarket.market;
    }
    const before = faults.count;
    const { source, exchange_type, type, market_address: address, pair } = row;
    const read = parser.read({ source, exchange_type, type, address, pair }, NAMES);
    const keyed = read === null ? null : parser.withOwnBody(read, NAMES);
    if (keyed === null) return -1;
    const name = `${token} ${keyed.key}`;
    let id = this.marketIds.get(name);
    if (id === undefined) {
      if (this.markets.length >= MAX_MARKETS_PER_FILE) {
        throw new InputError(`a file of levels has at most ${MAX_MARKETS_PER_FILE} markets`);
      }
      const count = (this.marketCounts[token] ?? 0) + 1;
      if (count > MAX_MARKETS_PER_TOKEN) {
        faults.add(NAMES.address, TOO_MANY_MARKETS);
        return -1;
      }
      this.marketCounts[token] = count;
      id = this.markets.push(keyed) - 1;
      this.marketIds.set(name, id);
    }
    const { market } = keyed;
    const known = this.markets[id].market;
    const wrongType = this.venues.contradiction(market);
    if (wrongType !== null) faults.add('type', wrongType);
    if (known.exchangeType !== market.exchangeType) {
      faults.add('exchange_type', `must be ${known.exchangeType}, as in an earlier row`);
    }
    if (faults.count === before) this.lastMarket = { row, token, market: id };
    return id;
  }
}

const TOKEN_FIELDS = ['address', 'chain', 'tier'] as const;
const MARKET_FIELDS = ['market_address', 'source', 'pair', 'exchange_type', 'type'] as const;

/** Whether two rows have the same values in some fields. */
function isSame(a: Fields, b: Fields, names: readonly string[]): boolean {
  for (const name of names) if (a[name] !== b[name]) return false;
  return true;
}

const isNone = (value: unknown): boolean => value === undefined || value === null;
