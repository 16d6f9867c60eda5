/** `fathom sql "SELECT ..."` */
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import path from 'node:path';
import type { CheckedQuery, QueryDatabase } from '../../../storage/duckdb/query-database.js';
import { UsageError } from '../../../storage/errors.js';
import {
  checkQuery,
  datasetsIn,
  openExport,
  textRows,
  withTemporaryFolder,
  writeQuery,
} from '../../../storage/export/sql.js';
import { DAY_S } from '../../../compute/time.js';
import { defineCommand } from '../command.js';
import { exportDepth, windowOf, VIEW_OF_REPLAY } from '../export-run.js';
import { type Flags, type FlagValues, instantBy, STORE_FLAGS } from '../flags.js';
import { storedToken, token, TOKEN_FORMS } from '../named-token.js';
import { count, printNote } from '../output.js';
import {
  csvFormat,
  jsonFormat,
  MEASURED_ROWS,
  type QueryFormat,
  tableFormat,
} from '../query-formats.js';
import { storeOf } from '../runtime.js';
import { closingAtSignal } from '../signals.js';

const FORMATS = ['table', 'csv', 'json', 'parquet'] as const;

const FLAGS = {
  export: {
    placeholder: 'DIR',
    meaning: 'an export, from fathom export',
    default: 'a temporary one of --token, --from and --to',
    names: 'directory',
    read: (text: string) => path.resolve(text),
  },
  format: {
    placeholder: 'FORMAT',
    meaning: 'format of the result, on stdout',
    default: 'table',
    values: FORMATS,
  },
  token: {
    repeated: true,
    placeholder: 'TOKEN',
    meaning: `without --export: a token, ${TOKEN_FORMS}`,
    read: token,
  },
  from: {
    placeholder: 'TIME',
    meaning: 'without --export: start of the window',
    default: 'a day before its end',
    read: instantBy,
  },
  to: {
    placeholder: 'TIME',
    meaning: 'without --export: end of the window',
    default: 'now',
    read: instantBy,
  },
  ...STORE_FLAGS,
} as const satisfies Flags;

export const command = defineCommand({
  about:
    'Runs a query of DuckDB over an export, whose datasets are views: cells, snapshots, tokens and others. Without --export, it first exports what the query needs of some tokens into a temporary folder. Queries can only read.',
  words: { sql: {} },
  flags: FLAGS,
  examples: [
    'fathom sql "SELECT source, sum(support_usd) FROM cells WHERE t = 1794659696 GROUP BY source" --export export',
    'fathom sql "SELECT t, price_usd FROM snapshots ORDER BY t" --token WETH --from -1h --format csv',
  ],
  run: (flags, { sql }) => run(sql, flags),
});

async function run(sql: string, flags: FlagValues<typeof FLAGS>): Promise<void> {
  const { export: folder, format = 'table' } = flags;
  if (format === 'parquet' && process.stdout.isTTY) {
    throw new UsageError('--format: expected stdout to be a file for parquet: add > FILE');
  }
  const isNarrowed = flags.token.length > 0 || flags.from !== undefined || flags.to !== undefined;
  if (folder !== undefined && isNarrowed) {
    throw new UsageError('--export: expected without --token, --from and --to: use WHERE');
  }
  if (folder === undefined && flags.token.length === 0) {
    throw new UsageError('--export: expected an export, or at least one --token');
  }
  await closingAtSignal((stop) =>
    withTemporaryFolder(async (temporary) => {
      const own = folder ?? (await temporaryExport(sql, flags, path.join(temporary, 'export')));
      const database = await openExport(own, temporary);
      const interrupt = (): void => database.interrupt();
      stop?.addEventListener('abort', interrupt);
      try {
        stop?.throwIfAborted();
        const query = await checkQuery(database, sql, folder ?? null);
        await print(database, query, format, path.join(temporary, 'result.parquet'));
      } finally {
        stop?.removeEventListener('abort', interrupt);
        database.close();
      }
    }),
  );
}

async function temporaryExport(
  sql: string,
  flags: FlagValues<typeof FLAGS>,
  out: string,
): Promise<string> {
  const store = await storeOf(flags);
  const tokens = [];
  for (const named of flags.token) tokens.push(await storedToken(store.useStore, named));
  const window = windowOf(flags, DAY_S);
  await exportDepth(store.useStore, out, {
    view: VIEW_OF_REPLAY,
    datasets: datasetsIn(sql),
    tier: null,
    tokens,
    ...window,
  });
  return out;
}

async function print(
  database: QueryDatabase,
  query: CheckedQuery,
  format: (typeof FORMATS)[number],
  file: string,
): Promise<void> {
  if (format === 'parquet') {
    await writeQuery(database, query, file);
    for await (const bytes of createReadStream(file)) if (!(await write(bytes as Buffer))) return;
    return;
  }
  const { columns } = query;
  let formatted: QueryFormat | null =
    format === 'csv' ? csvFormat(columns) : format === 'json' ? jsonFormat(columns) : null;
  let held: (string | null)[][] = [];
  let rowCount = 0;
  if (formatted !== null && !(await write(formatted.begin()))) return;
  const begin = (): string => {
    formatted = tableFormat(columns, held, process.stdout.columns);
    const text = formatted.begin() + formatted.rows(held);
    held = [];
    return text;
  };
  for await (const rows of textRows(database, query)) {
    rowCount += rows.length;
    let text: string;
    if (formatted !== null) text = formatted.rows(rows);
    else {
      // The first rows decide the widths.
      held.push(...rows);
      if (held.length < MEASURED_ROWS) continue;
      text = begin();
    }
    if (!(await write(text))) return;
  }
  if (formatted === null && !(await write(begin()))) return;
  await write(formatted!.end());
  if (format === 'table') printNote(`(${count(rowCount)} ${rowCount === 1 ? 'row' : 'rows'})`);
}

/** Writes to stdout, and waits while its reader is slow. @returns false once the reader has gone */
async function write(text: string | Buffer): Promise<boolean> {
  const { stdout } = process;
  if (stdout.destroyed || stdout.errored !== null) return false;
  if (stdout.write(text)) return true;
  return once(stdout, 'drain').then(
    () => true,
    () => false,
  );
}
