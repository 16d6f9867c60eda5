/** The flags of `fathom import FORMAT`, and what its report calls them. */
import { MAX_SOURCE_CHARS, MAX_T_S } from '../../compute/ingest/fields.js';
import {
  canonicalAddress,
  chainOfAddress,
  CHAINS,
  MARKET_TYPES,
  type MarketType,
  venueKey,
} from '../../compute/market.js';
import { DAY_S, HOUR_S, InstantError, MINUTE_S, parseInstant } from '../../compute/time.js';
import { UsageError } from '../../storage/errors.js';
import {
  type ImportFormat,
  type ImportKind,
  type ImportOptions,
  type ImportToken,
  kindOfFormat,
  type LeftOut,
} from '../../storage/import/formats.js';

/** Names of the flags, without their dashes. */
export const IMPORT_FLAGS = [
  'token',
  'source',
  'pair',
  'type',
  'quote-usd',
  'every',
  'at',
  'contract-usd',
] as const;
type ImportFlag = (typeof IMPORT_FLAGS)[number];

/** The flags that a kind of format has a use for. */
const FLAGS_OF_KIND: Readonly<Record<ImportKind, readonly ImportFlag[]>> = {
  book: ['token', 'source', 'pair', 'type', 'quote-usd', 'every', 'contract-usd'],
  pools: ['token', 'source', 'quote-usd', 'at'],
  tokens: [],
};

/** Seconds between two snapshots of an order book where `--every` names none. */
const DEFAULT_EVERY_S = 60;
const MAX_EVERY_S = DAY_S;

/** Flags as they were given: name without dashes to its values in order. */
export type RawImportFlags = Readonly<Partial<Record<string, string | readonly string[]>>>;

/**
 * Reads the flags of `fathom import FORMAT`. Throws a UsageError naming the flag where one is
 * unknown, malformed, given twice (but for `--quote-usd ADDRESS=N`), without a use for the format,
 * or missing.
 */
export function parseImportOptions(format: ImportFormat, flags: RawImportFlags): ImportOptions {
  const kind = kindOfFormat(format);
  const options: ImportOptions = {
    ...{ quoteUsd: 1, quoteUsdByAddress: new Map(), everyS: DEFAULT_EVERY_S },
  };
  for (const [name, value] of Object.entries(flags)) {
    if (value === undefined) continue;
    const values = typeof value === 'string' ? [value] : value;
    if (values.length === 0) continue;
    const flag = asFlag(name);
    if (!FLAGS_OF_KIND[kind].includes(flag)) {
      throw new UsageError(`--${flag}: ${format} has no use for it`);
    }
    if (flag === 'quote-usd' && kind === 'pools') {
      for (const text of values) readQuotePrice(options, format, text);
      continue;
    }
    if (values.length > 1) throw new UsageError(`--${flag}: given more than once`);
    readFlag(options, format, flag, values[0]);
  }
  if (kind !== 'tokens' && options.token === undefined) {
    throw new UsageError(`--token: ${format} needs it (CHAIN:ADDRESS)`);
  }
  return options;
}

/** Why an entry was left out, with the flag that would have let it in. */
export function leftOutReason({ reason, missing }: LeftOut): string {
  if (missing === undefined) return reason;
  return `${reason}: ${missing === 'atS' ? '--at TIME' : `--quote-usd ${missing.quoteUsdOf}=N`}`;
}

function asFlag(name: string): ImportFlag {
  const flag = IMPORT_FLAGS.find((known) => known === name);
  if (flag === undefined) throw new UsageError(`--${name}: import has no such flag`);
  return flag;
}

function readFlag(options: ImportOptions, format: ImportFormat, flag: ImportFlag, text: string) {
  switch (flag) {
    case 'token':
      options.token = parseToken(text);
      return;
    case 'source':
      if (venueKey(text) === '') {
        throw new UsageError('--source: expected a name with a letter or digit');
      }
      options.source = parseName(flag, text);
      return;
    case 'pair':
      options.pair = parseName(flag, text);
      return;
    case 'type':
      options.type = parseMarketType(text);
      return;
    case 'quote-usd':
      if (text.includes('=')) {
        throw new UsageError(`--quote-usd: expected N for ${format} (ADDRESS=N is for pools)`);
      }
      options.quoteUsd = parsePositive('quote-usd', text);
      return;
    case 'every':
      options.everyS = parseEvery(text);
      return;
    case 'at':
      options.atS = parseTimeS('at', text);
      return;
    case 'contract-usd':
      options.contractUsd = parsePositive('contract-usd', text);
  }
}

function parseToken(text: string): ImportToken {
  const colon = text.indexOf(':');
  const chain = CHAINS.find((known) => known === text.slice(0, colon));
  const address = text.slice(colon + 1);
  if (colon < 0 || chain === undefined) {
    throw new UsageError(`--token: expected CHAIN:ADDRESS with CHAIN one of ${CHAINS.join(', ')}`);
  }
  if (chainOfAddress(address) !== chain) {
    throw new UsageError(`--token: expected an address of ${chain}, found '${address}'`);
  }
  return { chain, address: canonicalAddress(address) };
}

function parseName(flag: ImportFlag, text: string): string {
  if (text.trim() === '' || text.length > MAX_SOURCE_CHARS) {
    throw new UsageError(`--${flag}: expected a name of 1 to ${MAX_SOURCE_CHARS} characters`);
  }
  return text;
}

/** An order book is a centralised exchange's: the types of pools do not fit it. */
function parseMarketType(text: string): MarketType {
  const types = MARKET_TYPES.filter((type) => type.startsWith('cex_'));
  const type = types.find((known) => known === text);
  if (type === undefined) {
    throw new UsageError(`--type: expected ${types.join(' or ')} for an order book`);
  }
  return type;
}

function parsePositive(flag: ImportFlag, text: string): number {
  const value = /^[0-9.]+(e[+-]?[0-9]+)?$/i.test(text) ? Number(text) : NaN;
  if (!(value > 0 && value < Infinity)) {
    throw new UsageError(`--${flag}: expected a number above 0, found '${text}'`);
  }
  return value;
}

function readQuotePrice(options: ImportOptions, format: ImportFormat, text: string): void {
  const equals = text.indexOf('=');
  const address = text.slice(0, Math.max(equals, 0));
  if (chainOfAddress(address) === null) {
    throw new UsageError(`--quote-usd: expected ADDRESS=N for ${format}, found '${text}'`);
  }
  const key = canonicalAddress(address);
  if (options.quoteUsdByAddress.has(key)) {
    throw new UsageError(`--quote-usd: ${address} has a price twice`);
  }
  options.quoteUsdByAddress.set(key, parsePositive('quote-usd', text.slice(equals + 1)));
}

const UNIT_S = { s: 1, m: MINUTE_S, h: HOUR_S } as const;

function parseEvery(text: string): number {
  const match = /^([0-9]{1,6})([smh]?)$/.exec(text);
  const unit = (match?.[2] || 's') as keyof typeof UNIT_S;
  const seconds = match === null ? NaN : Number(match[1]) * UNIT_S[unit];
  if (!(seconds >= 1 && seconds <= MAX_EVERY_S)) {
    throw new UsageError(
      `--every: expected whole seconds from 1s to ${MAX_EVERY_S}s, found '${text}'`,
    );
  }
  return seconds;
}

/** Epoch seconds of a flag's time, fractions cut off. */
function parseTimeS(flag: ImportFlag, text: string): number {
  try {
    const seconds = Math.floor(parseInstant(text));
    if (seconds > 0 && seconds <= MAX_T_S) return seconds;
    throw new InstantError(`expected a time from 1 to ${MAX_T_S}`);
  } catch (error) {
    if (!(error instanceof InstantError)) throw error;
    throw new UsageError(`--${flag}: ${error.message}, found '${text}'`);
  }
}
