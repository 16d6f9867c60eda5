/** Bins a file's pieces in the pool, several at once, and gives the results in the file's order. */
import type { BinnedBatch } from '../../compute/binning/batch.js';
import type { ComputePool } from '../../compute/pool.js';
import type { JoinMode } from '../../compute/segment/join.js';
import type { GatheredColumns } from './cell-gatherer.js';
import type { Piece } from './pieces.js';

/** Pieces read ahead of the one that is waited for, beside one a thread. */
const PIECES_AHEAD = 1;

/** Prices that a piece's rows have to be binned against, one a line; null where none stands. */
export type BasePrices = ((piece: Piece) => Float64Array | Promise<Float64Array>) | null;

/** Batches in the order of their pieces. */
export async function* binPieces(
  pieces: AsyncIterable<Piece>,
  pool: ComputePool,
  mode: JoinMode,
  basePrices: BasePrices,
): AsyncGenerator<BinnedBatch> {
  const running: Promise<BinnedBatch>[] = [];
  try {
    for await (const piece of pieces) {
      const batch = binPiece(piece, pool, mode, basePrices);
      // Awaited in its turn; until then a failure is not an unhandled one.
      batch.catch(() => undefined);
      running.push(batch);
      if (running.length > pool.threads + PIECES_AHEAD) yield await running.shift()!;
    }
    while (running.length > 0) yield await running.shift()!;
  } finally {
    await Promise.allSettled(running);
  }
}

async function binPiece(
  piece: Piece,
  pool: ComputePool,
  mode: JoinMode,
  basePrices: BasePrices,
): Promise<BinnedBatch> {
  const { firstLine } = piece;
  const prices = basePrices === null ? {} : { basePrices: await basePrices(piece) };
  const options = { firstLine, mode, ...prices };
  switch (piece.kind) {
    case 'snapshotLines':
    case 'cellLines': {
      // A copy that owns its buffer can be moved; the chunk itself may be part of a larger one.
      const bytes = new Uint8Array(piece.bytes);
      const task = piece.kind === 'cellLines' ? 'packCellLines' : 'binSnapshotLines';
      return pool.run(task, { bytes, ...options }, [bytes.buffer]);
    }
    case 'snapshotRows':
      return pool.run('binSnapshotRows', { rows: piece.rows, ...options });
    case 'demoUnit':
      return pool.run('simulateDemo', piece.unit);
    case 'cellColumns':
      return pool.run(
        'packCellColumns',
        { ...piece.columns, ...options },
        buffersOf(piece.columns),
      );
  }
}

/** The columns' buffers, which nothing else uses: they move to the worker. */
function buffersOf({ starts, texts, lines, ...numbers }: GatheredColumns): ArrayBuffer[] {
  const codes = Object.values(texts).map((column) => column.codes);
  const columns = [...Object.values(numbers), ...codes, starts, ...(lines ? [lines] : [])];
  return columns.map(({ buffer }) => buffer as ArrayBuffer);
}
