/** What JavaScript calls: see ../replay/page-writer.ts, and ../segment/lz4.ts for LZ4. */
export { beginText, setColumns, writeSnapshot } from './snapshots';
export {
  addedCells,
  beginMatches,
  changedAmounts,
  limitMatches,
  matchSnapshot,
  matchSnapshotAlone,
  matchText,
  setMatches,
  strayAmounts,
} from './matches';
export {
  beginDeflate,
  distanceCodes,
  distanceCounts,
  distanceLengths,
  endDeflate,
  endFragment,
  head,
  setHeadBits,
  skipText,
  symbolCodes,
  symbolCounts,
  symbolLengths,
  takeMatches,
  takePlain,
} from './deflate';

export { lz4Decompress } from './lz4';

/** The first address that these modules do not use themselves. */
export function freeMemory(): usize {
  return __heap_base;
}
