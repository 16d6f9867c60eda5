/** Reads Arrow IPC files and streams, a record batch at a time. */
import { createReadStream } from 'node:fs';
import * as zlib from 'node:zlib';
import {
  CompressionType,
  RecordBatchReader,
  compressionRegistry,
  type RecordBatch,
} from 'apache-arrow';
import { lz4FrameDecompress } from '../../compute/segment/lz4.js';
import { InputError } from '../errors.js';

compressionRegistry.set(CompressionType.LZ4_FRAME, { decode: lz4FrameDecompress });
if ('zstdDecompressSync' in zlib) {
  const decode = zlib.zstdDecompressSync as (data: Uint8Array) => Uint8Array;
  compressionRegistry.set(CompressionType.ZSTD, { decode });
}

/** @throws InputError where the file is damaged, cut short or no Arrow file */
export async function* readArrowBatches(file: string): AsyncGenerator<RecordBatch> {
  const stream = createReadStream(file);
  try {
    const reader = await RecordBatchReader.from(stream);
    await reader.open();
    if (reader.schema === undefined) throw new Error('no schema');
    for await (const batch of reader) yield batch;
  } catch (error) {
    if (error instanceof InputError) throw error;
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT') throw new InputError(`${file}: no such file`);
    const reason = error instanceof Error ? error.message.split('\n')[0] : 'unreadable';
    throw new InputError(`${file}: not a readable Arrow file (${reason})`);
  } finally {
    stream.destroy();
  }
}

/** A value of a vector as JSON would have it: lists as arrays, structs as objects, no BigInt. */
export function plainArrowValue(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Symbol.iterator in value && !('toJSON' in value && isStructRow(value))) {
    return Array.from(value as Iterable<unknown>, plainArrowValue);
  }
  const entries = Object.entries((value as { toJSON(): object }).toJSON());
  return Object.fromEntries(entries.map(([name, inner]) => [name, plainArrowValue(inner)]));
}

/** Rows of structs iterate over [name, value] pairs; vectors over their values. */
function isStructRow(value: object): boolean {
  return !('length' in value) && !ArrayBuffer.isView(value);
}
