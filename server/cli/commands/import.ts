/** `fathom import FORMAT FILE...` */
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { UsageError } from '../../../storage/errors.js';
import {
  IMPORT_FORMATS,
  ImportReport,
  type ImportFormat,
  type ImportOptions,
  type Tally,
} from '../../../storage/import/formats.js';
import { importIntoStore, importRows } from '../../../storage/import/import.js';
import { dataDirectory, type FlagKind, readFlags } from '../flags.js';
import { IMPORT_FLAGS, leftOutReason, parseImportOptions } from '../import-options.js';
import { count, printJson, Progress, tell } from '../output.js';
import { storeThrough, withPool } from '../runtime.js';

const IMPORT_USAGE = `fathom import FORMAT FILE... --data DIR|--out FILE [--token CHAIN:ADDRESS] [--source NAME] [--pair P]
  [--type T] [--quote-usd N|ADDRESS=N] [--every 60s] [--at TIME] [--contract-usd N] [--json]
  FORMAT: ${IMPORT_FORMATS.join(', ')}`;
export const command = { usage: IMPORT_USAGE, run: importFiles };

/** Entries of each list of the report that people are shown. */
const SHOWN = 5;

/** @throws UsageError | InputError */
export async function importFiles(words: readonly string[]): Promise<void> {
  const kinds: Record<string, FlagKind> = { data: 'text', out: 'text', json: 'switch' };
  for (const flag of IMPORT_FLAGS) kinds[flag] = 'texts';
  const { flags, rest } = readFlags(words, kinds);
  const [word, ...files] = rest;
  const format = IMPORT_FORMATS.find((known) => known === word);
  if (format === undefined) {
    throw new UsageError(`FORMAT: expected one of ${IMPORT_FORMATS.join(', ')}`);
  }
  if (files.length === 0) throw new UsageError('FILE: expected at least one');
  const out = flags.out as string | undefined;
  const data = flags.data as string | undefined;
  if (out !== undefined && data !== undefined) {
    throw new UsageError('--data and --out: expected one of them');
  }
  const raw = Object.fromEntries(IMPORT_FLAGS.map((flag) => [flag, flags[flag] as string[]]));
  const options = parseImportOptions(format, raw);
  const report =
    out === undefined
      ? await intoStore(format, files, options, dataDirectory(data))
      : await intoFile(format, files, options, out);
  tellReport(report.read);
  tell(report.text);
  if (flags.json === true) printJson({ format, ...jsonReport(report.read), ...report.json });
}

interface Outcome {
  read: ImportReport;
  text: string;
  json: object;
}

async function intoStore(
  format: ImportFormat,
  files: readonly string[],
  options: ImportOptions,
  directory: string,
): Promise<Outcome> {
  const progress = new Progress();
  const startedMs = performance.now();
  try {
    return await withPool(async (pool) => {
      const { stored, read } = await importIntoStore({
        directory,
        format,
        files,
        options,
        pool,
        useStore: storeThrough(directory, pool),
        onProgress: ({ rows, cells }) =>
          progress.show(`${count(rows)} rows, ${count(cells)} cells`),
      });
      const seconds = (performance.now() - startedMs) / 1000;
      const { snapshots, cells, droppedLevels } = stored;
      return {
        read,
        text: `stored ${count(stored.rows)} rows, ${count(snapshots)} snapshots, ${count(cells)} cells (${count(droppedLevels)} levels outside the ladder) in ${seconds.toFixed(1)} s`,
        json: { stored: { snapshots, cells, dropped_levels: droppedLevels }, seconds },
      };
    });
  } finally {
    progress.end();
  }
}

/** Writes NDJSON beside `out` and puts it in its place when it is whole. */
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
  // Not a fault of the files, but nobody should take an import of nothing for a success.
  if (read.rows === 0) {
    tell(`nothing to import: none of ${count(read.messages)} messages or entries made a row`);
  }
  tellList('breaks of the feed', read.gaps, ({ t, reason }) => `${timeText(t)}: ${reason}`);
  tellList('late messages', read.outOfOrder, ({ t, reason }) => `${timeText(t)}: ${reason}`);
  tellList('crossed books', read.crossed, ({ t, reason }) => `${timeText(t)}: ${reason}`);
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

function timeText(t: number | null): string {
  return t === null ? 'before the first time' : new Date(t * 1000).toISOString();
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
