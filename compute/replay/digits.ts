/**
 * Numbers as JSON text, straight into bytes. Every writer takes the position to write at and returns
 * the one after its last byte; the caller sees to it that there is room (MAX_*_BYTES).
 */
import { BIN_COUNT, MIN_BIN } from '../ladder/ladder.js';

const ZERO = 48;
const DOT = 46;
const COMMA = 44;

/** Longest amount, 2^53 cents, and the comma after it. */
export const MAX_AMOUNT_BYTES = 18;
/** `-232,` */
export const MAX_BIN_BYTES = 5;
/** `65535,` */
export const MAX_INDEX_BYTES = 6;

const INT32_LIMIT = 0x8000_0000;
const EIGHT_DIGITS = 100_000_000;

/** The four digits of every number below 10,000, leading zeros included. */
const FOURS = new Uint8Array(40_000);
for (let n = 0; n < 10_000; n++) {
  FOURS[4 * n] = ZERO + Math.floor(n / 1000);
  FOURS[4 * n + 1] = ZERO + (Math.floor(n / 100) % 10);
  FOURS[4 * n + 2] = ZERO + (Math.floor(n / 10) % 10);
  FOURS[4 * n + 3] = ZERO + (n % 10);
}

/** Text of every bin with its comma, MAX_BIN_BYTES apart, and its length. */
const BIN_TEXT = new Uint8Array(BIN_COUNT * MAX_BIN_BYTES);
const BIN_LENGTH = new Uint8Array(BIN_COUNT);
for (let b = 0; b < BIN_COUNT; b++) {
  BIN_LENGTH[b] = writeAscii(BIN_TEXT, b * MAX_BIN_BYTES, `${b + MIN_BIN},`) - b * MAX_BIN_BYTES;
}

/** Writes ASCII text. */
export function writeAscii(out: Uint8Array, at: number, text: string): number {
  for (let i = 0; i < text.length; i++) out[at++] = text.charCodeAt(i);
  return at;
}

/** Writes all four digits of `n < 10_000`. */
function writeFour(out: Uint8Array, at: number, n: number): number {
  const from = n << 2;
  out[at] = FOURS[from];
  out[at + 1] = FOURS[from + 1];
  out[at + 2] = FOURS[from + 2];
  out[at + 3] = FOURS[from + 3];
  return at + 4;
}

/** Writes an integer below 2^31 without leading zeros. */
export function writeUint(out: Uint8Array, at: number, n: number): number {
  if (n >= 10_000) {
    const high = (n / 10_000) | 0;
    return writeFour(out, writeUint(out, at, high), n - high * 10_000);
  }
  const from = n << 2;
  if (n >= 1000) out[at++] = FOURS[from];
  if (n >= 100) out[at++] = FOURS[from + 1];
  if (n >= 10) out[at++] = FOURS[from + 2];
  out[at++] = FOURS[from + 3];
  return at;
}

/** Writes cents as USD, exact and as short as it gets: `12`, `12.5`, `12.05`. */
function writeCents(out: Uint8Array, at: number, cents: number): number {
  if (cents >= INT32_LIMIT) return writeWideCents(out, at, cents);
  const whole = ((cents | 0) / 100) | 0;
  return writeFraction(out, writeUint(out, at, whole), (cents | 0) - whole * 100);
}

function writeFraction(out: Uint8Array, at: number, cents: number): number {
  if (cents === 0) return at;
  const from = cents << 2;
  out[at] = DOT;
  out[at + 1] = FOURS[from + 2];
  const ones = FOURS[from + 3];
  if (ones === ZERO) return at + 2;
  out[at + 2] = ones;
  return at + 3;
}

/** Cents up to 2^53. Only remainders of whole numbers: a quotient could round to the next dollar. */
function writeWideCents(out: Uint8Array, at: number, cents: number): number {
  const fraction = cents % 100;
  const whole = (cents - fraction) / 100;
  const low = whole % EIGHT_DIGITS;
  const high = (whole - low) / EIGHT_DIGITS;
  if (high === 0) at = writeUint(out, at, low);
  else {
    at = writeUint(out, at, high);
    const lowHigh = (low / 10_000) | 0;
    at = writeFour(out, writeFour(out, at, lowHigh), low - lowHigh * 10_000);
  }
  return writeFraction(out, at, fraction);
}

/** Writes `amounts[from..to)` (cents) as USD, a comma after each. */
export function writeAmounts(
  out: Uint8Array,
  at: number,
  amounts: Float64Array,
  from: number,
  to: number,
): number {
  for (let i = from; i < to; i++) {
    at = writeCents(out, at, amounts[i]);
    out[at++] = COMMA;
  }
  return at;
}

/** Writes `bins[from..to)`, a comma after each. May touch bytes after the position it returns. */
export function writeBins(
  out: Uint8Array,
  at: number,
  bins: Int16Array,
  from: number,
  to: number,
): number {
  for (let i = from; i < to; i++) {
    const b = bins[i] - MIN_BIN;
    const text = b * MAX_BIN_BYTES;
    out[at] = BIN_TEXT[text];
    out[at + 1] = BIN_TEXT[text + 1];
    out[at + 2] = BIN_TEXT[text + 2];
    out[at + 3] = BIN_TEXT[text + 3];
    out[at + 4] = BIN_TEXT[text + 4];
    at += BIN_LENGTH[b];
  }
  return at;
}

/** Writes `indexes[from..to)`, a comma after each. */
export function writeIndexes(
  out: Uint8Array,
  at: number,
  indexes: Uint16Array,
  from: number,
  to: number,
): number {
  for (let i = from; i < to; i++) {
    at = writeUint(out, at, indexes[i]);
    out[at++] = COMMA;
  }
  return at;
}
