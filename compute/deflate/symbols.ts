/** Deflate's alphabets (RFC 1951, 3.2.5): which symbol stands for a length or a distance. */

export const MIN_MATCH_BYTES = 3;
export const MAX_MATCH_BYTES = 258;
export const MAX_DISTANCE_BYTES = 32_768;

/** Literals, the end of a block and lengths; distances. */
export const LITERAL_SYMBOLS = 286;
export const DISTANCE_SYMBOLS = 30;
export const END_OF_BLOCK = 256;
const FIRST_LENGTH_SYMBOL = 257;

/** By length, 3 to 258: its symbol, how many bits follow the symbol's code, and their value. */
export const LENGTH_SYMBOL = new Uint16Array(MAX_MATCH_BYTES + 1);
export const LENGTH_EXTRA_BITS = new Uint8Array(MAX_MATCH_BYTES + 1);
export const LENGTH_EXTRA = new Uint8Array(MAX_MATCH_BYTES + 1);

/** By symbol: bits that follow a length's code. */
export const LENGTH_SYMBOL_EXTRA_BITS = new Uint8Array(LITERAL_SYMBOLS);

/** By symbol: bits that follow its code, and the shortest distance that it stands for. */
export const DISTANCE_EXTRA_BITS = new Uint8Array(DISTANCE_SYMBOLS);
export const DISTANCE_BASE = new Uint16Array(DISTANCE_SYMBOLS);

/** By distance - 1 below 256, by (distance - 1) >> 7 behind that. */
const NEAR = 256;
const NEAR_SYMBOL = new Uint8Array(NEAR);
const FAR_SYMBOL = new Uint8Array(MAX_DISTANCE_BYTES >> 7);

/** Symbol of a distance, 1 to 32,768. */
export function distanceSymbol(distance: number): number {
  const d = distance - 1;
  return d < NEAR ? NEAR_SYMBOL[d] : FAR_SYMBOL[d >> 7];
}

function fillLengths(): void {
  let length = MIN_MATCH_BYTES;
  for (let symbol = FIRST_LENGTH_SYMBOL; symbol < LITERAL_SYMBOLS - 1; symbol++) {
    const step = symbol - FIRST_LENGTH_SYMBOL;
    const extraBits = step < 8 ? 0 : (step >> 2) - 1;
    LENGTH_SYMBOL_EXTRA_BITS[symbol] = extraBits;
    for (let extra = 0; extra < 1 << extraBits; extra++, length++) {
      LENGTH_SYMBOL[length] = symbol;
      LENGTH_EXTRA_BITS[length] = extraBits;
      LENGTH_EXTRA[length] = extra;
    }
  }
  // The longest has a symbol of its own.
  LENGTH_SYMBOL[MAX_MATCH_BYTES] = LITERAL_SYMBOLS - 1;
  LENGTH_EXTRA_BITS[MAX_MATCH_BYTES] = 0;
  LENGTH_EXTRA[MAX_MATCH_BYTES] = 0;
}

function fillDistances(): void {
  let distance = 1;
  for (let symbol = 0; symbol < DISTANCE_SYMBOLS; symbol++) {
    const extraBits = symbol < 4 ? 0 : (symbol >> 1) - 1;
    DISTANCE_EXTRA_BITS[symbol] = extraBits;
    DISTANCE_BASE[symbol] = distance;
    for (let extra = 0; extra < 1 << extraBits; extra++, distance++) {
      const d = distance - 1;
      if (d < NEAR) NEAR_SYMBOL[d] = symbol;
      else FAR_SYMBOL[d >> 7] = symbol;
    }
  }
}

fillLengths();
fillDistances();
