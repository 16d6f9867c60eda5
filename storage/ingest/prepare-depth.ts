/** Validates and bins pieces of a depth dataset into a bundle. */
import { FaultLog, MAX_FAULTS, type Fault } from '../../compute/ingest/faults.js';
import type { ComputePool } from '../../compute/pool.js';
import type { BundleWriter } from '../bundle/bundle.js';
import { InputError } from '../errors.js';
import { binPieces, type BasePrices } from './bin-pieces.js';
import type { Piece } from './pieces.js';
import { withBundle, type BundleRequest, type FileReport, type PreparedFile } from './prepared.js';
import { refusal } from './refusal.js';
import { RunCollector } from './run-collector.js';
import { SeenSnapshots } from './seen-snapshots.js';
import { SeenVenues } from './seen-venues.js';

export interface PiecesRequest extends BundleRequest {
  pool: ComputePool;
  /** Rows of one snapshot lie together in the source: one that comes back is a fault. */
  together: boolean;
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
