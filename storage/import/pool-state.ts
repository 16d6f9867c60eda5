import { MAX_DECIMALS, MAX_LEVELS_PER_LIST, MAX_T_S } from '../../compute/ingest/limits.js';
import { canonicalAddress } from '../../compute/market.js';
import { parseDecimal } from './decimal.js';
import type { JsonFields } from './json.js';

/** One side of a pool. */
export interface PoolToken {
  address: string;
  symbol: string | null;
  decimals: number;
}

/** What the layouts of pool files have in common. */
export interface PoolHead {
  source: string;
  /** The pool's address, `0x` in lower case; null where the file has none. */
  pool: string | null;
  /** Epoch seconds, null where the file has none. */
  t: number | null;
  /** Both sides in the file's order. */
  tokens: readonly [PoolToken, PoolToken];
}

/** A body of data.md section 3 and the price that it implies. */
export interface PoolMarketBody {
  /** Price of the token in the other side's token; not above 0 where the pool has none. */
  price: number;
  body: object;
  /** Ticks or bins in the body. */
  levels: number;
}

/** One layout of pool states, one JSON object a line. */
export interface PoolLayout {
  readHead(fields: JsonFields): PoolHead;
  /** The market's body for the token that stands on side `token` (0 or 1). */
  readBody(fields: JsonFields, head: PoolHead, token: 0 | 1, quoteUsd: number): PoolMarketBody;
}

/** Reads what the layouts share; `names` are those of the venue and of the two tokens. */
export function readPoolHead(fields: JsonFields, names: [string, string, string]): PoolHead {
  const pool = fields.textOrNull('pool');
  return {
    source: fields.text(names[0]),
    pool: pool !== null && /^0x[0-9a-fA-F]+$/.test(pool) ? pool.toLowerCase() : pool,
    t: fields.integerOrNull('t', 1, MAX_T_S),
    tokens: [readToken(fields.child(names[1])), readToken(fields.child(names[2]))],
  };
}

function readToken(fields: JsonFields): PoolToken {
  return {
    address: canonicalAddress(fields.text('address')),
    symbol: fields.textOrNull('symbol'),
    decimals: fields.integer('decimals', 0, MAX_DECIMALS),
  };
}

/** A list of ticks or bins: `[integer id, ...decimal strings]`, ids strictly ascending. */
export function readPoolLevels<T>(
  fields: JsonFields,
  field: string,
  amounts: RegExp,
  width: number,
  level: (id: number, amounts: string[]) => T,
): T[] {
  const list = fields.list(field);
  if (list.length > MAX_LEVELS_PER_LIST) {
    throw fields.fault(field, `expected at most ${MAX_LEVELS_PER_LIST} entries`);
  }
  let last = -Infinity;
  return list.map((entry, i) => {
    const [id, ...rest] = Array.isArray(entry) ? (entry as unknown[]) : [];
    const isWhole = rest.length === width && rest.every((amount) => isAmount(amount, amounts));
    if (!Number.isSafeInteger(id) || !isWhole) {
      const expected = `expected an integer and ${width} decimal string(s)`;
      throw fields.fault(`${field}[${i}]`, expected);
    }
    if (!((id as number) > last)) throw fields.fault(`${field}[${i}]`, 'expected ids ascending');
    last = id as number;
    return level(last, rest as string[]);
  });
}

function isAmount(amount: unknown, shape: RegExp): boolean {
  return typeof amount === 'string' && amount.length <= 100 && shape.test(amount);
}

/** Raw units as human ones: the one rounding is that of the decimal to a double. */
export function humanAmount(digits: string, decimals: number): number {
  return parseDecimal(`${digits}e-${decimals}`);
}
