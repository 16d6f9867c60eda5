/** Tokens' directories: loaded on first use and kept in an LRU cache. */
import { LRUCache } from 'lru-cache';
import type { Meta } from '../meta.js';
import { isDamage } from '../../compute/damage.js';
import { TIERS } from '../../compute/market.js';
import { RecentBlocks } from './recent-blocks.js';
import { timeOfHex } from './segments.js';
import { UnlistedSegments } from './unlisted-segments.js';
import type { Database } from '../duckdb/database.js';
import { byFirstColumn, type SqlRow, type Statements } from '../duckdb/statements.js';
import { byTier, type Directory, entryBytes, firstT, type SegmentRef } from './directory.js';
import { LargeMap } from '../../compute/large-map.js';
import { Turns } from '../turns.js';
import type { Cutoffs } from './retention-steps.js';
import {
  ENTRY_COLUMNS,
  LIST_COLUMNS,
  refOfColumns,
  SegmentLists,
  unpackRefs,
  unpackRefsAround,
} from './segment-lists.js';

/** Bytes of the cached directories. */
const MAX_CACHED_BYTES = 128 * 1024 * 1024;

/** First time of a segment, from the first digits of its `times`. */
const FIRST_TIME = timeOfHex('h');
/** Selects a token's lists, as refsOfRow() expects them. */
const LISTS_OF = `SELECT ${LIST_COLUMNS} FROM segment_lists WHERE token_id =`;

/** A directory and its size in memory. */
export interface SizedDirectory {
  directory: Directory;
  bytes: number;
}

/** The directories made by a commit, by token. */
type Published = Pick<ReadonlyMap<number, SizedDirectory>, 'get' | typeof Symbol.iterator>;

export class Directories {
  private readonly cached: LRUCache<number, Directory>;
  /** Tokens without segments, of which there may be very many; none of them is in `cached`. */
  private readonly empty = new LargeMap<number, Directory>();
  private readonly loading = new Map<number, Promise<Directory>>();
  readonly recentBlocks = new RecentBlocks();
  /** The directories of the last commit, until all of them are in `cached`. */
  private fresh: Published | null = null;
  private committing: { touches: (tokenId: number) => boolean; ended: Promise<void> } | null = null;

  constructor(
    private readonly database: Database,
    readonly lists: SegmentLists = SegmentLists.none(),
    private readonly unlisted: UnlistedSegments = UnlistedSegments.unknown(),
    /** The last segment id that was assigned. */
    public lastSegmentId = 0,
    cachedBytes = MAX_CACHED_BYTES,
  ) {
    this.cached = new LRUCache({ maxSize: cachedBytes });
  }

  /**
   * @param onDamage gets the error if entries cannot be read; the entries of each token are then read on demand
   * @param memory bytes for the cached directories and for the newest segments' entries
   */
  static async load(
    database: Database,
    meta: Meta,
    onDamage: (error: unknown) => void = () => undefined,
    memory: { directories?: number; newestSegments?: number } = {},
  ): Promise<Directories> {
    const lists = await SegmentLists.load(database, meta);
    const [[last]] = await database.rows('SELECT max(segment_id) FROM segments');
    // A listed id is never reused, even if its segment is gone.
    const lastId = Math.max((last as number | null) ?? 0, lists.listedId);
    const { directories, newestSegments } = memory;
    const unlisted = await UnlistedSegments.load(database, lists.listedId, newestSegments).catch(
      (error: unknown) => {
        if (!isDamage(error)) throw error;
        onDamage(error);
        return UnlistedSegments.unknown();
      },
    );
    return new Directories(database, lists, unlisted, lastId, directories);
  }

  /** Assigns a segment id, each only once while the store is open. */
  nextSegmentId(): number {
    return ++this.lastSegmentId;
  }

  /** A token's last published directory. */
  async get(tokenId: number): Promise<Directory> {
    return this.inMemory(tokenId) ?? this.loading.get(tokenId) ?? this.load(tokenId);
  }

  /** The same if it is in memory. */
  inMemory(tokenId: number): Directory | undefined {
    const fresh = this.fresh?.get(tokenId)?.directory;
    return fresh ?? this.cached.get(tokenId) ?? this.empty.get(tokenId);
  }

  /** Tokens with snapshots of a tier before its cut-off, ascending. */
  async before(cutoffs: Cutoffs): Promise<number[]> {
    const isOld = (first: string): string =>
      TIERS.map((tier, i) => `(tier = ${i} AND ${first} < ${cutoffs[tier]})`).join(' OR ');
    const listed = `SELECT DISTINCT token_id FROM segment_lists WHERE ${isOld('first_t')}`;
    const unlisted = `SELECT DISTINCT token_id FROM (
      SELECT token_id, tier, ${FIRST_TIME} AS first
      FROM (SELECT token_id, tier, left(hex(times), 8) AS h FROM segments
            WHERE segment_id > ${this.lists.listedId}))
      WHERE ${isOld('first')}`;
    const known = this.unlisted.before(cutoffs);
    const rows = await this.database.rows(known === null ? `${listed} UNION ${unlisted}` : listed);
    const ids = new Set([...(known ?? []), ...(rows.flat() as number[])]);
    return [...ids].sort((a, b) => a - b);
  }

  /**
   * Marks tokens as being committed until the returned function is called, after publish() or a rollback. A
   * directory loaded during the commit may have segments whose markets the catalogue lacks, so readers get it
   * only once both are published.
   */
  beginCommit(touches: (tokenId: number) => boolean): () => void {
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    this.committing = { touches, ended };
    return () => {
      this.committing = null;
      end();
    };
  }

  /** Replaces tokens' directories with those made by a commit, all at once. */
  async publish(directories: Published): Promise<void> {
    this.fresh = directories;
    const turns = new Turns();
    for (const [tokenId, sized] of directories) {
      this.unlisted.publish(tokenId, sized.directory, this.lists.listedId);
      this.keep(tokenId, sized);
      await turns.take();
    }
    this.fresh = null;
  }

  /** Call after a transaction that has listed the segments up to `listedId`, before the next one. */
  async publishListed(listedId: number): Promise<void> {
    this.lists.publish(listedId);
    await this.unlisted.settle(this.database, listedId);
  }

  private keep(tokenId: number, { directory, bytes }: SizedDirectory): void {
    this.loading.delete(tokenId);
    if (bytes === 0) {
      this.cached.delete(tokenId);
      this.empty.set(tokenId, directory);
    } else {
      this.empty.delete(tokenId);
      this.cached.set(tokenId, directory, { size: bytes });
    }
  }

  private load(tokenId: number): Promise<Directory> {
    const read = async (): Promise<Directory> => {
      const directory = await this.read(tokenId);
      if (this.committing?.touches(tokenId) === true) {
        await this.committing.ended;
        return this.loading.get(tokenId) === load ? read() : this.get(tokenId);
      }
      // A commit has published a newer directory in the meantime.
      if (this.loading.get(tokenId) !== load) return this.get(tokenId);
      this.keep(tokenId, sizedDirectory(directory));
      return directory;
    };
    const load = read().finally(() => {
      if (this.loading.get(tokenId) === load) this.loading.delete(tokenId);
    });
    this.loading.set(tokenId, load);
    return load;
  }

  /**
   * Reads a directory. If the token is committed between the two halves of the read, it has a gap: load()
   * discards it then.
   */
  private async read(tokenId: number): Promise<Directory> {
    const { listedId } = this.lists;
    const unlisted = this.unlisted.of(tokenId);
    if (unlisted === null) return loadDirectory(this.database, tokenId, listedId);
    if (listedId === 0) return directoryOf(unlisted);
    try {
      const rows = await this.database.rows(`${LISTS_OF} ${tokenId}`);
      return directoryOf([...unlisted, ...rows.flatMap((row) => refsOfRow(row))]);
    } catch (error) {
      if (!isDamage(error)) throw error;
      // The table `segments` has everything that is in the lists.
      return loadDirectory(this.database, tokenId, 0);
    }
  }
}

/**
 * Reads a token's directory, inside or outside a transaction.
 * @param listedId segments up to this id are in lists; later ones too if lists have grown in the meantime
 */
export async function loadDirectory(
  statements: Pick<Statements, 'rows'>,
  tokenId: number,
  listedId: number,
): Promise<Directory> {
  const unlisted = `SELECT ${ENTRY_COLUMNS} FROM segments
    WHERE token_id = ${tokenId}`;
  // One statement: no commit may fall between two reads.
  const rows = await statements.rows(
    listedId === 0
      ? unlisted
      : `${unlisted} AND segment_id > ${listedId}
         UNION ALL ${LISTS_OF} ${tokenId}`,
  );
  return directoryOf(rows.flatMap((columns) => refsOfRow(columns)));
}

/** The entries in a row of ENTRY_COLUMNS. A row without a segment_id is a list, with its entries in `times`. */
function refsOfRow(columns: SqlRow, unpack = unpackRefs): SegmentRef[] {
  const [segmentId, tier, , data] = columns;
  if (segmentId !== null) return [refOfColumns(columns)];
  return unpack(TIERS[tier as number], data as Uint8Array);
}

/** The directory for a token's segments, given in any order; some may occur twice. */
function directoryOf(segments: readonly SegmentRef[]): Directory {
  const refs = [...segments].sort((a, b) => firstT(a) - firstT(b));
  return byTier((tier) => {
    const own = refs.filter((ref) => ref.tier === tier);
    return own.filter((ref, i) => i === 0 || ref.segmentId !== own[i - 1].segmentId);
  });
}

export function sizedDirectory(directory: Directory): SizedDirectory {
  let bytes = 0;
  for (const tier of TIERS) {
    for (const ref of directory[tier]) bytes += entryBytes(ref.times.length);
  }
  return { directory, bytes };
}

/**
 * Directories of the tokens `firstId <= id <= lastId`, with only the segments that are needed to find the newest snapshot
 * at each of the moments and the one after it: in each tier, the last segment that begins by the moment and the first
 * that begins after it, possibly with neighbours. Tokens without segments are left out.
 * @param listedId as for loadDirectory()
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
  // One statement: no commit may fall between two reads.
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
     SELECT token_id, ${ENTRY_COLUMNS}
     FROM segments SEMI JOIN wanted USING (segment_id) WHERE segment_id > ${listedId}
     UNION ALL
     SELECT token_id, ${LIST_COLUMNS}
     FROM segment_lists SEMI JOIN wanted_lists USING (list_id)`,
  );
  const refsOf = (own: readonly SqlRow[]): SegmentRef[] =>
    own.flatMap((columns) =>
      refsOfRow(columns, (tier, data) => unpackRefsAround(tier, data, momentsS)),
    );
  return new Map(Array.from(byFirstColumn(rows), ([id, own]) => [id, directoryOf(refsOf(own))]));
}
