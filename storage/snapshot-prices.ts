/** Prices of stored snapshots, read from their segments. */
import { decodeSegment } from '../compute/segment/segment.js';
import type { Catalog } from './catalog/catalog.js';
import type { Directories } from './catalog/directories.js';
import { overlapping } from './catalog/directory.js';
import type { DepthReader } from './depth-reader.js';
import type { SnapshotKey } from './operations.js';

/** Price of each snapshot named, NaN where it is not stored. Neighbours share one read. */
export async function snapshotPrices(
  keys: readonly SnapshotKey[],
  catalog: Catalog,
  directories: Directories,
  reader: DepthReader,
): Promise<Float64Array> {
  const prices = new Float64Array(keys.length).fill(NaN);
  let segmentId = 0;
  let priceAt = new Map<number, number>();
  for (const [i, { chain, address, tier, t }] of keys.entries()) {
    const token = catalog.token(chain, address);
    if (token === undefined) continue;
    const directory = (await directories.get(token.tokenId))[tier];
    const { from, to } = overlapping(directory, t, t);
    if (from === to || !directory[from].times.includes(t)) continue;
    if (directory[from].segmentId !== segmentId) {
      segmentId = directory[from].segmentId;
      const [block] = await reader.readSegments([segmentId]);
      const run = decodeSegment(block);
      priceAt = new Map(Array.from(run.t, (time, row) => [time, run.priceUsd[row]]));
    }
    prices[i] = priceAt.get(t) ?? NaN;
  }
  return prices;
}
