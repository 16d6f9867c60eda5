/** The files of a single server's log: each has an entry's content, then its foot, a line of text that says what it is. */
import { type FileHandle, open } from 'node:fs/promises';
import path from 'node:path';
import { crc32 } from 'node:zlib';
import { namesInFolder, readFully, writeFully } from '../disk.js';
import { InputError } from '../errors.js';

const NAME = /^(\d{16})\.entry$/;
/** Bytes of a foot, with the end of its line. */
export const FOOT_BYTES = 320;
/** Bytes read at once for a checksum. */
const READ_BYTES = 1024 * 1024;

/** What an entry is: a change as packEntry() makes it, a whole bundle, or nothing: it was withdrawn. */
type Content = 'entry' | 'bundle' | 'void';

/** The foot of an entry. */
export interface Foot {
  logId: string;
  position: number;
  id: string;
  /** The id of the entry before; null for the first one of a store. */
  previousId: string | null;
  /** When it was appended, in epoch milliseconds. */
  timeMs: number;
  content: Content;
  /** Length and checksum of the content. */
  bytes: number;
  crc32: number;
}

/** An entry of the log. */
export interface FileEntry extends Foot {
  file: string;
  /** The content; null if it is only in the file. */
  held: Uint8Array | null;
}

/** The content of an entry that is not a bundle. @throws InputError if it is damaged */
export async function contentOf(entry: FileEntry): Promise<Uint8Array> {
  if (entry.held !== null) return entry.held;
  const handle = await open(entry.file, 'r');
  try {
    const content = Buffer.allocUnsafeSlow(entry.bytes);
    const bytes = await readFully(handle, content, 0);
    if (bytes < content.length || crc32(content) !== entry.crc32) throw damaged(entry.file);
    return content;
  } finally {
    await handle.close();
  }
}

/** Reads the foot of an entry. @throws InputError if it has none */
export async function entryAt(folder: string, position: number): Promise<FileEntry> {
  const file = fileOf(folder, position);
  const handle = await open(file, 'r');
  try {
    const { size } = await handle.stat();
    const line = Buffer.alloc(FOOT_BYTES);
    if (size >= FOOT_BYTES) await readFully(handle, line, size - FOOT_BYTES);
    const foot = parsedFoot(line);
    if (foot === null || foot.bytes !== size - FOOT_BYTES) throw damaged(file);
    if (foot.position !== position) {
      throw new InputError(`${file} is a copy of entry ${foot.position}: give it its name`);
    }
    return { ...foot, file, held: null };
  } finally {
    await handle.close();
  }
}

/** @throws InputError if the entry's content is not what was written */
export async function checkContent(entry: FileEntry): Promise<void> {
  const handle = await open(entry.file, 'r');
  const sum = await checksum(handle, entry.bytes).finally(() => handle.close());
  if (sum !== entry.crc32) throw damaged(entry.file);
}

export async function checksumOf(file: string): Promise<{ bytes: number; crc32: number }> {
  const handle = await open(file, 'r');
  try {
    const { size } = await handle.stat();
    return { bytes: size, crc32: await checksum(handle, size) };
  } finally {
    await handle.close();
  }
}

async function checksum(handle: FileHandle, bytes: number): Promise<number> {
  const buffer = Buffer.allocUnsafe(Math.max(1, Math.min(READ_BYTES, bytes)));
  let sum = 0;
  for (let at = 0; at < bytes;) {
    const part = buffer.subarray(0, Math.min(buffer.length, bytes - at));
    const read = await readFully(handle, part, at);
    sum = crc32(part.subarray(0, read), sum);
    if (read === 0) break;
    at += read;
  }
  return sum;
}

export async function withFoot(bundle: string, foot: Foot): Promise<string> {
  const handle = await open(bundle, 'r+');
  try {
    await writeFully(handle, footOf(foot), foot.bytes);
    await handle.datasync();
  } finally {
    await handle.close();
  }
  return bundle;
}

function damaged(file: string): InputError {
  return new InputError(
    `${file} is damaged, and the database may lack what it holds: put back a whole copy of the file, or restore a backup`,
  );
}

/** A foot: JSON and its checksum, padded to its length. */
export function footOf({
  logId,
  position,
  id,
  previousId,
  timeMs,
  content,
  bytes,
  crc32: sum,
}: Foot): Buffer {
  const foot: Foot = { logId, position, id, previousId, timeMs, content, bytes, crc32: sum };
  const text = JSON.stringify(foot);
  const line = `${hex(crc32(text))} ${text}`.padEnd(FOOT_BYTES - 1);
  if (line.length >= FOOT_BYTES) throw new Error(`a foot of ${line.length} bytes`);
  return Buffer.from(`${line}\n`, 'latin1');
}

function parsedFoot(line: Buffer): Foot | null {
  const [, sum, text] = /^([0-9a-f]{8}) (\{.*\}) *\n$/.exec(line.toString('latin1')) ?? [];
  return text !== undefined && hex(crc32(text)) === sum ? (JSON.parse(text) as Foot) : null;
}

const hex = (sum: number): string => sum.toString(16).padStart(8, '0');

export function fileOf(folder: string, position: number): string {
  return path.join(folder, `${String(position).padStart(16, '0')}.entry`);
}

export async function positionsIn(folder: string): Promise<number[]> {
  const names = await namesInFolder(folder);
  return names
    .flatMap((name) => {
      const digits = NAME.exec(name)?.[1];
      return digits === undefined ? [] : [Number(digits)];
    })
    .sort((a, b) => a - b);
}

/** Whether a name is that of an entry. */
export function isEntryName(name: string): boolean {
  return NAME.test(name);
}
