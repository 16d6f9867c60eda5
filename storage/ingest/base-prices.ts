/** For --merge: the prices of the snapshots that a file's rows merge into. */
import type { Chunk } from '../../compute/ingest/chunk.js';
import { nameOfSnapshot } from '../../compute/ingest/fields.js';
import type { SnapshotKey } from '../contract.js';
import { InputError } from '../errors.js';
import type { UseStore } from '../operations.js';
import type { BasedChunk, HeadedChunk } from './binning.js';

/** How many snapshots one file may merge into. */
const MAX_MERGED_SNAPSHOTS = 2_000_000;
/** Snapshots in one request for prices. */
const KEYS_PER_REQUEST = 50_000;

/**
 * The chunks of a file with their base prices: the price of the stored snapshot, otherwise that of the file's first row
 * of the snapshot.
 * @param first the chunks for a first pass, which finds the snapshots: to ask for prices may be to open the store
 * @param withHeads adds the snapshots of each chunk
 */
export async function* withBasePrices(
  file: string,
  first: AsyncIterable<Chunk>,
  chunks: AsyncIterable<Chunk>,
  withHeads: (chunks: AsyncIterable<Chunk>) => AsyncIterable<HeadedChunk>,
  useStore: UseStore,
): AsyncGenerator<BasedChunk> {
  const prices = new Map<string, number>();
  const keys: SnapshotKey[] = [];
  for await (const { heads } of withHeads(first)) {
    for (const { priceUsd, ...key } of heads) {
      const name = nameOfSnapshot(key);
      if (prices.has(name)) continue;
      if (keys.length >= MAX_MERGED_SNAPSHOTS) {
        throw new InputError(
          `${file}: --merge takes at most ${MAX_MERGED_SNAPSHOTS} snapshots a file`,
        );
      }
      keys.push(key);
      prices.set(name, priceUsd);
    }
  }
  for (const [name, priceUsd] of await storedPrices(keys, useStore)) prices.set(name, priceUsd);
  for await (const { chunk, heads } of withHeads(chunks)) {
    const names = heads.map(nameOfSnapshot);
    yield { ...chunk, basePrices: new Map(names.map((name) => [name, prices.get(name)!])) };
  }
}

/** The prices of those snapshots that are stored, by nameOfSnapshot(). */
export async function storedPrices(
  keys: readonly SnapshotKey[],
  useStore: UseStore,
): Promise<Map<string, number>> {
  const prices = new Map<string, number>();
  for (let i = 0; i < keys.length; i += KEYS_PER_REQUEST) {
    const some = keys.slice(i, i + KEYS_PER_REQUEST);
    const stored = await useStore((store) => store.snapshotPrices(some));
    some.forEach((key, k) => {
      if (!Number.isNaN(stored[k])) prices.set(nameOfSnapshot(key), stored[k]);
    });
  }
  return prices;
}
