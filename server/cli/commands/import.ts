/** `fathom import FORMAT FILE...` */
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { MAX_SOURCE_CHARS, MAX_T_S } from '../../../compute/ingest/fields.js';
import {
  canonicalAddress,
  chainOfAddress,
  MARKET_TYPES,
  type MarketType,
  venueKey,
} from '../../../compute/market.js';
import { InstantError, parseInstant } from '../../../compute/time.js';
import { InputError, LossError, UsageError } from '../../../storage/errors.js';
import {
  IMPORT_FORMATS,
  type ImportFormat,
  type ImportKind,
  type ImportOptions,
  ImportReport,
  kindOfFormat,
  type LeftOut,
  type Tally,
} from '../../../storage/import/formats.js';
import { importIntoStore, importRows } from '../../../storage/import/import.js';
import {
  type NeededOption,
  NothingImportedError,
  OptionNeededError,
} from '../../../storage/import/refusals.js';
import { systemClock } from '../../clock.js';
import { defineCommand } from '../command.js';
import {
  DATA,
  DRY_RUN,
  dataDirectory,
  duration,
  type Flags,
  type FlagValues,
  JSON_OUTPUT,
  token,
} from '../flags.js';
import { count, PartlyDone, printJson, Progress, tell } from '../output.js';
import { replacedJson, replacedText } from '../replaced.js';
import { rehearsed, storeThrough, withPool } from '../runtime.js';

/** Order books are centralised exchanges', so pool types do not apply. */
const BOOK_TYPES = MARKET_TYPES.filter((type) => type.startsWith('cex_'));
/** Entries shown of each list of the report. */
const SHOWN = 5;

/** The flags that describe the data; parseImportOptions() reads them, as that depends on the format. */
const DESCRIBING = {
  token: {
    kind: 'text',
    placeholder: 'CHAIN:ADDRESS',
    meaning: 'books, pools: the token whose snapshots are made; needed',
  },
  symbol: {
    kind: 'text',
    placeholder: 'SYMBOL',
    meaning: 'books: which of several symbols of the files to take',
    default: 'the only one there is',
  },
  source: {
    kind: 'text',
    placeholder: 'NAME',
    meaning: 'books, pools: name of the venue',
    default: 'what the feed says',
  },
  pair: {
    kind: 'text',
    placeholder: 'P',
    meaning: "books: the market's pair",
    default: 'what the feed says',
  },
  type: {
    kind: 'text',
    placeholder: 'TYPE',
    meaning: 'books: the type of market',
    default: 'what the feed says',
    values: BOOK_TYPES,
  },
  'quote-usd': {
    kind: 'texts',
    placeholder: 'N|ADDRESS=N',
    meaning:
      'books: USD price N of the currency that the book is quoted in; pools: ADDRESS=N is the USD price of the token on the other side, once for each',
    default: '1 for books',
  },
  every: {
    kind: 'text',
    placeholder: 'DURATION',
    meaning: 'books: time between snapshots: whole seconds (s, m or h), a day at most',
    default: '60s',
  },
  'contract-usd': {
    kind: 'text',
    placeholder: 'N',
    meaning: 'books: sizes are contracts of N USD (inverse contracts)',
  },
  'contract-size': {
    kind: 'text',
    placeholder: 'N',
    meaning: 'books: sizes are contracts of N coins (linear contracts)',
  },
  at: { kind: 'text', placeholder: 'TIME', meaning: 'pools: time of states that have none' },
} as const satisfies Flags;

const FLAGS = {
  data: DATA,
  out: {
    kind: 'text',
    placeholder: 'FILE',
    meaning: 'writes the rows into this file; not with --data',
    names: 'file',
  },
  ...DESCRIBING,
  replace: {
    kind: 'switch',
    meaning: "allows a market's stored snapshots to lose more than half of their cells",
  },
  'dry-run': DRY_RUN,
  json: JSON_OUTPUT,
} as const satisfies Flags;

export const command = defineCommand({
  about:
    'Turns market data into rows of a dataset, straight into a store (all files together one transaction) or, with --out, into an NDJSON file for ingest. A flag that does not apply to the format is an error. docs/data.md has the formats and their rules.',
  words: { format: { values: IMPORT_FORMATS }, file: { repeated: true, names: 'file' } },
  flags: FLAGS,
  examples: [
    'fathom import tardis-incremental-l2 book.csv.gz --token mainchain:9n4nbM75f5Ui33ZbPYXn59EwSgE8CGsHtAeTH5YFeJ9E --every 1s',
    'fathom import binance-stream perp.stream.gz --token mainchain:9n4nbM75f5Ui33ZbPYXn59EwSgE8CGsHtAeTH5YFeJ9E --type cex_perp --contract-usd 100',
    'fathom import clmm-pools pools.ndjson --token evmchain:0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2 --at 2024-01-01T00:00:00Z --quote-usd 0x2260fac5e5542a773aa44fbcfedf7c193bc2c599=43000',
    'fathom import solana-token-list list.json --out tokens.ndjson',
  ],
  run: (flags, { format, file }) => importFiles(format, file, flags),
});

/** @throws UsageError | InputError */
async function importFiles(
  format: ImportFormat,
  files: readonly string[],
  { data, out, replace, 'dry-run': dryRun, json, ...describing }: FlagValues<typeof FLAGS>,
): Promise<void> {
  if (out !== undefined && (replace || dryRun)) {
    throw new UsageError(`--${replace ? 'replace' : 'dry-run'}: goes with --data, not with --out`);
  }
  if (out !== undefined && data !== undefined) {
    throw new UsageError('--data and --out: expected one of them');
  }
  const options = parseImportOptions(format, describing);
  const done =
    out === undefined
      ? rehearsed(dryRun, dataDirectory(data), (directory) =>
          intoStore({ format, files, options, directory, replace, dryRun }),
        )
      : intoFile(format, files, options, out);
  const report = await done.catch((error: unknown) => {
    if (!(error instanceof NothingImportedError)) throw withFlags(error);
    tellReport(error.report);
    throw new PartlyDone(withFlags(error), { format, ...jsonReport(error.report) });
  });
  tellReport(report.read);
  tell(report.text);
  if (json) printJson({ format, ...jsonReport(report.read), ...report.json });
}

/** What lifts a refusal. */
const FLAGS_NEEDED: Readonly<Record<NeededOption, string>> = {
  contract:
    'give --contract-usd N (USD of one contract) or --contract-size N (units of the coin in one contract)',
  symbol: 'choose one with --symbol',
  everyS: 'give a shorter --every',
};

/** A refusal in the words of flags; any other error as it is. */
export function withFlags(error: unknown): unknown {
  if (error instanceof LossError) {
    const refused = 'nothing was stored; --replace stores these files all the same';
    return new InputError(`${error.message}\n${refused}`, error.faults);
  }
  const needsOption = error instanceof OptionNeededError || error instanceof NothingImportedError;
  if (!needsOption || error.option === null) return error;
  return new InputError(`${error.message}: ${FLAGS_NEEDED[error.option]}`);
}

interface Outcome {
  read: ImportReport;
  text: string;
  json: object;
}

interface StoreImport {
  format: ImportFormat;
  files: readonly string[];
  options: ImportOptions;
  directory: string;
  replace: boolean;
  dryRun: boolean;
}

async function intoStore(request: StoreImport): Promise<Outcome> {
  const progress = new Progress();
  const startedMs = performance.now();
  try {
    return await withPool(async (pool) => {
      const { stored, read } = await importIntoStore({
        ...request,
        pool,
        useStore: storeThrough(request.directory, pool),
        onProgress: ({ rows, cells }) =>
          progress.show(`${count(rows)} rows, ${count(cells)} cells`),
      });
      const seconds = (performance.now() - startedMs) / 1000;
      const { snapshots, cells, droppedLevels, replaced } = stored;
      return {
        read,
        text: `${request.dryRun ? 'dry run: would store' : 'stored'} ${count(stored.rows)} rows, ${count(snapshots)} snapshots, ${count(cells)} cells (${count(droppedLevels)} levels outside the ladder)${replacedText(replaced)} in ${seconds.toFixed(1)} s`,
        json: {
          stored: { snapshots, cells, dropped_levels: droppedLevels },
          replaced: replacedJson(replaced),
          seconds,
          ...(request.dryRun ? { dry_run: true } : {}),
        },
      };
    });
  } finally {
    progress.end();
  }
}

/** Writes NDJSON to `out`.part and renames it to `out` when it is complete. */
async function intoFile(
  format: ImportFormat,
  files: readonly string[],
  options: ImportOptions,
  out: string,
): Promise<Outcome> {
  const read = new ImportReport();
  const part = `${out}.part`;
  const progress = new Progress();
  const stream = createWriteStream(part);
  try {
    await once(stream, 'open');
    for await (const row of importRows(format, files, options, read)) {
      if (!stream.write(`${JSON.stringify(row)}\n`)) await once(stream, 'drain');
      progress.show(`${count(read.rows)} rows`);
    }
    stream.end();
    await once(stream, 'close');
    await rename(part, out);
  } catch (error) {
    stream.destroy();
    await rm(part, { force: true });
    throw error;
  } finally {
    progress.end();
  }
  return { read, text: `wrote ${count(read.rows)} rows to ${out}`, json: { out } };
}

function tellReport(read: ImportReport): void {
  tellList('breaks of the feed', read.gaps, timedText);
  tellList('late messages', read.outOfOrder, timedText);
  tellList('crossed books', read.crossed, timedText);
  tellList(
    'left out',
    read.leftOut,
    (item) => `${item.where}: ${item.what}: ${leftOutReason(item)}`,
  );
}

function tellList<T>(title: string, tally: Tally<T>, text: (item: T) => string): void {
  if (tally.count === 0) return;
  tell(`${title}: ${count(tally.count)}`);
  for (const item of tally.first.slice(0, SHOWN)) tell(`  ${text(item)}`);
  if (tally.count > SHOWN) tell(`  and ${count(tally.count - SHOWN)} more`);
}

function timedText({ t, reason }: { t: number | null; reason: string }): string {
  const time = t === null ? 'before the first time' : new Date(t * 1000).toISOString();
  return `${time}: ${reason}`;
}

function jsonReport(read: ImportReport): object {
  const list = <T>({ count: total, first }: Tally<T>) => ({ count: total, first });
  return {
    messages: read.messages,
    rows: read.rows,
    old_messages: read.oldMessages,
    gaps: list(read.gaps),
    out_of_order: list(read.outOfOrder),
    crossed: list(read.crossed),
    left_out: {
      count: read.leftOut.count,
      first: read.leftOut.first.map((item) => ({
        where: item.where,
        what: item.what,
        reason: leftOutReason(item),
      })),
    },
  };
}

/** The flags that describe the data, by kind of format. */
const FLAGS_OF_KIND = {
  book: [
    'token',
    'symbol',
    'source',
    'pair',
    'type',
    'quote-usd',
    'every',
    'contract-usd',
    'contract-size',
  ],
  pools: ['token', 'source', 'quote-usd', 'at'],
  tokens: [],
} as const satisfies Record<ImportKind, readonly ImportFlag[]>;

type ImportFlag = keyof typeof DESCRIBING;
const IMPORT_FLAGS = Object.keys(DESCRIBING) as ImportFlag[];

/** Default of `--every`. */
const DEFAULT_EVERY_S = 60;
const MAX_EVERY = '24h';

/** Values of each flag, in order. */
export type RawImportFlags = Readonly<Partial<Record<string, string | readonly string[]>>>;

/**
 * Reads the flags that describe the data.
 * @throws UsageError that names a flag that is malformed, missing, does not apply to the format or is
 *   given twice (which only `--quote-usd ADDRESS=N` may be)
 */
export function parseImportOptions(format: ImportFormat, flags: RawImportFlags): ImportOptions {
  const kind = kindOfFormat(format);
  const applicable: readonly ImportFlag[] = FLAGS_OF_KIND[kind];
  const options: ImportOptions = {
    quoteUsd: 1,
    quoteUsdByAddress: new Map(),
    everyS: DEFAULT_EVERY_S,
  };
  for (const [name, value] of Object.entries(flags)) {
    if (value === undefined) continue;
    const values = typeof value === 'string' ? [value] : value;
    if (values.length === 0) continue;
    const flag = IMPORT_FLAGS.find((known) => known === name);
    if (flag === undefined) throw new UsageError(`--${name}: import has no such flag`);
    if (!applicable.includes(flag)) {
      throw new UsageError(`--${flag}: ${format} has no use for it`);
    }
    if (flag === 'quote-usd' && kind === 'pools') {
      for (const text of values) readQuotePrice(options, format, text);
      continue;
    }
    if (values.length > 1) throw new UsageError(`--${flag}: given more than once`);
    readFlag(options, format, flag, values[0]);
  }
  if (options.contractUsd !== undefined && options.contractSize !== undefined) {
    throw new UsageError('--contract-usd and --contract-size: expected one of them');
  }
  if (kind !== 'tokens' && options.token === undefined) {
    throw new UsageError(`--token: ${format} needs it (CHAIN:ADDRESS)`);
  }
  return options;
}

/** Why an entry was left out, and the flag that would include it. */
export function leftOutReason({ reason, missing }: LeftOut): string {
  if (missing === undefined) return reason;
  return `${reason}: ${missing === 'atS' ? '--at TIME' : `--quote-usd ${missing.quoteUsdOf}=N`}`;
}

function readFlag(options: ImportOptions, format: ImportFormat, flag: ImportFlag, text: string) {
  switch (flag) {
    case 'token':
      options.token = token(text, '--token');
      return;
    case 'symbol':
      options.symbol = parseName(flag, text);
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
      options.everyS = duration(text, '--every', MAX_EVERY);
      return;
    case 'at':
      options.atS = parseTimeS('at', text);
      return;
    case 'contract-usd':
      options.contractUsd = parsePositive('contract-usd', text);
      return;
    case 'contract-size':
      options.contractSize = parsePositive('contract-size', text);
  }
}

function parseName(flag: ImportFlag, text: string): string {
  if (text.trim() === '' || text.length > MAX_SOURCE_CHARS) {
    throw new UsageError(`--${flag}: expected a name of 1 to ${MAX_SOURCE_CHARS} characters`);
  }
  return text;
}

function parseMarketType(text: string): MarketType {
  const type = BOOK_TYPES.find((known) => known === text);
  if (type === undefined) {
    throw new UsageError(`--type: expected ${BOOK_TYPES.join(' or ')} for an order book`);
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

/** Whole epoch seconds, rounded down. */
function parseTimeS(flag: ImportFlag, text: string): number {
  try {
    const seconds = Math.floor(parseInstant(text, systemClock.nowS()));
    if (seconds > 0 && seconds <= MAX_T_S) return seconds;
    throw new InstantError(`expected a time from 1 to ${MAX_T_S}`);
  } catch (error) {
    if (!(error instanceof InstantError)) throw error;
    throw new UsageError(`--${flag}: ${error.message}, found '${text}'`);
  }
}
