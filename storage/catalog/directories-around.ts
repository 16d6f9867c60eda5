/** The few segments of every token that hold its newest snapshots: what a server starts from. */
import type { SqlRow, Statements } from '../duckdb/database.js';
import { directoryOf, refsOfRow } from './directories.js';
import type { Directory, SegmentRef } from './directory.js';
import { unpackRefsAround } from './segment-rows.js';

/** First time of a segment, from the little-endian bytes of its `times`. */
const FIRST_TIME = `('0x' || substr(h, 7, 2) || substr(h, 5, 2) || substr(h, 3, 2) || substr(h, 1, 2))::UBIGINT`;

/**
 * Directories of the tokens `firstId <= id <= lastId`, cut to the segments that decide which
 * snapshot is the newest at each of the moments and which is the next one after it: of each tier the
 * last segment that begins by then, and the one that follows, with some of their neighbours. Tokens
 * without segments are left out.
 * @param listedId as loadDirectory() takes it
 */
export async function directoriesAround(
  statements: Pick<Statements, 'rows'>,
  [firstId, lastId]: readonly [number, number],
  momentsS: readonly number[],
  listedId: number,
): Promise<Map<number, Directory>> {
  const tokens = `token_id BETWEEN ${firstId} AND ${lastId}`;
  const isWanted = (id: string, first: string): string => {
    const wanted = momentsS.flatMap((momentS) => [
      `arg_max(${id}, ${first}) FILTER (WHERE ${first} <= ${momentS})`,
      `arg_min(${id}, ${first}) FILTER (WHERE ${first} > ${momentS})`,
    ]);
    return `SELECT DISTINCT unnest([${wanted.join(', ')}]) AS ${id}`;
  };
  // In one statement: no commit comes in between.
  const rows = await statements.rows(
    `WITH firsts AS (
       SELECT segment_id, token_id, tier, ${FIRST_TIME} AS first
       FROM (SELECT segment_id, token_id, tier, left(hex(times), 8) AS h FROM segments
             WHERE segment_id > ${listedId} AND ${tokens})
     ), wanted AS (
       ${isWanted('segment_id', 'first')} FROM firsts GROUP BY token_id, tier
     ), wanted_lists AS (
       ${isWanted('list_id', 'first_t')} FROM segment_lists WHERE ${tokens} GROUP BY token_id, tier
     )
     SELECT token_id, segment_id, tier, cells, times, band_cells
     FROM segments SEMI JOIN wanted USING (segment_id) WHERE segment_id > ${listedId}
     UNION ALL
     SELECT token_id, NULL, tier, NULL, data, NULL
     FROM segment_lists SEMI JOIN wanted_lists USING (list_id)`,
  );
  return byToken(rows, momentsS);
}

function byToken(rows: readonly SqlRow[], momentsS: readonly number[]): Map<number, Directory> {
  const refs = new Map<number, SegmentRef[]>();
  for (const [tokenId, ...columns] of rows) {
    const list = refs.get(tokenId as number) ?? [];
    list.push(...refsOfRow(columns, (tier, data) => unpackRefsAround(tier, data, momentsS)));
    refs.set(tokenId as number, list);
  }
  return new Map(Array.from(refs, ([tokenId, list]) => [tokenId, directoryOf(list)]));
}
