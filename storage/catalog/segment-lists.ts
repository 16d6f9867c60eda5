/**
 * Lists of segments: the older entries of the table of segments once more, many of one token and tier
 * in a row. New segments of all tokens lie in turn in their table, so that the entries of one token
 * are all over it; whoever wants them finds the old ones in a few lists, and looks for the others
 * among the newest rows alone, however many are stored.
 */
import { TIERS, type Tier } from '../../compute/market.js';
import type { Database, SqlValue, Statements } from '../duckdb/database.js';
import { firstT, type SegmentRef } from './directory.js';
import { packRefs, packedBytes, refOfColumns, unpackRefs } from './segment-rows.js';

/** Greatest bytes of a list. */
export const MAX_SEGMENT_LIST_BYTES = 16 * 1024;
/** Newest segments that stand in no list, so that those that are soon joined never come into one. */
export const UNLISTED_SEGMENTS = 16 * 1024;
/** Segments that are listed in one transaction. */
const LISTED_AT_ONCE = 64 * 1024;
const META_KEY = 'listed_segments';

/** A stored list without its entries. Those of a token and tier cover times one after the other. */
interface List {
  listId: number;
  tokenId: number;
  tier: Tier;
  firstS: number;
}

/** A list's place, what comes into it and what goes. */
interface Edit {
  /** null: there is no list of the token and tier yet. */
  list: List | null;
  tokenId: number;
  tier: Tier;
  refs: SegmentRef[];
}

export class SegmentLists {
  private constructor(
    /** Every segment up to this id stands in a list, no later one does. */
    private listed: number,
    private lastListId: number,
  ) {}

  /** Where nothing is listed. */
  static none(): SegmentLists {
    return new SegmentLists(0, 0);
  }

  static async load(database: Pick<Database, 'rows'>): Promise<SegmentLists> {
    const rows = await database.rows('SELECT value FROM meta WHERE key = ?', [META_KEY]);
    const [[last]] = await database.rows('SELECT max(list_id) FROM segment_lists');
    const listed = rows.length === 0 ? 0 : Number(rows[0][0]);
    return new SegmentLists(listed, (last as number | null) ?? 0);
  }

  get listedId(): number {
    return this.listed;
  }

  /** Up to which id segments should be listed now; null where it is not worth it yet. */
  due(lastSegmentId: number): number | null {
    if (lastSegmentId - this.listed < 2 * UNLISTED_SEGMENTS) return null;
    return Math.min(this.listed + LISTED_AT_ONCE, lastSegmentId - UNLISTED_SEGMENTS);
  }

  /** Lists the segments up to `toId`. To be followed by publish() once that has been committed. */
  async add(tx: Statements, toId: number): Promise<void> {
    const rows = await tx.rows(
      `SELECT token_id, segment_id, tier, cells, times, band_cells FROM segments
       WHERE segment_id > ${this.listed} AND segment_id <= ${toId}`,
    );
    const lists = await readLists(tx, new Set(rows.map(([tokenId]) => tokenId as number)));
    const edits = new Map<string, Edit>();
    for (const [tokenId, ...columns] of rows) {
      const ref = refOfColumns(columns);
      editAt(edits, lists, tokenId as number, ref).refs.push(ref);
    }
    await this.write(tx, [...edits.values()], new Set());
    await tx.run('DELETE FROM meta WHERE key = ?', [META_KEY]);
    await tx.run('INSERT INTO meta VALUES (?, ?)', [META_KEY, String(toId)]);
  }

  publish(listedId: number): void {
    this.listed = listedId;
  }

  /** Takes segments of a token out of the lists, those that stand in one. */
  async remove(tx: Statements, tokenId: number, refs: readonly SegmentRef[]): Promise<void> {
    const removed = refs.filter(({ segmentId }) => segmentId <= this.listed);
    if (removed.length === 0) return;
    const lists = await readLists(tx, new Set([tokenId]));
    const edits = new Map<string, Edit>();
    for (const ref of removed) editAt(edits, lists, tokenId, ref);
    const ids = new Set(removed.map(({ segmentId }) => segmentId));
    await this.write(tx, [...edits.values()], ids);
  }

  /** Puts new lists in the place of those that are edited. */
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
      for (const piece of piecesOf(left)) {
        const place = [++this.lastListId, tokenId, TIERS.indexOf(tier), firstT(piece[0])];
        rows.push([...place, packRefs(piece)]);
      }
    }
    if (rows.length > 0) await tx.append('segment_lists', rows);
  }
}

/** The lists of tokens, by token and tier, ascending in time. */
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
    const tier = TIERS[tierIndex];
    const key = placeKey(tokenId, tier);
    lists.set(key, [...(lists.get(key) ?? []), { listId, tokenId, tier, firstS }]);
  }
  return lists;
}

/** The edit of the list that an entry belongs into. */
function editAt(
  edits: Map<string, Edit>,
  lists: ReadonlyMap<string, readonly List[]>,
  tokenId: number,
  ref: SegmentRef,
): Edit {
  const key = placeKey(tokenId, ref.tier);
  const ofTier = lists.get(key) ?? [];
  const list = ofTier.findLast(({ firstS }) => firstS <= firstT(ref)) ?? ofTier[0] ?? null;
  const editKey = `${key}:${list?.listId ?? ''}`;
  const edit = edits.get(editKey) ?? { list, tokenId, tier: ref.tier, refs: [] };
  edits.set(editKey, edit);
  return edit;
}

const placeKey = (tokenId: number, tier: Tier): string => `${tokenId}:${tier}`;

/** Deletes the lists that are edited. @returns their entries, by list */
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
function piecesOf(refs: readonly SegmentRef[]): SegmentRef[][] {
  const pieces: SegmentRef[][] = [];
  let bytes = Infinity;
  for (const ref of refs) {
    if (bytes + packedBytes(ref) > MAX_SEGMENT_LIST_BYTES) {
      pieces.push([]);
      bytes = 0;
    }
    pieces[pieces.length - 1].push(ref);
    bytes += packedBytes(ref);
  }
  return pieces;
}
