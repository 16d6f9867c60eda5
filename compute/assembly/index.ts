/** What JavaScript calls: see ../replay/page-memory.ts, and ../segment/lz4.ts for LZ4. */
export { repeatValues, writeCodes, writePrices, writeUsd, writeValidity } from './columns';
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
export { beginDeflate, endDeflate, endFragment, skipText, takeMatches } from './deflate';
export {
  distanceCodes,
  distanceCounts,
  distanceLengths,
  head,
  setHeadBits,
  symbolCodes,
  symbolCounts,
  symbolLengths,
} from './encoder';
export { lz4Decompress } from './lz4';

/** The first address that these modules do not use themselves. */
export function freeMemory(): usize {
  return __heap_base;
}
