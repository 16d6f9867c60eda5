/** Markets on exchanges as sources: `"kind": "exchange"`. */
import { InputError } from '../storage/errors.js';
import { checkContracts } from '../storage/import/contracts.js';
import type { JsonFields } from '../storage/import/fields.js';
import { closeMatch } from '../compute/nearest.js';
import type { SizeOptions } from './book-sample.js';
import type { BookType, Exchange, Symbol } from './exchange.js';
import { EXCHANGE_NAMES, EXCHANGES, type ExchangeName, onlyTypeOf, venueOf } from './exchanges.js';

/** A market as configured. */
export interface ExchangeMarket extends Symbol, SizeOptions {
  id: string;
  exchange: Exchange;
  /** Under which it is stored. */
  venue: string;
  /** Replace the exchange's own addresses. */
  url?: string;
  restUrl?: string;
  /** stream: followed over a WebSocket. poll: asked for by REST at every interval. */
  mode: 'stream' | 'poll';
}

export const EXCHANGE_FIELDS = [
  'exchange',
  'symbol',
  'type',
  'contract_size',
  'contract_usd',
  'url',
  'rest_url',
  'mode',
];

const TYPES: readonly BookType[] = ['cex_spot', 'cex_perp'];
/** Symbols quoted in dollars, also with the ending of a perpetual or dated contract: `SOL-USDT-SWAP`, `XBTUSDM24`. */
const IN_DOLLARS =
  /USD[TC]?([-_]?(SWAP|PERP|PERPETUAL|[0-9]{6}|[0-9]{1,2}[A-Z]{3}[0-9]{2}|[FGHJKMNQUVXZ][0-9]{2}))?$/i;
const MODES = ['stream', 'poll'] as const;
const MAX_SYMBOL_CHARS = 100;
/** What no exchange's symbols have; it would change the addresses that they become part of. */
const NOT_OF_SYMBOLS = /[\s\p{C}?&#%\\"]/u;

/** @throws InputError that names the field and what was expected */
export function readExchangeMarket(fields: JsonFields, id: string): ExchangeMarket {
  const name = fields.text('exchange');
  const exchangeName = EXCHANGE_NAMES.find((known) => known === name);
  if (exchangeName === undefined) {
    const near = closeMatch(name, EXCHANGE_NAMES);
    const hint = near === null ? `one of ${EXCHANGE_NAMES.join(', ')}` : `${near}?`;
    throw fields.fault('exchange', `unknown: ${name}; expected ${hint}`);
  }
  const exchange: Exchange = EXCHANGES[exchangeName];
  const mode = oneOf(fields, 'mode', MODES) ?? 'stream';
  if (mode === 'poll' && exchange.rest === undefined) {
    const polled = EXCHANGE_NAMES.filter((known) => EXCHANGES[known].rest !== undefined);
    throw fields.fault('mode', `poll is known for ${polled.join(', ')}`);
  }
  if (mode === 'stream' && exchange.stream === null) {
    throw fields.fault('exchange', `${exchangeName} is known only in captures`);
  }
  const symbol = symbolOf(fields, exchange);
  const type = typeOf(fields, symbol, exchangeName);
  const market: ExchangeMarket = {
    id,
    exchange,
    venue: venueOf(exchangeName, type),
    mode,
    symbol,
    type,
    ...optional('url', addressOf(fields, 'url', ['ws:', 'wss:'])),
    ...optional('restUrl', addressOf(fields, 'rest_url', ['http:', 'https:'])),
    ...optional('contractSize', positive(fields, 'contract_size')),
    ...optional('contractUsd', positive(fields, 'contract_usd')),
  };
  if (market.contractSize !== undefined && market.contractUsd !== undefined) {
    throw fields.fault('contract_size', 'expected it or contract_usd, not both');
  }
  checkSizes(fields, market);
  if (!fields.has('quote_usd') && !IN_DOLLARS.test(symbol)) {
    const expected = 'expected the USD price of its quote currency, or the id of a source';
    throw fields.fault('quote_usd', `${symbol} does not end in USD, USDT or USDC: ${expected}`);
  }
  return market;
}

/** In the exchange's spelling, in which everything else uses it. */
function symbolOf(fields: JsonFields, { spelling }: Exchange): string {
  const given = fields.text('symbol');
  if (given.length > MAX_SYMBOL_CHARS || NOT_OF_SYMBOLS.test(given)) {
    throw fields.fault(
      'symbol',
      `expected at most ${MAX_SYMBOL_CHARS} characters without spaces and ? & # % \\ "`,
    );
  }
  if (spelling === 'mixed') return given;
  return spelling === 'lower' ? given.toLowerCase() : given.toUpperCase();
}

function typeOf(fields: JsonFields, symbol: string, name: ExchangeName): BookType {
  const exchange: Exchange = EXCHANGES[name];
  const only = onlyTypeOf(exchange, symbol);
  const given = oneOf(fields, 'type', TYPES);
  if (only !== null && given !== undefined && given !== only) {
    throw fields.fault('type', `${name} ${symbol} can only be ${only}`);
  }
  return only ?? given ?? exchange.defaultType;
}

function checkSizes(fields: JsonFields, market: ExchangeMarket): void {
  try {
    checkContracts('', { source: market.venue, pair: market.symbol }, market);
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    // It names flags of the command line.
    const what = error.message.replace(/^: /, '').replace(/: give .*$/, '');
    throw fields.fault(
      'contract_size',
      `${what}: expected contract_size (coins of one contract) or contract_usd (USD of one contract)`,
    );
  }
}

/** Leaves out what is not configured. */
const optional = <K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } =>
  value === undefined ? {} : ({ [key]: value } as { [P in K]: V });

function oneOf<V extends string>(
  fields: JsonFields,
  field: string,
  values: readonly V[],
): V | undefined {
  if (!fields.has(field)) return undefined;
  const value = values.find((each) => each === fields.object[field]);
  if (value === undefined) throw fields.fault(field, `expected ${values.join(' or ')}`);
  return value;
}

/** A number above 0; undefined without the field. */
export function positive(fields: JsonFields, field: string): number | undefined {
  if (!fields.has(field)) return undefined;
  const value = fields.object[field];
  if (typeof value === 'number' && value > 0 && value < Infinity) return value;
  throw fields.fault(field, 'expected a number above 0');
}

/** An address of one of some protocols; undefined without the field. */
export function addressOf(
  fields: JsonFields,
  field: string,
  protocols: readonly string[],
): string | undefined {
  if (!fields.has(field)) return undefined;
  const text = fields.text(field);
  if (URL.canParse(text) && protocols.includes(new URL(text).protocol)) return text;
  throw fields.fault(field, `expected an address that begins with ${protocols.join('// or ')}//`);
}

/**
 * An exchange's address, or what replaces it: an address with a path is taken as it is, one without gets the path and
 * the query of the exchange's.
 */
export function urlAt(base: string | undefined, own: string): string {
  if (base === undefined) return own;
  const [replaced, { pathname, search }] = [new URL(base), new URL(own)];
  if (replaced.pathname !== '/' || replaced.search !== '') return base;
  return new URL(pathname + search, replaced).href;
}

/** What shows that a message is lost, for people. */
export function lossesOf(exchange: Exchange): string {
  const { sequence, checksum } = exchange.rules;
  if (sequence === 'whole') return 'not needed: each message is the whole book';
  const shown = [
    ...(sequence === 'numbered' ? ['numbers'] : []),
    ...(exchange.connectionNumber === undefined ? [] : ['numbers of the connection']),
    ...(checksum === undefined ? [] : ['checksum']),
  ];
  return shown.length === 0 ? 'nothing' : shown.join(', ');
}
