/** Lists of pairs or triples of numbers: the cells, levels and bins of a market. */
import { Buffer } from 'node:buffer';
import {
  type FaultLog,
  type Fields,
  isTuple,
  LIST_EXPECTED,
  MAX_LEVELS_PER_LIST,
} from './fields.js';
import type { LineParser, TextReader } from './json-lines.js';
import { NumberReader } from './json-number.js';

/** Numbers per entry of the lists that are read from a line's bytes, by field. */
const WIDTHS = { cells: 3, bids: 2, asks: 2, bins: 3 } as const;
type ListName = keyof typeof WIDTHS;

/** Entry `i` begins at `values[start + i * width]`. */
export interface NumberList {
  values: Float64Array;
  start: number;
  length: number;
  /** Indexes of entries that do not have the list's width: their values are NaN. Null: none. */
  broken: ReadonlySet<number> | null;
}

/** A list of pairs or triples that comes from no line. */
export class GivenList implements NumberList {
  readonly broken = null;

  constructor(
    readonly values: Float64Array,
    readonly start: number,
    readonly length: number,
  ) {}
}

/** Begins the string that stands for a list in the text of its line. */
const MARK = '\0';
const MARK_ESCAPED = '\\u0000';

const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN = 0x5b;
const CLOSE = 0x5d;
const NAMES = Object.entries(WIDTHS).map(([name, width]) => ({
  name: Buffer.from(`"${name}`),
  width,
}));

const FIRST_CAPACITY = 4096;

/**
 * The lists of one row after another. Those in a line of JSON are read from its bytes: arrays of arrays would take more than
 * half of a chunk's time.
 */
export class NumberLists implements LineParser {
  private readonly reader = new NumberReader();
  private values = new Float64Array(FIRST_CAPACITY);
  private used = 0;
  /** First value and length of each list that was taken from the row's line. */
  private taken: { start: number; length: number }[] = [];

  parse(bytes: Uint8Array, start: number, end: number, textOf: TextReader): unknown {
    return JSON.parse(this.takeFrom(bytes, start, end, textOf));
  }

  /**
   * The text of a line for JSON.parse: valid, and with the same fields, exactly if the line is, but without the lists of
   * numbers that this takes. Each of them is a string that only read() understands.
   */
  takeFrom(bytes: Uint8Array, start: number, end: number, textOf: TextReader): string {
    this.used = 0;
    this.taken = [];
    let text = '';
    /** Whether the line has such strings itself: nothing is taken from it. */
    let hasMarks = false;
    let from = start;
    for (let at = start; at < end; at++) {
      if (bytes[at] !== OPEN) continue;
      const width = widthAt(bytes, start, at);
      const next = width === 0 ? -1 : this.take(bytes, at, width, textOf);
      if (next < 0) continue;
      const before = textOf(from, at);
      hasMarks ||= before.includes(MARK_ESCAPED);
      text += `${before}"${MARK_ESCAPED}${this.taken.length - 1}"`;
      from = next;
      at = next - 1;
    }
    const rest = textOf(from, end);
    if (this.taken.length === 0) return rest;
    if (!hasMarks && !rest.includes(MARK_ESCAPED)) return text + rest;
    this.taken = [];
    return textOf(start, end);
  }

  /** The list in `fields[name]`, given, an array or taken from the line, or null and a fault. */
  read(fields: Fields, name: ListName, path: string, faults: FaultLog): NumberList | null {
    const value = fields[name];
    const isList = Array.isArray(value) || value instanceof GivenList;
    const list = isList ? value : this.takenAs(value);
    if (list !== null && list.length <= MAX_LEVELS_PER_LIST) {
      return Array.isArray(list) ? listOf(list, WIDTHS[name]) : list;
    }
    faults.add(`${path}.${name}`, LIST_EXPECTED);
    return null;
  }

  private takenAs(mark: unknown): NumberList | null {
    if (this.taken.length === 0 || typeof mark !== 'string' || mark[0] !== MARK) return null;
    const { start, length } = this.taken[Number(mark.slice(1))];
    return { values: this.values, start, length, broken: null };
  }

  /**
   * Reads a list that begins at an opening bracket. JSON.parse gets those that are empty, have anything but numbers, or
   * other white space than the space.
   * @returns the offset after the list; -1 if it is left
   */
  private take(bytes: Uint8Array, open: number, width: number, textOf: TextReader): number {
    const { reader } = this;
    let { values, used } = this;
    let at = open;
    let length = 0;
    do {
      at = skipSpaces(bytes, at + 1);
      if (bytes[at] !== OPEN || length === MAX_LEVELS_PER_LIST) return -1;
      if (used + width > values.length) values = this.grow();
      for (let i = 0; i < width; i++) {
        at = skipSpaces(bytes, at + 1);
        at = reader.read(bytes, at, textOf);
        if (at < 0) return -1;
        values[used++] = reader.value;
        at = skipSpaces(bytes, at);
        if (bytes[at] !== (i === width - 1 ? CLOSE : COMMA)) return -1;
      }
      length++;
      at = skipSpaces(bytes, at + 1);
    } while (bytes[at] === COMMA);
    if (bytes[at] !== CLOSE) return -1;
    this.taken.push({ start: this.used, length });
    this.used = used;
    return at + 1;
  }

  private grow(): Float64Array<ArrayBuffer> {
    const { values } = this;
    this.values = new Float64Array(values.length * 2);
    this.values.set(values);
    return this.values;
  }
}

function skipSpaces(bytes: Uint8Array, from: number): number {
  let at = from;
  while (bytes[at] === SPACE) at++;
  return at;
}

/**
 * Numbers per entry of the list that begins at a bracket; 0 if the bracket does not follow the name of a known list. In valid
 * JSON, a name, its second quote and a colon before a bracket cannot be within a string, so the bracket begins a value.
 */
function widthAt(bytes: Uint8Array, start: number, bracket: number): number {
  let at = bracket - 1;
  while (bytes[at] === SPACE) at--;
  if (bytes[at] !== COLON) return 0;
  at--;
  while (bytes[at] === SPACE) at--;
  if (bytes[at] !== QUOTE) return 0;
  for (const { name, width } of NAMES) {
    const from = at - name.length;
    if (from >= start && name.every((byte, i) => bytes[from + i] === byte)) return width;
  }
  return 0;
}

function listOf(entries: readonly unknown[], width: number): NumberList {
  const values = new Float64Array(entries.length * width).fill(NaN);
  let broken: Set<number> | null = null;
  entries.forEach((entry, i) => {
    if (!isTuple(entry, width)) {
      (broken ??= new Set()).add(i);
      return;
    }
    for (let k = 0; k < width; k++) {
      const value = entry[k];
      if (typeof value === 'number') values[i * width + k] = value;
    }
  });
  return { values, start: 0, length: entries.length, broken };
}
