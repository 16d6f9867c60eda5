/**
 * What depth subscriptions share: however many follow a token, each step and each snapshot of a view is made once, and
 * they hear of a commit in turns, so that requests are answered in between.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { ComputePool, RunTask } from '../../compute/pool.js';
import { PAGE_LIMITS } from '../../compute/replay/page.js';
import type { ReplayQuery } from '../../compute/replay/query.js';
import type { DepthView, FollowedDepth, PagePlan } from '../../storage/contract.js';
import type { Clock } from '../clock.js';
import { locate, startOfPlan } from '../replay/page-plan.js';
import type { SegmentColumns } from '../replay/segment-columns.js';
import type { Standing } from './cursor.js';
import { nextStep, type Step } from './depth-follower.js';
import type { LiveFormat } from './protocol.js';

/** A message holds up to as many cells, about 0.5 MB of JSON, but at least one snapshot. */
const MAX_MESSAGE_CELLS = 16_000;
/** Steps that are kept for other subscriptions of the token. */
const MAX_KEPT_STEPS = 4096;
/** Bytes of messages that are kept for other subscriptions of the view. */
const MAX_KEPT_MESSAGE_BYTES = 32 * 1024 * 1024;
/** Longer runs of snapshots are history, which hardly two clients read at once. */
const MAX_KEPT_SNAPSHOTS = 8;
/** Listeners are called for as long as this between two looks for requests. */
const TURN_MS = 1.5;
/** Stands for any token. */
const ANY = -1;
/** A timer of Node reaches no further. */
const MAX_TIMER_S = 86_400;

/** Encoded snapshots of a view. */
interface Rendered {
  body: Uint8Array;
  snapshotCount: number;
  rowCount: number;
}

interface DepthFeedOptions {
  depth: FollowedDepth;
  columns: SegmentColumns;
  pool: Pick<ComputePool, 'schedule'>;
  clock: Clock;
}

/** What a subscription shows of each snapshot. */
export interface View {
  query: ReplayQuery;
  /** The same for the same query. */
  name: string;
  format: LiveFormat;
}

export class DepthFeed {
  private readonly waiting = new Map<number, Set<(committedMs: number) => void>>();
  /** performance.now() of the last commit. */
  committedMs = 0;
  private readonly steps = new LRUCache<string, Promise<Step>>({ max: MAX_KEPT_STEPS });
  private readonly messages = new LRUCache<string, Promise<Rendered>>({ max: MAX_KEPT_STEPS });
  private readonly sizes = new LRUCache<string, true>({
    maxSize: MAX_KEPT_MESSAGE_BYTES,
    dispose: (_, key) => this.messages.delete(key),
  });
  /** Commits so far: a step that was made before the last one may be out of date. */
  commits = 0;
  private called: (() => void)[] = [];
  private isCalling = false;

  constructor(private readonly options: DepthFeedOptions) {}

  /** A commit has changed tokens. */
  touch(tokenIds: readonly number[]): void {
    this.commits++;
    this.committedMs = performance.now();
    const ms = this.committedMs;
    const call = (listener: (committedMs: number) => void): void => {
      this.inTurn(() => listener(ms));
    };
    const waiting = [...tokenIds, ANY].map((tokenId) => [...(this.waiting.get(tokenId) ?? [])]);
    // The first listeners of all tokens go first: the pool then makes their messages while the others are called.
    for (const first of waiting) first.splice(0, 1).forEach(call);
    for (const others of waiting) others.forEach(call);
  }

  /** Calls `listener` in one of the next turns of the event loop. */
  inTurn(listener: () => void): void {
    this.called.push(listener);
    if (!this.isCalling) void this.callAll();
  }

  /**
   * Resolves when a commit has touched the token, or its next snapshot shows, or `stop` is called.
   * @param tokenId null: a commit of any token resolves
   * @returns performance.now() of the commit; null: there was none
   * @param nextT when the next snapshot shows without a commit; null: none does
   */
  changed(
    tokenId: number | null,
    nextT: number | null,
    onStop: (stop: () => void) => void,
  ): Promise<number | null> {
    return new Promise((resolve) => {
      const place = tokenId ?? ANY;
      const listeners = this.waiting.get(place) ?? new Set();
      this.waiting.set(place, listeners);
      const waitS = nextT === null ? null : Math.max(1, nextT - this.options.clock.nowS());
      const stop = (committedMs: number | null = null): void => {
        clearTimeout(timer);
        listeners.delete(stop);
        if (listeners.size === 0) this.waiting.delete(place);
        resolve(committedMs);
      };
      const timer =
        waitS === null ? undefined : setTimeout(() => stop(), Math.min(waitS, MAX_TIMER_S) * 1000);
      listeners.add(stop);
      onStop(stop);
    });
  }

  view(tokenId: number): Promise<DepthView> {
    return this.options.depth.view(tokenId);
  }

  /** What a client of a token gets next. */
  async step(tokenId: number, standing: Standing): Promise<Step> {
    const { depth, clock } = this.options;
    const nowS = clock.nowS();
    const { position, nextFromS, fromS, pending } = standing;
    const place = [position, nextFromS, fromS, pending?.upTo, pending?.doneT].join(',');
    const key = `${this.commits} ${nowS} ${tokenId} ${place}`;
    const known = this.steps.get(key);
    if (known !== undefined) return known;
    const made = depth.view(tokenId).then((view) => nextStep(standing, view, nowS));
    this.steps.set(key, made);
    made.catch(() => this.steps.delete(key));
    return made;
  }

  /** Drops the steps that are kept: a join in the background, of which nobody hears, has replaced their segments. */
  forgetSteps(): void {
    this.steps.clear();
  }

  /**
   * Encodes the first snapshots of a plan.
   * @param keyId of the client for whom it is made
   * @param isHistory whether pages and other history go before it
   * @throws SegmentGoneError | PoolBusyError
   */
  render(plan: PagePlan, view: View, keyId: string, isHistory: boolean): Promise<Rendered> {
    const length = Math.max(1, startOfPlan(plan, view.query, MAX_MESSAGE_CELLS).length);
    const make = (): Promise<Rendered> => this.make(plan, length, view, keyId, isHistory);
    if (length > MAX_KEPT_SNAPSHOTS) return make();
    const places = plan.snapshots
      .slice(0, length)
      .map(({ segment, row }) => `${plan.segmentIds[segment]}.${row}`);
    const key = `${view.format} ${places.join(',')} ${view.name}`;
    const known = this.messages.get(key);
    if (known !== undefined) return known;
    const made = make();
    this.messages.set(key, made);
    made.then(
      ({ body }) => this.sizes.set(key, true, { size: body.byteLength }),
      () => this.messages.delete(key),
    );
    return made;
  }

  private async make(
    plan: PagePlan,
    length: number,
    { query, format }: View,
    keyId: string,
    isHistory: boolean,
  ): Promise<Rendered> {
    const { segmentIds, selection } = locate(plan, length);
    const render = (run: RunTask) =>
      this.options.columns.use(segmentIds, (segments, transfer) =>
        run(
          'renderPage',
          {
            ...{ segments, selection, markets: plan.markets, query, format },
            ...{
              envelope: null,
              encoding: 'identity',
              windowContinues: false,
              limits: PAGE_LIMITS,
            },
          },
          transfer,
        ),
      );
    const made = await this.options.pool.schedule(isHistory ? 'page' : 'board', keyId, render);
    if (made?.status !== 'done') throw new Error('a message was not made');
    return made;
  }

  private async callAll(): Promise<void> {
    this.isCalling = true;
    while (this.called.length > 0) {
      const called = this.called;
      this.called = [];
      let untilMs = performance.now() + TURN_MS;
      for (const listener of called) {
        listener();
        // What the listener has set going ends with it, as far as it waits for nothing.
        await Promise.resolve();
        if (performance.now() < untilMs) continue;
        await nextTurn();
        untilMs = performance.now() + TURN_MS;
      }
    }
    this.isCalling = false;
  }
}
