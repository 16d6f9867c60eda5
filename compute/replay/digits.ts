/**
 * Writes numbers as JSON text directly as bytes. Every writer takes a position and returns the one after its
 * last byte. Texts of up to four characters are stored from tables as words of four bytes, so a writer may
 * touch TEXT_SLACK_BYTES after the position that it returns. The caller makes sure that the buffer is large
 * enough (MAX_*_BYTES).
 */
import { BIN_COUNT, MIN_BIN } from '../ladder.js';

/** Bytes that a writer may touch after the end of its text. */
const TEXT_SLACK_BYTES = 8;

/** The bytes to write to, and a view of the same bytes. */
export interface TextBuffer {
  readonly out: Uint8Array<ArrayBuffer>;
  readonly view: DataView<ArrayBuffer>;
}

let kept = newBuffer(0);

/**
 * The buffer to which every page is written before it is compressed or cut to length: a body takes a megabyte
 * or more, which would otherwise be garbage after each page. The limits of a page bound its size. It contains
 * bytes of earlier pages; a text in it is valid until the next call.
 *
 * @param bytes its least length, slack not counted
 */
export function textBuffer(bytes: number): TextBuffer {
  if (kept.out.length < bytes + TEXT_SLACK_BYTES) kept = newBuffer(bytes + TEXT_SLACK_BYTES);
  return kept;
}

function newBuffer(bytes: number): TextBuffer {
  const out = new Uint8Array(bytes);
  return { out, view: new DataView(out.buffer) };
}

const COMMA = 44;

/** Longest amount, 2^53 cents, and the comma after it. */
export const MAX_AMOUNT_BYTES = 18;
/** `-232,` */
export const MAX_BIN_BYTES = 5;
/** `65535,` */
export const MAX_INDEX_BYTES = 6;

const INT32_LIMIT = 0x8000_0000;
const EIGHT_DIGITS = 100_000_000;

/** Texts by number: the first four characters as a word, and the length. */
interface WordTable {
  /** Little-endian. */
  words: Uint32Array;
  lengths: Uint8Array;
}

function wordTable(count: number, textOf: (n: number) => string): WordTable {
  const table = { words: new Uint32Array(count), lengths: new Uint8Array(count) };
  for (let n = 0; n < count; n++) {
    const text = textOf(n);
    table.lengths[n] = text.length;
    for (let i = Math.min(text.length, 4) - 1; i >= 0; i--) {
      table.words[n] = (table.words[n] << 8) | text.charCodeAt(i);
    }
  }
  return table;
}

/** Numbers below 10,000, with leading zeros and without. */
const FOURS = wordTable(10_000, (n) => String(n).padStart(4, '0'));
const UINTS = wordTable(10_000, String);
/** The text after the dollars: `,` `.5,` `.05,` */
const CENTS = wordTable(100, (n) => {
  return n === 0 ? ',' : `.${String(n).padStart(2, '0').replace(/0$/, '')},`;
});
/** Bins with their comma; the fifth character of the longest is always the comma. */
const BINS = wordTable(BIN_COUNT, (b) => `${b + MIN_BIN},`);
/** Indexes that fit into a word with their comma. */
const INDEXES = wordTable(1000, (n) => `${n},`);

/** Writes ASCII text. */
export function writeAscii(out: Uint8Array, at: number, text: string): number {
  for (let i = 0; i < text.length; i++) out[at++] = text.charCodeAt(i);
  return at;
}

/** Writes an integer below 2^31 without leading zeros. */
export function writeUint(view: DataView, at: number, n: number): number {
  if (n >= 10_000) {
    const high = (n / 10_000) | 0;
    at = writeUint(view, at, high);
    view.setUint32(at, FOURS.words[n - high * 10_000], true);
    return at + 4;
  }
  view.setUint32(at, UINTS.words[n], true);
  return at + UINTS.lengths[n];
}

/** Writes cents as USD with a comma, exact and in the shortest form: `12,` `12.5,` `12.05,`. */
function writeCents(view: DataView, at: number, cents: number): number {
  if (cents >= INT32_LIMIT) return writeWideCents(view, at, cents);
  const whole = ((cents | 0) / 100) | 0;
  return writeFraction(view, writeUint(view, at, whole), (cents | 0) - whole * 100);
}

function writeFraction(view: DataView, at: number, cents: number): number {
  view.setUint32(at, CENTS.words[cents], true);
  return at + CENTS.lengths[cents];
}

/** Cents up to 2^53, by remainders of whole numbers: a quotient could round up to the next dollar. */
function writeWideCents(view: DataView, at: number, cents: number): number {
  const fraction = cents % 100;
  const whole = (cents - fraction) / 100;
  const low = whole % EIGHT_DIGITS;
  const high = (whole - low) / EIGHT_DIGITS;
  if (high === 0) at = writeUint(view, at, low);
  else {
    at = writeUint(view, at, high);
    const lowHigh = (low / 10_000) | 0;
    view.setUint32(at, FOURS.words[lowHigh], true);
    view.setUint32(at + 4, FOURS.words[low - lowHigh * 10_000], true);
    at += 8;
  }
  return writeFraction(view, at, fraction);
}

/**
 * Writes `amounts[from..to)` (cents) as USD, a comma after each.
 * @param marks if not null: gets the position of each amount, from index 0
 */
export function writeAmounts(
  { view }: TextBuffer,
  at: number,
  amounts: Float64Array,
  from: number,
  to: number,
  marks: Int32Array | null = null,
): number {
  if (marks === null) {
    for (let i = from; i < to; i++) at = writeCents(view, at, amounts[i]);
    return at;
  }
  for (let i = from; i < to; i++) {
    marks[i - from] = at;
    at = writeCents(view, at, amounts[i]);
  }
  return at;
}

/** Writes `bins[from..to)`, a comma after each. */
export function writeBins(
  { out, view }: TextBuffer,
  at: number,
  bins: Int16Array,
  from: number,
  to: number,
): number {
  const { words, lengths } = BINS;
  for (let i = from; i < to; i++) {
    const b = bins[i] - MIN_BIN;
    view.setUint32(at, words[b], true);
    out[at + 4] = COMMA;
    at += lengths[b];
  }
  return at;
}

/** Writes `indexes[from..to)`, a comma after each. */
export function writeIndexes(
  { out, view }: TextBuffer,
  at: number,
  indexes: Uint16Array,
  from: number,
  to: number,
): number {
  const { words, lengths } = INDEXES;
  for (let i = from; i < to; i++) {
    const index = indexes[i];
    if (index < words.length) {
      view.setUint32(at, words[index], true);
      at += lengths[index];
    } else {
      at = writeUint(view, at, index);
      out[at++] = COMMA;
    }
  }
  return at;
}
