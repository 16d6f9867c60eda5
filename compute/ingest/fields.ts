/** Reads fields of untrusted rows: returns a value of the right kind, or adds a fault that names the field. */
import {
  canonicalAddress,
  type Chain,
  chainOfAddress,
  CHAINS,
  type Tier,
  TIERS,
} from '../market.js';
import type { RunKey } from '../segment/run.js';

// Limits of one row; each guards memory or arithmetic.

/** USD. Beyond these prices the edges of the ladder's bins are zero, subnormal or infinite. */
const MIN_PRICE_USD = 1e-300;
const MAX_PRICE_USD = 1e300;
/** Latest epoch second that fits the `t` column (32 bits, year 2106). */
export const MAX_T_S = 4_294_967_295;
/** Characters (UTF-16 units) of a venue's name. */
export const MAX_SOURCE_CHARS = 200;
/** Characters of a market's address or pair. */
export const MAX_MARKET_NAME_CHARS = 200;
/** Levels of one side of a book, ticks of a pool, bins of a pool, cells of a market. */
export const MAX_LEVELS_PER_LIST = 1_000_000;
export const LIST_EXPECTED = `must be a list of at most ${MAX_LEVELS_PER_LIST} entries`;
export const MAX_DECIMALS = 36;
/** Uniswap v3's TickMath.MAX_TICK; the lowest tick is its negative. */
export const MAX_TICK = 887_272;
/** Basis points. */
export const MAX_BIN_STEP_BP = 10_000;
/** Faults that are kept and reported; the others are only counted. */
export const MAX_FAULTS = 10;

/** One wrong field of one row, reported as `line: field: message`. */
export interface Fault {
  line: number;
  /** Path of the field, such as `markets[2].book.bids[14]`. */
  field: string;
  /** What the field must be. */
  message: string;
}

/** Collects faults in the order in which they occur. */
export class FaultLog {
  readonly faults: Fault[] = [];
  count = 0;
  /** The line of faults added from now on. */
  line = 0;

  add(field: string, message: string): void {
    this.count++;
    if (this.faults.length < MAX_FAULTS) this.faults.push({ line: this.line, field, message });
  }
}

/** A JSON object. */
export type Fields = Readonly<Record<string, unknown>>;

/** Which numbers a field accepts, and how a fault describes them. */
interface NumberRule {
  holds(value: number): boolean;
  expected: string;
}

export const POSITIVE: NumberRule = {
  holds: (value) => value > 0 && value < Infinity,
  expected: 'must be a number > 0',
};
export const NOT_NEGATIVE: NumberRule = {
  holds: (value) => value >= 0 && value < Infinity,
  expected: 'must be a number >= 0',
};
export const INTEGER: NumberRule = {
  holds: Number.isSafeInteger,
  expected: 'must be an integer',
};
export const DECIMALS = integerWithin(0, MAX_DECIMALS);

/** Integers `min` to `max`, both included. */
export function integerWithin(min: number, max: number): NumberRule {
  return {
    holds: (value) => Number.isInteger(value) && value >= min && value <= max,
    expected: `must be an integer from ${min} to ${max}`,
  };
}

/** What the database would cut off or replace, and JSON could not repeat. */
const UNSTORABLE = /[\0\p{Cs}]/u;
/** Words for a text that is refused by isStorable(). */
export const STORABLE = 'must be a text without NUL characters and halves of surrogate pairs';

/** Whether a text can be stored as it is: every text of every dataset is checked with this. */
export const isStorable = (text: string): boolean => !UNSTORABLE.test(text);

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The number in `fields[name]`, or NaN and a fault. */
export function readNumber(
  fields: Fields,
  name: string,
  rule: NumberRule,
  path: string,
  faults: FaultLog,
): number {
  const value = fields[name];
  if (typeof value === 'number' && rule.holds(value)) return value;
  faults.add(`${path}.${name}`, rule.expected);
  return NaN;
}

/** The list in `fields[name]`, or null and a fault. */
export function readList(
  fields: Fields,
  name: string,
  path: string,
  faults: FaultLog,
): readonly unknown[] | null {
  const value: unknown = fields[name];
  if (Array.isArray(value) && value.length <= MAX_LEVELS_PER_LIST) return value as unknown[];
  faults.add(`${path}.${name}`, LIST_EXPECTED);
  return null;
}

/** Whether a value is a list of exactly `length` entries. */
export function isTuple(value: unknown, length: number): value is readonly unknown[] {
  return Array.isArray(value) && value.length === length;
}

/** `a, b or c`. */
export function oneOf(words: readonly string[]): string {
  return `${words.slice(0, -1).join(', ')} or ${words[words.length - 1]}`;
}

/** A snapshot's key and price as given in a row. */
export interface HeadFields {
  chain?: unknown;
  address?: unknown;
  t?: unknown;
  tier?: unknown;
  price_usd?: unknown;
}

/** A valid key and price of a snapshot. */
export interface SnapshotHead extends RunKey {
  /** Epoch seconds. */
  t: number;
  priceUsd: number;
}

/** A text that is unique to a snapshot. */
export const nameOfSnapshot = ({ chain, address, tier, t }: RunKey & { t: number }): string =>
  `${chain} ${address} ${tier} ${t}`;

/** The snapshot that a row names, and the row's price; NaN if it has none. Null if the names are no valid ones. */
export function headOfRow(row: unknown): SnapshotHead | null {
  if (!isFields(row)) return null;
  const { address, t, price_usd: priceUsd } = row;
  const chain = CHAINS.find((known) => known === row.chain);
  const tier = TIERS.find((known) => known === (row.tier ?? 'raw'));
  if (chain === undefined || tier === undefined) return null;
  if (typeof address !== 'string' || typeof t !== 'number') return null;
  const usd = typeof priceUsd === 'number' ? priceUsd : NaN;
  return { chain, address: canonicalAddress(address), tier, t, priceUsd: usd };
}

/** The head, or null and a fault for each wrong field. */
export function readHead(fields: HeadFields, faults: FaultLog): SnapshotHead | null {
  const before = faults.count;
  const chain = CHAINS.find((name) => name === fields.chain) ?? null;
  if (chain === null) faults.add('chain', `must be ${oneOf(CHAINS)}`);
  const address = readAddress(fields.address, chain, faults);
  const t = readTime(fields.t, faults);
  const tier = readTier(fields.tier, faults);
  const priceUsd = readPrice(fields.price_usd, faults);
  if (faults.count !== before || chain === null || tier === null) return null;
  return { chain, address, t, tier, priceUsd };
}

function readAddress(value: unknown, chain: Chain | null, faults: FaultLog): string {
  const found = typeof value === 'string' ? chainOfAddress(value) : null;
  if (found === null) {
    faults.add('address', 'must be a base58 address (32 to 44 characters) or 0x and 40 hex digits');
  } else if (chain !== null && found !== chain) {
    faults.add('address', `must be an address of ${chain}, this one has the shape of ${found}`);
  }
  return found === null ? '' : canonicalAddress(value as string);
}

function readTime(value: unknown, faults: FaultLog): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MAX_T_S) {
    return value;
  }
  faults.add('t', `must be whole epoch seconds from 1 to ${MAX_T_S}`);
  return NaN;
}

function readTier(value: unknown, faults: FaultLog): Tier | null {
  if (value === undefined || value === null) return 'raw';
  const tier = TIERS.find((name) => name === value);
  if (tier !== undefined) return tier;
  faults.add('tier', `must be ${oneOf(TIERS)}`);
  return null;
}

/** Whether a value is a price in USD that a snapshot may have. */
export const isPrice = (value: unknown): boolean =>
  typeof value === 'number' && value >= MIN_PRICE_USD && value <= MAX_PRICE_USD;

function readPrice(value: unknown, faults: FaultLog): number {
  if (isPrice(value)) return value as number;
  const isPositive = typeof value === 'number' && POSITIVE.holds(value);
  const range = `must be from ${MIN_PRICE_USD} to ${MAX_PRICE_USD}`;
  faults.add('price_usd', isPositive ? range : POSITIVE.expected);
  return NaN;
}
