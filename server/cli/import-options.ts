/** The flags of `fathom import` that describe the data. */
import {
  isStorable,
  MAX_DECIMALS,
  MAX_SOURCE_CHARS,
  MAX_T_S,
  STORABLE,
} from '../../compute/ingest/fields.js';
import {
  canonicalAddress,
  chainOfAddress,
  MARKET_TYPES,
  type MarketType,
  venueKey,
} from '../../compute/market.js';
import { captureOf } from '../../collect/capture.js';
import { EXCHANGE_NAMES } from '../../collect/exchanges.js';
import type { TokenName } from '../../storage/contract.js';
import { UsageError } from '../../storage/errors.js';
import {
  type ImportFormat,
  type ImportKind,
  type ImportOptions,
  kindOfFormat,
} from '../../storage/import/formats.js';
import { duration, type Flag, type FlagValues, instant, wholeNumber } from './flags.js';
import { token, TOKEN_FORMS } from './named-token.js';

const DEFAULT_EVERY_S = 60;
const MAX_EVERY = '24h';
/** Order books come from centralised exchanges, so the types of pools do not apply. */
const BOOK_TYPES = MARKET_TYPES.filter((type): type is MarketType & `cex_${string}` =>
  type.startsWith('cex_'),
);

/** A flag that describes data of some kinds. */
type DescribingFlag = Flag & { readonly of: readonly ImportKind[] };

export const DESCRIBING = {
  token: {
    of: ['book', 'pools', 'holders', 'orders'],
    placeholder: 'TOKEN',
    meaning: `books, pools, holders: the data's token, required: ${TOKEN_FORMS}. Orders: the token whose orders are imported; by default all`,
    read: token,
  },
  exchange: {
    of: ['book'],
    placeholder: 'NAME',
    meaning: 'captures: the exchange whose messages they hold; required',
    values: EXCHANGE_NAMES,
  },
  symbol: {
    of: ['book'],
    placeholder: 'SYMBOL',
    meaning: 'books: the symbol to import, if the files have several',
    default: 'the only one',
    read: nameOf,
  },
  source: {
    of: ['book', 'pools'],
    placeholder: 'NAME',
    meaning: 'books, pools: name of the venue',
    default: 'as in the feed',
    read: venueName,
  },
  pair: {
    of: ['book'],
    placeholder: 'P',
    meaning: "books: the market's pair",
    default: 'as in the feed',
    read: nameOf,
  },
  type: {
    of: ['book'],
    placeholder: 'TYPE',
    meaning: 'books: the type of market',
    default: 'as in the feed',
    values: BOOK_TYPES,
  },
  'quote-usd': {
    of: ['book', 'pools', 'orders'],
    repeated: true,
    placeholder: 'N|ADDRESS=N',
    meaning:
      'books: USD price N of the currency that the book is quoted in; pools, orders: ADDRESS=N is the USD price of the token on the other side (of a DCA order: of the token that it spends), once for each',
    default: '1 for books',
  },
  'quote-usd-file': {
    of: ['pools', 'orders'],
    placeholder: 'FILE',
    meaning: 'pools, orders: lines ADDRESS,USD, each as --quote-usd ADDRESS=N, which precedes them',
    names: 'file',
  },
  decimals: {
    of: ['orders'],
    repeated: true,
    placeholder: 'ADDRESS=N',
    meaning: 'orders with raw amounts: the decimals of a token, once for each',
    default: 'those of USDC, USDT and SOL',
  },
  every: {
    of: ['book'],
    placeholder: 'DURATION',
    meaning: 'books: interval of the snapshots, in whole seconds (s, m or h), at most a day',
    default: '60s',
    read: (text: string, from: string) => duration(text, from, MAX_EVERY),
  },
  'contract-usd': {
    of: ['book'],
    placeholder: 'N',
    meaning: 'books: sizes are contracts of N USD (inverse contracts)',
    read: positive,
  },
  'contract-size': {
    of: ['book'],
    placeholder: 'N',
    meaning: 'books: sizes are contracts of N coins (linear contracts)',
    read: positive,
  },
  at: {
    of: ['pools', 'holders'],
    placeholder: 'TIME',
    meaning: 'pools: time of states that have none; holders: time of the export; required',
    read: dataTimeS,
  },
} as const satisfies Record<string, DescribingFlag>;

type Given = Omit<FlagValues<typeof DESCRIBING>, 'token'> & { token: TokenName | undefined };

/**
 * @param filePrices USD prices of `--quote-usd-file`
 * @throws UsageError that names a flag that is missing, malformed or does not apply to the format
 */
export function importOptions(
  format: ImportFormat,
  flags: Given,
  filePrices: ReadonlyMap<string, number> = new Map(),
): ImportOptions {
  const kind = kindOfFormat(format);
  for (const [name, { of: kinds }] of Object.entries<DescribingFlag>(DESCRIBING)) {
    const value = flags[name as keyof Given];
    const given = Array.isArray(value) ? value.length > 0 : value !== undefined;
    if (given && !kinds.includes(kind)) {
      throw new UsageError(`--${name}: does not apply to ${format}`);
    }
  }
  if (flags['contract-usd'] !== undefined && flags['contract-size'] !== undefined) {
    throw new UsageError('--contract-usd and --contract-size: expected one of them');
  }
  if (format === 'capture' && flags.exchange === undefined) {
    throw new UsageError(`--exchange: capture needs it, one of ${EXCHANGE_NAMES.join(', ')}`);
  }
  if (format !== 'capture' && flags.exchange !== undefined) {
    throw new UsageError(`--exchange: does not apply to ${format}`);
  }
  checkToken(format, kind, flags.token);
  if (kind === 'holders' && flags.at === undefined) {
    throw new UsageError(`--at: ${format} needs it: the time of the export (--at TIME)`);
  }
  const quotes = flags['quote-usd'];
  return {
    token: flags.token,
    symbol: flags.symbol,
    source: flags.source,
    pair: flags.pair,
    type: flags.type,
    quoteUsd: kind === 'book' ? bookQuoteUsd(format, quotes) : 1,
    quoteUsdByAddress: new Map([
      ...filePrices,
      ...byAddress('--quote-usd', kind === 'book' ? [] : quotes, format, positive),
    ]),
    decimalsByAddress: byAddress('--decimals', flags.decimals, format, wholeDecimals),
    everyS: flags.every ?? DEFAULT_EVERY_S,
    contractUsd: flags['contract-usd'],
    contractSize: flags['contract-size'],
    ...(flags.exchange === undefined ? {} : { capture: captureOf(flags.exchange) }),
    atS: flags.at,
  };
}

function bookQuoteUsd(format: ImportFormat, [text, ...more]: readonly string[]): number {
  if (text === undefined) return 1;
  if (more.length > 0) throw new UsageError('--quote-usd: given twice');
  if (!text.includes('=')) return positive(text, '--quote-usd');
  throw new UsageError(`--quote-usd: expected N for ${format} (ADDRESS=N is for pools)`);
}

function checkToken(format: ImportFormat, kind: ImportKind, given: Given['token']): void {
  const needed = kind === 'book' || kind === 'pools' || kind === 'holders';
  if (needed && given === undefined) {
    throw new UsageError(`--token: ${format} needs it (TOKEN)`);
  }
  const ofMints = kind === 'holders' || kind === 'orders';
  if (ofMints && given !== undefined && given.chain !== 'mainchain') {
    throw new UsageError(`--token: expected a token of mainchain for ${format}`);
  }
}

/** Reads texts ADDRESS=N, each address once. */
function byAddress(
  from: string,
  texts: readonly string[],
  format: ImportFormat,
  read: (text: string, from: string) => number,
): Map<string, number> {
  const values = new Map<string, number>();
  for (const text of texts) {
    const equals = text.indexOf('=');
    const address = text.slice(0, Math.max(equals, 0));
    if (chainOfAddress(address) === null) {
      throw new UsageError(`${from}: expected ADDRESS=N for ${format}, found '${text}'`);
    }
    const key = canonicalAddress(address);
    if (values.has(key)) throw new UsageError(`${from}: ${address} is given twice`);
    values.set(key, read(text.slice(equals + 1), from));
  }
  return values;
}

function wholeDecimals(text: string, from: string): number {
  return wholeNumber(text, from, 0, MAX_DECIMALS);
}

function nameOf(text: string, from: string): string {
  if (!isStorable(text)) throw new UsageError(`${from}: ${STORABLE}`);
  if (text.trim() !== '' && text.length <= MAX_SOURCE_CHARS) return text;
  throw new UsageError(`${from}: expected a name of 1 to ${MAX_SOURCE_CHARS} characters`);
}

function venueName(text: string, from: string): string {
  if (venueKey(text) !== '') return nameOf(text, from);
  throw new UsageError(`${from}: expected a name with a letter or digit`);
}

function positive(text: string, from: string): number {
  const value = /^[0-9.]+(e[+-]?[0-9]+)?$/i.test(text) ? Number(text) : NaN;
  if (value > 0 && value < Infinity) return value;
  throw new UsageError(`${from}: expected a number above 0, found '${text}'`);
}

/** Whole epoch seconds, rounded down. */
function dataTimeS(text: string, from: string): number {
  const seconds = Math.floor(instant(text, from));
  if (seconds > 0 && seconds <= MAX_T_S) return seconds;
  throw new UsageError(`${from}: expected a time from 1 to ${MAX_T_S}, found '${text}'`);
}
