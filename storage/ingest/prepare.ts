/** Reads, validates and bins one file of a dataset into a bundle that a store can commit. */
import { FaultLog, MAX_FAULTS, type Fault } from '../../compute/binning/faults.js';
import type { ComputePool } from '../../compute/pool.js';
import type { JoinMode } from '../../compute/segment/join.js';
import { BundleWriter } from '../bundle/bundle.js';
import { BUNDLE_VERSION } from '../bundle/frames.js';
import type { TokenRow } from '../catalog/token-row.js';
import { DiskFullError, InputError, isDiskFull } from '../errors.js';
import type { StoreOperations } from '../operations.js';
import { loadBasePrices } from './base-prices.js';
import { binPieces, type BasePrices } from './bin-pieces.js';
import type { Dataset, FileFormat } from './datasets.js';
import { flatRows, type NumberedRow } from './flat-rows.js';
import { checkInputFile } from './input-file.js';
import { cellPieces, snapshotPieces, type Piece } from './pieces.js';
import { refusal } from './refusal.js';
import { RunCollector } from './run-collector.js';
import { SeenSnapshots } from './seen-snapshots.js';
import { SeenVenues } from './seen-venues.js';
import { TOKEN_FIELDS, readTokenRow } from './token-fields.js';

/** What one file holds. */
export interface FileReport {
  file: string;
  rows: number;
  snapshots: number;
  cells: number;
  /** Levels, pool bins and cells with an amount outside the ladder's bins. */
  droppedLevels: number;
}

export interface BundleRequest {
  /** The data directory. */
  directory: string;
  /** The file, or what faults call the source where it is none. */
  file: string;
  mode: JoinMode;
}

export interface PiecesRequest extends BundleRequest {
  pool: ComputePool;
  /** Rows of one snapshot lie together in the source: one that comes back is a fault. */
  together: boolean;
  onProgress?: (report: FileReport) => void;
}

export interface FileRequest extends BundleRequest {
  dataset: Dataset;
  format: FileFormat;
  pool: ComputePool;
  /** Asked for prices, in mode `merge` alone. */
  store: Pick<StoreOperations, 'snapshotPrices'>;
  onProgress?: (report: FileReport) => void;
}

export interface PreparedFile {
  bundle: BundleWriter;
  report: FileReport;
}

/** Rows of a frame of flat rows. */
const ROWS_A_FRAME = 2000;

/**
 * Prepares one file.
 * @throws InputError with the first ten faults; nothing of the file stays
 */
export async function prepareFile(request: FileRequest): Promise<PreparedFile> {
  const { file, dataset, format } = request;
  await checkInputFile(file, request.mode === 'merge');
  const unreadable = new FaultLog();
  if (dataset === 'tokens') {
    const rows = flatRows(file, format, TOKEN_FIELDS, unreadable);
    return prepareTokenRows(request, rows, unreadable);
  }
  const pieces = (faults: FaultLog): AsyncGenerator<Piece> =>
    dataset === 'cells' ? cellPieces(file, format, faults) : snapshotPieces(file, format);
  const base =
    request.mode === 'merge'
      ? await loadBasePrices(file, pieces(new FaultLog()), request.store)
      : null;
  const together = dataset === 'cells';
  return preparePieces({ ...request, together }, pieces(unreadable), base, unreadable);
}

/**
 * Prepares rows of `tokens`, wherever they come from.
 * @param unreadable filled by `rows` with what is no row at all
 */
export function prepareTokenRows(
  request: BundleRequest,
  rows: AsyncIterable<NumberedRow> | Iterable<NumberedRow>,
  unreadable: FaultLog = new FaultLog(),
): Promise<PreparedFile> {
  return withBundle(request, (bundle, report) =>
    prepareTokens(request.file, rows, unreadable, bundle, report),
  );
}

/**
 * Prepares pieces of a depth dataset, wherever they come from.
 * @param unreadable filled by `pieces` with what is no row at all
 */
export async function preparePieces(
  request: PiecesRequest,
  pieces: AsyncIterable<Piece>,
  basePrices: BasePrices,
  unreadable: FaultLog = new FaultLog(),
): Promise<PreparedFile> {
  return withBundle(request, (bundle, report) =>
    prepareDepth(request, pieces, basePrices, unreadable, bundle, report),
  );
}

async function withBundle(
  request: BundleRequest,
  fill: (bundle: BundleWriter, report: FileReport) => Promise<void>,
): Promise<PreparedFile> {
  const { file, mode } = request;
  const report: FileReport = { file, rows: 0, snapshots: 0, cells: 0, droppedLevels: 0 };
  const bundle = await BundleWriter.create(request.directory);
  try {
    await bundle.write({ kind: 'header', version: BUNDLE_VERSION, file, mode });
    await fill(bundle, report);
    await bundle.finish();
    return { bundle, report };
  } catch (error) {
    await bundle.discard();
    throw isDiskFull(error) ? new DiskFullError(request.directory) : error;
  }
}

async function prepareDepth(
  request: PiecesRequest,
  pieces: AsyncIterable<Piece>,
  basePrices: BasePrices,
  unreadable: FaultLog,
  bundle: BundleWriter,
  report: FileReport,
): Promise<void> {
  const { file, mode, pool } = request;
  const collector = new RunCollector(mode, pool, bundle);
  const seen = request.together ? new SeenSnapshots() : null;
  const venues = new SeenVenues();
  const faults: Fault[] = [];
  try {
    for await (const batch of binPieces(pieces, pool, mode, basePrices)) {
      faults.push(...batch.faults);
      for (const part of batch.parts) faults.push(...(seen?.add(part) ?? []), ...venues.add(part));
      if (faults.length >= MAX_FAULTS) break;
      if (faults.length > 0 || unreadable.count > 0) continue;
      await collector.add(batch);
      report.rows += batch.rows;
      report.snapshots += batch.snapshots;
      report.cells += batch.cells;
      report.droppedLevels += batch.droppedLevels;
      request.onProgress?.(report);
    }
    faults.push(...unreadable.faults);
    if (faults.length === 0) await collector.finish();
  } catch (error) {
    await collector.abandon();
    throw withEarlier(error, file, [...faults, ...unreadable.faults]);
  }
  if (faults.length === 0) return;
  await collector.abandon();
  throw refusal(file, faults);
}

/** A file that ends in damage, after rows that were faulty already: those come first. */
function withEarlier(error: unknown, file: string, faults: readonly Fault[]): unknown {
  if (!(error instanceof InputError) || faults.length === 0) return error;
  const first = [...refusal(file, faults).faults, ...error.faults].slice(0, MAX_FAULTS);
  return new InputError(first.join('\n'), first);
}

async function prepareTokens(
  file: string,
  rows: AsyncIterable<NumberedRow> | Iterable<NumberedRow>,
  unreadable: FaultLog,
  bundle: BundleWriter,
  report: FileReport,
): Promise<void> {
  const faults = new FaultLog();
  let frame: { line: number; row: TokenRow }[] = [];
  for await (const { line, row } of rows) {
    faults.line = line;
    const token = readTokenRow(row, faults);
    report.rows++;
    if (token !== null) frame.push({ line, row: token });
    if (frame.length >= ROWS_A_FRAME) {
      await bundle.write({ kind: 'tokens', rows: frame });
      frame = [];
    }
    if (faults.count >= MAX_FAULTS) break;
  }
  const all = [...faults.faults, ...unreadable.faults];
  if (all.length > 0) throw refusal(file, all);
  await bundle.write({ kind: 'tokens', rows: frame });
}
