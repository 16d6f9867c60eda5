/** Makes fragments of stored segments before they are requested, the newest first, while the pool is idle. */
import { setTimeout as sleep } from 'node:timers/promises';
import { FRAGMENT_GROUPS } from '../../compute/replay/fragments.js';
import { mayHaveLongNames } from '../../compute/replay/names.js';
import { HOUR_MS } from '../../compute/time.js';
import type { SegmentEntry, SegmentRange, SegmentSource } from '../../storage/contract.js';
import type { FragmentFiles } from '../../storage/fragment-files.js';
import { Turns } from '../../storage/turns.js';
import type { Logger } from '../logger.js';
import type { FragmentOrders, FragmentsOrder } from './fragment-orders.js';
import { canAssemble } from './fragments.js';
import { learnMarkets } from './page-plan.js';

/** Segments listed by one statement. */
const LISTED_AT_ONCE = 64;
/** Segments whose fragments one task makes: a page that arrives in the meantime waits for at most these. */
const MADE_AT_ONCE = 2;
/** Pause between two scans for new segments: commits can come many times a second, and DuckDB scans a table each time. */
const REST_MS = 1_000;
/** Pause after a failure to write files. */
const RETRY_AFTER_MS = 60_000;

/** Compaction will soon join a tiny segment, unless it is older than this or than the process. */
const JOINED_WITHIN_MS = HOUR_MS;

interface FragmentFillerOptions {
  source: SegmentSource;
  orders: Pick<FragmentOrders, 'isDone' | 'makeAhead'>;
  files: FragmentFiles;
  logger: Logger;
  restMs?: number;
  joinedWithinMs?: number;
}

export class FragmentFiller {
  /** The newest last. */
  private ranges: SegmentRange[] = [];
  /** The newest segment's id at the last scan. */
  private newest = 0;
  /** Tiny segments up to this id have been scanned, or are about to be. */
  private newestTiny = 0;
  private readonly tinyTimer: NodeJS.Timeout;
  private working: Promise<void> | null = null;
  private workedAtMs = -Infinity;
  /** Ends the current pause early; null: there is no pause. */
  private resting: AbortController | null = null;
  private retry: NodeJS.Timeout | null = null;
  private closing = false;

  constructor(private readonly options: FragmentFillerOptions) {
    const { joinedWithinMs = JOINED_WITHIN_MS } = options;
    let before = 0;
    this.tinyTimer = setInterval(() => {
      this.scanTiny(before);
      before = this.newest;
    }, joinedWithinMs).unref();
  }

  /** Scans the segments stored since the last call; the first call scans all. */
  scan(): void {
    const { lastSegmentId } = this.options.source;
    if (lastSegmentId > this.newest) {
      const isFirst = this.newest === 0;
      const last = this.resting === null ? undefined : this.ranges.at(-1);
      if (last !== undefined && last.below === this.newest + 1 && !last.tiny) {
        last.below = lastSegmentId + 1;
      } else {
        this.ranges.push({ above: this.newest, below: lastSegmentId + 1, tiny: false });
      }
      this.newest = lastSegmentId;
      if (isFirst) this.scanTiny(lastSegmentId);
    }
    this.run();
  }

  /** Scans tiny segments up to an id, after all others. */
  private scanTiny(upTo: number): void {
    if (upTo <= this.newestTiny) return;
    this.ranges.unshift({ above: this.newestTiny, below: upTo + 1, tiny: true });
    this.newestTiny = upTo;
    this.run();
  }

  /** Resolves when there is nothing left to make. */
  async idle(): Promise<void> {
    while (this.working !== null) await this.working;
  }

  /** Waits for the current task. Idempotent. */
  async close(): Promise<void> {
    this.closing = true;
    clearInterval(this.tinyTimer);
    if (this.retry !== null) clearTimeout(this.retry);
    this.resting?.abort();
    await this.idle();
  }

  private run(): void {
    if (this.closing || this.working !== null || this.retry !== null) return;
    if (this.ranges.length === 0) return;
    this.working = this.rest()
      .then(() => this.work())
      .catch((error: unknown) => this.failed(error))
      .finally(() => {
        this.working = null;
        this.workedAtMs = performance.now();
        this.run();
      });
  }

  private async rest(): Promise<void> {
    const { restMs = REST_MS } = this.options;
    const waitMs = this.workedAtMs + restMs - performance.now();
    if (waitMs <= 0) return;
    this.resting = new AbortController();
    const { signal } = this.resting;
    await sleep(waitMs, undefined, { signal, ref: false }).catch(() => undefined);
    this.resting = null;
  }

  private failed(error: unknown): void {
    if (!this.closing) this.options.logger.error('making fragments ahead failed', {}, error);
    this.ranges = [];
  }

  private async work(): Promise<void> {
    const turns = new Turns();
    for (let range; (range = this.ranges.at(-1)) !== undefined && !this.closing;) {
      const segments = await this.options.source.segmentsBetween(range, LISTED_AT_ONCE);
      let orders: FragmentsOrder[] = [];
      for (const [i, segment] of segments.entries()) {
        const { segmentId } = segment;
        orders.push(...(await this.missing(segment)));
        const isLast = i + 1 === segments.length;
        if (
          orders.length >= MADE_AT_ONCE * FRAGMENT_GROUPS.length ||
          (isLast && orders.length > 0)
        ) {
          if (!(await this.make(segmentId, orders))) return;
          orders = [];
        }
        range.below = segmentId;
        await turns.take();
        if (this.closing) return;
      }
      if (segments.length < LISTED_AT_ONCE) this.ranges.splice(this.ranges.indexOf(range), 1);
    }
  }

  private async missing({ segmentId, markets }: SegmentEntry): Promise<FragmentsOrder[]> {
    if (mayHaveLongNames(markets)) await learnMarkets(markets);
    return FRAGMENT_GROUPS.filter((group) => canAssemble(group, { markets }))
      .map((group) => ({ segmentId, group }))
      .filter((key) => !this.options.orders.isDone(key))
      .map((key) => ({ key, marketCount: markets.length }));
  }

  /** @returns whether to continue */
  private async make(segmentId: number, orders: readonly FragmentsOrder[]): Promise<boolean> {
    const { files, orders: made } = this.options;
    if (await files.acceptsAhead(segmentId, orders.length)) {
      await made.makeAhead(orders);
    } else if (!files.inTrouble) {
      // Only older ones are left.
      this.ranges = [];
      return false;
    }
    if (!files.inTrouble) return true;
    this.retry = setTimeout(() => {
      this.retry = null;
      this.run();
    }, RETRY_AFTER_MS).unref();
    return false;
  }
}
