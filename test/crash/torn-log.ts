/** Damages DuckDB's log like a power loss: only bytes that no acknowledged commit needs. */
import { createHash } from 'node:crypto';
import { closeSync, existsSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import { DATABASE_FILE, LOG_FILE } from '../../storage/data-directory.js';
import { logMark } from '../../storage/duckdb/holder-file.js';
import { checkpointsBefore } from '../../storage/duckdb/log-frames.js';

const DAMAGES = ['cut', 'zeros', 'noise', 'longer'] as const;
/** Positions of DuckDB's two heads, each of which begins with a checksum and a number. */
const HEADS_AT = [4096, 8192];
const HEADS_BYTES = 3 * 4096;
const MOST_APPENDED_BYTES = 64 * 1024;

/** The log at an acknowledgement: this much is on the disk. */
export interface DurableLog {
  bytes: number;
  digest: string;
}

const logOf = (directory: string): string => path.join(directory, LOG_FILE);
const digestOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** How many checkpoints the database has had: they write one of two heads in turn. */
function checkpointsOf(directory: string): number {
  const head = readFileSync(path.join(directory, DATABASE_FILE)).subarray(0, HEADS_BYTES);
  return Math.max(...HEADS_AT.map((at) => Number(head.readBigUInt64LE(at + 8))));
}

export function durableLog(directory: string): DurableLog {
  const log = logOf(directory);
  const bytes = existsSync(log) ? readFileSync(log) : Buffer.alloc(0);
  return { bytes: bytes.length, digest: digestOf(bytes) };
}

/** Damages the log after its durable part. @returns how; null if there was nothing to damage */
export function damageTail(
  directory: string,
  durable: DurableLog,
  random: () => number,
): string | null {
  const log = logOf(directory);
  if (!existsSync(log)) return null;
  const bytes = readFileSync(log);
  if (bytes.length <= durable.bytes) return null;
  // A checkpoint syncs the whole log, with its own entry, before it writes the database's head.
  const before = checkpointsBefore(bytes);
  if (before !== null && before !== checkpointsOf(directory)) return null;
  // The log's mark states that a commit in it was synced.
  const mark = logMark(path.join(directory, DATABASE_FILE));
  if (durable.bytes === 0 && mark !== null && mark === String(before)) return null;
  // A checkpoint has begun another log.
  if (digestOf(bytes.subarray(0, durable.bytes)) !== durable.digest) return null;
  const how = DAMAGES[Math.floor(random() * DAMAGES.length)];
  const from = durable.bytes + Math.floor(random() * (bytes.length - durable.bytes));
  const noise = (length: number): Buffer =>
    Buffer.from(Array.from({ length }, () => Math.floor(random() * 256)));
  const handle = openSync(log, 'r+');
  try {
    if (how === 'cut') ftruncateSync(handle, from);
    else if (how === 'longer') {
      const more = Buffer.alloc(512 + Math.floor(random() * MOST_APPENDED_BYTES));
      writeSync(handle, more, 0, more.length, bytes.length);
    } else {
      const length = Math.min(bytes.length - from, MOST_APPENDED_BYTES);
      const rest = how === 'zeros' ? Buffer.alloc(length) : noise(length);
      writeSync(handle, rest, 0, length, from);
    }
  } finally {
    closeSync(handle);
  }
  return how;
}
