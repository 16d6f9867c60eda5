/** Bins the chunks of a file in the pool: several at once, in their order. */
import type { BinnedChunk, Binning } from '../../compute/ingest/binned-chunk.js';
import type { Chunk } from '../../compute/ingest/chunk.js';
import type { SnapshotHead } from '../../compute/ingest/fields.js';
import { buffersIn } from '../../compute/outcome.js';
import type { ComputePool } from '../../compute/pool.js';
import type { JoinMode } from '../../compute/segment/merge.js';

/** Chunks read ahead, in addition to one per thread. */
const CHUNKS_AHEAD = 4;
/** With more bytes of chunks than this in the pool, only one chunk is read ahead. */
const MAX_AHEAD_BYTES = 32 * 1024 * 1024;

/** A chunk and, for a merge, the prices to bin around. */
export type BasedChunk = Chunk & Pick<Binning, 'basePrices'>;

/** A chunk and the snapshots that its rows name. */
export interface HeadedChunk {
  chunk: Chunk;
  heads: SnapshotHead[];
}

/** The bytes of a chunk, which are copied, not moved, to the pool: it runs a task again whose thread dies. */
const bytesOf = (chunk: Chunk): number =>
  [...buffersIn(chunk)].reduce((sum, { byteLength }) => sum + byteLength, 0);

export function withHeads(
  chunks: AsyncIterable<Chunk>,
  pool: ComputePool,
): AsyncGenerator<HeadedChunk> {
  const head = async (chunk: Chunk): Promise<HeadedChunk> => ({
    chunk,
    heads: await pool.run('headsOfChunk', chunk),
  });
  return inOrder(chunks, head, bytesOf, pool.threads);
}

export function binChunks(
  chunks: AsyncIterable<BasedChunk> | Iterable<BasedChunk>,
  pool: ComputePool,
  mode: JoinMode,
): AsyncGenerator<BinnedChunk> {
  const bin = (chunk: BasedChunk) => pool.run('binChunk', { ...chunk, mode });
  return inOrder(chunks, bin, bytesOf, pool.threads);
}

/**
 * Begins `run` for several items at once, and yields the results in the items' order.
 * @param bytesOf the memory of an item and its result
 */
export async function* inOrder<T, R>(
  items: AsyncIterable<T> | Iterable<T>,
  run: (item: T) => Promise<R>,
  bytesOf: (item: T) => number,
  threads: number,
): AsyncGenerator<R> {
  const running: { result: Promise<R>; bytes: number }[] = [];
  let bytes = 0;
  const hasRoomForMore = (): boolean => {
    const ahead = running.length - threads;
    return ahead <= 1 || (ahead <= CHUNKS_AHEAD && bytes <= MAX_AHEAD_BYTES);
  };
  try {
    for await (const item of items) {
      const size = bytesOf(item);
      bytes += size;
      const result = run(item);
      // Awaited later; until then a failure must not count as unhandled.
      result.catch(() => undefined);
      running.push({ result, bytes: size });
      while (!hasRoomForMore()) {
        const next = running.shift()!;
        yield await next.result;
        bytes -= next.bytes;
      }
    }
    while (running.length > 0) yield await running.shift()!.result;
  } finally {
    await Promise.allSettled(running.map(({ result }) => result));
  }
}
