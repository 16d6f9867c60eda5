/** `fathom import FORMAT FILE...` */
import { createWriteStream } from 'node:fs';
import { realpath, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Warning } from '../../../compute/ingest/warnings.js';
import type { TokenName } from '../../../storage/contract.js';
import { InputError, LossError, UsageError } from '../../../storage/errors.js';
import {
  IMPORT_FORMATS,
  type ImportFormat,
  type ImportOptions,
  ImportReport,
  type Tally,
} from '../../../storage/import/formats.js';
import { importIntoStore, type ImportRequest, importRows } from '../../../storage/import/import.js';
import { NothingImportedError } from '../../../storage/import/refusals.js';
import { defineCommand } from '../command.js';
import { DRY_RUN, type Flags, type FlagValues, JSON_OUTPUT, STORE_FLAGS } from '../flags.js';
import { DESCRIBING, importOptions } from '../import-options.js';
import { count, counted, PartlyDone, printJson, ProgressLine, printNote } from '../output.js';
import {
  replacedJson,
  replacedText,
  storedText,
  warningJson,
  warningText,
} from '../file-report.js';
import { storedToken } from '../named-token.js';
import { readQuoteFile } from '../quote-file.js';
import { dataDirectory, rehearsed, storeOf, storeThrough, withPool } from '../runtime.js';

/** The most entries that the report shows of a list. */
const SHOWN = 5;

const FLAGS = {
  ...STORE_FLAGS,
  out: {
    placeholder: 'FILE',
    meaning: 'writes the rows into this file; not with --data',
    names: 'file',
  },
  ...DESCRIBING,
  replace: {
    meaning: "allows a market's stored snapshots to lose more than half of their cells",
  },
  'dry-run': DRY_RUN,
  json: JSON_OUTPUT,
} as const satisfies Flags;

export const command = defineCommand({
  about:
    'Converts market data into rows of a dataset and stores them (all files in one transaction) or, with --out, writes them to an NDJSON file for ingest. A flag that does not apply to the format is an error. docs/data.md describes the formats and their rules.',
  words: { format: { values: IMPORT_FORMATS }, file: { repeated: true, names: 'file' } },
  flags: FLAGS,
  examples: [
    'fathom import tardis-incremental-l2 book.csv.gz --token mainchain:9n4nbM75f5Ui33ZbPYXn59EwSgE8CGsHtAeTH5YFeJ9E --every 1s',
    'fathom import binance-stream perp.stream.gz --token mainchain:9n4nbM75f5Ui33ZbPYXn59EwSgE8CGsHtAeTH5YFeJ9E --type cex_perp --contract-usd 100',
    'fathom import capture kraken_http.log.gz kraken_ws.log.gz --exchange kraken --symbol SOL/USD --token mainchain:So11111111111111111111111111111111111111112',
    'fathom import clmm-pools pools.ndjson --token evmchain:0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2 --at 2024-01-01T00:00:00Z --quote-usd 0x2260fac5e5542a773aa44fbcfedf7c193bc2c599=43000',
    'fathom import solana-token-list list.json --out tokens.ndjson',
    'fathom import solscan-holders export.csv --token mainchain:So11111111111111111111111111111111111111112 --at 2025-08-30T10:31:00Z',
    'fathom import jupiter-limit-orders trigger.json --quote-usd So11111111111111111111111111111111111111112=150',
  ],
  run: (flags, { format, file }) => importFiles(format, file, flags),
});

async function importFiles(
  format: ImportFormat,
  files: readonly string[],
  flags: FlagValues<typeof FLAGS>,
): Promise<void> {
  const { data, out, replace, json, 'dry-run': dryRun } = flags;
  const ofStores = ['replace', 'dry-run'] as const;
  const misplaced = out === undefined ? undefined : ofStores.find((name) => flags[name]);
  if (misplaced !== undefined) {
    throw new UsageError(`--${misplaced}: needs --data instead of --out`);
  }
  if (out !== undefined && data !== undefined) {
    throw new UsageError('--data and --out: expected one of them');
  }
  const given = { ...flags, token: await tokenOf(flags) };
  // Refuses wrong flags before the file of prices is read.
  importOptions(format, given);
  const prices = flags['quote-usd-file'];
  const options = importOptions(
    format,
    given,
    prices === undefined ? undefined : await readQuoteFile(prices),
  );
  const done =
    out === undefined
      ? rehearsed(dryRun, dataDirectory(data), (directory) =>
          intoStore({ format, files, options, directory, replace, dryRun }),
        )
      : intoFile(format, files, options, out);
  const report = await done.catch((error: unknown) => {
    if (!(error instanceof NothingImportedError)) throw withReplace(error);
    printReport(error.report);
    throw new PartlyDone(error, { format, ...jsonReport(error.report) });
  });
  printReport(report.read);
  printNote(report.text);
  for (const warning of report.warnings) printNote(warningText(warning, exampleOf(warning)));
  if (json) printJson({ format, ...jsonReport(report.read), ...report.json });
}

/** The token of the data; undefined: none is given. @throws UsageError for a symbol without a store to find it in */
async function tokenOf(flags: FlagValues<typeof FLAGS>): Promise<TokenName | undefined> {
  const { token, out } = flags;
  if (token === undefined || 'address' in token) return token;
  if (out !== undefined) {
    throw new UsageError('--token: expected CHAIN:ADDRESS with --out, which uses no store');
  }
  return storedToken((await storeOf(flags)).useStore, token);
}

/** Adds the flag that accepts a loss; returns any other error unchanged. */
function withReplace(error: unknown): unknown {
  if (!(error instanceof LossError)) return error;
  const refused = 'nothing was stored; --replace stores these files anyway';
  return new InputError(`${error.message}\n${refused}`, error.faults);
}

/** Rows of an import are no lines of its files. */
const exampleOf = ({ line, what }: Warning): string => `row ${line}: ${what}`;

interface Outcome {
  read: ImportReport;
  text: string;
  warnings: readonly Warning[];
  json: object;
}

async function intoStore(request: Omit<ImportRequest, 'pool' | 'useStore'>): Promise<Outcome> {
  const progress = new ProgressLine();
  const startedMs = performance.now();
  try {
    return await withPool(async (pool) => {
      const { stored, read } = await importIntoStore({
        ...request,
        pool,
        useStore: storeThrough(request.directory, pool),
        onProgress: ({ rows, cells }) =>
          progress.show(`${counted(rows, 'row')}, ${counted(cells, 'cell')}`),
      });
      const seconds = (performance.now() - startedMs) / 1000;
      const { rows, snapshots, cells, droppedLevels, replaced } = stored;
      // The report on what was read has its own list of crossed books.
      const warnings = stored.warnings.filter(
        ({ kind }) => kind !== 'crossed_book' || read.crossed.count === 0,
      );
      return {
        read,
        text: `${request.dryRun ? 'dry run: would store' : 'stored'} ${storedText(stored)}${replacedText(replaced)} in ${seconds.toFixed(1)} s`,
        warnings,
        json: {
          stored: { rows, snapshots, cells, dropped_levels: droppedLevels },
          warnings: warnings.map((warning) => warningJson(warning, exampleOf(warning))),
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

/**
 * Writes NDJSON to `out`.part and renames it to `out` when it is complete. A pipe or a device is written to directly, and
 * a link leads to its target.
 */
async function intoFile(
  format: ImportFormat,
  files: readonly string[],
  options: ImportOptions,
  out: string,
): Promise<Outcome> {
  await checkOut(out, files);
  const read = new ImportReport();
  const target = await realpath(out).catch(() => out);
  const isDirect = (await stat(target).catch(() => null))?.isFile() === false;
  const part = isDirect ? target : `${target}.part`;
  const progress = new ProgressLine();
  // A link of that name is replaced: what it leads to stays.
  if (!isDirect) await rm(part, { force: true });
  async function* lines(): AsyncGenerator<string> {
    for await (const row of importRows(format, files, options, read)) {
      yield `${JSON.stringify(row)}\n`;
      progress.show(counted(read.rows, 'row'));
    }
  }
  try {
    await pipeline(lines, createWriteStream(part, { flags: isDirect ? 'w' : 'wx' }));
    if (!isDirect) await rename(part, target);
  } catch (error) {
    if (!isDirect) await rm(part, { force: true });
    throw error;
  } finally {
    progress.end();
  }
  const text = `wrote ${counted(read.rows, 'row')} to ${out}`;
  return { read, text, warnings: [], json: { out } };
}

/** @throws UsageError if the output would replace a file that is read, or its folder does not exist */
async function checkOut(out: string, files: readonly string[]): Promise<void> {
  const folder = await stat(path.dirname(out)).catch(() => null);
  if (folder?.isDirectory() !== true) {
    throw new UsageError(`--out: ${path.dirname(out)} is not a folder`);
  }
  for (const place of [out, `${out}.part`]) {
    const found = await stat(place).catch(() => null);
    if (found === null) continue;
    for (const file of files) {
      const { dev, ino } = (await stat(file).catch(() => null)) ?? { dev: -1, ino: -1 };
      if (dev === found.dev && ino === found.ino) {
        throw new UsageError(`--out: ${place} is one of the files to read`);
      }
    }
  }
}

function printReport(read: ImportReport): void {
  printList('gaps in the feed', read.gaps, timedText);
  printList('late messages', read.outOfOrder, timedText);
  printList('crossed books', read.crossed, timedText);
  printList('left out', read.leftOut, (item) => `${item.where}: ${item.what}: ${item.reason}`);
}

function printList<T>(title: string, tally: Tally<T>, text: (item: T) => string): void {
  if (tally.count === 0) return;
  printNote(`${title}: ${count(tally.count)}`);
  for (const item of tally.first.slice(0, SHOWN)) printNote(`  ${text(item)}`);
  if (tally.count > SHOWN) printNote(`  and ${count(tally.count - SHOWN)} more`);
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
    left_out: list(read.leftOut),
  };
}
