/**
 * Moves closed days into objects: finds those that are due, makes their objects, reads each back, and submits the entry
 * that names it. Removes the objects that nothing names any more.
 */
import { createHash, randomUUID } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { type Tier, TIERS } from '../../compute/market.js';
import { firstFrom } from '../../compute/search.js';
import { DAY_S, isoOf } from '../../compute/time.js';
import type { TokenName } from '../contract.js';
import type { Catalog } from '../depth/catalog.js';
import type { Rewrite } from '../depth/depth-commit.js';
import type { Directories } from '../depth/directories.js';
import { lastTime, overlapping, type SegmentRef, type TierDirectory } from '../depth/directory.js';
import type { SampleSegments } from '../depth/samples.js';
import { readAllBlocks, storedSegments, timedSegments } from '../depth/segments.js';
import type { Database } from '../duckdb/database.js';
import { type Statements, whereIdIn } from '../duckdb/statements.js';
import { DiskFullError, messageOf, RefusalError, StoreUnavailableError } from '../errors.js';
import { Mutex } from '../lender.js';
import { readMeta, writeMeta } from '../meta.js';
import type { ArchivedNext, SweptObjects } from '../operations.js';
import { Turns } from '../turns.js';
import { wallS } from '../wall-clock.js';
import { type Archive, IS_NAMED } from './archive.js';
import type { ArchivedDay } from './archived-day.js';
import { type DayObject, objectsOfDay, SEGMENTS_PREFIX } from './day-objects.js';
import { lostObject } from './restored-bundle.js';
import { ArchiveUnavailableError, ObjectFaultError, type Objects } from './objects.js';
import { type ArchivePlace, knownPlace, writePlace } from './open-objects.js';
import { claim, NotOwnerError, ownerOf } from './owner.js';

/** The key of `meta` for the time since when objects stay. */
const KEEP_SINCE_KEY = 'archive_keep_since';
/** Objects removed by one call of collect(). */
const COLLECTED_AT_ONCE = 100;
/**
 * An object that was written this short ago, or half the grace, is not written again: another node has just done so. An
 * older one is, so that none is removed for its age while an entry that names it is on its way.
 */
const FRESH_S = 900;
/** An object is read back in pieces of this size. */
const READ_BACK_BYTES = 8 * 1024 * 1024;

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
  directory: string;
  database: Database;
  catalog: Catalog;
  directories: Directories;
  archive: Archive;
  /** Where the objects of `archive` are. */
  place: ArchivePlace;
  rewrite: Rewrite;
  sample: SampleSegments;
  exclusive: <T>(body: () => Promise<T>) => Promise<T>;
  /** The log whose entries the store has applied; null before the first one. */
  logId: () => string | null;
  times: ArchiveTimes;
  nowS: () => number;
}

export class Archiver {
  /** An object must not be removed while another step makes the same one. */
  private readonly mutex = new Mutex();
  /** The days that next() takes, the next one last. */
  private queue: DueDay[] = [];
  /** The days that next() could not archive since the first call of a run. */
  private readonly failed = new Set<string>();
  /** Why archiving in the background failed, or a day of it, when it last tried; null: nothing failed. */
  lastError: string | null = null;
  /** Whether the store remembers the place. */
  private isSettled = false;
  /** Whether the objects have an owner. */
  private isOwned = false;
  /** Begins the order in which next() takes days that other processes may take, too. */
  private readonly order = randomUUID();

  constructor(private readonly parts: ArchiverParts) {}

  get times(): ArchiveTimes {
    return this.parts.times;
  }

  /** The clock by which days are due. */
  nowS(): number {
    return this.parts.nowS();
  }

  /**
   * The days that are due, the oldest first. The day of a token's last snapshot is not: servers read that
   * snapshot at their start.
   */
  async due(): Promise<DueDay[]> {
    const { database, directories, times } = this.parts;
    const endS = Math.floor((this.nowS() - times.afterS) / DAY_S) * DAY_S;
    const endDay = endS / DAY_S;
    const rows = await database.rows(
      `SELECT DISTINCT token_id, tier,
         unnest(range((first_t // ${DAY_S})::BIGINT, least(last_t // ${DAY_S} + 1, ${endDay})::BIGINT)) AS day
       FROM (${timedSegments('object_id IS NULL')}) WHERE first_t < ${endS} ORDER BY day, token_id, tier`,
    );
    const due: DueDay[] = [];
    const turns = new Turns();
    for (const [tokenId, tier, day] of rows as [number, number, number][]) {
      const dayS = Number(day) * DAY_S;
      const directory = await directories.get(tokenId);
      const lastS = lastTime(directory);
      const isLast = lastS >= dayS && lastS < dayS + DAY_S;
      if (!isLast && isInStore(directory[TIERS[tier]], dayS))
        due.push({ tokenId, tier: TIERS[tier], dayS });
      await turns.take();
    }
    return due;
  }

  /**
   * Has the store remember the place, once it has been seen to hold the newest object: days that later processes look for
   * in a mistyped place are lost to them.
   * @throws ArchiveUnavailableError if it lacks that object, or cannot be read
   */
  async settle(): Promise<void> {
    if (this.isSettled) return;
    const { archive, database, exclusive, place } = this.parts;
    const known = knownPlace(await readMeta(database));
    if (JSON.stringify(known) !== JSON.stringify(place)) {
      await archive.tryNewest(database).catch((error: unknown) => {
        if (!(error instanceof ArchiveUnavailableError)) throw error;
        const fault = faultOf(error, place, known);
        if (fault !== null) throw fault;
      });
      await exclusive(() => database.transaction((tx) => writePlace(tx, place)));
    }
    this.isSettled = true;
  }

  /**
   * Archives a day, if it still is in the store. The place must be settled.
   * @returns the bytes of its objects
   * @throws ArchiveUnavailableError if an object cannot be written or read back
   * @throws RefusalError if its snapshots change meanwhile
   */
  async archive({ tokenId, tier, dayS }: DueDay, submit: SubmitDay): Promise<number> {
    const { catalog, directories, archive, database, rewrite, sample, times } = this.parts;
    const row = catalog.tokenById(tokenId)?.row;
    const { objects } = archive;
    if (row === undefined || objects === null) return 0;
    const token: TokenName = { chain: row.chain, address: row.address };
    const segments = (await directories.get(tokenId))[tier];
    // Another node's entry may have come first.
    if (!isInStore(segments, dayS)) return 0;
    const read = async (refs: readonly SegmentRef[]): Promise<Uint8Array[]> => {
      const ids = refs.map(({ segmentId }) => segmentId);
      if ((await storedSegments(database, ids)).size < ids.length) throw changed(token, tier, dayS);
      return readAllBlocks(database, ids, archive).catch(async (error: unknown) => {
        // An object of the day is lost: that is no reason to wait with the others.
        throw await lostObject(
          error,
          refs.map((ref) => ({ token, tier, ref })),
          this.parts,
        );
      });
    };
    await this.claimFirst(objects);
    let bytes = 0;
    for await (const object of objectsOfDay({
      token,
      tier,
      dayS,
      segments,
      read,
      rewrite,
      sample,
    })) {
      await this.mutex.use(async () => {
        await putWhole(objects, object, times.graceS);
        archive.isUnreadable = false;
        const ids = await submit(object.day);
        for (const [i, id] of (ids ?? []).entries()) await archive.keep(id, object.blocks[i]);
      });
      bytes += object.day.bytes;
    }
    return bytes;
  }

  /**
   * Archives the next day that is due.
   * @param beginsRun whether to try days again that could not be archived before
   * @param inAnyOrder whether other processes may do the same for this store: each then takes another day first
   * @returns null if none is, but for those that could not be archived since the run began
   * @throws StoreUnavailableError | DiskFullError, which would occur for every other day, too
   */
  async next(
    submit: SubmitDay,
    { beginsRun = false, inAnyOrder = false } = {},
  ): Promise<ArchivedNext | null> {
    await this.settle();
    if (beginsRun) this.failed.clear();
    if (this.queue.length === 0) {
      const due = await this.due();
      this.queue = due.filter((day) => !this.failed.has(nameOf(day))).reverse();
      if (inAnyOrder) this.queue.sort((a, b) => this.placeOf(a) - this.placeOf(b));
    }
    for (let day; (day = this.queue.pop()) !== undefined;) {
      const row = this.parts.catalog.tokenById(day.tokenId)!.row;
      const token = { chain: row.chain, address: row.address };
      const next = { token, tier: day.tier, dayS: day.dayS, left: this.queue.length };
      try {
        const bytes = await this.archive(day, submit);
        if (bytes > 0) return { ...next, bytes, failure: null };
      } catch (error) {
        // Its snapshots have changed meanwhile: the next search finds it again.
        if (error instanceof RefusalError) continue;
        if (isOfEveryDay(error)) {
          this.queue = [];
          throw error;
        }
        this.failed.add(nameOf(day));
        return { ...next, bytes: 0, failure: messageOf(error) };
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
  async collect(keepSinceS: number | null = null, takesOver = false): Promise<number> {
    const { database, archive, exclusive } = this.parts;
    const { objects } = archive;
    const logId = this.parts.logId();
    if (objects === null || logId === null) return 0;
    await this.settle();
    await claim(objects, logId, takesOver);
    const nowS = this.nowS();
    const write = (body: (tx: Statements) => Promise<unknown>): Promise<unknown> =>
      exclusive(() => database.transaction(body));
    if (keepSinceS !== null) {
      await write((tx) => writeMeta(tx, KEEP_SINCE_KEY, String(keepSinceS)));
    }
    await this.noteUnused(nowS, write);
    const beforeS = await this.unusedBeforeS();
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

  /**
   * Removes objects that this store has never named, and that were written as long ago as collect() asks for: a process
   * was killed between the object and its entry, or another store has archived days there, which it loses. So nothing
   * calls this unasked, and it makes no store the owner. Looks at some objects after the key `after`; null: at the first
   * ones.
   * @throws NotOwnerError unless the objects are this store's already
   */
  async sweep(after: string | null): Promise<SweptObjects> {
    const { archive, database } = this.parts;
    const { objects } = archive;
    if (objects === null) return { removed: 0, next: null };
    await this.settle();
    const logId = this.parts.logId();
    if (logId === null || (await ownerOf(objects)) !== logId) throw new NotOwnerError(objects.name);
    const listed = await objects.list(SEGMENTS_PREFIX, after);
    const beforeS = await this.unusedBeforeS();
    let removed = 0;
    for (const { key, writtenS } of listed) {
      if (writtenS > beforeS) continue;
      await this.mutex.use(async () => {
        const known = await database.rows('SELECT 1 FROM objects WHERE key = ?', [key]);
        if (known.length > 0) return;
        // Another node may have written it again just now, for an entry that is on its way.
        const nowWrittenS = await objects.writtenS(key);
        if (nowWrittenS === null || nowWrittenS > beforeS) return;
        await objects.remove(key);
        removed++;
      });
    }
    return { removed, next: listed.at(-1)?.key ?? null };
  }

  /** What nothing has named since this time may go. */
  private async unusedBeforeS(): Promise<number> {
    const { database, times } = this.parts;
    const kept = Number((await readMeta(database)).get(KEEP_SINCE_KEY) ?? Infinity);
    return Math.min(this.nowS() - times.graceS, kept);
  }

  /** Makes the objects this store's, if they are nobody's yet. */
  private async claimFirst(objects: Objects): Promise<void> {
    const logId = this.parts.logId();
    if (this.isOwned || logId === null) return;
    await claim(objects, logId).catch((error: unknown) => {
      // Others may archive there, too.
      if (!(error instanceof NotOwnerError || error instanceof ObjectFaultError)) throw error;
    });
    this.isOwned = true;
  }

  private placeOf({ tokenId, tier, dayS }: DueDay): number {
    return crc32(`${this.order} ${nameOf({ tokenId, tier, dayS })}`);
  }

  /** Notes since when objects are unused, and that used ones are not. */
  private async noteUnused(
    nowS: number,
    write: (body: (tx: Statements) => Promise<unknown>) => Promise<unknown>,
  ): Promise<void> {
    // Looked for outside of the writer's turn: most times nothing has changed.
    const wrong = await this.parts.database.rows(
      `SELECT object_id FROM objects WHERE (unused_since IS NULL) <> (${IS_NAMED})`,
    );
    if (wrong.length === 0) return;
    const among = whereIdIn('object_id', wrong.flat() as number[]);
    await write((tx) =>
      tx.run(
        `UPDATE objects SET unused_since = CASE WHEN ${IS_NAMED} THEN NULL ELSE coalesce(unused_since, ${nowS}) END
         WHERE ${among}`,
      ),
    );
  }
}

const nameOf = ({ tokenId, tier, dayS }: DueDay): string => `${tokenId} ${tier} ${dayS}`;

/** The error to report when another place than the store remembers cannot show the newest object; null: none. */
function faultOf(
  error: ArchiveUnavailableError,
  place: ArchivePlace,
  known: ArchivePlace | null,
): ArchiveUnavailableError | null {
  const [here, there] = [place, known].map((one) => one && placeName(one));
  // Only how it is reached has changed: what it has lost is no reason to wait.
  if (here === there) return error instanceof ObjectFaultError ? null : error;
  const wayOut =
    there === null
      ? 'copy the objects there, or give the url where they are'
      : `copy the objects of ${there} there, or give that place`;
  return new ArchiveUnavailableError(
    `nothing is archived in ${here}, which does not show the store's newest object: ${wayOut} (${messageOf(error)})`,
  );
}

const placeName = ({ url, endpoint }: ArchivePlace): string =>
  endpoint === null ? url : `${url} at ${endpoint}`;

/** Whether the archive, the log or the disk fails, and not one day. */
export const isOfEveryDay = (error: unknown): boolean =>
  error instanceof StoreUnavailableError || error instanceof DiskFullError;

/** A commit has replaced some of the day's segments while they were read. */
function changed({ chain, address }: TokenName, tier: Tier, dayS: number): RefusalError {
  return new RefusalError(
    `the ${tier} snapshots of ${chain}:${address} of ${isoOf(dayS).slice(0, 10)} change: try again`,
  );
}

/** Whether the store itself has snapshots of a day. */
export function isInStore(segments: TierDirectory, dayS: number): boolean {
  const endS = dayS + DAY_S;
  const { from, to } = overlapping(segments, dayS, endS - 1);
  return segments
    .slice(from, to)
    .some(({ isArchived, times }) => !isArchived && times[firstFrom(times, dayS)] < endS);
}

/** Writes an object, then reads it back: what the store gives up must be there. */
async function putWhole(
  objects: Objects,
  { day, content }: DayObject,
  graceS: number,
): Promise<void> {
  const { key, sha256 } = day;
  const writtenS = (await objects.writtenS(key)) ?? -Infinity;
  const isFresh = wallS() - writtenS < Math.min(FRESH_S, graceS / 2) && writtenS !== Infinity;
  if (isFresh && (await isWhole(objects, day).catch(() => false))) return;
  await objects.put(key, content, sha256);
  if (await isWhole(objects, day)) return;
  throw new ObjectFaultError(`the object ${key} in ${objects.name} is not what was written there`);
}

async function isWhole(objects: Objects, { key, sha256, bytes }: ArchivedDay): Promise<boolean> {
  const hash = createHash('sha256');
  for (let at = 0; at < bytes; at += READ_BACK_BYTES) {
    hash.update(await objects.read(key, at, Math.min(READ_BACK_BYTES, bytes - at)));
  }
  return hash.digest('hex') === sha256;
}
