/** Brings an import's rows into a store, merged into the snapshots that already stand there. */
import type { ComputePool } from '../../compute/pool.js';
import { commitPrepared, type UseStore } from '../ingest/ingest.js';
import type { Piece } from '../ingest/pieces.js';
import { preparePieces } from '../ingest/prepare-depth.js';
import { prepareTokenRows } from '../ingest/prepare-rows.js';
import type { FileReport, PreparedFile } from '../ingest/prepared.js';
import type { SnapshotKey } from '../contract.js';
import { IMPORT_FORMAT_SPECS, type ImportFormat } from './formats.js';
import { type ImportOptions, importRows } from './index.js';
import { ImportReport } from './report.js';

/** JSON of the rows that one piece holds, unless a single row is larger. */
const PIECE_BYTES = 1024 * 1024;

export interface ImportRequest {
  directory: string;
  format: ImportFormat;
  files: readonly string[];
  options: ImportOptions;
  pool: ComputePool;
  useStore: UseStore;
  onProgress?: (report: FileReport) => void;
}

export interface ImportedFile {
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
  if (IMPORT_FORMAT_SPECS[format].dataset === 'tokens') {
    return prepareTokenRows({ directory, file, mode: 'replace' }, numbered(rows));
  }
  const standing = await standingPrices(request);
  return preparePieces(
    { ...request, file, mode: 'merge', together: false },
    linePieces(rows),
    standing,
  );
}

/** Prices of the stored snapshots that an import's rows meet, asked for piece by piece. */
async function standingPrices({ options, useStore }: ImportRequest) {
  const { token } = options;
  if (token === undefined) return null;
  const tier = 'raw';
  const times = new Set(await useStore((store) => store.snapshotTimes({ ...token, tier })));
  return async (piece: Piece): Promise<Float64Array> => {
    const rows = timesOfPiece(piece);
    const prices = new Float64Array(rows.length).fill(NaN);
    const met = rows.filter((t) => times.has(t));
    if (met.length === 0) return prices;
    const keys = met.map((t): SnapshotKey => ({ ...token, tier, t }));
    const stored = await useStore((store) => store.snapshotPrices(keys));
    met.forEach((t, i) => (prices[rows.indexOf(t)] = stored[i]));
    return prices;
  };
}

const timesByPiece = new WeakMap<Piece, number[]>();

function timesOfPiece(piece: Piece): number[] {
  return timesByPiece.get(piece) ?? [];
}

/** Rows as NDJSON, so that the pool parses, checks and bins them like a collector's file. */
async function* linePieces(rows: AsyncIterable<object>): AsyncGenerator<Piece> {
  let firstLine = 1;
  let lines: string[] = [];
  let times: number[] = [];
  let bytes = 0;
  const piece = (): Piece => {
    const made: Piece = {
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
