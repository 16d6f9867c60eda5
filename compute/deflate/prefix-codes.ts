/** Huffman codes of limited length. */

/** Longest code of any of deflate's alphabets. */
export const MAX_CODE_BITS = 15;
const MAX_SYMBOLS = 1024;

/** `count * MAX_SYMBOLS + symbol` of the symbols in use. */
const sorted = new Float64Array(MAX_SYMBOLS);
/** Counts of the tree's inner nodes; their depths later. */
const nodeCount = new Float64Array(MAX_SYMBOLS);
const nodeParent = new Uint16Array(MAX_SYMBOLS);
const leafParent = new Uint16Array(MAX_SYMBOLS);
const nodeDepth = new Uint16Array(MAX_SYMBOLS);
const lengthCounts = new Uint32Array(MAX_SYMBOLS);

/**
 * Computes a code: `lengths[symbol]` in bits, 0 if a symbol does not occur. At least two symbols get a code,
 * because decoders reject incomplete codes.
 *
 * @param counts how often each symbol occurs, below 2^32 in all
 * @param limit longest code in bits; 2^limit is at least the number of symbols
 */
export function codeLengths(counts: Uint32Array, lengths: Uint8Array, limit: number): void {
  lengths.fill(0);
  const used = sortUsed(counts);
  if (used < 2) {
    const only = used === 0 ? 0 : sorted[0] % MAX_SYMBOLS;
    lengths[only] = 1;
    lengths[only === 0 ? 1 : 0] = 1;
    return;
  }
  countLengths(used, limit);
  // The rarest symbols have the longest codes.
  let length = limit;
  for (let i = 0; i < used; i++) {
    while (lengthCounts[length] === 0) length--;
    lengthCounts[length]--;
    lengths[sorted[i] % MAX_SYMBOLS] = length;
  }
}

function sortUsed(counts: Uint32Array): number {
  let used = 0;
  for (let symbol = 0; symbol < counts.length; symbol++) {
    if (counts[symbol] > 0) sorted[used++] = counts[symbol] * MAX_SYMBOLS + symbol;
  }
  sorted.subarray(0, used).sort();
  return used;
}

/** How many codes of each length Huffman's tree over the sorted counts has, within the limit. */
function countLengths(used: number, limit: number): void {
  const inner = used - 1;
  let leaf = 0;
  let node = 0;
  for (let made = 0; made < inner; made++) {
    let sum = 0;
    for (let child = 0; child < 2; child++) {
      const count = leaf < used ? Math.floor(sorted[leaf] / MAX_SYMBOLS) : Infinity;
      if (node < made && nodeCount[node] < count) {
        sum += nodeCount[node];
        nodeParent[node++] = made;
      } else {
        sum += count;
        leafParent[leaf++] = made;
      }
    }
    nodeCount[made] = sum;
  }
  lengthCounts.fill(0);
  nodeDepth[inner - 1] = 0;
  for (let n = inner - 2; n >= 0; n--) nodeDepth[n] = nodeDepth[nodeParent[n]] + 1;
  for (let i = 0; i < used; i++) {
    lengthCounts[Math.min(limit, nodeDepth[leafParent[i]] + 1)]++;
  }
  repair(limit);
}

/** Completes the code after long codes were cut: Kraft's sum must be 1. */
function repair(limit: number): void {
  let kraft = 0;
  for (let length = 1; length <= limit; length++) {
    kraft += lengthCounts[length] << (limit - length);
  }
  for (; kraft > 1 << limit; kraft--) {
    let length = limit - 1;
    while (lengthCounts[length] === 0) length--;
    lengthCounts[limit]--;
    lengthCounts[length]--;
    lengthCounts[length + 1] += 2;
  }
}

const nextCode = new Uint16Array(MAX_CODE_BITS + 2);

/** Canonical codes of the lengths, first bit lowest, as deflate's stream has them. */
export function canonicalCodes(lengths: Uint8Array, codes: Uint16Array): void {
  nextCode.fill(0);
  for (const length of lengths) if (length > 0) nextCode[length + 1]++;
  for (let bits = 1; bits <= MAX_CODE_BITS; bits++) {
    nextCode[bits] = (nextCode[bits - 1] + nextCode[bits]) << 1;
  }
  for (let symbol = 0; symbol < lengths.length; symbol++) {
    const length = lengths[symbol];
    if (length > 0) codes[symbol] = reversed(nextCode[length]++, length);
  }
}

function reversed(code: number, length: number): number {
  let result = 0;
  for (let i = 0; i < length; i++, code >>= 1) result = (result << 1) | (code & 1);
  return result;
}
