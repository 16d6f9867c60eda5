/** Reads a market's identity from rows, nested or flat. */
import {
  canonicalAddress,
  CONSTANT_PRODUCT_MARKET,
  defaultMarketType,
  EXCHANGE_TYPES,
  type ExchangeType,
  type Market,
  marketKey,
  MARKET_TYPES,
  type MarketType,
  MAX_MARKETS_PER_TOKEN,
  venueKey,
} from '../market.js';
import {
  type FaultLog,
  isStorable,
  MAX_MARKET_NAME_CHARS,
  MAX_SOURCE_CHARS,
  oneOf,
  STORABLE,
} from './fields.js';

/** A market's fields as given in a row. */
interface MarketFields {
  source?: unknown;
  exchange_type?: unknown;
  type?: unknown;
  address?: unknown;
  pair?: unknown;
}

/** What the row calls those fields, for faults. */
export interface MarketFieldNames {
  /** Precedes each name: `markets[2].`. */
  prefix: string;
  address: 'address' | 'market_address';
}

/** A market and its marketKey(). */
export interface KeyedMarket {
  market: Market;
  key: string;
}

/** The market into which all constant-product pools of a snapshot are summed. */
export const SUMMED_POOLS: KeyedMarket = {
  market: CONSTANT_PRODUCT_MARKET,
  key: marketKey(CONSTANT_PRODUCT_MARKET),
};

/** The fault of a token's market too many. */
export const TOO_MANY_MARKETS = `the token has more than ${MAX_MARKETS_PER_TOKEN} markets`;

const HEX = /^0x[0-9a-f]+$/i;
const SOURCE_EXPECTED =
  'must be a name with a letter a-z or a digit, ' + `at most ${MAX_SOURCE_CHARS} characters`;
const NAME_EXPECTED = `must be null or a string of 1 to ${MAX_MARKET_NAME_CHARS} characters`;

/** Reads markets and remembers the valid ones: most occur in every snapshot. */
export class MarketParser {
  private readonly known = new Map<string, KeyedMarket>();

  constructor(private readonly faults: FaultLog) {}

  /** The market, or null and a fault for each wrong field. */
  read(fields: MarketFields, names: MarketFieldNames): KeyedMarket | null {
    const { source, exchange_type, type, address, pair } = fields;
    const text = textOf(source, exchange_type, type, address, pair);
    const known = text === null ? undefined : this.known.get(text);
    if (known !== undefined) return known;
    const market = this.readNew(fields, names);
    if (market === null) return null;
    const keyed = { market, key: marketKey(market) };
    if (text !== null) this.known.set(text, keyed);
    return keyed;
  }

  /**
   * The market of a body other than a constant-product pool: one named `constant-product` is that market,
   * already summed. Null and a fault if its other fields do not match.
   */
  withOwnBody(keyed: KeyedMarket, names: MarketFieldNames): KeyedMarket | null {
    const { market } = keyed;
    if (market.source !== CONSTANT_PRODUCT_MARKET.source) return keyed;
    const before = this.faults.count;
    this.checkPool(market, names);
    for (const name of ['address', 'pair'] as const) {
      if (market[name] === null) continue;
      const field = name === 'address' ? names.address : name;
      this.faults.add(names.prefix + field, `must be null for ${market.source}`);
    }
    return this.faults.count === before ? SUMMED_POOLS : null;
  }

  /** Checks a pool that will be summed into the market `constant-product`. */
  checkPool(market: Market, names: MarketFieldNames): void {
    const { exchangeType, type } = CONSTANT_PRODUCT_MARKET;
    if (market.exchangeType !== exchangeType) {
      this.faults.add(`${names.prefix}exchange_type`, `must be ${exchangeType} for this pool`);
    }
    if (market.type !== type) {
      this.faults.add(`${names.prefix}type`, `must be ${type} or left out for this pool`);
    }
  }

  private readNew(fields: MarketFields, names: MarketFieldNames): Market | null {
    const before = this.faults.count;
    const source = this.source(fields.source, names);
    const exchangeType = this.word(fields.exchange_type, EXCHANGE_TYPES, 'exchange_type', names);
    const type = this.type(fields.type, names);
    const address = this.name(fields.address, names.address, names);
    const pair = this.name(fields.pair, 'pair', names);
    if (this.faults.count !== before || source === null || exchangeType === null) return null;
    return {
      source,
      exchangeType,
      type: type ?? defaultMarketType(exchangeType),
      // Pool ids of 32 bytes are hexadecimal too and are lowercased like addresses.
      address:
        address !== null && HEX.test(address) ? canonicalAddress(address.toLowerCase()) : address,
      pair,
    };
  }

  private source(value: unknown, names: MarketFieldNames): string | null {
    const isName =
      typeof value === 'string' && value.length <= MAX_SOURCE_CHARS && venueKey(value) !== '';
    if (isName && isStorable(value)) return value;
    this.faults.add(`${names.prefix}source`, isName ? STORABLE : SOURCE_EXPECTED);
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
    const isName =
      typeof value === 'string' && value !== '' && value.length <= MAX_MARKET_NAME_CHARS;
    if (isName && isStorable(value)) return value;
    this.faults.add(`${names.prefix}${name}`, isName ? STORABLE : NAME_EXPECTED);
    return null;
  }
}

/** A text that is unique for these texts and nulls; null if a value is neither. */
function textOf(...values: unknown[]): string | null {
  let lengths = '';
  let texts = '';
  for (const value of values) {
    if (typeof value === 'string') {
      lengths += `${value.length},`;
      texts += value;
    } else if (value === undefined || value === null) {
      lengths += ',';
    } else {
      return null;
    }
  }
  return lengths + texts;
}
