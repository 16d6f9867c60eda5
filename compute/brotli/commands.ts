/** Brotli's commands (RFC 7932, 5): so many literals, then a copy; and which symbols stand for them. */

/** Codes of lengths, the same number of both kinds. */
const LENGTH_CODES = 24;
/** Insert-and-copy symbols: below it those that leave the distance out, as it is the last one. */
export const COMMAND_SYMBOLS = 704;
/** Copies and inserts below these have codes small enough for a symbol without a distance. */
const NEAR_CODES = 8;
const MIDDLE_CODES = 16;

/** By code: bits that follow, and the shortest length that it stands for. */
interface LengthCodes {
  extraBits: Uint8Array;
  base: Uint32Array;
}

function lengthCodes(first: number, extraBits: readonly number[]): LengthCodes {
  const codes = { extraBits: Uint8Array.from(extraBits), base: new Uint32Array(LENGTH_CODES) };
  for (let code = 0, base = first; code < LENGTH_CODES; code++) {
    codes.base[code] = base;
    base += 2 ** extraBits[code];
  }
  return codes;
}

// prettier-ignore
export const INSERTS = lengthCodes(0, [0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7, 8, 9, 10, 12, 14, 24]);
// prettier-ignore
export const COPIES = lengthCodes(2, [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7, 8, 9, 10, 24]);

/** Codes of lengths below this stand in a table. */
const TABLED_LENGTHS = 1024;

function codeTable({ base }: LengthCodes): Uint8Array {
  const table = new Uint8Array(TABLED_LENGTHS);
  for (let length = base[0], code = 0; length < TABLED_LENGTHS; length++) {
    while (code + 1 < LENGTH_CODES && base[code + 1] <= length) code++;
    table[length] = code;
  }
  return table;
}

const INSERT_CODES = codeTable(INSERTS);
const COPY_CODES = codeTable(COPIES);

function codeOf({ base }: LengthCodes, table: Uint8Array, length: number): number {
  if (length < TABLED_LENGTHS) return table[length];
  let code = LENGTH_CODES - 1;
  while (base[code] > length) code--;
  return code;
}

/** Code of an insert, 0 and up. */
export const insertCode = (length: number): number => codeOf(INSERTS, INSERT_CODES, length);
/** Code of a copy, 2 and up. */
export const copyCode = (length: number): number => codeOf(COPIES, COPY_CODES, length);

/** By the codes' eighths, inserts first: the first symbol of their 64. */
const SYMBOL_BASES = [128, 192, 384, 256, 320, 512, 448, 576, 640];

/** Whether two codes have a symbol that says that the distance is the last one again. */
export function canLeaveDistanceOut(insert: number, copy: number): boolean {
  return insert < NEAR_CODES && copy < MIDDLE_CODES;
}

/** The symbol of two codes. */
export function commandSymbol(insert: number, copy: number, leavesDistanceOut: boolean): number {
  const low = ((insert & 7) << 3) | (copy & 7);
  if (leavesDistanceOut) return ((copy >> 3) << 6) | low;
  return SYMBOL_BASES[3 * (insert >> 3) + (copy >> 3)] | low;
}
