/**
 * The table `holder_owners`: owners' names in chunks of at most MAX_VALUE_BYTES. A chunk is a u32 with the number of
 * names, one byte with the length of each, then their characters.
 */
import { crc32 } from 'node:zlib';
import { DamageError } from '../../compute/damage.js';
import type { OwnerNames } from '../../compute/holders/owners.js';
import { MAX_VALUE_BYTES, type Statements } from '../duckdb/statements.js';

const COUNT_BYTES = 4;
/** Bytes of a name: its length is stored as one byte. */
const MAX_NAME_BYTES = 255;
/** Chunks that readNamesFrom() reads at once: at most 1 MiB. */
const CHUNKS_AT_ONCE = 16;

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
 * The names in a token's chunks from owner `first` on, given in any order.
 * @throws Error if a chunk is damaged or missing
 */
export function unpackNames(chunks: readonly OwnerChunk[], first = 0): OwnerNames {
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
    if (firstOwner !== first + owner) throw damaged('a chunk is missing');
    const texts = COUNT_BYTES + counts[i];
    names.bytes.set(data.subarray(texts), at);
    for (let c = COUNT_BYTES; c < texts; c++) names.offsets[++owner] = at += data[c];
    if (at !== names.offsets[owner] || at > textBytes) throw damaged('lengths do not match');
  }
  if (at !== textBytes) throw damaged('lengths do not match');
  return names;
}

export async function readNames(
  statements: Pick<Statements, 'rows'>,
  holderId: number,
): Promise<OwnerNames> {
  return unpackNames(await readChunks(statements, holderId, 0));
}

/**
 * Some names from owner `firstOwner` on, the first one of a piece; none after the last one.
 * @throws Error if a chunk is damaged or missing
 */
export async function readNamesFrom(
  statements: Pick<Statements, 'rows'>,
  holderId: number,
  firstOwner: number,
): Promise<OwnerNames> {
  const chunks = await readChunks(statements, holderId, firstOwner, CHUNKS_AT_ONCE);
  return unpackNames(chunks, firstOwner);
}

/**
 * Reads a token's names in short pieces.
 * @throws Error if a chunk is damaged or missing
 */
export async function checkNames(
  statements: Pick<Statements, 'rows'>,
  holderId: number,
): Promise<void> {
  try {
    for (let owner = 0, count = 1; count > 0; owner += count) {
      count = (await readNamesFrom(statements, holderId, owner)).offsets.length - 1;
    }
  } catch {
    // A commit between two pieces may renumber the owners; then all names are read in one statement.
    await readNames(statements, holderId);
  }
}

async function readChunks(
  statements: Pick<Statements, 'rows'>,
  holderId: number,
  firstOwner: number,
  limit?: number,
): Promise<OwnerChunk[]> {
  const rows = await statements.rows(
    `SELECT first_owner, crc32, data FROM holder_owners WHERE holder_id = ? AND first_owner >= ?
     ${limit === undefined ? '' : `ORDER BY first_owner LIMIT ${limit}`}`,
    [holderId, firstOwner],
  );
  return rows.map(([first, crc32, data]) => ({
    firstOwner: first as number,
    crc32: crc32 as number,
    data: data as Uint8Array,
  }));
}

/** Writes the names that are not stored yet; rewrites the last stored chunk, which may not be full. */
export async function writeNames(
  tx: Statements,
  holderId: number,
  names: OwnerNames,
): Promise<void> {
  const [[last]] = await tx.rows('SELECT max(first_owner) FROM holder_owners WHERE holder_id = ?', [
    holderId,
  ]);
  const chunks = packNames(names, (last as number | null) ?? 0);
  if (chunks.length === 0) return;
  await tx.run('DELETE FROM holder_owners WHERE holder_id = ? AND first_owner >= ?', [
    holderId,
    chunks[0].firstOwner,
  ]);
  await tx.append(
    'holder_owners',
    chunks.map(({ firstOwner, crc32, data }) => [holderId, firstOwner, crc32, data]),
  );
}

export async function deleteNames(tx: Statements, holderId: number): Promise<void> {
  await tx.run('DELETE FROM holder_owners WHERE holder_id = ?', [holderId]);
}

/** The number of owners in a chunk and those before it. @throws Error if it is damaged */
export function ownersUpTo(chunk: OwnerChunk): number {
  return chunk.firstOwner + countOf(chunk);
}

function countOf({ data, crc32: stated }: OwnerChunk): number {
  if (crc32(data) !== stated) throw damaged('a checksum does not match');
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

const damaged = (how: string): Error => new DamageError(`the names of holders are damaged: ${how}`);
