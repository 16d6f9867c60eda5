/** The exports of the page writer; ../page-writer.ts calls them. */
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

/** The first address that the page writer does not use itself. */
export function freeMemory(): usize {
  return __heap_base;
}
