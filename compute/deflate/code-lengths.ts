/** The head of a deflate block: its codes, by the lengths of their symbols (RFC 1951, 3.2.7). */
import type { BitWriter } from './bit-writer.js';
import { canonicalCodes, codeLengths } from './huffman.js';
import { DISTANCE_SYMBOLS, END_OF_BLOCK, LITERAL_SYMBOLS } from './symbols.js';

const MAX_LENGTH_CODE_BITS = 7;
/** Order in which the lengths of the code lengths' own code are written. */
const LENGTH_CODE_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
const REPEAT_LAST = 16;
const REPEAT_ZERO = 17;
const REPEAT_ZERO_LONG = 18;

const runSymbols = new Uint8Array(LITERAL_SYMBOLS + DISTANCE_SYMBOLS);
const runExtras = new Uint8Array(LITERAL_SYMBOLS + DISTANCE_SYMBOLS);
const bothLengths = new Uint8Array(LITERAL_SYMBOLS + DISTANCE_SYMBOLS);
const runCounts = new Uint32Array(LENGTH_CODE_ORDER.length);
const runLengths = new Uint8Array(LENGTH_CODE_ORDER.length);
const runCodes = new Uint16Array(LENGTH_CODE_ORDER.length);

/** Writes the lengths of a block's two codes, runs of equal ones shortened, in a code of their own. */
export function writeCodeLengths(
  writer: BitWriter,
  symbolLengths: Uint8Array,
  distanceLengths: Uint8Array,
): void {
  const literals = usedLengths(symbolLengths, END_OF_BLOCK + 1);
  const distances = usedLengths(distanceLengths, 1);
  bothLengths.set(symbolLengths);
  bothLengths.set(distanceLengths.subarray(0, distances), literals);
  const runs = findRuns(literals + distances);
  codeLengths(runCounts, runLengths, MAX_LENGTH_CODE_BITS);
  canonicalCodes(runLengths, runCodes);
  let listed = LENGTH_CODE_ORDER.length;
  while (listed > 4 && runLengths[LENGTH_CODE_ORDER[listed - 1]] === 0) listed--;
  writer.put(literals - 257, 5);
  writer.put(distances - 1, 5);
  writer.put(listed - 4, 4);
  for (let i = 0; i < listed; i++) writer.put(runLengths[LENGTH_CODE_ORDER[i]], 3);
  for (let r = 0; r < runs; r++) {
    const symbol = runSymbols[r];
    writer.put(runCodes[symbol], runLengths[symbol]);
    if (symbol === REPEAT_LAST) writer.put(runExtras[r], 2);
    else if (symbol === REPEAT_ZERO) writer.put(runExtras[r], 3);
    else if (symbol === REPEAT_ZERO_LONG) writer.put(runExtras[r], 7);
  }
}

function usedLengths(lengths: Uint8Array, least: number): number {
  let used = lengths.length;
  while (used > least && lengths[used - 1] === 0) used--;
  return used;
}

/** Puts `bothLengths[0..count)` as symbols and what follows them into the runs' arrays. */
function findRuns(count: number): number {
  runCounts.fill(0);
  let runs = 0;
  const add = (symbol: number, extra: number): void => {
    runCounts[symbol]++;
    runSymbols[runs] = symbol;
    runExtras[runs++] = extra;
  };
  for (let at = 0; at < count;) {
    const length = bothLengths[at];
    let same = 1;
    while (at + same < count && bothLengths[at + same] === length) same++;
    at += same;
    if (length > 0) {
      add(length, 0);
      same--;
    }
    while (same >= 3) {
      const most = Math.min(same, length > 0 ? 6 : 138);
      if (length > 0) add(REPEAT_LAST, most - 3);
      else if (most <= 10) add(REPEAT_ZERO, most - 3);
      else add(REPEAT_ZERO_LONG, most - 11);
      same -= most;
    }
    for (; same > 0; same--) add(length, 0);
  }
  return runs;
}
