/** Lines of JSON that differ from the line before only in numbers, as most rows of flat cells do. */
import { isFields } from './fields.js';
import type { LineParser, TextReader } from './json-lines.js';
import { NumberReader } from './json-number.js';

const TAB = 0x09;
const RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPENING = [0x5b, 0x7b];
const CLOSING = [0x5d, 0x7d];

/** Lines that are parsed without being remembered after a remembered one was of no use: rows may alternate. */
const PAUSE_LINES = 16;

/** A line's bytes up to a number, and the index of the number's field; -1 if it is not one of the wanted fields. */
interface Part {
  before: Uint8Array;
  field: number;
}

/**
 * Parses lines of flat rows: to `numbers` if a line is like the last one that became a row except for its numbers,
 * otherwise to a row.
 */
export class RepeatedLines implements LineParser {
  /** The wanted fields of a line like the last row's; NaN: not a number there. */
  readonly numbers: Float64Array;
  private readonly reader = new NumberReader();
  /** The last row's line; null if no other can be compared with it. */
  private parts: Part[] | null = null;
  private after: Uint8Array = new Uint8Array();
  private isUsed = false;
  private pause = 0;

  /**
   * @param wanted fields with numbers
   * @param texts fields with something else: a line that has a number in one of them is like no other
   */
  constructor(
    private readonly wanted: readonly string[],
    private readonly texts: readonly string[],
  ) {
    this.numbers = new Float64Array(wanted.length);
  }

  parse(bytes: Uint8Array, start: number, end: number, textOf: TextReader): unknown {
    if (this.parts !== null) {
      if (this.repeats(this.parts, bytes, start, end, textOf)) {
        this.isUsed = true;
        return this.numbers;
      }
      if (!this.isUsed) this.pause = PAUSE_LINES;
      this.parts = null;
    }
    const row = JSON.parse(textOf(start, end)) as unknown;
    if (this.pause > 0) this.pause--;
    else if (isFields(row)) this.remember(bytes, start, end, textOf);
    return row;
  }

  private repeats(
    parts: readonly Part[],
    bytes: Uint8Array,
    start: number,
    end: number,
    textOf: TextReader,
  ): boolean {
    const { reader, numbers, after } = this;
    let at = start;
    for (const { before, field } of parts) {
      if (!holds(bytes, at, before)) return false;
      at = reader.read(bytes, at + before.length, textOf);
      if (at < 0) return false;
      if (field >= 0) numbers[field] = reader.value;
    }
    return at + after.length === end && holds(bytes, at, after);
  }

  /** Cuts the line of a row, valid JSON, before and after its numbers. */
  private remember(bytes: Uint8Array, start: number, end: number, textOf: TextReader): void {
    const parts: Part[] = [];
    const names = new Set<string>();
    let depth = 0;
    let from = start;
    let name = '';
    for (let at = start; at < end; at++) {
      const byte = bytes[at];
      if (byte === QUOTE) {
        const close = closingQuote(bytes, at);
        if (depth === 1 && bytes[skipSpaces(bytes, close + 1)] === COLON) {
          name = textOf(at + 1, close);
          // Only the last of several counts.
          if (names.has(name) || name.includes('\\')) return;
          names.add(name);
        }
        at = close;
      } else if (OPENING.includes(byte)) {
        depth++;
      } else if (CLOSING.includes(byte)) {
        depth--;
      } else if (depth === 1 && (byte === MINUS || (byte >= ZERO && byte <= NINE))) {
        const next = this.reader.read(bytes, at, textOf);
        if (next < 0 || this.texts.includes(name)) return;
        parts.push({ before: bytes.slice(from, at), field: this.wanted.indexOf(name) });
        from = next;
        at = next - 1;
      }
    }
    this.parts = parts;
    this.after = bytes.slice(from, end);
    this.isUsed = false;
    this.numbers.fill(NaN);
  }
}

/** Whether bytes continue with others. */
function holds(bytes: Uint8Array, start: number, others: Uint8Array): boolean {
  const { length } = others;
  for (let i = 0; i < length; i++) if (bytes[start + i] !== others[i]) return false;
  return true;
}

function closingQuote(bytes: Uint8Array, open: number): number {
  let at = open + 1;
  while (bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}

function skipSpaces(bytes: Uint8Array, from: number): number {
  let at = from;
  while (bytes[at] === SPACE || bytes[at] === TAB || bytes[at] === RETURN) at++;
  return at;
}
