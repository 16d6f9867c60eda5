import { Buffer, isAscii } from 'node:buffer';
import { TextDecoder } from 'node:util';
import type { FaultLog } from './faults.js';

const NEWLINE = 0x0a;
const RETURN = 0x0d;
const SPACE = 0x20;
const TAB = 0x09;

/**
 * Reads the value of the line of `bytes` that a line feed ends at `end`; null leaves it to JSON.parse,
 * which would have given a value of the same meaning.
 */
export type LineScan = (bytes: Uint8Array, start: number, end: number) => unknown;

/**
 * Calls `take` with each line's JSON value, in order. Blank lines are skipped but counted, `\r\n`
 * ends a line too, the last line needs no end. A line that is not UTF-8 or not JSON is a fault of
 * field `json`. A byte-order mark is allowed where `firstLine` is 1.
 * @param take also gets the line's index within `bytes`, from 0
 * @param scan tried first on lines with an end
 * @returns lines that are not blank
 */
export function eachJsonLine(
  bytes: Uint8Array,
  firstLine: number,
  faults: FaultLog,
  take: (value: unknown, index: number) => void,
  scan?: LineScan,
): number {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  let textOf: TextReader | null = null;
  let start = firstLine === 1 && hasMark(bytes) ? 3 : 0;
  let rows = 0;
  for (let index = 0; start < bytes.length; index++) {
    const newline = buffer.indexOf(NEWLINE, start);
    const end = newline < 0 ? bytes.length : newline;
    if (!isBlank(bytes, start, end)) {
      rows++;
      faults.line = firstLine + index;
      const scanned = newline < 0 ? null : (scan?.(bytes, start, end) ?? null);
      if (scanned !== null) take(scanned, index);
      else parseLine((textOf ??= textReader(buffer)), start, end, index, faults, take);
    }
    start = end + 1;
  }
  return rows;
}

/** Reads texts of `bytes` by their place. It throws where they are not UTF-8. */
type TextReader = (start: number, end: number) => string;

function textReader(bytes: Buffer): TextReader {
  // Nothing is to be judged or widened then: twice as fast.
  if (isAscii(bytes)) return (start, end) => bytes.toString('latin1', start, end);
  const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  return (start, end) => utf8.decode(bytes.subarray(start, end));
}

function parseLine(
  textOf: TextReader,
  start: number,
  end: number,
  index: number,
  faults: FaultLog,
  take: (value: unknown, index: number) => void,
): void {
  let text: string;
  try {
    text = textOf(start, end);
  } catch {
    faults.add('json', 'must be UTF-8');
    return;
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    faults.add('json', 'must be one JSON object, whole on its line');
    return;
  }
  take(value, index);
}

function hasMark(bytes: Uint8Array): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}

function isBlank(bytes: Uint8Array, start: number, end: number): boolean {
  for (let i = start; i < end; i++) {
    const byte = bytes[i];
    if (byte !== SPACE && byte !== TAB && byte !== RETURN) return false;
  }
  return true;
}
