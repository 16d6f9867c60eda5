/** What a snapshot is known by and priced at, as rows give it, nested or flat. */
import {
  canonicalAddress,
  type Chain,
  chainOfAddress,
  CHAINS,
  type Tier,
  TIERS,
} from '../market.js';
import type { RunKey } from '../segment/run.js';
import type { FaultLog } from './faults.js';
import type { Fields } from './fields.js';
import { MAX_PRICE_USD, MAX_T_S, MIN_PRICE_USD } from './limits.js';
import { oneOf } from './market-fields.js';

/** A snapshot's raw fields. */
export interface RawHead {
  chain: unknown;
  address: unknown;
  t: unknown;
  tier: unknown;
  priceUsd: unknown;
}

/** A snapshot's fields, judged. */
export interface SnapshotHead extends RunKey {
  /** Epoch seconds. */
  t: number;
  priceUsd: number;
}

/** Times above this are milliseconds (year 2001 on) rather than seconds. */
const FIRST_MS = 1e12;

/** The head's fields of a row of either dataset. */
export function headOfRow(row: Fields): RawHead {
  const { chain, address, t, tier, price_usd: priceUsd } = row;
  return { chain, address, t, tier, priceUsd };
}

/** The head, or null and a fault for each wrong field. */
export function readHead(raw: RawHead, faults: FaultLog): SnapshotHead | null {
  const before = faults.count;
  const chain = CHAINS.find((name) => name === raw.chain) ?? null;
  if (chain === null) faults.add('chain', `must be ${oneOf(CHAINS)}`);
  const address = readAddress(raw.address, chain, faults);
  const t = readTime(raw.t, faults);
  const tier = readTier(raw.tier, faults);
  const priceUsd = readPrice(raw.priceUsd, faults);
  if (faults.count !== before || chain === null || tier === null) return null;
  return { chain, address, t, tier, priceUsd };
}

function readAddress(value: unknown, chain: Chain | null, faults: FaultLog): string {
  const own = typeof value === 'string' ? chainOfAddress(value) : null;
  if (own === null) {
    faults.add('address', 'must be a base58 address (32 to 44 characters) or 0x and 40 hex digits');
  } else if (chain !== null && own !== chain) {
    faults.add('address', `must be an address of ${chain}, this one has the shape of ${own}`);
  }
  return own === null ? '' : canonicalAddress(value as string);
}

function readTime(value: unknown, faults: FaultLog): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MAX_T_S) {
    return value;
  }
  const hint =
    typeof value === 'number' && value >= FIRST_MS ? ', this looks like milliseconds' : '';
  faults.add('t', `must be whole epoch seconds from 1 to ${MAX_T_S}${hint}`);
  return NaN;
}

function readTier(value: unknown, faults: FaultLog): Tier | null {
  if (value === undefined || value === null) return 'raw';
  const tier = TIERS.find((name) => name === value);
  if (tier !== undefined) return tier;
  faults.add('tier', `must be ${oneOf(TIERS)}`);
  return null;
}

function readPrice(value: unknown, faults: FaultLog): number {
  if (typeof value !== 'number' || !(value > 0 && value < Infinity)) {
    faults.add('price_usd', 'must be a number > 0');
  } else if (value < MIN_PRICE_USD || value > MAX_PRICE_USD) {
    faults.add('price_usd', `must be from ${MIN_PRICE_USD} to ${MAX_PRICE_USD}`);
  } else {
    return value;
  }
  return NaN;
}
