/** Prices of stored snapshots, read from their segments. */
import { decodeSegment } from '../compute/segment/segment.js';
import type { Catalog } from './catalog/catalog.js';
import type { Directories } from './catalog/directories.js';
import { overlapping } from './catalog/directory.js';
import type { DepthReader } from './depth-reader.js';
import type { SnapshotKey } from './operations.js';
import { SegmentGoneError } from './seams.js';

/** Reads of one segment's prices, each from a new look at the directory, before giving up. */
const MAX_READS = 10;

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
    for (let reads = 1; ; reads++) {
      const directory = (await directories.get(token.tokenId))[tier];
      const { from, to } = overlapping(directory, t, t);
      if (from === to || !directory[from].times.includes(t)) break;
      try {
        if (directory[from].segmentId !== segmentId) {
          priceAt = await readPrices(reader, directory[from].segmentId);
          segmentId = directory[from].segmentId;
        }
        prices[i] = priceAt.get(t) ?? NaN;
        break;
      } catch (error) {
        // Small segments are joined in the background: look again where this one went.
        if (!(error instanceof SegmentGoneError) || reads === MAX_READS) throw error;
      }
    }
  }
  return prices;
}

async function readPrices(reader: DepthReader, segmentId: number): Promise<Map<number, number>> {
  const [block] = await reader.readSegments([segmentId]);
  const run = decodeSegment(block);
  return new Map(Array.from(run.t, (time, row) => [time, run.priceUsd[row]]));
}
