/** Archives closed days in the background, and removes objects that nothing names. */
import { setTimeout as sleep } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { DAY_S } from '../../compute/time.js';
import { messageOf, RefusalError } from '../errors.js';
import { Trouble } from '../trouble.js';
import { type Archiver, type DueDay, isOfEveryDay, type SubmitDay } from './archiver.js';
import { NotOwnerError } from './owner.js';

/** Time between two searches for days that are due. */
const EVERY_MS = 60_000;
/** Time between two searches for objects that nothing names. */
const COLLECT_EVERY_MS = 3_600_000;
/** Rest after each day, as a multiple of its time: archiving takes at most a quarter of a thread. */
const REST_SHARE = 3;
/** Each node of a cluster takes a day up to this long after it is due, at a time of its own: the first one archives it. */
const SPREAD_S = 600;

interface ArchiveWorkerOptions {
  archiver: Archiver;
  submit: SubmitDay;
  /** Whether objects may be removed: this node has applied the log, and its clock can be trusted. */
  mayCollect: () => Promise<boolean>;
  /** The node of a cluster; null: a single server. */
  node: string | null;
  everyMs?: number;
  restShare?: number;
  onArchived: (archived: { days: number; bytes: number }) => void;
  onCollected: (objects: number) => void;
  /** Called once if the objects are another store's, and stay. */
  onNotOwner: (error: NotOwnerError) => void;
  /** Called if a day cannot be archived; the worker goes on with the others, and tries this one at the next search. */
  onError: (error: unknown, day: DueDay) => void;
  /** Called once with the error when archiving begins to fail; onResume() when it succeeds again. */
  onTrouble: (error: Error) => void;
  onResume: () => void;
}

export class ArchiveWorker {
  private readonly ending = new AbortController();
  private readonly trouble: Trouble<Error>;
  private readonly working: Promise<void>;
  private collectAtMs = 0;
  /** Whether it was said that the objects are another store's. */
  private isNotOwner = false;
  /** The last error since the last search began. */
  private error: string | null = null;
  /** Days that waited at the last search. */
  waiting = 0;

  constructor(private readonly options: ArchiveWorkerOptions) {
    const { onTrouble: onBegan, onResume: onOver } = options;
    this.trouble = new Trouble({ onBegan, onOver });
    this.working = this.work();
  }

  /** Whether the last attempt failed. */
  get fails(): boolean {
    return this.trouble.lasts;
  }

  /** Waits for the running day and drops the rest. */
  async close(): Promise<void> {
    this.ending.abort();
    await this.working;
  }

  private async work(): Promise<void> {
    const { everyMs = EVERY_MS } = this.options;
    while (!this.ending.signal.aborted) {
      this.error = null;
      try {
        await this.archiveDue();
        if (performance.now() >= this.collectAtMs) await this.collect();
        this.trouble.over();
      } catch (error) {
        const failure = error instanceof Error ? error : new Error(String(error));
        if (!this.ending.signal.aborted) this.trouble.began('archive', failure);
        this.note(failure);
      }
      this.options.archiver.lastError = this.error;
      await this.rest(everyMs);
    }
  }

  private async archiveDue(): Promise<void> {
    const { archiver, submit, restShare = REST_SHARE, onArchived, onError } = this.options;
    const due = this.inOwnOrder(await archiver.due());
    this.waiting = due.length;
    await archiver.settle();
    const archived = { days: 0, bytes: 0 };
    try {
      for (const day of due) {
        if (this.ending.signal.aborted) return;
        const beganMs = performance.now();
        try {
          const bytes = await archiver.archive(day, submit);
          if (bytes > 0) {
            archived.days++;
            archived.bytes += bytes;
          }
        } catch (error) {
          if (isOfEveryDay(error)) throw error;
          // Otherwise its snapshots have changed meanwhile, and the next search finds it again, or they are damaged.
          if (!(error instanceof RefusalError)) {
            onError(error, day);
            this.note(error);
          }
        }
        this.waiting--;
        this.trouble.over();
        await this.rest((performance.now() - beganMs) * restShare);
      }
    } finally {
      if (archived.days > 0) onArchived(archived);
    }
  }

  /** Has the status say it at once, and until a search without an error has ended. */
  private note(error: unknown): void {
    this.error = messageOf(error);
    this.options.archiver.lastError = this.error;
  }

  private async collect(): Promise<void> {
    this.collectAtMs = performance.now() + COLLECT_EVERY_MS;
    const { archiver, mayCollect } = this.options;
    if (!(await mayCollect())) return;
    const removed = await archiver.collect().catch((error: unknown) => {
      if (!(error instanceof NotOwnerError)) throw error;
      if (!this.isNotOwner) this.options.onNotOwner(error);
      this.isNotOwner = true;
      return 0;
    });
    if (removed > 0) this.options.onCollected(removed);
  }

  /** Of a cluster's nodes, each takes the days in another order, and later ones at another time. */
  private inOwnOrder(due: readonly DueDay[]): DueDay[] {
    const { node, archiver } = this.options;
    const nowS = archiver.nowS();
    if (node === null) return [...due];
    const placed = due.map((day) => ({
      day,
      place: crc32(`${node} ${day.tokenId} ${day.tier} ${day.dayS}`),
    }));
    return placed
      .filter(
        ({ day, place }) => day.dayS + DAY_S + archiver.times.afterS + (place % SPREAD_S) <= nowS,
      )
      .sort((a, b) => a.place - b.place)
      .map(({ day }) => day);
  }

  private rest(ms: number): Promise<void> {
    return sleep(ms, undefined, { signal: this.ending.signal, ref: false }).catch(() => undefined);
  }
}
