/** Makes each step and each encoded update once for all depth subscriptions of a view. */
import type { ComputePool, RunTask } from '../../compute/pool.js';
import { type MessageInput, renderMessage } from '../../compute/replay/message.js';
import { type ReplayQuery, slotsOfMarkets } from '../../compute/replay/query.js';
import { PoolUnavailableError } from '../../compute/scheduler.js';
import {
  type DepthView,
  type FollowedDepth,
  type PagePlan,
  SegmentGoneError,
} from '../../storage/contract.js';
import { ArchiveUnavailableError } from '../../storage/archive/objects.js';
import { StoreUnavailableError } from '../../storage/errors.js';
import { SharedWork } from '../../storage/shared-work.js';
import { Turns } from '../../storage/turns.js';
import type { Clock } from '../clock.js';
import { namesTooLarge } from '../http/errors.js';
import { learnMarkets, locate, startOfPlan } from '../replay/page-plan.js';
import type { SegmentBlocks } from '../replay/segment-blocks.js';
import type { Progress } from './cursor.js';
import { nextStep, type Step, type UpdateStep } from './depth-steps.js';
import { bytesOfColumns, withColumns } from './message-columns.js';
import type { LiveFormat } from './protocol.js';

/** The most cells of a message of more than one snapshot: about 0.5 MB of JSON. */
const MAX_MESSAGE_CELLS = 16_000;
/** Bytes of steps that are kept for other subscriptions of the token: several thousand of one new snapshot. */
const MAX_KEPT_STEP_BYTES = 8 * 1024 * 1024;
/** Memory for a step, and for each of its snapshots or times. */
const STEP_BYTES = 1024;
const STEP_SNAPSHOT_BYTES = 96;
/** The assumed size of a message until it is encoded. */
const EXPECTED_MESSAGE_BYTES = 8 * 1024;
/** Longer runs of new snapshots are not kept: they are history, which two clients rarely read at once. */
const MAX_KEPT_SNAPSHOTS = 8;
/** Up to these sizes, encoding on the event loop costs less than handing the snapshot to a thread. */
const MAX_CELLS_HERE = 1_000;
const MAX_MARKETS_HERE = 4_096;
const MAX_BLOCK_BYTES_HERE = 16 * 1024;
/** Wait before another attempt while the pool or the store is busy. */
const BUSY_MS = 1_000;

/** What to subscribe to instead of a view with too many names. */
const SMALLER = 'choose venues or types, or `group=all`';

/** Encoded snapshots of a view. */
interface Rendered {
  body: Uint8Array;
  snapshotCount: number;
  rowCount: number;
}

/** The content of a message: deleted times, or encoded snapshots. */
export type Update = { type: UpdateStep['type']; after: Progress } & (
  | { times: number[]; made: null }
  | { made: Rendered }
);

interface DepthFeedOptions {
  depth: FollowedDepth;
  blocks: SegmentBlocks;
  pool: Pick<ComputePool, 'schedule'>;
  clock: Clock;
  /** Of messages that are kept for other subscriptions of the view. */
  maxKeptBytes: number;
  /** Of the names in one message. */
  maxNameBytes: number;
}

/** What a subscription shows of each snapshot. */
export interface View {
  query: ReplayQuery;
  /** Equal for equal queries. */
  name: string;
  format: LiveFormat;
}

export class DepthFeed {
  private readonly waiting = new Set<() => void>();
  /** performance.now() of the last commit. */
  committedMs = 0;
  private readonly steps = new SharedWork<Step>({
    maxBytes: MAX_KEPT_STEP_BYTES,
    expectedBytes: STEP_BYTES,
    bytesOf: bytesOfStep,
  });
  private readonly messages: SharedWork<Rendered>;
  private readonly turns = new Turns();
  /** Commits so far: a step made before the last one may be out of date. */
  commits = 0;

  constructor(private readonly options: DepthFeedOptions) {
    this.messages = new SharedWork({
      maxBytes: options.maxKeptBytes,
      expectedBytes: EXPECTED_MESSAGE_BYTES,
      bytesOf: ({ body }) => body.byteLength,
    });
  }

  /** Call after each commit. */
  touch(): void {
    this.commits++;
    this.committedMs = performance.now();
    void this.wakeAll();
  }

  /** Resolves with the next commit, or when `stop` is called. */
  nextCommit(onStop: (stop: () => void) => void): Promise<void> {
    return new Promise((resolve) => {
      const stop = (): void => {
        this.waiting.delete(stop);
        resolve();
      };
      this.waiting.add(stop);
      onStop(stop);
    });
  }

  view(tokenId: number): Promise<DepthView> {
    return this.options.depth.view(tokenId);
  }

  /** The next step of a client of a token. */
  step(tokenId: number, progress: Progress): Promise<Step> {
    const { depth, clock } = this.options;
    const nowS = clock.nowS();
    const { history, position, nextFromS, fromS, pending } = progress;
    const { upTo, doneT, deletedT } = pending ?? {};
    const place = [history, position, nextFromS, fromS, upTo, doneT, deletedT].join(',');
    const key = `${this.commits} ${nowS} ${tokenId} ${place}`;
    return this.steps.get(key, async () => {
      // However many subscriptions take a step at once.
      await this.turns.take();
      return nextStep(progress, await depth.view(tokenId), nowS);
    });
  }

  /** How long to wait after a failure of step() or update() before another attempt; null: it would fail too. */
  retryAfterMs(error: unknown): number | null {
    if (error instanceof SegmentGoneError) {
      // Compaction, which is not a commit, has replaced segments of kept steps.
      this.steps.clear();
      return 0;
    }
    // Its reads were repeated already, and a lost object stays lost: the client must learn of it.
    if (error instanceof ArchiveUnavailableError) return null;
    const isBusy = error instanceof PoolUnavailableError || error instanceof StoreUnavailableError;
    return isBusy ? BUSY_MS : null;
  }

  /**
   * Encodes a step, or its first part, for followers of a view.
   * @param keyId of a client that gets it: the pool shares its time among keys
   * @param isHistory whether it waits in the pool's queue of pages
   * @throws SegmentGoneError | PoolBusyError | ApiError if its names are more than one key may leave unread
   */
  async update(step: UpdateStep, view: View, keyId: string, isHistory: boolean): Promise<Update> {
    const { type } = step;
    if (type === 'deleted') return { type, after: step.after, times: step.times, made: null };
    const made = await this.render(step, view, keyId, isHistory || step.isOld);
    return { type, after: step.after(made.snapshotCount), made };
  }

  private render(
    { type, plan }: Exclude<UpdateStep, { type: 'deleted' }>,
    view: View,
    keyId: string,
    isHistory: boolean,
  ): Promise<Rendered> {
    const length = Math.max(1, startOfPlan(plan, view.query, MAX_MESSAGE_CELLS).length);
    const make = (): Promise<Rendered> => this.make(plan, length, view, keyId, isHistory);
    if (length > MAX_KEPT_SNAPSHOTS && type === 'snapshots') return make();
    const places = plan.snapshots
      .slice(0, length)
      .map(({ segment, row }) => `${plan.segmentIds[segment]}.${row}`);
    const key = `${view.format} ${places.join(',')} ${view.name}`;
    return this.messages.get(key, make);
  }

  private async wakeAll(): Promise<void> {
    const turns = new Turns();
    for (const stop of [...this.waiting]) {
      stop();
      await turns.take();
    }
  }

  private async make(
    plan: PagePlan,
    length: number,
    { query, format }: View,
    keyId: string,
    isHistory: boolean,
  ): Promise<Rendered> {
    const { blocks, pool } = this.options;
    const { segmentIds, selection } = locate(plan, length);
    const { markets } = plan;
    await learnMarkets(markets);
    const { slot, count, groups } = slotsOfMarkets(markets, query);
    const { group, band } = query;
    const inputOf = (segments: Uint8Array[]): MessageInput => ({
      segments,
      selection,
      slots: { slot, count },
      query: { group, band },
      format,
    });
    const render = async (run: RunTask) =>
      run('renderMessage', inputOf(await blocks.read(segmentIds)));
    const renderHere = async () => {
      const segments = await blocks.read(segmentIds);
      const bytes = segments.reduce((sum, { length }) => sum + length, 0);
      return bytes <= MAX_BLOCK_BYTES_HERE ? renderMessage(inputOf(segments)) : null;
    };
    const isShort =
      !isHistory &&
      markets.length <= MAX_MARKETS_HERE &&
      startOfPlan(plan, query, MAX_CELLS_HERE).length >= length;
    const made =
      (isShort ? await renderHere() : null) ??
      (await pool.schedule(isHistory ? 'page' : 'board', keyId, render));
    const { snapshotCount, rowCount } = made;
    const names = { group, slot, markets, groups };
    const bytes = bytesOfColumns(names, made.slots);
    const { maxNameBytes } = this.options;
    if (bytes > maxNameBytes) throw namesTooLarge(bytes, maxNameBytes, SMALLER);
    const body = await withColumns(format, names, made.slots, made.body);
    return { body, snapshotCount, rowCount };
  }
}

function bytesOfStep(step: Step): number {
  if (step.type === 'deleted') return STEP_BYTES + 8 * step.times.length;
  if (!('plan' in step)) return STEP_BYTES;
  return STEP_BYTES + STEP_SNAPSHOT_BYTES * step.plan.snapshots.length;
}
