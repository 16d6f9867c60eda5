/**
 * Pages on their way to the pool: few are in work at one time, so that other tasks find a thread
 * soon; the others wait, and the keys that have some waiting get equal shares of the pool's time.
 */
import { replayBusy } from '../http/errors.js';
import type { Exchange } from '../http/exchange.js';

export interface PageQueueLimits {
  /** Pages that wait, of all keys. */
  maxWaitingPages: number;
  /** Pages that wait, of one key. */
  maxWaitingPagesPerKey: number;
  /** A page that would have to wait longer is refused as it comes. */
  maxExpectedWaitMs: number;
}

export const PAGE_QUEUE_LIMITS: Readonly<PageQueueLimits> = {
  maxWaitingPages: 512,
  maxWaitingPagesPerKey: 128,
  maxExpectedWaitMs: 5_000,
};

/** How much the latest page moves the average of what pages take. */
const LATEST_WEIGHT = 1 / 8;
/** A page counts as this much at least: pages that cost nothing would have no order. */
const MIN_CHARGE_MS = 0.1;

/** Pages in work: one a thread, and half as many again that are read meanwhile. */
export function pagesAtOnce(threads: number): number {
  return threads + Math.ceil(threads / 2);
}

export interface PageQueueOptions {
  /** Pages in work at one time, from the read of their segments to the finished body. */
  pagesInWork: number;
  limits?: Partial<PageQueueLimits>;
  /** Milliseconds that only grow. */
  nowMs?: () => number;
}

/** Who waits for a page. */
type Client = Pick<Exchange, 'aborted' | 'onGone'>;

/** A page in work. */
interface Turn {
  line: Line;
  beganMs: number;
  /** What its key has been charged for it so far. */
  chargedMs: number;
}

/** The pages of one key. */
interface Line {
  /** In the order in which they came. */
  waiting: Set<(turn: Turn) => void>;
  inWork: number;
  /** Time in work that the key has had, on a scale that all keys share: the least one is next. */
  servedMs: number;
}

export class PageQueue {
  private readonly limits: PageQueueLimits;
  private readonly maxInWork: number;
  private readonly nowMs: () => number;
  /** Keys with pages that wait or are in work, by id. */
  private readonly lines = new Map<string, Line>();
  /** Pages wait only while as many are in work as may be. */
  private waiting = 0;
  private inWork = 0;
  /** How long pages were in work of late; the first ones, in cold threads, are not to judge by. */
  private pageMs = 0;
  /** When the last page went into work. */
  private beganMs = 0;
  /** Where the key stood whose page went into work last: keys that come anew begin there. */
  private servedMs = 0;

  constructor({ pagesInWork, limits, nowMs = () => performance.now() }: PageQueueOptions) {
    this.maxInWork = pagesInWork;
    this.limits = { ...PAGE_QUEUE_LIMITS, ...limits };
    this.nowMs = nowMs;
  }

  get waitingPages(): number {
    return this.waiting;
  }

  get pagesInWork(): number {
    return this.inWork;
  }

  /**
   * Has `work` done when it is the key's turn, at once where there is room.
   * @returns what it gives; null where the client went before it began
   * @throws ApiError 503 at once where the queue is full or the wait would be too long
   */
  async run<T>(keyId: string, client: Client, work: () => Promise<T>): Promise<T | null> {
    if (client.aborted) return null;
    const turn = await this.turn(keyId, client);
    if (turn === null) return null;
    try {
      return await work();
    } finally {
      this.end(keyId, turn);
    }
  }

  /** The wait that a page of the key would have if it came now, as far as can be known. */
  expectedWaitMs(keyId: string): number {
    if (this.inWork < this.maxInWork) return 0;
    const own = this.lines.get(keyId)?.waiting.size ?? 0;
    let ahead = own;
    for (const [id, { waiting }] of this.lines) {
      // In turns: another key has as many pages done before this one as this key has, and one more.
      if (id !== keyId) ahead += Math.min(waiting.size, own + 1);
    }
    const inTurnMs = ((ahead + 1) * this.pageMs) / this.maxInWork;
    // Where not one in work has ended for long, the next may not either.
    return Math.max(inTurnMs, this.nowMs() - this.beganMs);
  }

  /** Resolves when the key's page may begin, to null where its client goes before. */
  private turn(keyId: string, client: Client): Turn | null | Promise<Turn | null> {
    if (this.inWork < this.maxInWork) return this.begin(this.join(keyId));
    const { maxWaitingPages, maxWaitingPagesPerKey, maxExpectedWaitMs } = this.limits;
    const own = this.lines.get(keyId)?.waiting.size ?? 0;
    const isFull = this.waiting >= maxWaitingPages || own >= maxWaitingPagesPerKey;
    if (isFull || this.expectedWaitMs(keyId) > maxExpectedWaitMs) throw replayBusy();
    return this.wait(keyId, this.join(keyId), client);
  }

  private wait(keyId: string, line: Line, client: Client): Promise<Turn | null> {
    return new Promise((resolve) => {
      line.waiting.add(resolve);
      this.waiting++;
      client.onGone(() => {
        if (!line.waiting.delete(resolve)) return;
        this.waiting--;
        this.leave(keyId, line);
        resolve(null);
      });
    });
  }

  private join(keyId: string): Line {
    let line = this.lines.get(keyId);
    if (line === undefined) {
      line = { waiting: new Set(), inWork: 0, servedMs: 0 };
      this.lines.set(keyId, line);
    }
    // Time in which a key had nothing waiting is no credit.
    if (line.waiting.size === 0) line.servedMs = Math.max(line.servedMs, this.servedMs);
    return line;
  }

  private leave(keyId: string, line: Line): void {
    if (line.waiting.size === 0 && line.inWork === 0) this.lines.delete(keyId);
  }

  /** Charges what a page is expected to take, so that the key's next one waits. */
  private begin(line: Line): Turn {
    this.inWork++;
    line.inWork++;
    this.beganMs = this.nowMs();
    this.servedMs = line.servedMs;
    const chargedMs = Math.max(this.pageMs, MIN_CHARGE_MS);
    line.servedMs += chargedMs;
    return { line, beganMs: this.beganMs, chargedMs };
  }

  private end(keyId: string, { line, beganMs, chargedMs }: Turn): void {
    const tookMs = this.nowMs() - beganMs;
    line.servedMs += Math.max(tookMs, MIN_CHARGE_MS) - chargedMs;
    this.pageMs += LATEST_WEIGHT * (tookMs - this.pageMs);
    line.inWork--;
    this.inWork--;
    this.leave(keyId, line);
    this.next();
  }

  /** Begins the oldest page of the key that has been served least. */
  private next(): void {
    let next: Line | null = null;
    for (const line of this.lines.values()) {
      if (line.waiting.size > 0 && line.servedMs < (next?.servedMs ?? Infinity)) next = line;
    }
    if (next === null) return;
    const [begin] = next.waiting;
    next.waiting.delete(begin);
    this.waiting--;
    begin(this.begin(next));
  }
}
