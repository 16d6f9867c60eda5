/** Pages from fragments: keeps the fragments in memory, orders missing ones, and puts pages together. */
import { LRUCache } from 'lru-cache';
import type { ComputePool, RunTask } from '../../compute/pool.js';
import {
  assemblePage,
  bytesOfFragments,
  cellsOf,
  type FragmentForm,
  type FragmentSpan,
  type SegmentFragments,
} from '../../compute/replay/fragments.js';
import { PAGE_LIMITS } from '../../compute/replay/page.js';
import { PoolUnavailableError } from '../../compute/scheduler.js';
import { type DepthSource, type PagePlan, SegmentGoneError } from '../../storage/contract.js';
import type { Log } from '../log.js';
import { DEFAULT_SHARES } from '../memory.js';
import {
  isDefaultView,
  type MadePage,
  type PlanSpan,
  spansOfPlan,
  startOfPlan,
} from './page-plan.js';
import type { PageIdentity } from './representation.js';

/** Memory of a segment's fragments besides their columns: objects, key. */
const ENTRY_BYTES = 2048;
/** Segments whose fragments may wait to be made; further ones are ordered when missed again. */
const MAX_WAITING_FRAGMENTS = 4096;
/**
 * Segments whose fragments one task makes, about a page's: reading, queueing and replying are paid once, and a
 * page that waits for the task waits about as long as for another page.
 */
const MAX_SEGMENTS_AT_ONCE = 8;
/** Names of fragments that were missed once, and of those that could not be made. */
const MAX_NAMES = 65_536;

/** Which fragments of which segment. */
interface FragmentsKey extends FragmentForm {
  segmentId: number;
}

/** Fragments to be made. */
interface Order {
  key: FragmentsKey;
  marketCount: number;
}

function nameOf({ segmentId, group, coding }: FragmentsKey): string {
  return `${segmentId}-${group}-${coding}`;
}

export interface FragmentsOptions {
  pool: Pick<ComputePool, 'schedule'>;
  depth: Pick<DepthSource, 'readSegments'>;
  log: Log;
  /** Memory that fragments may take; 0: the pool makes every page. */
  memoryBytes?: number;
}

export class Fragments {
  /** By name; null: none are kept. */
  private readonly kept: LRUCache<string, SegmentFragments> | null;
  /** Fragments to be made, by name. */
  private readonly orders = new Map<string, Order>();
  private readonly missed = new LRUCache<string, true>({ max: MAX_NAMES });
  /** Fragments that could not be made: segments never change, so neither would another attempt. */
  private readonly givenUp = new LRUCache<string, true>({ max: MAX_NAMES });
  private making: Promise<void> | null = null;
  private closing = false;

  constructor(private readonly options: FragmentsOptions) {
    const { memoryBytes = DEFAULT_SHARES.fragments } = options;
    const sizeCalculation = (one: SegmentFragments) => bytesOfFragments(one) + ENTRY_BYTES;
    this.kept = memoryBytes === 0 ? null : new LRUCache({ maxSize: memoryBytes, sizeCalculation });
  }

  /** Memory that fragments take. */
  get memoryBytes(): number {
    return this.kept?.calculatedSize ?? 0;
  }

  /**
   * A page from fragments. Null if the page is of another kind, or fragments are missing: those are
   * made when they are missed a second time.
   */
  page(plan: PagePlan, { query, envelope, ...page }: PageIdentity): MadePage | null {
    const form = this.kept === null ? null : formOf({ query, ...page });
    if (form === null) return null;
    const { length, nextT } = startOfPlan(plan, query);
    if (length === 0) return null;
    const spans = this.find(plan, form, spansOfPlan(plan, length));
    if (spans === null || cellsOf(spans) > PAGE_LIMITS.maxCells) return null;
    const { markets } = plan;
    const body = assemblePage({ spans, markets, query, envelope, nextFrom: nextT });
    return body && { body, nextFrom: nextT };
  }

  /** Resolves when nothing is being made. */
  async idle(): Promise<void> {
    while (this.making !== null) await this.making;
  }

  /** Drops what waits and waits for the task in work. Idempotent. */
  async close(): Promise<void> {
    this.closing = true;
    this.orders.clear();
    await this.idle();
  }

  /** The plan's spans with their fragments; null if any is missing. */
  private find(
    plan: PagePlan,
    form: FragmentForm,
    planned: readonly PlanSpan[],
  ): FragmentSpan[] | null {
    const spans: FragmentSpan[] = [];
    const missing = new Set<number>();
    for (const { segment, first, end, t } of planned) {
      const fragments = this.kept?.get(nameOf({ segmentId: plan.segmentIds[segment], ...form }));
      const isThere =
        fragments !== undefined && end <= fragments.t.length && fragments.t[first] === t;
      if (isThere) spans.push({ fragments, first, end });
      else missing.add(segment);
    }
    const marketCount = plan.markets.length;
    for (const segment of missing) {
      this.miss({ key: { segmentId: plan.segmentIds[segment], ...form }, marketCount });
    }
    return missing.size === 0 ? spans : null;
  }

  /**
   * Orders fragments that are missed for the second time: a client that reads a long history once, page by
   * page, orders nothing.
   */
  private miss(order: Order): void {
    const name = nameOf(order.key);
    if (this.closing || this.orders.has(name) || this.givenUp.has(name)) return;
    if (!this.missed.delete(name)) {
      this.missed.set(name, true);
      return;
    }
    if (this.orders.size >= MAX_WAITING_FRAGMENTS) return;
    this.orders.set(name, order);
    this.making ??= this.makeOrdered()
      // The pool has been closed.
      .catch(() => this.orders.clear())
      .finally(() => (this.making = null));
  }

  private async makeOrdered(): Promise<void> {
    while (this.orders.size > 0) {
      await this.options.pool.schedule('fragments', 'fragments', async (run) => {
        // Lets the page that made the first order add its others.
        await Promise.resolve();
        const orders = [...this.orders.values()].slice(0, MAX_SEGMENTS_AT_ONCE);
        await this.makeAll(orders, run);
        for (const { key } of orders) this.orders.delete(nameOf(key));
      });
    }
  }

  /** Makes fragments in one task; where that fails, one segment at a time, since a single one may be at fault. */
  private async makeAll(orders: readonly Order[], run: RunTask): Promise<void> {
    if (this.closing) return;
    try {
      const made = await this.make(orders, run);
      made.forEach((fragments, i) => this.kept?.set(nameOf(orders[i].key), fragments));
    } catch (error) {
      if (orders.length > 1) for (const order of orders) await this.makeAll([order], run);
      else if (orders.length === 1) this.giveUp(nameOf(orders[0].key), error);
    }
  }

  private giveUp(name: string, error: unknown): void {
    // The segment was replaced meanwhile, or a thread was lost: later pages may order them again.
    if (error instanceof SegmentGoneError || error instanceof PoolUnavailableError) return;
    this.givenUp.set(name, true);
    this.options.log.error('fragments', { fragments: name }, error);
  }

  private async make(orders: readonly Order[], run: RunTask): Promise<SegmentFragments[]> {
    const ids = [...new Set(orders.map(({ key }) => key.segmentId))];
    const segments = await this.options.depth.readSegments(ids);
    const inputs = orders.map(({ key: { segmentId, group, coding }, marketCount }) => {
      return { segment: segments[ids.indexOf(segmentId)], group, coding, marketCount };
    });
    const transfer = segments.map(({ buffer }) => buffer as ArrayBuffer);
    return run('makeFragments', inputs, transfer);
  }
}

/** The form of fragments that a page needs; null if only the pool makes it. */
function formOf({ query, format, encoding }: Omit<PageIdentity, 'envelope'>): FragmentForm | null {
  const { group } = query;
  if (format !== 'json' || (encoding !== 'gzip' && encoding !== 'br')) return null;
  if (!isDefaultView(query) || (group !== 'market' && group !== 'all')) return null;
  return { group, coding: encoding };
}
