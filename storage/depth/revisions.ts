/**
 * The table `depth_revisions`: the latest commits that changed snapshots already shown, with their tokens and times. From
 * them a client that follows a token learns what was revised or deleted since its last request. A commit that only adds
 * snapshots after a token's last one is not a revision: it writes nothing here. All rows are of one log: before the first
 * entry of another log, they are forgotten.
 */
import { randomUUID } from 'node:crypto';
import { LargeMap } from '../../compute/large-map.js';
import { DAY_S } from '../../compute/time.js';
import type { RevisedTimes } from '../contract.js';
import type { Database } from '../duckdb/database.js';
import { MAX_VALUE_BYTES, type SqlValue, type Statements } from '../duckdb/statements.js';
import { type LogMark, markOf } from '../log/mark.js';
import { type Meta, writeMeta } from '../meta.js';
import { Turns } from '../turns.js';
import { bytesOf } from '../typed-arrays.js';
import { wallS } from '../wall-clock.js';
import { RevisedSpans, type RevisionRange } from './revised-times.js';
import { shownChanges } from './shown-changes.js';
import type { Stage } from './stage.js';

/** Older commits are forgotten. */
const KEPT_S = DAY_S;
/** How many commits are remembered at most. */
const MAX_REVISING_COMMITS = 100_000;
/** How many bytes they take at most. */
const MAX_REVISION_BYTES = 256 * 1024 * 1024;
/** Bytes of a row without its times. */
const ROW_BYTES = 32;
/** How often commits forget old ones. */
const FORGET_EVERY_S = 600;
const MAX_TIMES = MAX_VALUE_BYTES / Uint32Array.BYTES_PER_ELEMENT;
const ROWS_AT_ONCE = 1000;
const FLOOR_KEY = 'revisions_floor';

/** Revisions of a log up to a position are forgotten. */
interface Floor {
  logId: string;
  position: number;
}

export class Revisions {
  /** Newest remembered position of each token. */
  private readonly byToken = new LargeMap<number, number>();
  /** The newest forgotten position of each token, since the store was opened. */
  private readonly forgotten = new LargeMap<number, number>();
  private readonly spans: RevisedSpans;
  private forgotAtS = -Infinity;

  private constructor(
    database: Pick<Database, 'streamChunks'>,
    /** The log whose entries the positions count; while the store has applied none, the name of its own next log. */
    public history: string,
    /** Position of the last applied entry. */
    public position: number,
    private floor: number,
    /** Whether positions count entries of a cluster's log, where other nodes may be ahead. */
    private isOfCluster: boolean,
  ) {
    this.spans = new RevisedSpans(database);
  }

  static async load(
    database: Pick<Database, 'rows' | 'streamChunks'>,
    meta: Meta,
  ): Promise<Revisions> {
    const mark = markOf(meta);
    const history = mark?.logId ?? randomUUID();
    const floor = floorOf(meta, history);
    const last = mark?.position ?? 0;
    const revisions = new Revisions(database, history, last, floor, mark?.isOwn === false);
    const rows = await database.rows(
      'SELECT token_id, max(position) FROM depth_revisions GROUP BY token_id',
    );
    for (const [tokenId, position] of rows as [number, number][]) {
      revisions.byToken.set(tokenId, position);
    }
    return revisions;
  }

  /** As FollowedDepth.remembers(). */
  remembers(position: number): boolean {
    return position >= this.floor && (position <= this.position || this.isOfCluster);
  }

  /** Position of a token's newest revision; 0 if none is remembered. */
  lastOf(tokenId: number): number {
    return this.byToken.get(tokenId) ?? 0;
  }

  /** Whether a revision of the token after a position was forgotten since the store was opened. */
  hasForgotten(tokenId: number, after: number): boolean {
    return (this.forgotten.get(tokenId) ?? 0) > after;
  }

  /** The first times in `fromS <= t < toS` that revisions of a range have changed. */
  times(range: RevisionRange, fromS: number, toS: number): Promise<RevisedTimes> {
    return this.spans.first(range, fromS, toS);
  }

  /**
   * Writes what a transaction has revised since the last call, or since it began. Readers see it once the stage is
   * published.
   * @param mark of the entry that the transaction applies
   */
  async write(stage: Stage, mark: LogMark): Promise<void> {
    const { position } = mark;
    const nowS = wallS();
    const revised: number[] = [];
    const rows: SqlValue[][] = [];
    const turns = new Turns();
    for (const { tokenId, before, now } of stage.changedDepth()) {
      const { times, lastT } = await shownChanges(before, now, turns);
      if (times.length === 0 && lastT === null) continue;
      revised.push(tokenId);
      for (let from = 0; from === 0 || from < times.length; from += MAX_TIMES) {
        const part = Uint32Array.from(times.slice(from, from + MAX_TIMES));
        rows.push([position, tokenId, nowS, bytesOf(part), lastT]);
        if (rows.length >= ROWS_AT_ONCE) await stage.tx.append('depth_revisions', rows.splice(0));
        await turns.take();
      }
    }
    if (rows.length > 0) await stage.tx.append('depth_revisions', rows.splice(0));
    const isDue = revised.length > 0 && nowS - this.forgotAtS >= FORGET_EVERY_S;
    const forgotten = isDue ? await this.forget(stage.tx, mark.logId, nowS) : null;
    stage.onVisible(() => {
      if (isDue) this.forgotAtS = nowS;
      this.switchTo(mark);
      for (const tokenId of revised) this.byToken.set(tokenId, position);
      this.position = position;
      if (forgotten === null) return;
      this.floor = forgotten.floor;
      for (const [tokenId, last] of forgotten.byToken) this.forgotten.set(tokenId, last);
    });
  }

  /** Records that an entry was applied, even if it revised nothing. */
  entryApplied(mark: LogMark): void {
    this.switchTo(mark);
    this.position = Math.max(this.position, mark.position);
  }

  /**
   * Forgets all revisions, because the entries to come are of another log. Call forgotAll() once `tx` is committed.
   * @param mark the stored one; null: the store leaves its log
   */
  async forgetAll(tx: Statements, mark: LogMark | null): Promise<void> {
    await tx.run('DELETE FROM depth_revisions');
    // The store may still go on with its log: it has forgotten what that has revised.
    if (mark !== null) await writeFloor(tx, mark.logId, mark.position);
  }

  forgotAll(mark: LogMark | null): void {
    for (const [tokenId, position] of this.byToken) this.forgotten.set(tokenId, position);
    this.byToken.clear();
    this.spans.clear();
    if (mark === null) this.switchTo({ logId: randomUUID(), position: 0, isOwn: true });
    else if (mark.logId === this.history) this.floor = mark.position;
  }

  private switchTo({
    logId,
    position,
    isOwn,
  }: Pick<LogMark, 'logId' | 'position' | 'isOwn'>): void {
    this.isOfCluster = !isOwn;
    if (logId === this.history) return;
    // A single server's positions count on in its next log, a cluster's begin anew.
    if (position <= this.position) this.forgotten.clear();
    this.history = logId;
    this.floor = 0;
    this.position = 0;
  }

  /** Forgets old revisions. @returns the new floor, and the last one of each token; null: none was */
  private async forget(
    tx: Statements,
    logId: string,
    nowS: number,
  ): Promise<{ floor: number; byToken: [number, number][] } | null> {
    const oldS = nowS - KEPT_S;
    const [[floor]] = await tx.rows(
      `SELECT max(position) FROM (
         SELECT position, committed, sum(bytes) OVER newer AS total, count(*) OVER newer AS commits
         FROM (SELECT position, max(committed_at) AS committed, sum(octet_length(times) + ${ROW_BYTES}) AS bytes
               FROM depth_revisions GROUP BY position)
         WINDOW newer AS (ORDER BY position DESC))
       WHERE committed < ${oldS} OR total > ${MAX_REVISION_BYTES} OR commits > ${MAX_REVISING_COMMITS}`,
    );
    if (floor === null) return null;
    const old = `FROM depth_revisions WHERE position <= ${Number(floor)}`;
    const byToken = await tx.rows(`SELECT token_id, max(position) ${old} GROUP BY token_id`);
    await tx.run(`DELETE ${old}`);
    await writeFloor(tx, logId, floor as number);
    return { floor: floor as number, byToken: byToken as [number, number][] };
  }
}

/** The position up to which revisions of a log are forgotten. */
function floorOf(meta: Meta, logId: string): number {
  const kept = JSON.parse(meta.get(FLOOR_KEY) ?? 'null') as Floor | null;
  return kept?.logId === logId ? kept.position : 0;
}

function writeFloor(tx: Statements, logId: string, position: number): Promise<void> {
  return writeMeta(tx, FLOOR_KEY, JSON.stringify({ logId, position } satisfies Floor));
}
