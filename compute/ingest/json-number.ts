/** Numbers of JSON, read from bytes. */
import type { TextReader } from './json-lines.js';

const SPACE = 0x20;
const PLUS = 0x2b;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const LOWER_E = 0x65;

/** Integers and powers of ten up to these are exact as doubles, so one division rounds correctly. */
const MAX_EXACT = Number.MAX_SAFE_INTEGER;
const MAX_EXACT_POWER = 22;
const POWERS = Float64Array.from({ length: MAX_EXACT_POWER + 1 }, (_, i) => Number(`1e${i}`));

export class NumberReader {
  /** The number that was read last. */
  value = NaN;

  /**
   * Reads the number that begins at a byte, as JSON.parse would.
   * @param textOf decodes the bytes
   * @returns the offset after it; -1 if there is none
   */
  read(bytes: Uint8Array, start: number, textOf: TextReader): number {
    let at = start;
    const isNegative = bytes[at] === MINUS;
    if (isNegative) at++;
    let digit = bytes[at] - ZERO;
    // Also false beyond the last byte.
    if (!(digit >= 0 && digit <= 9)) return -1;
    let digits = digit;
    at++;
    if (digit !== 0) {
      while ((digit = bytes[at] - ZERO) >= 0 && digit <= 9) {
        digits = digits * 10 + digit;
        at++;
      }
    }
    let places = 0;
    if (bytes[at] === POINT) {
      const point = at++;
      while ((digit = bytes[at] - ZERO) >= 0 && digit <= 9) {
        digits = digits * 10 + digit;
        at++;
      }
      places = at - point - 1;
      if (places === 0) return -1;
    }
    if (digits > MAX_EXACT || places > MAX_EXACT_POWER || (bytes[at] | SPACE) === LOWER_E) {
      return this.readOther(bytes, start, at, textOf);
    }
    if (places > 0) digits /= POWERS[places];
    this.value = isNegative ? -digits : digits;
    return at;
  }

  /** Reads a number with an exponent, or with digits that are not exact. @param end the end of its digits */
  private readOther(bytes: Uint8Array, start: number, end: number, textOf: TextReader): number {
    let at = end;
    if ((bytes[at] | SPACE) === LOWER_E) {
      at++;
      if (bytes[at] === PLUS || bytes[at] === MINUS) at++;
      const first = at;
      while (bytes[at] >= ZERO && bytes[at] <= NINE) at++;
      if (at === first) return -1;
    }
    this.value = Number(textOf(start, at));
    return at;
  }
}
