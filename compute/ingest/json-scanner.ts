/**
 * Reads the plain part of JSON from bytes: what JSON.parse reads too, with the same values, but
 * nothing nested of unknown shape, no escapes and ASCII alone. Whatever it does not take is left to
 * JSON.parse: no text is refused here.
 */
import { Buffer } from 'node:buffer';
import { KnownTexts } from './known-texts.js';
import { MAX_LEVELS_PER_LIST } from './limits.js';
import { NumberList, NumberRoom } from './number-list.js';

export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;
export const OPEN_BRACKET = 0x5b;
export const CLOSE_BRACKET = 0x5d;
export const COMMA = 0x2c;
const COLON = 0x3a;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const TAB = 0x09;
const RETURN = 0x0d;
const MINUS = 0x2d;
const PLUS = 0x2b;
const DOT = 0x2e;
const ZERO = 0x30;
const LETTER_N = 0x6e;
const LETTER_T = 0x74;
const LETTER_F = 0x66;
const FIRST_BEYOND_ASCII = 0x80;

/** Digits that a 32-bit integer holds, whatever they are. */
const INT32_DIGITS = 9;
/**
 * Digits that a double holds exactly, whatever they are. Such an integer over a power of ten up to
 * 10^22, which is exact too, is rounded once: to the double that is nearest to the decimal number.
 */
const EXACT_DIGITS = 15;
const POWERS_OF_TEN = Float64Array.from({ length: EXACT_DIGITS + 1 }, (_, i) => 10 ** i);

/** A value without parts; undefined where there is none, or not a plain one. */
export type Scalar = string | number | boolean | null | undefined;

/** Reads from `at` on; every method leaves `at` behind what it took, anywhere where it took nothing. */
export class JsonScanner {
  protected at = 0;
  protected readonly room = new NumberRoom();
  private bytes: Buffer = Buffer.alloc(0);
  private readonly known = new KnownTexts();
  private readonly number = new Float64Array(1);

  /** Turns to other bytes. What is read must end before a line feed: it is never looked beyond one. */
  protected use(bytes: Uint8Array): void {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  /** The byte at `at` behind white space. */
  protected peek(): number {
    const { bytes } = this;
    let byte = bytes[this.at];
    while (byte === SPACE || byte === TAB || byte === RETURN) byte = bytes[++this.at];
    return byte;
  }

  /** Takes a byte, white space before it too; false where another one stands there. */
  protected take(byte: number): boolean {
    if (this.peek() !== byte) return false;
    this.at++;
    return true;
  }

  /** A name and its colon; null where there is none. */
  protected name(): string | null {
    if (this.peek() !== QUOTE) return null;
    const name = this.text();
    return name !== null && this.take(COLON) ? name : null;
  }

  /** A text, a number, true, false or null. */
  protected scalar(): Scalar {
    const byte = this.peek();
    if (byte === QUOTE) return this.text() ?? undefined;
    if (byte === LETTER_N) return this.word('null') ? null : undefined;
    if (byte === LETTER_T) return this.word('true') ? true : undefined;
    if (byte === LETTER_F) return this.word('false') ? false : undefined;
    const next = this.longNumber(this.at, this.number, 0);
    if (next < 0) return undefined;
    this.at = next;
    return this.number[0];
  }

  /**
   * A list of lists of `width` numbers, from behind its bracket on; null where it is none, or longer
   * than one may be.
   */
  protected tuples(width: number): NumberList | null {
    const { bytes, room } = this;
    const from = room.length;
    if (this.peek() === CLOSE_BRACKET) {
      this.at++;
      return new NumberList(room, from, 0, width);
    }
    let { values } = room;
    let at = this.at;
    let filled = from;
    for (let entries = 1; entries <= MAX_LEVELS_PER_LIST; entries++) {
      if (bytes[at] !== OPEN_BRACKET) at = behindSpace(bytes, at);
      if (bytes[at] !== OPEN_BRACKET) return null;
      at++;
      if (filled + width > values.length) {
        if (!room.grow()) return null;
        values = room.values;
      }
      for (let i = 1; i <= width; i++) {
        if (bytes[at] <= SPACE) at = behindSpace(bytes, at);
        const start = at;
        at = shortNumber(bytes, start, values, filled);
        if (at < 0) at = this.longNumber(start, values, filled);
        if (at < 0) return null;
        filled++;
        const closing = i === width ? CLOSE_BRACKET : COMMA;
        if (bytes[at] !== closing) at = behindSpace(bytes, at);
        if (bytes[at] !== closing) return null;
        at++;
      }
      if (bytes[at] !== COMMA) {
        at = behindSpace(bytes, at);
        if (bytes[at] === CLOSE_BRACKET) {
          this.at = at + 1;
          room.length = filled;
          return new NumberList(room, from, entries, width);
        }
        if (bytes[at] !== COMMA) return null;
      }
      at++;
    }
    return null;
  }

  /** The text whose quote is at `at`. */
  private text(): string | null {
    const { bytes } = this;
    const from = this.at + 1;
    let hash = 0;
    let at = from;
    for (;;) {
      const byte = bytes[at];
      if (byte === QUOTE) break;
      if (!(byte >= SPACE) || byte === BACKSLASH || byte >= FIRST_BEYOND_ASCII) return null;
      hash = (Math.imul(hash, 31) + byte) | 0;
      at++;
    }
    this.at = at + 1;
    return this.known.text(bytes, from, at, hash);
  }

  private word(word: string): boolean {
    for (let i = 0; i < word.length; i++) {
      if (this.bytes[this.at + i] !== word.charCodeAt(i)) return false;
    }
    this.at += word.length;
    return true;
  }

  /**
   * Writes the number that begins at `start` into a column.
   * @returns the place behind it, -1 where none begins there
   */
  private longNumber(start: number, into: Float64Array, index: number): number {
    const { bytes } = this;
    const isNegative = bytes[start] === MINUS;
    const firstDigit = isNegative ? start + 1 : start;
    let mantissa = 0;
    let at = firstDigit;
    while (isDigit(bytes[at])) mantissa = mantissa * 10 + (bytes[at++] - ZERO);
    let digits = at - firstDigit;
    if (digits === 0 || (digits > 1 && bytes[firstDigit] === ZERO)) return -1;
    let scale = 0;
    if (bytes[at] === DOT) {
      const firstDecimal = ++at;
      while (isDigit(bytes[at])) mantissa = mantissa * 10 + (bytes[at++] - ZERO);
      scale = at - firstDecimal;
      if (scale === 0) return -1;
      digits += scale;
    }
    const hasExponent = isExponent(bytes[at]);
    if (hasExponent) {
      at++;
      if (bytes[at] === PLUS || bytes[at] === MINUS) at++;
      if (!isDigit(bytes[at])) return -1;
      while (isDigit(bytes[at])) at++;
    }
    if (hasExponent || digits > EXACT_DIGITS) {
      into[index] = Number(bytes.toString('latin1', start, at));
    } else {
      const value = mantissa / POWERS_OF_TEN[scale];
      into[index] = isNegative ? -value : value;
    }
    return at;
  }
}

/**
 * Writes the number that begins at `start` into a column, if it is as short as most: no exponent and
 * few digits.
 * @returns the place behind it, -1 where none or a longer one begins there
 */
function shortNumber(bytes: Uint8Array, start: number, into: Float64Array, index: number): number {
  const isNegative = bytes[start] === MINUS;
  const firstDigit = isNegative ? start + 1 : start;
  let at = firstDigit;
  let mantissa = 0;
  let digit = bytes[at] - ZERO;
  while (digit >= 0 && digit <= 9) {
    mantissa = (Math.imul(mantissa, 10) + digit) | 0;
    digit = bytes[++at] - ZERO;
  }
  let digits = at - firstDigit;
  // A number begins with 0 only where that is all of its whole part.
  if (digits === 0 || (digits > 1 && bytes[firstDigit] === ZERO)) return -1;
  let scale = 0;
  if (bytes[at] === DOT) {
    const firstDecimal = ++at;
    digit = bytes[at] - ZERO;
    while (digit >= 0 && digit <= 9) {
      mantissa = (Math.imul(mantissa, 10) + digit) | 0;
      digit = bytes[++at] - ZERO;
    }
    scale = at - firstDecimal;
    if (scale === 0) return -1;
    digits += scale;
  }
  if (digits > INT32_DIGITS || isExponent(bytes[at])) return -1;
  const value = scale === 0 ? mantissa : mantissa / POWERS_OF_TEN[scale];
  into[index] = isNegative ? -value : value;
  return at;
}

function behindSpace(bytes: Uint8Array, from: number): number {
  let at = from;
  while (bytes[at] === SPACE || bytes[at] === TAB || bytes[at] === RETURN) at++;
  return at;
}

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= ZERO + 9;
}

/** `e` or `E`. */
function isExponent(byte: number): boolean {
  return byte === 0x65 || byte === 0x45;
}
