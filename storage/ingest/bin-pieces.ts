/** Bins a file's pieces in the pool, several at once, and gives the results in the file's order. */
import type { BinnedBatch } from '../../compute/ingest/batch.js';
import type { ComputePool } from '../../compute/pool.js';
import type { JoinMode } from '../../compute/segment/merge.js';
import type { GatheredColumns } from './cell-gatherer.js';
import type { Piece } from './pieces.js';

/** Pieces read ahead of the one that is waited for, beside one a thread. */
const PIECES_AHEAD = 4;
/** Bytes of pieces in the pool above which just one is read ahead. */
const MAX_AHEAD_BYTES = 32 * 1024 * 1024;
/** What a piece of parsed rows counts as: it is a list of objects, and no more are to wait than need be. */
const UNKNOWN_BYTES = 16 * 1024 * 1024;

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
  const sizes: number[] = [];
  let bytes = 0;
  const mayReadOn = (): boolean => {
    const ahead = running.length - pool.threads;
    return ahead <= 1 || (ahead <= PIECES_AHEAD && bytes <= MAX_AHEAD_BYTES);
  };
  try {
    for await (const piece of pieces) {
      const size = bytesOf(piece);
      sizes.push(size);
      bytes += size;
      const batch = binPiece(piece, pool, mode, basePrices);
      // Awaited in its turn; until then a failure is not an unhandled one.
      batch.catch(() => undefined);
      running.push(batch);
      while (!mayReadOn()) {
        yield await running.shift()!;
        bytes -= sizes.shift()!;
      }
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
      const bytes = movable(piece.bytes);
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

/** The bytes as all of a buffer, which can be moved: those of a chunk may be part of a larger one. */
function movable(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer } = bytes;
  const isWhole = buffer instanceof ArrayBuffer && buffer.byteLength === bytes.byteLength;
  return isWhole ? new Uint8Array(buffer) : new Uint8Array(bytes);
}

/** Bytes of a piece that is read from a file; those of parsed rows are not known. */
function bytesOf(piece: Piece): number {
  switch (piece.kind) {
    case 'snapshotLines':
    case 'cellLines':
      return piece.bytes.length;
    case 'cellColumns':
      return buffersOf(piece.columns).reduce((sum, { byteLength }) => sum + byteLength, 0);
    case 'snapshotRows':
    case 'demoUnit':
      return UNKNOWN_BYTES;
  }
}

/** The columns' buffers, which nothing else uses: they move to the worker. */
function buffersOf({ starts, texts, lines, ...numbers }: GatheredColumns): ArrayBuffer[] {
  const codes = Object.values(texts).map((column) => column.codes);
  const columns = [...Object.values(numbers), ...codes, starts, ...(lines ? [lines] : [])];
  return columns.map(({ buffer }) => buffer as ArrayBuffer);
}
