/** NDJSON, line by line. */
import { Buffer, isAscii } from 'node:buffer';
import { TextDecoder } from 'node:util';
import { type FaultLog, MAX_FAULTS } from './fields.js';

const NEWLINE = 0x0a;
const RETURN = 0x0d;
const SPACE = 0x20;
const TAB = 0x09;

/** Decodes bytes from `start` to `end`. Throws if they are not UTF-8. */
export type TextReader = (start: number, end: number) => string;

export interface LineParser {
  /**
   * The value of the line in these bytes.
   * @throws SyntaxError if it is not JSON, and what `textOf` throws
   */
  parse(bytes: Uint8Array, start: number, end: number, textOf: TextReader): unknown;
}

/**
 * Calls `take` with the JSON value of each line, in order. Blank lines are skipped but counted; lines
 * end with `\n` or `\r\n`. A line that is not UTF-8 or not JSON is a fault of field `json`; the last one of MAX_FAULTS
 * ends the reading, since each costs as much as many good lines. A byte-order mark is allowed if `firstLine` is 1.
 * @param take also gets the line's index within `bytes`, from 0
 * @param parser reads the lines, never `undefined`
 * @returns the number of lines that are not blank
 */
export function eachJsonLine(
  bytes: Uint8Array,
  firstLine: number,
  faults: FaultLog,
  take: (value: unknown, index: number) => void,
  parser: LineParser,
): number {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const textOf = textReader(buffer);
  let start = firstLine === 1 && hasMark(bytes) ? 3 : 0;
  let rows = 0;
  let broken = 0;
  for (let index = 0; start < bytes.length && broken < MAX_FAULTS; index++) {
    const newline = buffer.indexOf(NEWLINE, start);
    const end = newline < 0 ? bytes.length : newline;
    if (!isBlankLine(bytes, start, end)) {
      rows++;
      faults.line = firstLine + index;
      const value = parseLine(parser, bytes, start, end, textOf, faults);
      if (value === undefined) broken++;
      else take(value, index);
    }
    start = end + 1;
  }
  return rows;
}

function textReader(bytes: Buffer): TextReader {
  // Twice as fast: ASCII needs no check and no widening.
  if (isAscii(bytes)) return (start, end) => bytes.toString('latin1', start, end);
  const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  return (start, end) => utf8.decode(bytes.subarray(start, end));
}

/** The line's value; undefined and a fault if it is not JSON. */
function parseLine(
  parser: LineParser,
  bytes: Uint8Array,
  start: number,
  end: number,
  textOf: TextReader,
  faults: FaultLog,
): unknown {
  try {
    return parser.parse(bytes, start, end, textOf);
  } catch (error) {
    const isText = error instanceof SyntaxError;
    faults.add('json', isText ? 'must be one JSON object, whole on its line' : 'must be UTF-8');
    return undefined;
  }
}

function hasMark(bytes: Uint8Array): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}

/** Whether a line holds nothing, with or without its end. */
export function isBlankLine(bytes: Uint8Array, start: number, end: number): boolean {
  for (let i = start; i < end; i++) {
    const byte = bytes[i];
    if (byte !== SPACE && byte !== TAB && byte !== RETURN && byte !== NEWLINE) return false;
  }
  return true;
}
