/**
 * Owners' names in chunks of at most one stored value: a u32 with their count, a byte with each
 * one's length, then their characters.
 */
import { crc32 } from 'node:zlib';
import type { OwnerNames } from '../../compute/holders/owners.js';
import { MAX_VALUE_BYTES } from '../duckdb/database.js';

const COUNT_BYTES = 4;
/** Characters of a name: its length is a byte. */
export const MAX_NAME_BYTES = 255;

export interface OwnerChunk {
  /** Number of its first owner. */
  firstOwner: number;
  crc32: number;
  data: Uint8Array;
}

/** The names from owner `from` on. */
export function packNames(names: OwnerNames, from: number): OwnerChunk[] {
  const { offsets } = names;
  const count = offsets.length - 1;
  const chunks: OwnerChunk[] = [];
  for (let first = from; first < count;) {
    let last = first;
    const bytes = (): number => COUNT_BYTES + last - first + offsets[last] - offsets[first];
    while (last < count && bytes() + 1 + MAX_NAME_BYTES <= MAX_VALUE_BYTES) last++;
    chunks.push(chunkOf(names, first, last));
    first = last;
  }
  return chunks;
}

/**
 * The names of all of a token's chunks, in whatever order they come.
 * @throws Error where one is damaged or missing
 */
export function unpackNames(chunks: readonly OwnerChunk[]): OwnerNames {
  const sorted = [...chunks].sort((a, b) => a.firstOwner - b.firstOwner);
  const counts = sorted.map(countOf);
  const owners = counts.reduce((sum, count) => sum + count, 0);
  const textBytes = sorted.reduce(
    (sum, { data }, i) => sum + data.length - COUNT_BYTES - counts[i],
    0,
  );
  const names: OwnerNames = {
    offsets: new Uint32Array(owners + 1),
    bytes: new Uint8Array(textBytes),
  };
  let owner = 0;
  let at = 0;
  for (const [i, { firstOwner, data }] of sorted.entries()) {
    if (firstOwner !== owner) throw damaged('a chunk is missing');
    const texts = COUNT_BYTES + counts[i];
    names.bytes.set(data.subarray(texts), at);
    for (let c = COUNT_BYTES; c < texts; c++) names.offsets[++owner] = at += data[c];
    if (at !== names.offsets[owner] || at > textBytes) throw damaged('lengths do not fit');
  }
  if (at !== textBytes) throw damaged('lengths do not fit');
  return names;
}

function countOf({ data, crc32: stated }: OwnerChunk): number {
  if (crc32(data) !== stated) throw damaged('a checksum does not fit');
  const count = new DataView(data.buffer, data.byteOffset).getUint32(0, true);
  if (COUNT_BYTES + count > data.length) throw damaged('a chunk is cut short');
  return count;
}

function chunkOf({ offsets, bytes }: OwnerNames, first: number, last: number): OwnerChunk {
  const count = last - first;
  const data = new Uint8Array(COUNT_BYTES + count + offsets[last] - offsets[first]);
  new DataView(data.buffer).setUint32(0, count, true);
  for (let i = 0; i < count; i++) {
    data[COUNT_BYTES + i] = offsets[first + i + 1] - offsets[first + i];
  }
  data.set(bytes.subarray(offsets[first], offsets[last]), COUNT_BYTES + count);
  return { firstOwner: first, crc32: crc32(data), data };
}

const damaged = (how: string): Error => new Error(`the names of holders are damaged: ${how}`);
