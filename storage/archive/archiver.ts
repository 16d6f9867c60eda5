/**
 * Moves closed days into objects: finds those that are due, makes their objects, reads each back, and submits the entry
 * that names it. Removes the objects that nothing names any more.
 */
import { createHash } from 'node:crypto';
import { type Tier, TIERS } from '../../compute/market.js';
import { DAY_S, isoOf } from '../../compute/time.js';
import type { TokenName } from '../contract.js';
import type { Catalog } from '../depth/catalog.js';
import type { Rewrite } from '../depth/depth-commit.js';
import type { Directories } from '../depth/directories.js';
import { lastTime } from '../depth/directory.js';
import { readAllBlocks, storedSegments, timedSegments } from '../depth/segments.js';
import type { Database } from '../duckdb/database.js';
import { type Statements, whereIdIn } from '../duckdb/statements.js';
import { InputError, RefusalError } from '../errors.js';
import { Mutex } from '../lender.js';
import { readMeta, writeMeta } from '../meta.js';
import type { ArchivedNext } from '../operations.js';
import type { Archive } from './archive.js';
import type { ArchivedDay } from './archived-day.js';
import { type DayObject, objectsOfDay } from './day-objects.js';
import { ObjectFaultError, type Objects } from './objects.js';

/** The key of `meta` for the time since when objects stay. */
const KEEP_SINCE_KEY = 'archive_keep_since';
/** The object that names the log whose stores remove objects, and its length. */
const OWNER_KEY = 'owner';
const OWNER_BYTES = 64;
/** Objects removed by one call of collect(). */
const COLLECTED_AT_ONCE = 100;
/** An object is read back in pieces of this size. */
const READ_BACK_BYTES = 8 * 1024 * 1024;

/** The objects of the prefix are another store's: nothing is removed. */
export class NotOwnerError extends InputError {
  constructor(place: string) {
    super(
      `the objects in ${place} belong to another store, or to the log that this one had before: none is removed; if no other store uses them, fathom archive collect makes them this one's`,
    );
  }
}

export interface ArchiveTimes {
  /** A closed day is archived once it ended this long ago. */
  afterS: number;
  /** An object that nothing names is removed after this long. */
  graceS: number;
}

/** A closed day that has snapshots in the store. */
export interface DueDay {
  tokenId: number;
  tier: Tier;
  dayS: number;
}

/** Has the log take an entry. @returns the ids of the new segments; null if it was applied before */
export type SubmitDay = (day: ArchivedDay) => Promise<number[] | null>;

interface ArchiverParts {
  database: Database;
  catalog: Catalog;
  directories: Directories;
  archive: Archive;
  rewrite: Rewrite;
  exclusive: <T>(body: () => Promise<T>) => Promise<T>;
  /** The log whose entries the store has applied; null before the first one. */
  logId: () => string | null;
  times: ArchiveTimes;
}

export class Archiver {
  /** An object must not be removed while another step makes the same one. */
  private readonly mutex = new Mutex();
  /** The days that next() takes, the next one last. */
  private queue: DueDay[] = [];

  constructor(private readonly parts: ArchiverParts) {}

  get times(): ArchiveTimes {
    return this.parts.times;
  }

  /**
   * The days that are due at `nowS`, the oldest first. The day of a token's last snapshot is not: servers read that
   * snapshot at their start.
   */
  async due(nowS: number): Promise<DueDay[]> {
    const { database, directories, times } = this.parts;
    const endS = Math.floor((nowS - times.afterS) / DAY_S) * DAY_S;
    const endDay = endS / DAY_S;
    const rows = await database.rows(
      `SELECT DISTINCT token_id, tier,
         unnest(range((first_t // ${DAY_S})::BIGINT, least(last_t // ${DAY_S} + 1, ${endDay})::BIGINT)) AS day
       FROM (${timedSegments('object_id IS NULL')}) WHERE first_t < ${endS} ORDER BY day, token_id, tier`,
    );
    const due: DueDay[] = [];
    for (const [tokenId, tier, day] of rows as [number, number, number][]) {
      const dayS = Number(day) * DAY_S;
      const directory = await directories.get(tokenId);
      const lastS = lastTime(directory);
      const isLast = lastS >= dayS && lastS < dayS + DAY_S;
      const has = directory[TIERS[tier]].some(
        ({ isArchived, times }) => !isArchived && times.some((t) => t >= dayS && t < dayS + DAY_S),
      );
      if (!isLast && has) due.push({ tokenId, tier: TIERS[tier], dayS });
    }
    return due;
  }

  /**
   * Archives a day, if it still is in the store.
   * @returns the bytes of its objects
   * @throws ArchiveUnavailableError if an object cannot be written or read back
   * @throws RefusalError if its snapshots change meanwhile
   */
  async archive({ tokenId, tier, dayS }: DueDay, submit: SubmitDay): Promise<number> {
    const { catalog, directories, archive, database, rewrite } = this.parts;
    const row = catalog.tokenById(tokenId)?.row;
    const { objects } = archive;
    if (row === undefined || objects === null) return 0;
    const token: TokenName = { chain: row.chain, address: row.address };
    const segments = (await directories.get(tokenId))[tier];
    const read = async (refs: readonly { segmentId: number }[]): Promise<Uint8Array[]> => {
      const ids = refs.map(({ segmentId }) => segmentId);
      if ((await storedSegments(database, ids)).size < ids.length) throw changed(token, tier, dayS);
      return readAllBlocks(database, ids, archive);
    };
    let bytes = 0;
    for await (const object of objectsOfDay({ token, tier, dayS, segments, read, rewrite })) {
      await this.mutex.use(async () => {
        await putWhole(objects, object);
        const ids = await submit(object.day);
        for (const [i, id] of (ids ?? []).entries()) await archive.keep(id, object.blocks[i]);
      });
      bytes += object.day.bytes;
    }
    return bytes;
  }

  /**
   * Archives the next day that is due.
   * @returns null if none is
   * @throws as archive()
   */
  async next(nowS: number, submit: SubmitDay): Promise<ArchivedNext | null> {
    if (this.queue.length === 0) this.queue = (await this.due(nowS)).reverse();
    for (let day; (day = this.queue.pop()) !== undefined;) {
      const row = this.parts.catalog.tokenById(day.tokenId)!.row;
      const token = { chain: row.chain, address: row.address };
      try {
        const bytes = await this.archive(day, submit);
        return { token, tier: day.tier, dayS: day.dayS, bytes, left: this.queue.length };
      } catch (error) {
        // Its snapshots have changed meanwhile: the next search finds it again.
        if (error instanceof RefusalError) continue;
        this.queue = [];
        throw error;
      }
    }
    return null;
  }

  /**
   * Removes objects that no segment has named for `graceS`, and notes those that none names now.
   * @param keepSinceS objects that were named since then stay; remembered for later calls. null: as last given
   * @param takesOver whether the objects are this store's from now on, if they were another's
   * @returns how many were removed
   * @throws NotOwnerError if another store or log names them, too
   */
  async collect(
    nowS: number,
    keepSinceS: number | null = null,
    takesOver = false,
  ): Promise<number> {
    const { database, archive, exclusive, times, logId } = this.parts;
    const { objects } = archive;
    const own = logId();
    if (objects === null || own === null) return 0;
    await checkOwner(objects, own, takesOver);
    const write = (body: (tx: Statements) => Promise<unknown>): Promise<unknown> =>
      exclusive(() => database.transaction(body));
    if (keepSinceS !== null) {
      await write((tx) => writeMeta(tx, KEEP_SINCE_KEY, String(keepSinceS)));
    }
    const kept = keepSinceS ?? Number((await readMeta(database)).get(KEEP_SINCE_KEY) ?? Infinity);
    await this.noteUnused(nowS, write);
    const beforeS = Math.min(nowS - times.graceS, kept);
    const rows = await database.rows(
      `SELECT key FROM objects WHERE unused_since <= ${beforeS} ORDER BY key LIMIT ${COLLECTED_AT_ONCE}`,
    );
    let removed = 0;
    for (const [key] of rows as [string][]) {
      await this.mutex.use(async () => {
        // Another node may have written it again just now, for an entry that is on its way.
        const writtenS = await objects.writtenS(key);
        if (writtenS !== null && writtenS > beforeS) return;
        await objects.remove(key);
        await write((tx) => tx.run('DELETE FROM objects WHERE key = ?', [key]));
        removed++;
      });
    }
    return removed;
  }

  /** Notes since when objects are unused, and that used ones are not. */
  private async noteUnused(
    nowS: number,
    write: (body: (tx: Statements) => Promise<unknown>) => Promise<unknown>,
  ): Promise<void> {
    const isNamed = 'object_id IN (SELECT object_id FROM segments WHERE object_id IS NOT NULL)';
    // Looked for outside of the writer's turn: most times nothing has changed.
    const wrong = await this.parts.database.rows(
      `SELECT object_id FROM objects WHERE (unused_since IS NULL) <> (${isNamed})`,
    );
    if (wrong.length === 0) return;
    const among = whereIdIn('object_id', wrong.flat() as number[]);
    await write((tx) =>
      tx.run(
        `UPDATE objects SET unused_since = CASE WHEN ${isNamed} THEN NULL ELSE coalesce(unused_since, ${nowS}) END
         WHERE ${among}`,
      ),
    );
  }
}

/**
 * Only one log's stores remove objects of a prefix: others may name them, such as a copy that was started for a trial.
 * The first one that looks is it, and then whoever takes over.
 */
async function checkOwner(objects: Objects, own: string, takesOver: boolean): Promise<void> {
  const wanted = Buffer.from(own.padEnd(OWNER_BYTES));
  const found = await objects.read(OWNER_KEY, 0, OWNER_BYTES).catch((error: unknown) => {
    if (error instanceof ObjectFaultError) return null;
    throw error;
  });
  if (found !== null && Buffer.compare(found, wanted) === 0) return;
  if (found !== null && !takesOver) throw new NotOwnerError(objects.name);
  await objects.put(OWNER_KEY, wanted, createHash('sha256').update(wanted).digest('hex'));
}

/** A commit has replaced some of the day's segments while they were read. */
function changed({ chain, address }: TokenName, tier: Tier, dayS: number): RefusalError {
  return new RefusalError(
    `the ${tier} snapshots of ${chain}:${address} of ${isoOf(dayS).slice(0, 10)} change: try again`,
  );
}

/** Writes an object, then reads it back: what the store gives up must be there. */
async function putWhole(objects: Objects, { day, content }: DayObject): Promise<void> {
  const { key, sha256, bytes } = day;
  await objects.put(key, content, sha256);
  const hash = createHash('sha256');
  for (let at = 0; at < bytes; at += READ_BACK_BYTES) {
    hash.update(await objects.read(key, at, Math.min(READ_BACK_BYTES, bytes - at)));
  }
  if (hash.digest('hex') === sha256) return;
  throw new ObjectFaultError(`the object ${key} in ${objects.name} is not what was written there`);
}
