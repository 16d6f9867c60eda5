/** Values longer than one stored value may be, kept in parts. */
import { MAX_VALUE_BYTES } from './duckdb/database.js';

/** Cuts bytes into parts of at most `partBytes`; at least one. */
export function partsOf(bytes: Uint8Array, partBytes = MAX_VALUE_BYTES): Uint8Array[] {
  const parts: Uint8Array[] = [];
  let from = 0;
  do {
    parts.push(bytes.subarray(from, from + partBytes));
    from += partBytes;
  } while (from < bytes.length);
  return parts;
}

/** The parts as one value, in an ArrayBuffer of its own. */
export function joinedParts(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** A condition that lets DuckDB leave out row groups by the range of their ids; at least one id. */
export function isOneOf(column: string, ids: readonly number[]): string {
  let [low] = ids;
  let [high] = ids;
  for (const id of ids) {
    low = Math.min(low, id);
    high = Math.max(high, id);
  }
  return `${column} BETWEEN ${low} AND ${high} AND ${column} IN (${ids.join(',')})`;
}
