/** Imports foreign files: as rows, or into a store, merged into the snapshots that stand there. */
import type { ComputePool } from '../../compute/pool.js';
import type { SnapshotKey } from '../contract.js';
import { UsageError } from '../errors.js';
import { prepareTokenRows } from '../ingest/flat.js';
import { commitPrepared, type UseStore } from '../ingest/ingest.js';
import type { Chunk } from '../ingest/chunks.js';
import { prepareChunks } from '../ingest/depth.js';
import type { FileReport, PreparedFile } from '../ingest/prepared.js';
import { importBinanceStream } from './binance.js';
import { type ImportFormat, type ImportOptions, ImportReport, kindOfFormat } from './formats.js';
import { CLMM_POOLS, CP_PAIRS, DLMM_BINS, importPools } from './pool-states.js';
import { importTardisIncremental, importTardisSnapshot } from './tardis.js';
import { importSolanaTokenList, importWormholeCsv } from './token-lists.js';

/**
 * Reads the files (plain or gzip) of one import, in order, and yields rows of the dataset `snapshots`
 * or `tokens` (docs/definitions.md#imports), one at a time; `report` is up to date whenever a row
 * comes.
 * @throws InputError (`file:line: field: what`) at damaged input
 * @throws UsageError without a file, or without the token that a format needs
 */
export async function* importRows(
  format: ImportFormat,
  files: readonly string[],
  options: ImportOptions,
  report: ImportReport,
): AsyncGenerator<object, void, undefined> {
  if (files.length === 0) throw new UsageError('FILE: expected at least one file');
  for await (const row of rowsOf(format, files, options, report)) {
    report.rows++;
    yield row;
  }
}

function rowsOf(
  format: ImportFormat,
  files: readonly string[],
  options: ImportOptions,
  report: ImportReport,
): AsyncIterable<object> {
  if (format === 'solana-token-list') return importSolanaTokenList(files, report);
  if (format === 'wormhole-csv') return importWormholeCsv(files, report);
  const { token } = options;
  if (token === undefined) throw new UsageError(`token: ${format} needs it`);
  switch (format) {
    case 'tardis-incremental-l2':
      return importTardisIncremental(files, token, options, report);
    case 'tardis-book-snapshot':
      return importTardisSnapshot(files, token, options, report);
    case 'binance-stream':
      return importBinanceStream(files, token, options, report);
    case 'clmm-pools':
      return importPools(CLMM_POOLS, files, token, options, report);
    case 'dlmm-bins':
      return importPools(DLMM_BINS, files, token, options, report);
    case 'cp-pairs':
      return importPools(CP_PAIRS, files, token, options, report);
  }
}

/** JSON of the rows that one piece holds, unless a single row is larger. */
const PIECE_BYTES = 1024 * 1024;

interface ImportRequest {
  directory: string;
  format: ImportFormat;
  files: readonly string[];
  options: ImportOptions;
  pool: ComputePool;
  useStore: UseStore;
  onProgress?: (report: FileReport) => void;
}

interface ImportedFile {
  stored: FileReport;
  read: ImportReport;
}

/**
 * Imports the files as one transaction.
 * @throws InputError | UsageError | StoreBusyError
 */
export async function importIntoStore(request: ImportRequest): Promise<ImportedFile> {
  let read = new ImportReport();
  const stored = await commitPrepared(request.useStore, () => {
    read = new ImportReport();
    return prepareImport(request, read);
  });
  return { stored, read };
}

async function prepareImport(request: ImportRequest, read: ImportReport): Promise<PreparedFile> {
  const { directory, format, files, options } = request;
  const file = files.join(', ');
  const rows = importRows(format, files, options, read);
  if (kindOfFormat(format) === 'tokens') {
    return prepareTokenRows({ directory, file, mode: 'replace' }, numbered(rows));
  }
  const standing = await standingPrices(request);
  return prepareChunks(
    { ...request, file, mode: 'merge', together: false },
    linePieces(rows),
    standing,
  );
}

/** Looks up the prices of the stored snapshots that a piece's rows meet. */
async function standingPrices({ options, useStore }: ImportRequest) {
  const { token } = options;
  if (token === undefined) return null;
  const tier = 'raw';
  const times = new Set(await useStore((store) => store.snapshotTimes({ ...token, tier })));
  return async (piece: Chunk): Promise<Float64Array> => {
    const rows = timesByPiece.get(piece) ?? [];
    const prices = new Float64Array(rows.length).fill(NaN);
    const met = rows.filter((t) => times.has(t));
    if (met.length === 0) return prices;
    const keys = met.map((t): SnapshotKey => ({ ...token, tier, t }));
    const stored = await useStore((store) => store.snapshotPrices(keys));
    met.forEach((t, i) => (prices[rows.indexOf(t)] = stored[i]));
    return prices;
  };
}

/** Times of a piece's rows, from when it is made to when its standing prices are looked up. */
const timesByPiece = new WeakMap<Chunk, number[]>();

/** Rows as NDJSON, so that the pool parses, checks and bins them like a collector's file. */
async function* linePieces(rows: AsyncIterable<object>): AsyncGenerator<Chunk> {
  let firstLine = 1;
  let lines: string[] = [];
  let times: number[] = [];
  let bytes = 0;
  const piece = (): Chunk => {
    const made: Chunk = {
      kind: 'snapshotLines',
      firstLine,
      bytes: Buffer.from(lines.join('\n')),
    };
    timesByPiece.set(made, times);
    firstLine += lines.length;
    [lines, times, bytes] = [[], [], 0];
    return made;
  };
  for await (const row of rows) {
    const line = JSON.stringify(row);
    lines.push(line);
    times.push((row as { t: number }).t);
    bytes += line.length;
    if (bytes >= PIECE_BYTES) yield piece();
  }
  if (lines.length > 0) yield piece();
}

async function* numbered(rows: AsyncIterable<object>) {
  let line = 0;
  for await (const row of rows) yield { line: ++line, row };
}
