/**
 * The tables `segments` and `segment_parts`: entries and blocks. Larger blocks are kept in parts: DuckDB rewrites a
 * whole row group while it fills up, and scans it to read one value. A row group of parts takes a few megabytes; one
 * of whole blocks would take a hundred.
 */
import { crc32 } from 'node:zlib';
import { DamageError } from '../../compute/damage.js';
import { type Tier, TIERS } from '../../compute/market.js';
import {
  checkedBlock,
  type EncodedSegment,
  type StoredBlock,
} from '../../compute/segment/segment.js';
import type { TokenName } from '../contract.js';
import { damageOf } from '../damaged-span.js';
import type { Database } from '../duckdb/database.js';
import {
  whereIdIn,
  partsOf,
  ROW_GROUP_ROWS,
  type SqlValue,
  type Statements,
} from '../duckdb/statements.js';
import { bytesOf } from '../typed-arrays.js';
import type { SegmentRef } from './directory.js';
import { RecentBlocks } from './recent-blocks.js';

/**
 * A block of up to this many bytes is kept in its entry's row. Most such blocks hold new snapshots, which compaction soon
 * rewrites: this keeps them apart from the blocks that stay.
 */
const MAX_INLINE_BYTES = 16 * 1024;
/**
 * Bytes of a part. A row group of parts takes 4 MB: a checkpoint that joins row groups rewrites up to three of them,
 * and the file keeps the space of the old ones. DuckDB would keep values of more than 4,096 bytes in separate blocks.
 */
export const PART_BYTES = 2000;
/** fillRowGroup() does not make smaller parts. */
const LEAST_PART_BYTES = 200;
/** Bytes of waiting blocks, which are written in one turn. */
const MAX_WAITING_BYTES = 1024 * 1024;
/** How many parts are held back until the end: enough for fillRowGroup(). */
const HELD_PARTS = ROW_GROUP_ROWS / 4;

/**
 * Blocks by segment id, not checked against their checksums yet; missing ones are left out.
 * Each is in a separate ArrayBuffer.
 * @throws ArchiveUnavailableError if an archived one cannot be read
 */
export async function readStoredBlocks(
  statements: BlockStatements,
  ids: readonly number[],
  archive: ArchivedBlocks,
): Promise<Map<number, StoredBlock>> {
  if (ids.length === 0) return new Map();
  // One statement: no commit may fall between an entry and its parts.
  const blocks = await storedBlocks(
    statements,
    `SELECT segment_id, 0 AS part, data, crc32 FROM segments WHERE ${segmentIdIn(ids)}
     UNION ALL
     SELECT segment_id, part, data, NULL FROM segment_parts WHERE ${segmentIdIn(ids)}`,
  );
  const archived = [...blocks.values()].filter(({ block }) => block.length === 0);
  if (archived.length === 0) return blocks;
  for (const { segmentId } of archived) blocks.delete(segmentId);
  for (const block of await archive.blocks(statements, archived))
    blocks.set(block.segmentId, block);
  return blocks;
}

/** Reads the blocks of archived segments, verified; those that are gone are left out. */
export interface ArchivedBlocks {
  blocks(
    statements: Pick<Statements, 'rows'>,
    segments: readonly Omit<StoredBlock, 'block'>[],
  ): Promise<readonly StoredBlock[]>;
}

/** What reads blocks: DuckDB's values for those in the store, rows for the places of archived ones. */
type BlockStatements = Pick<Statements, 'values' | 'rows'>;

/** Blocks by the segment ids in a query for Statements.values(). */
export async function storedBlocks(
  statements: Pick<Statements, 'values'>,
  sql: string,
): Promise<Map<number, StoredBlock>> {
  const values = await statements.values(sql);
  return new Map(
    Array.from(values, ([segmentId, { bytes, checksum }]) => [
      segmentId,
      { segmentId, block: bytes, crc32: checksum },
    ]),
  );
}

/** Blocks like readStoredBlocks() returns them, checked. @throws DamageError if a checksum does not match */
export async function readBlocks(
  statements: BlockStatements,
  ids: readonly number[],
  archive: ArchivedBlocks,
): Promise<Map<number, Uint8Array>> {
  const stored = await readStoredBlocks(statements, ids, archive);
  return new Map(Array.from(stored, ([id, one]) => [id, checkedBlock(one)]));
}

/** The blocks of all these segments, in order. @throws DamageError if one is missing, or its checksum does not match */
export async function readAllBlocks(
  statements: BlockStatements,
  ids: readonly number[],
  archive: ArchivedBlocks,
): Promise<Uint8Array[]> {
  const blocks = await readBlocks(statements, ids, archive);
  return ids.map((id) => {
    const block = blocks.get(id);
    if (block === undefined) throw new DamageError(`segment ${id} is damaged: it has no entry`);
    return block;
  });
}

/** The error to throw after a failure to read the blocks of a token's segments together. */
export function damagedSegments(
  error: unknown,
  database: Database,
  { chain, address }: TokenName,
  refs: readonly SegmentRef[],
  archive: ArchivedBlocks,
): Promise<unknown> {
  const blocks = refs.map(({ segmentId: id, tier, times }) => ({
    id,
    chain,
    address,
    tier,
    times,
  }));
  return damageOf(error, database.directory, blocks, (id) =>
    readAllBlocks(database, [id], archive),
  );
}

/** Which of the ids are stored. */
export async function storedSegments(
  statements: Pick<Statements, 'rows'>,
  ids: readonly number[],
): Promise<ReadonlySet<number>> {
  if (ids.length === 0) return new Set();
  const rows = await statements.rows(`SELECT segment_id FROM segments WHERE ${segmentIdIn(ids)}`);
  return new Set(rows.map(([id]) => id as number));
}

/** SQL: the time that 8 hexadecimal digits of `times` stand for, whose bytes are little-endian. */
export const timeOfHex = (hex: string): string =>
  `('0x' || substr(${hex}, 7, 2) || substr(${hex}, 5, 2) || substr(${hex}, 3, 2) || substr(${hex}, 1, 2))::UBIGINT`;

/** SQL: segments that fulfil a condition, with their first and last time. */
export const timedSegments = (where: string): string =>
  `SELECT token_id, tier, object_id, ${timeOfHex('f')} AS first_t, ${timeOfHex('l')} AS last_t
   FROM (SELECT token_id, tier, object_id, left(hex(times), 8) AS f, right(hex(times), 8) AS l
         FROM segments WHERE ${where})`;

export async function deleteSegments(tx: Statements, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return;
  await tx.run(`DELETE FROM segments WHERE ${segmentIdIn(ids)}`);
  await tx.run(`DELETE FROM segment_parts WHERE ${segmentIdIn(ids)}`);
  await tx.run(`DELETE FROM segment_samples WHERE ${segmentIdIn(ids)}`);
}

const segmentIdIn = (ids: readonly number[]): string => whereIdIn('segment_id', ids);

interface NewSegment {
  segmentId: number;
  tokenId: number;
  tier: Tier;
}

/** What an entry says of a segment, besides where its block is. */
interface SegmentEntryColumns extends Omit<EncodedSegment, 'block'> {
  crc32: number;
}

/** A segment without its block, which is `bytes` at `at` of an object. */
export interface ArchivedSegment extends SegmentEntryColumns {
  objectId: number;
  at: number;
  bytes: number;
}

const NO_BYTES = new Uint8Array(0);
/** The object, place and length of a block that is in the store. */
const NOWHERE = [null, null, null] as const;

/** Writes many segments at once: one by one, each costs ten times as much. */
export class SegmentWriter {
  private entries: SqlValue[][] = [];
  private parts: PartRow[] = [];
  private waitingBytes = 0;
  /** The last blocks: readers need them soon after the commit. */
  readonly recent = new RecentBlocks();
  /** Rows of parts written by the transaction so far. */
  private writtenParts = 0;

  constructor(private readonly tx: Pick<Statements, 'append'>) {}

  async add(added: NewSegment, segment: EncodedSegment): Promise<void> {
    const { segmentId } = added;
    const { block } = segment;
    const checksum = crc32(block);
    const isInline = block.length <= MAX_INLINE_BYTES;
    this.recent.add({ segmentId, block, crc32: checksum });
    if (!isInline) {
      partsOf(block, PART_BYTES).forEach((part, i) => this.parts.push([segmentId, i + 1, part]));
    }
    this.waitingBytes += block.length;
    await this.push(added, { ...segment, crc32: checksum }, isInline ? block : NO_BYTES, NOWHERE);
  }

  /** Adds a segment whose block is in an object of the archive. */
  async addArchived(added: NewSegment, segment: ArchivedSegment): Promise<void> {
    const { objectId, at, bytes } = segment;
    await this.push(added, segment, NO_BYTES, [objectId, at, bytes]);
  }

  /** @param place of its block in an object */
  private async push(
    { segmentId, tokenId, tier }: NewSegment,
    entry: SegmentEntryColumns,
    data: Uint8Array,
    place: typeof NOWHERE | readonly [number, number, number],
  ): Promise<void> {
    const { times, bandCells, digests, cells, marketRows, crc32: checksum } = entry;
    this.entries.push([
      segmentId,
      tokenId,
      TIERS.indexOf(tier),
      cells,
      bytesOf(times),
      bytesOf(bandCells),
      checksum,
      data,
      bytesOf(marketRows),
      bytesOf(digests),
      ...place,
    ]);
    this.waitingBytes += 3 * times.byteLength;
    if (this.waitingBytes >= MAX_WAITING_BYTES) await this.writeParts(HELD_PARTS);
  }

  /** Writes the waiting rows if one of these segments is among them: call before reading or deleting the segments. */
  async settle(ids: readonly number[]): Promise<void> {
    // Ids ascend.
    const first = Math.min(idOf(this.entries[0]), idOf(this.parts[0]));
    if (ids.some((id) => id >= first)) await this.writeParts(0);
  }

  /** Writes the waiting rows: call right before the commit. */
  async flush(): Promise<void> {
    this.parts = fillRowGroup(this.parts, this.writtenParts);
    await this.writeParts(0);
  }

  private async writeParts(heldParts: number): Promise<void> {
    const { entries } = this;
    const parts = this.parts.splice(0, Math.max(0, this.parts.length - heldParts));
    this.entries = [];
    this.waitingBytes = 0;
    this.writtenParts += parts.length;
    if (entries.length > 0) await this.tx.append('segments', entries);
    if (parts.length > 0) await this.tx.append('segment_parts', parts);
  }
}

/** The id at the beginning of a row; Infinity without a row. */
const idOf = (row: readonly SqlValue[] | undefined): number =>
  row === undefined ? Infinity : (row[0] as number);

export type PartRow = [segmentId: number, part: number, bytes: Uint8Array];

/**
 * Cuts parts into smaller ones until the last row ends a row group, after `written` earlier rows of the transaction.
 * Returns them unchanged if that is unnecessary or impossible. DuckDB gives a long insertion separate row groups and
 * may fill the last one only partly. A later checkpoint joins that with its neighbours: this rewrites megabytes, and
 * the file keeps the space of the old row groups, which can double the stored size.
 * @param rows ascending by segment and part; earlier parts of the first segment may be written already
 */
export function fillRowGroup(rows: readonly PartRow[], written: number): PartRow[] {
  const total = written + rows.length;
  let missing = total < ROW_GROUP_ROWS ? 0 : -total & (ROW_GROUP_ROWS - 1);
  const more = rows.map(([, , bytes]) =>
    Math.max(0, Math.floor(bytes.length / LEAST_PART_BYTES) - 1),
  );
  if (missing === 0 || more.reduce((sum, one) => sum + one, 0) < missing) return [...rows];
  const cut: PartRow[] = [];
  let shift = 0;
  for (const [i, [segmentId, part, bytes]] of rows.entries()) {
    if (i === 0 || rows[i - 1][0] !== segmentId) shift = 0;
    const parts = 1 + Math.min(missing, more[i]);
    for (let p = 0; p < parts; p++) {
      const from = Math.floor((p * bytes.length) / parts);
      const to = Math.floor(((p + 1) * bytes.length) / parts);
      cut.push([segmentId, part + shift + p, bytes.subarray(from, to)]);
    }
    missing -= parts - 1;
    shift += parts - 1;
  }
  return cut;
}
