/**
 * The frames of DuckDB's log (its write-ahead log, version 2), read without DuckDB. If an entry's length reaches past
 * the end, DuckDB takes that for the end of the log and silently drops the commits after it. It also refuses a log
 * with zeros after its last commit. A log is a header, then entries: u64 length, u64 checksum, payload. A constant
 * entry, the mark, ends each commit.
 */

interface LogReading {
  /**
   * whole: it ends with a commit. torn: after the last whole commit it has the beginning of an unfinished one. damaged:
   * it is broken, and a commit's mark follows. blank: it does not begin like a log.
   */
  state: 'whole' | 'torn' | 'damaged' | 'blank';
  /** Where the last commit before any fault ends. */
  wholeBytes: number;
}

/** Ids of the header's fields, and the id that ends them. */
const HEADER_FIELDS = { type: 100, version: 101, databaseId: 102, iteration: 103, end: 0xffff };
const LOG_VERSION = 2;
const DATABASE_ID_NUMBERS = 16;
const MAX_NUMBER_BYTES = 10;
/** Length and checksum of an entry. */
const PREFIX_BYTES = 16;
/** The entry that ends a commit. */
const COMMIT_MARK = Buffer.from('0500000000000000e7fe7d722fed3d5e640064ffff', 'hex');
/** An entry that differs from the mark in at most this many bits is a damaged mark: other entries differ in far more. */
const MAX_FLIPPED_BITS = 4;

export function readLog(bytes: Uint8Array): LogReading {
  const log = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const begin = readHeader(log)?.end ?? null;
  let at = begin ?? 0;
  let wholeBytes = 0;
  for (let end = begin && entryEnd(log, at); end !== null; end = entryEnd(log, at)) {
    if (log.subarray(at, end).equals(COMMIT_MARK)) wholeBytes = end;
    at = end;
  }
  if (at > 0 && at === log.length && at === wholeBytes) return { state: 'whole', wholeBytes };
  if (log.includes(COMMIT_MARK, at) || isDamagedMark(log.subarray(at))) {
    return { state: 'damaged', wholeBytes };
  }
  return { state: begin === null ? 'blank' : 'torn', wholeBytes };
}

/** How many checkpoints the database had when the log was begun; null without a header. */
export function checkpointsBefore(bytes: Buffer): number | null {
  return readHeader(bytes)?.iteration ?? null;
}

/** Null if there is no header. */
function readHeader(log: Buffer): { end: number; iteration: number } | null {
  const reader = new HeaderReader(log);
  let version = 0;
  let iteration = 0;
  for (;;) {
    const field = reader.field();
    if (field === HEADER_FIELDS.end) {
      return version === LOG_VERSION ? { end: reader.at, iteration } : null;
    }
    if (field === HEADER_FIELDS.databaseId) {
      const count = reader.number();
      if (count !== DATABASE_ID_NUMBERS) return null;
      for (let i = 0; i < count; i++) reader.number();
    } else if (field >= HEADER_FIELDS.type && field <= HEADER_FIELDS.iteration) {
      const value = reader.number();
      if (field === HEADER_FIELDS.version) version = value;
      if (field === HEADER_FIELDS.iteration) iteration = value;
    } else return null;
  }
}

/** Reads fields and numbers of 7 bits per byte; past the end, it finds unknown fields and zeros. */
class HeaderReader {
  at = 0;

  constructor(private readonly log: Buffer) {}

  field(): number {
    this.at += 2;
    return this.at <= this.log.length ? this.log.readUInt16LE(this.at - 2) : 0;
  }

  number(): number {
    let value = 0;
    for (let i = 0; i < MAX_NUMBER_BYTES; i++) {
      const byte = this.at < this.log.length ? this.log[this.at++] : 0;
      value += (byte & 127) * 128 ** i;
      if (byte < 128) break;
    }
    return value;
  }
}

/** Where the entry at this position ends; null if the log has no whole entry there. */
function entryEnd(log: Buffer, at: number): number | null {
  const from = at + PREFIX_BYTES;
  if (from > log.length) return null;
  const end = from + Number(log.readBigUInt64LE(at));
  if (end > log.length) return null;
  return checksum(log.subarray(from, end)) === log.readBigUInt64LE(at + 8) ? end : null;
}

const u64 = (value: bigint): bigint => BigInt.asUintN(64, value);

/** DuckDB's checksum: it multiplies each u64, and hashes the rest like MurmurHash64A. */
function checksum(payload: Buffer): bigint {
  const restBytes = payload.length % 8;
  const restAt = payload.length - restBytes;
  let sum = 5381n;
  for (let at = 0; at < restAt; at += 8) {
    sum ^= u64(payload.readBigUInt64LE(at) * 0xbf58476d1ce4e5b9n);
  }
  if (restBytes === 0) return sum;
  const m = 0xc6a4a7935bd1e995n;
  const rest = Buffer.alloc(8);
  payload.copy(rest, 0, restAt);
  let hash = u64(0xe17a1465n ^ u64(BigInt(restBytes) * m));
  hash = u64((hash ^ rest.readBigUInt64LE()) * m);
  hash = u64((hash ^ (hash >> 47n)) * m);
  return sum ^ hash ^ (hash >> 47n);
}

/** Whether these bytes begin with a mark that has a few wrong bits. */
function isDamagedMark(bytes: Buffer): boolean {
  if (bytes.length < COMMIT_MARK.length) return false;
  let flipped = 0;
  for (const [i, byte] of COMMIT_MARK.entries()) {
    for (let bits = byte ^ bytes[i]; bits > 0; bits >>= 1) flipped += bits & 1;
  }
  return flipped <= MAX_FLIPPED_BITS;
}
