/**
 * The table `segment_lists`: copies of the older entries of `segments`, many of one token and tier per row. Segments
 * are stored as they arrive, which spreads a token's entries all over `segments`. However many there are, a reader
 * finds the old entries in a few lists and the others among the newest rows.
 */
import { DamageError } from '../../compute/damage.js';
import { pushTo } from '../../compute/collections.js';
import { type Tier, TIERS } from '../../compute/market.js';
import type { Database } from '../duckdb/database.js';
import type { SqlRow, SqlValue, Statements } from '../duckdb/statements.js';
import { type Meta, writeMeta } from '../meta.js';
import { uint32Of } from '../typed-arrays.js';
import { firstT, type SegmentRef } from './directory.js';

export const MAX_SEGMENT_LIST_BYTES = 16 * 1024;
/** The newest segments are not listed: compaction soon replaces many of them. */
const UNLISTED_SEGMENTS = 16 * 1024;
/** Segments listed in one transaction. */
const LISTED_AT_ONCE = 64 * 1024;
const META_KEY = 'listed_segments';
/** The columns of `segments` that refOfColumns() takes. */
export const ENTRY_COLUMNS =
  'segment_id, tier, cells, times, band_cells, digests, object_id IS NOT NULL';
/** In place of ENTRY_COLUMNS, for a row of `segment_lists`. */
export const LIST_COLUMNS = 'NULL, tier, NULL, data, NULL, NULL, NULL';
/** Words of a packed snapshot: its time, its cells in the default band, its digest. */
const SNAPSHOT_WORDS = 3;
/** Words of a packed entry before its times: id (low, high with ARCHIVED), cells, snapshots. */
const HEAD_WORDS = 4;
const WORD_BYTES = 4;
const TWO_32 = 2 ** 32;
/** Ids are below 2 ** 53: the highest bit is free. */
const ARCHIVED = 2 ** 31;

/** A stored list without its entries. Lists of one token and tier do not overlap in time. */
interface List {
  listId: number;
  firstS: number;
}

/** A list, and the entries to add to it. */
interface Edit {
  /** null: the token and tier have no list yet. */
  list: List | null;
  tokenId: number;
  tier: Tier;
  refs: SegmentRef[];
}

export class SegmentLists {
  private constructor(
    /** Every segment up to this id is in a list; later ones are not. */
    public listedId: number,
    private lastListId: number,
  ) {}

  static none(): SegmentLists {
    return new SegmentLists(0, 0);
  }

  static async load(database: Pick<Database, 'rows'>, meta: Meta): Promise<SegmentLists> {
    const listed = Number(meta.get(META_KEY) ?? 0);
    const [[last]] = await database.rows('SELECT max(list_id) FROM segment_lists');
    return new SegmentLists(listed, (last as number | null) ?? 0);
  }

  /** The id up to which segments should be listed now; null if there are too few. */
  due(lastSegmentId: number): number | null {
    if (lastSegmentId - this.listedId < 2 * UNLISTED_SEGMENTS) return null;
    return Math.min(this.listedId + LISTED_AT_ONCE, lastSegmentId - UNLISTED_SEGMENTS);
  }

  /** Lists the segments up to `toId`. Call publish() once the transaction has committed. */
  async add(tx: Statements, toId: number): Promise<void> {
    const rows = await tx.rows(
      `SELECT token_id, ${ENTRY_COLUMNS} FROM segments
       WHERE segment_id > ${this.listedId} AND segment_id <= ${toId}`,
    );
    const lists = await readLists(tx, new Set(rows.map(([tokenId]) => tokenId as number)));
    const edits = new Map<string, Edit>();
    for (const [tokenId, ...columns] of rows) {
      const ref = refOfColumns(columns);
      editAt(edits, lists, tokenId as number, ref).refs.push(ref);
    }
    await this.write(tx, [...edits.values()], new Set());
    await writeMeta(tx, META_KEY, String(toId));
  }

  publish(listedId: number): void {
    this.listedId = listedId;
  }

  /** Removes a token's segments from the lists; ignores unlisted ones. */
  async remove(tx: Statements, tokenId: number, refs: readonly SegmentRef[]): Promise<void> {
    const removed = refs.filter(({ segmentId }) => segmentId <= this.listedId);
    if (removed.length === 0) return;
    const lists = await readLists(tx, new Set([tokenId]));
    const edits = new Map<string, Edit>();
    for (const ref of removed) editAt(edits, lists, tokenId, ref);
    const ids = new Set(removed.map(({ segmentId }) => segmentId));
    await this.write(tx, [...edits.values()], ids);
  }

  /** Replaces the edited lists. */
  private async write(
    tx: Statements,
    edits: readonly Edit[],
    removed: ReadonlySet<number>,
  ): Promise<void> {
    const before = await takeLists(tx, edits);
    const rows: SqlValue[][] = [];
    for (const { list, tokenId, tier, refs } of edits) {
      const stored = list === null ? [] : (before.get(list.listId) ?? []);
      const left = [...stored, ...refs].filter(({ segmentId }) => !removed.has(segmentId));
      left.sort((a, b) => firstT(a) - firstT(b));
      for (const refs of cutToLists(left)) {
        const listId = ++this.lastListId;
        rows.push([listId, tokenId, TIERS.indexOf(tier), firstT(refs[0]), packRefs(refs)]);
      }
    }
    if (rows.length > 0) await tx.append('segment_lists', rows);
  }
}

/** The tokens' lists by tierKey(), ascending in time. */
async function readLists(
  tx: Statements,
  tokenIds: ReadonlySet<number>,
): Promise<Map<string, List[]>> {
  const lists = new Map<string, List[]>();
  if (tokenIds.size === 0) return lists;
  const rows = await tx.rows(
    `SELECT list_id, token_id, tier, first_t FROM segment_lists
     WHERE token_id IN (${[...tokenIds].join(',')}) ORDER BY first_t`,
  );
  for (const [listId, tokenId, tierIndex, firstS] of rows as number[][]) {
    pushTo(lists, tierKey(tokenId, TIERS[tierIndex]), { listId, firstS });
  }
  return lists;
}

/** The edit of the list to which an entry belongs. */
function editAt(
  edits: Map<string, Edit>,
  lists: ReadonlyMap<string, readonly List[]>,
  tokenId: number,
  ref: SegmentRef,
): Edit {
  const key = tierKey(tokenId, ref.tier);
  const ofTier = lists.get(key) ?? [];
  const list = ofTier.findLast(({ firstS }) => firstS <= firstT(ref)) ?? ofTier[0] ?? null;
  const editKey = `${key}:${list?.listId ?? ''}`;
  const edit = edits.get(editKey) ?? { list, tokenId, tier: ref.tier, refs: [] };
  edits.set(editKey, edit);
  return edit;
}

const tierKey = (tokenId: number, tier: Tier): string => `${tokenId}:${tier}`;

/** Deletes the edited lists. @returns their entries, by list */
async function takeLists(
  tx: Statements,
  edits: readonly Edit[],
): Promise<Map<number, SegmentRef[]>> {
  const taken = edits.flatMap(({ list }) => list ?? []);
  if (taken.length === 0) return new Map();
  const among = `list_id IN (${taken.map(({ listId }) => listId).join(',')})`;
  const rows = await tx.rows(`SELECT list_id, tier, data FROM segment_lists WHERE ${among}`);
  await tx.run(`DELETE FROM segment_lists WHERE ${among}`);
  return new Map(
    rows.map(([listId, tier, data]) => [
      listId as number,
      unpackRefs(TIERS[tier as number], data as Uint8Array),
    ]),
  );
}

/** Cuts entries into lists within the limit. */
function cutToLists(refs: readonly SegmentRef[]): SegmentRef[][] {
  const lists: SegmentRef[][] = [];
  let bytes = Infinity;
  for (const ref of refs) {
    if (bytes + packedBytes(ref) > MAX_SEGMENT_LIST_BYTES) {
      lists.push([]);
      bytes = 0;
    }
    lists[lists.length - 1].push(ref);
    bytes += packedBytes(ref);
  }
  return lists;
}

/** An entry from ENTRY_COLUMNS. */
export function refOfColumns(columns: SqlRow): SegmentRef {
  const [segmentId, tier, cells, times, bandCells, digests, isArchived] = columns;
  const { length } = times as Uint8Array;
  const isWhole = (column: unknown): boolean => (column as Uint8Array | null)?.length === length;
  if (length === 0 || length % WORD_BYTES > 0 || !isWhole(bandCells) || !isWhole(digests)) {
    throw new DamageError(`segment ${String(segmentId)} is damaged: its entry lists no snapshots`);
  }
  return {
    segmentId: segmentId as number,
    tier: TIERS[tier as number],
    cells: cells as number,
    times: uint32Of(times as Uint8Array),
    bandCells: uint32Of(bandCells as Uint8Array),
    digests: uint32Of(digests as Uint8Array),
    isArchived: isArchived as boolean,
  };
}

function packedBytes({ times }: SegmentRef): number {
  return WORD_BYTES * (HEAD_WORDS + SNAPSHOT_WORDS * times.length);
}

/** Entries of one tier as 32-bit words: head, times, cells in the default band, and digests of each. */
export function packRefs(refs: readonly SegmentRef[]): Uint8Array {
  const words = new Uint32Array(refs.reduce((sum, ref) => sum + packedBytes(ref), 0) / WORD_BYTES);
  let at = 0;
  for (const { segmentId, cells, times, bandCells, digests, isArchived } of refs) {
    const high = Math.floor(segmentId / TWO_32) + (isArchived ? ARCHIVED : 0);
    words.set([segmentId % TWO_32, high, cells, times.length], at);
    words.set(times, at + HEAD_WORDS);
    words.set(bandCells, at + HEAD_WORDS + times.length);
    words.set(digests, at + HEAD_WORDS + 2 * times.length);
    at += HEAD_WORDS + SNAPSHOT_WORDS * times.length;
  }
  return new Uint8Array(words.buffer);
}

/** Reads what packRefs() wrote; columns are views of one copy. @throws Error if it is damaged */
export function unpackRefs(tier: Tier, bytes: Uint8Array): SegmentRef[] {
  const words = uint32Of(bytes);
  return Array.from(entriesOf(words), (at) => refAt(words, at, tier));
}

/**
 * Reads only some entries that packRefs() wrote: for each of the moments, the last entry that begins by then and the
 * one after it; ascending in time.
 */
export function unpackRefsAround(
  tier: Tier,
  bytes: Uint8Array,
  momentsS: readonly number[],
): SegmentRef[] {
  const words = uint32Of(bytes);
  const entries = entriesOf(words);
  const wanted = new Set<number>();
  for (const momentS of momentsS) {
    const after = entries.findIndex((at) => words[at + HEAD_WORDS] > momentS);
    const next = after === -1 ? entries.length : after;
    for (const i of [next - 1, next]) if (i >= 0 && i < entries.length) wanted.add(entries[i]);
  }
  return Array.from(wanted, (at) => refAt(words, at, tier));
}

/** The index at which each entry begins. */
function entriesOf(words: Uint32Array): number[] {
  const entries: number[] = [];
  let at = 0;
  while (at < words.length) {
    entries.push(at);
    at += HEAD_WORDS + SNAPSHOT_WORDS * words[at + HEAD_WORDS - 1];
  }
  if (at !== words.length) throw new DamageError('a list of segments is damaged');
  return entries;
}

function refAt(words: Uint32Array, at: number, tier: Tier): SegmentRef {
  const snapshots = words[at + HEAD_WORDS - 1];
  const from = at + HEAD_WORDS;
  return {
    segmentId: words[at] + (words[at + 1] % ARCHIVED) * TWO_32,
    isArchived: words[at + 1] >= ARCHIVED,
    tier,
    cells: words[at + 2],
    times: words.subarray(from, from + snapshots),
    bandCells: words.subarray(from + snapshots, from + 2 * snapshots),
    digests: words.subarray(from + 2 * snapshots, from + 3 * snapshots),
  };
}
