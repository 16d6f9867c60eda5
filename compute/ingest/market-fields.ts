/** A market's identity as rows give it, nested or flat. */
import {
  canonicalAddress,
  CONSTANT_PRODUCT_MARKET,
  defaultMarketType,
  EXCHANGE_TYPES,
  type ExchangeType,
  type Market,
  MARKET_TYPES,
  type MarketType,
  venueKey,
} from '../market.js';
import type { FaultLog } from './faults.js';
import { KnownMarkets } from './known-markets.js';
import { MAX_MARKET_NAME_CHARS, MAX_SOURCE_CHARS } from './limits.js';

/** A market's raw fields. */
export interface RawMarket {
  source: unknown;
  exchangeType: unknown;
  type: unknown;
  address: unknown;
  pair: unknown;
}

/** What the row calls those fields, for faults. */
export interface MarketFieldNames {
  /** Stands before each name, such as `markets[2].`. */
  prefix: string;
  address: 'address' | 'market_address';
}

const HEX = /^0x[0-9a-f]+$/i;
const SOURCE_EXPECTED =
  'must be a name with a letter a-z or a digit, ' + `at most ${MAX_SOURCE_CHARS} characters`;
const NAME_EXPECTED = `must be null or a string of 1 to ${MAX_MARKET_NAME_CHARS} characters`;

/** Reads markets; it remembers those that it has accepted, and their venues' names. */
export class MarketReader {
  private readonly sources = new Set<string>();
  private readonly known = new KnownMarkets();

  constructor(private readonly faults: FaultLog) {}

  /**
   * The market, or null and a fault for each wrong field. Fields that come again usually give the
   * same object again.
   */
  read(raw: RawMarket, names: MarketFieldNames): Market | null {
    const known = this.known.find(raw);
    if (known !== null) return known;
    const market = this.readNew(raw, names);
    if (market !== null) this.known.add(raw, market);
    return market;
  }

  /** marketKey() of a market that was read here. */
  keyOf(market: Market): string {
    return this.known.keyOf(market);
  }

  private readNew(raw: RawMarket, names: MarketFieldNames): Market | null {
    const before = this.faults.count;
    const source = this.source(raw.source, names);
    const exchangeType = this.word(raw.exchangeType, EXCHANGE_TYPES, 'exchange_type', names);
    const type = this.type(raw.type, names);
    const address = this.name(raw.address, names.address, names);
    const pair = this.name(raw.pair, 'pair', names);
    if (this.faults.count !== before || source === null || exchangeType === null) return null;
    const market: Market = {
      source,
      exchangeType,
      type: type ?? defaultMarketType(exchangeType),
      address: address !== null && HEX.test(address) ? lowerHex(address) : address,
      pair,
    };
    return market;
  }

  /**
   * The market that a ladder of its own belongs to: what bears the name `constant-product` is that
   * market, whole. null and a fault where it has another market's fields.
   */
  ofLadder(market: Market, names: MarketFieldNames): Market | null {
    if (market.source !== CONSTANT_PRODUCT_MARKET.source) return market;
    const before = this.faults.count;
    this.checkPool(market, names);
    for (const name of ['address', 'pair'] as const) {
      if (market[name] === null) continue;
      const field = name === 'address' ? names.address : name;
      this.faults.add(names.prefix + field, `must be null for ${market.source}`);
    }
    return this.faults.count === before ? CONSTANT_PRODUCT_MARKET : null;
  }

  /** Judges a pool that is to be summed into the market `constant-product`. */
  checkPool(market: Market, names: MarketFieldNames): void {
    const { exchangeType, type } = CONSTANT_PRODUCT_MARKET;
    if (market.exchangeType !== exchangeType) {
      this.faults.add(`${names.prefix}exchange_type`, `must be ${exchangeType} for this pool`);
    }
    if (market.type !== type) {
      this.faults.add(`${names.prefix}type`, `must be ${type} or left out for this pool`);
    }
  }

  private source(value: unknown, names: MarketFieldNames): string | null {
    if (typeof value === 'string' && value.length <= MAX_SOURCE_CHARS) {
      if (this.sources.has(value)) return value;
      if (venueKey(value) !== '') {
        this.sources.add(value);
        return value;
      }
    }
    this.faults.add(`${names.prefix}source`, SOURCE_EXPECTED);
    return null;
  }

  private type(value: unknown, names: MarketFieldNames): MarketType | null {
    if (value === undefined || value === null) return null;
    return this.word(value, MARKET_TYPES, 'type', names);
  }

  private word<W extends MarketType | ExchangeType>(
    value: unknown,
    words: readonly W[],
    name: string,
    names: MarketFieldNames,
  ): W | null {
    for (const word of words) if (word === value) return word;
    this.faults.add(`${names.prefix}${name}`, `must be ${oneOf(words)}`);
    return null;
  }

  private name(value: unknown, name: string, names: MarketFieldNames): string | null {
    if (value === undefined || value === null) return null;
    if (typeof value === 'string' && value !== '' && value.length <= MAX_MARKET_NAME_CHARS) {
      return value;
    }
    this.faults.add(`${names.prefix}${name}`, NAME_EXPECTED);
    return null;
  }
}

/** `a, b or c`. */
export function oneOf(words: readonly string[]): string {
  return `${words.slice(0, -1).join(', ')} or ${words[words.length - 1]}`;
}

/** Pools' ids of 32 bytes are hexadecimal too and fold the same way as addresses. */
function lowerHex(address: string): string {
  return canonicalAddress(address.toLowerCase());
}
