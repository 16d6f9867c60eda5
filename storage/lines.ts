/** Files and pipes of text, as lines within a bound: read, decompressed, checked for UTF-8. */
import { isUtf8 } from 'node:buffer';
import { createReadStream } from 'node:fs';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { InputError } from './errors.js';

/** Bytes read, inflated and passed on at once. */
const CHUNK_BYTES = 1024 * 1024;
/** A longer line (or CSV record) is refused. */
export const MAX_LINE_BYTES = 64 * 1024 * 1024;

/**
 * V8 copies live objects whenever it collects young ones: readers that hold the lines of a whole chunk spend a third of
 * their time on that.
 */
const LINES_PER_BATCH = 256;

const NEWLINE = 0x0a;
const RETURN = 0x0d;
const BOM = [0xef, 0xbb, 0xbf];

/** First bytes of files that are no texts in UTF-8, and what to say of them. */
const KINDS: readonly (readonly [start: string, what: string])[] = [
  ['\xff\xfe', 'it is UTF-16, which iconv -f UTF-16 -t UTF-8 converts'],
  ['\xfe\xff', 'it is UTF-16, which iconv -f UTF-16 -t UTF-8 converts'],
  ['PAR1', 'it is Parquet, which ingest reads with --format parquet'],
  ['ARROW1', 'it is Arrow, which ingest reads with --format arrow'],
  ['\x28\xb5\x2f\xfd', 'it is packed: unpack it with zstd -d'],
  ['\xfd7zXZ', 'it is packed: unpack it with xz -d'],
  ['BZh', 'it is packed: unpack it with bzip2 -d'],
  ['\x04\x22\x4d\x18', 'it is packed: unpack it with lz4 -d'],
  ['PK\x03\x04', 'it is packed, or a spreadsheet: unpack it, or save it as text'],
];

/** Complete lines of a file; only the file's last line may lack its newline. */
export interface LineChunk {
  bytes: Uint8Array;
  /** Number of the chunk's first line in the file, counted from 1. */
  firstLine: number;
}

export interface Line {
  /** Number of the line in the file, counted from 1. */
  line: number;
  /** Without its line end (LF or CRLF). */
  text: string;
}

/**
 * A file's bytes, inflated if its first two bytes are those of gzip (one or more members), whatever its name. Throws an
 * InputError naming the file if it cannot be read, if its gzip is cut short or damaged, or if it begins like no text.
 */
export async function* readBytes(path: string): AsyncGenerator<Uint8Array, void, undefined> {
  const file = createReadStream(path, { highWaterMark: CHUNK_BYTES });
  try {
    const chunks = file[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    let head = await nextOrEmpty(chunks);
    while (head.length === 1) {
      const more = await nextOrEmpty(chunks);
      if (more.length === 0) break;
      head = Buffer.concat([head, more]);
    }
    if (head[0] === 0x1f && head[1] === 0x8b) yield* inflate(head, chunks);
    else {
      refuseKinds(path, head);
      yield* chain(head, chunks);
    }
  } catch (error) {
    throw asInputError(path, error);
  } finally {
    file.destroy();
  }
}

/** @throws InputError that says what the file is, and how to go on */
function refuseKinds(path: string, head: Buffer): void {
  const found = KINDS.find(([start]) => head.toString('latin1', 0, start.length) === start);
  if (found === undefined || isUtf8(head)) return;
  throw new InputError(`${path}:1: the text is not UTF-8: ${found[1]}`);
}

async function nextOrEmpty(chunks: AsyncIterator<Buffer>): Promise<Buffer> {
  const next = await chunks.next();
  return next.done === true ? Buffer.alloc(0) : next.value;
}

async function* chain(head: Buffer, rest: AsyncIterator<Buffer>) {
  if (head.length > 0) yield head;
  for (;;) {
    const next = await rest.next();
    if (next.done === true) return;
    yield next.value;
  }
}

async function* inflate(head: Buffer, rest: AsyncIterator<Buffer>) {
  const gunzip = createGunzip({ chunkSize: CHUNK_BYTES });
  // The iteration below throws what pipeline reports.
  pipeline(Readable.from(chain(head, rest)), gunzip, () => {});
  for await (const chunk of gunzip) yield chunk as Buffer;
}

function asInputError(path: string, error: unknown): Error {
  const code = (error as NodeJS.ErrnoException | null)?.code;
  if (code === undefined) return error as Error;
  if (code === 'Z_BUF_ERROR') return new InputError(`${path}: gzip: the file is cut short`);
  if (code.startsWith('Z_')) return new InputError(`${path}: gzip: the file is damaged`);
  if (code === 'ENOENT') return new InputError(`${path}: no such file`);
  if (code === 'EISDIR') return new InputError(`${path}: expected a file, found a directory`);
  return new InputError(`${path}: cannot be read (${code})`);
}

/**
 * A file (plain or gzip) as chunks of complete lines of about 1 MiB, without a leading byte order mark. The caller may
 * keep a chunk, or move its bytes to another thread if they fill their buffer. Throws an InputError like readBytes(), and if a line exceeds MAX_LINE_BYTES.
 */
export async function* readLineChunks(path: string): AsyncGenerator<LineChunk, void, undefined> {
  let firstLine = 1;
  let started = false;
  let rest: Uint8Array[] = [];
  let restBytes = 0;
  for await (let bytes of readBytes(path)) {
    if (!started && restBytes + bytes.length >= BOM.length) {
      bytes = withoutBom(Buffer.concat([...rest, bytes]));
      [rest, restBytes, started] = [[], 0, true];
    }
    const end = bytes.lastIndexOf(NEWLINE) + 1;
    const tail = bytes.subarray(end);
    if (end > 0) {
      const head = bytes.subarray(0, end);
      const lines = restBytes > 0 ? Buffer.concat([...rest, head]) : head;
      const chunk = { bytes: lines, firstLine };
      firstLine += countNewlines(lines);
      [rest, restBytes] = [[], 0];
      // Whoever takes a chunk may move its bytes to another thread: nothing may read them afterwards.
      yield chunk;
    }
    if (tail.length > 0) {
      rest.push(tail);
      restBytes += tail.length;
    }
    if (restBytes > MAX_LINE_BYTES) {
      const limit = `${MAX_LINE_BYTES / 1024 / 1024} MiB`;
      throw new InputError(`${path}:${firstLine}: the line is longer than ${limit}`);
    }
  }
  if (restBytes > 0) yield { bytes: Buffer.concat(rest), firstLine };
}

function withoutBom(bytes: Uint8Array): Uint8Array {
  return BOM.every((byte, i) => bytes[i] === byte) ? bytes.subarray(BOM.length) : bytes;
}

/** Number of line ends in the bytes. */
export function countNewlines(bytes: Uint8Array): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) count++;
  return count;
}

/**
 * A file's lines as text, including blank ones, at most LINES_PER_BATCH at a time. Throws like readLineChunks(), and if
 * a line is not UTF-8.
 * @param skips whether to leave out all lines of a chunk
 */
export async function* readLineBatches(
  path: string,
  skips: (chunk: LineChunk) => boolean = () => false,
): AsyncGenerator<Line[], void, undefined> {
  for await (const chunk of readLineChunks(path)) {
    if (!skips(chunk)) yield* batchesOfChunk(path, chunk);
  }
}

/** Whether a chunk has one of some lines. */
export function hasLine({ bytes, firstLine }: LineChunk, lines: ReadonlySet<number>): boolean {
  const end = firstLine + countNewlines(bytes);
  for (const line of lines) if (line >= firstLine && line <= end) return true;
  return false;
}

/**
 * The lines of a chunk as text, including blank ones.
 * @throws InputError if one is not UTF-8
 */
function* batchesOfChunk(path: string, chunk: LineChunk): Generator<Line[], void, undefined> {
  const bytes = Buffer.from(chunk.bytes.buffer, chunk.bytes.byteOffset, chunk.bytes.length);
  const valid = isUtf8(bytes);
  let line = chunk.firstLine;
  let lines: Line[] = [];
  for (let from = 0; from < bytes.length;) {
    const newline = bytes.indexOf(NEWLINE, from);
    const next = newline < 0 ? bytes.length : newline + 1;
    let to = newline < 0 ? bytes.length : newline;
    if (to > from && bytes[to - 1] === RETURN) to--;
    if (!valid && !isUtf8(bytes.subarray(from, to))) {
      throw new InputError(`${path}:${line}: the text is not UTF-8`);
    }
    lines.push({ line: line++, text: bytes.toString('utf8', from, to) });
    from = next;
    if (lines.length < LINES_PER_BATCH) continue;
    yield lines;
    lines = [];
  }
  if (lines.length > 0) yield lines;
}
