/**
 * Columns of numbers as planes of bytes: every first byte, then every second one, and so on. Small
 * numbers then leave whole planes of zeros, and doubles of one size share theirs, which LZ4 packs.
 */

/** Writes 32-bit words as four planes from `at` on. */
export function writePlanes(words: Uint32Array, into: Uint8Array, at: number): void {
  const { length } = words;
  for (let i = 0; i < length; i++) {
    const word = words[i];
    into[at + i] = word;
    into[at + length + i] = word >>> 8;
    into[at + 2 * length + i] = word >>> 16;
    into[at + 3 * length + i] = word >>> 24;
  }
}

/** Word `i` of a column of `length` words that writePlanes wrote from `at` on, as unsigned. */
export function planeWord(bytes: Uint8Array, at: number, length: number, i: number): number {
  const first = at + i;
  return (
    (bytes[first] |
      (bytes[first + length] << 8) |
      (bytes[first + 2 * length] << 16) |
      (bytes[first + 3 * length] << 24)) >>>
    0
  );
}
