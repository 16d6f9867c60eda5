/** Pages from fragments: keeps the fragments in memory and in files, orders missing ones, and assembles pages. */
import { LRUCache } from 'lru-cache';
import { countedCache } from '../../storage/counted-cache.js';
import type { ComputePool, RunTask } from '../../compute/pool.js';
import { type FragmentsKey, unpackFragments } from '../../compute/replay/fragment-file.js';
import {
  assemblePage,
  bytesOfFragments,
  cellsOf,
  type FragmentGroup,
  type FragmentSpan,
  type SegmentFragments,
} from '../../compute/replay/fragments.js';
import { hasLongNames, listsNames } from '../../compute/replay/names.js';
import { PAGE_LIMITS } from '../../compute/replay/page.js';
import { PoolUnavailableError, type Work } from '../../compute/scheduler.js';
import { type DepthSource, type PagePlan, SegmentGoneError } from '../../storage/contract.js';
import type { ReadFile } from '../../storage/file-cache.js';
import { FRAGMENT_FILES, type FragmentFiles } from '../../storage/fragment-files.js';
import { Lender } from '../../storage/lender.js';
import type { Logger } from '../logger.js';
import { DEFAULT_SHARES } from '../memory.js';
import { FragmentsAdmission } from './fragments-admission.js';
import {
  isDefaultView,
  type MadePage,
  type PageStart,
  type PlanSpan,
  spansOfPlan,
  startOfPlan,
} from './page-plan.js';
import type { PageIdentity } from './entity-tag.js';
import { ReadBuffers } from './read-buffers.js';

/** Memory of a segment's fragments besides their columns: objects, key. */
const ENTRY_BYTES = 2048;
/** Segments whose fragments may wait to be made; others are ordered when they are missed again. */
const MAX_WAITING_FRAGMENTS = 4096;
/**
 * Segments whose fragments one task makes, about a page's: reading, queueing and replying are paid once, and a
 * page that waits for the task waits about as long as for another page.
 */
const MAX_SEGMENTS_AT_ONCE = 8;
/** Names of fragments that were missed once, and of those that could not be made. */
const MAX_NAMES = 65_536;
/** Pages whose fragments are read from files at one time: bounds the memory that they take. */
const PAGES_READ_AT_ONCE = 8;

export interface FragmentsOrder {
  key: FragmentsKey;
  marketCount: number;
}

interface Kept {
  fragments: SegmentFragments;
  /** Read from a file; no plan has confirmed every row yet, so it may be an older segment's. */
  isDoubtful: boolean;
}

interface Request {
  plan: PagePlan;
  group: FragmentGroup;
  start: PageStart;
  spans: readonly PlanSpan[];
  identity: PageIdentity;
}

interface FragmentsOptions {
  pool: Pick<ComputePool, 'schedule'>;
  depth: Pick<DepthSource, 'readSegments'>;
  logger: Logger;
  /** Memory that fragments may take; 0: the pool makes every page. */
  memoryBytes?: number;
  /** Files of fragments; null: fragments are only in memory. */
  files?: FragmentFiles | null;
}

export class Fragments {
  /** By name; null: none are kept. */
  private readonly kept: LRUCache<string, Kept> | null;
  private readonly files: FragmentFiles | null;
  private readonly admission = new FragmentsAdmission();
  private readonly reading = new Lender(
    Array.from({ length: PAGES_READ_AT_ONCE }, () => new ReadBuffers()),
  );
  /** By name: when fragments were last read from their file, as a count of files read. */
  private readonly lastRead = countedCache<string, number>(MAX_NAMES);
  private filesRead = 0;
  /** Fragments to be made, by name. */
  private readonly orders = new Map<string, FragmentsOrder>();
  private readonly missed = countedCache<string, true>(MAX_NAMES);
  /** Fragments that could not be made: segments never change, so another attempt would fail, too. */
  private readonly givenUp = countedCache<string, true>(MAX_NAMES);
  private making: Promise<void> | null = null;
  private closing = false;

  constructor(private readonly options: FragmentsOptions) {
    const { memoryBytes = DEFAULT_SHARES.fragments, files = null } = options;
    const sizeCalculation = ({ fragments }: Kept) => bytesOfFragments(fragments) + ENTRY_BYTES;
    this.kept = memoryBytes === 0 ? null : new LRUCache({ maxSize: memoryBytes, sizeCalculation });
    this.files = this.kept === null ? null : files;
  }

  get memoryBytes(): number {
    return this.kept?.calculatedSize ?? 0;
  }

  /**
   * A page from fragments: at once if they are in memory. Null if the page is of another kind, or fragments are
   * missing: those are made when they are missed a second time.
   */
  page(plan: PagePlan, identity: PageIdentity): MadePage | null | Promise<MadePage | null> {
    const group = this.kept === null ? null : groupOf(identity);
    if (group === null) return null;
    // The event loop encodes the head.
    if (listsNames(identity.query) && hasLongNames(plan.markets)) return null;
    const start = startOfPlan(plan, identity.query);
    if (start.length === 0) return null;
    const request = { plan, group, start, identity, spans: spansOfPlan(plan, start.length) };
    const found = new Map<number, SegmentFragments>();
    const missing = this.find(request, found);
    if (missing.length === 0) return this.assemble(request, found);
    const lacking = missing.filter((segment) => this.files?.has(keyOf(request, segment)) !== true);
    if (this.files !== null && lacking.length === 0) {
      return this.readAndAssemble(this.files, request, found);
    }
    this.recordMisses(request, lacking);
    return null;
  }

  /** Resolves when nothing is being made. */
  async idle(): Promise<void> {
    while (this.making !== null) await this.making;
    await this.files?.settled();
  }

  /** Drops waiting orders, and waits for the current task. Idempotent. */
  async close(): Promise<void> {
    this.closing = true;
    this.orders.clear();
    await this.idle();
  }

  /** Whether fragments exist, or cannot be made. */
  isDone(key: FragmentsKey): boolean {
    const name = FRAGMENT_FILES.textOf(key);
    return this.files?.has(key) === true || this.orders.has(name) || this.givenUp.has(name);
  }

  /** Makes fragments before they are requested, and keeps them only in files. */
  async makeAhead(orders: readonly FragmentsOrder[]): Promise<void> {
    await this.schedule('idle', async (run) => {
      await this.makeAll(orders, run, true);
    });
  }

  /** Indexes of the plan's segments whose fragments are not in memory. */
  private find({ plan, group, spans }: Request, found: Map<number, SegmentFragments>): number[] {
    const missing = new Set<number>();
    let at = 0;
    for (const { segment, first, end } of spans) {
      const key = { segmentId: plan.segmentIds[segment], group };
      const kept = this.kept?.get(FRAGMENT_FILES.textOf(key));
      if (kept !== undefined && fits(kept, plan, at, first, end)) {
        if (first === 0 && end === kept.fragments.t.length) kept.isDoubtful = false;
        found.set(segment, kept.fragments);
        this.files?.touch(key);
      } else missing.add(segment);
      at += end - first;
    }
    // Another span of the same segment may fit.
    for (const segment of missing) found.delete(segment);
    return [...missing];
  }

  private async readAndAssemble(
    files: FragmentFiles,
    request: Request,
    found: Map<number, SegmentFragments>,
  ): Promise<MadePage | null> {
    return this.reading.use(async (buffers) => {
      // Another page may have read some while this one waited.
      const missing = this.find(request, found);
      const read = await Promise.all(
        missing.map((segment, i) =>
          files.read(keyOf(request, segment), (bytes) => buffers.at(i, bytes)),
        ),
      );
      missing.forEach((segment, i) => {
        const fragments = this.takeRead(request, segment, read[i]);
        if (fragments !== null) found.set(segment, fragments);
      });
      const lacking = missing.filter((segment) => !found.has(segment));
      if (lacking.length === 0) return this.assemble(request, found);
      this.recordMisses(request, lacking);
      return null;
    });
  }

  /**
   * Fragments as views of the bytes of their file; null if it is missing or damaged, or is deleted because it is
   * another segment's.
   */
  private takeRead(
    request: Request,
    segment: number,
    read: ReadFile<SegmentFragments> | null,
  ): SegmentFragments | null {
    const key = keyOf(request, segment);
    const name = FRAGMENT_FILES.textOf(key);
    if (
      read === null ||
      !this.fitsAll({ fragments: read.content, isDoubtful: true }, request, segment)
    ) {
      if (read !== null) this.files?.drop(key);
      this.kept?.delete(name);
      return null;
    }
    const { bytes, content: fragments } = read;
    if (this.earnsMemory(name, bytes.length)) {
      const own = unpackFragments(bytes.slice(), key);
      if (own !== null) this.kept?.set(name, { fragments: own, isDoubtful: true });
    }
    this.files?.touch(key);
    return fragments;
  }

  /**
   * Whether fragments that were read stay in memory: if it has room, or if a cache of its size would still have them from
   * their last use. So one walk through a long history evicts nothing.
   */
  private earnsMemory(name: string, bytes: number): boolean {
    const before = this.lastRead.get(name) ?? -Infinity;
    this.lastRead.set(name, ++this.filesRead);
    const { calculatedSize = 0, maxSize = 0, size = 0 } = this.kept ?? {};
    const hasRoom = calculatedSize + bytes + ENTRY_BYTES <= maxSize;
    return hasRoom || this.filesRead - before <= size;
  }

  private fitsAll(kept: Kept, { plan, spans }: Request, segment: number): boolean {
    let at = 0;
    for (const { segment: own, first, end } of spans) {
      if (own === segment && !fits(kept, plan, at, first, end)) return false;
      at += end - first;
    }
    return true;
  }

  private assemble(
    { plan, start, identity: { query, envelope }, spans: planned }: Request,
    found: ReadonlyMap<number, SegmentFragments>,
  ): MadePage | null {
    const spans: FragmentSpan[] = [];
    for (const { segment, first, end } of planned) {
      const fragments = found.get(segment);
      if (fragments !== undefined) spans.push({ fragments, first, end });
    }
    if (cellsOf(spans) > PAGE_LIMITS.maxCells) return null;
    const { markets } = plan;
    const body = assemblePage({ spans, markets, query, envelope, nextFrom: start.nextT });
    if (body === null) return null;
    this.admission.served(found.size);
    return { body, nextFrom: start.nextT };
  }

  private recordMisses(request: Request, segments: readonly number[]): void {
    this.admission.missed(segments.length);
    const marketCount = request.plan.markets.length;
    for (const segment of segments) this.miss({ key: keyOf(request, segment), marketCount });
  }

  /**
   * Orders fragments that are missed for the second time: a client that reads a long history once, page by
   * page, orders nothing.
   */
  private miss(order: FragmentsOrder): void {
    const name = FRAGMENT_FILES.textOf(order.key);
    if (this.closing || this.orders.has(name) || this.givenUp.has(name)) return;
    if (!this.missed.has(name)) {
      this.missed.set(name, true);
      return;
    }
    if (this.orders.size >= MAX_WAITING_FRAGMENTS) return;
    if (!this.admission.takes(this.hasRoom())) return;
    this.missed.delete(name);
    this.orders.set(name, order);
    this.making ??= this.makeOrdered()
      // The pool has been closed.
      .catch(() => this.orders.clear())
      .finally(() => (this.making = null));
  }

  /** Whether the ordered fragments fit on disk or in memory without evicting others. */
  private hasRoom(): boolean {
    const more = this.orders.size + 1;
    if (this.files?.hasRoom(more)) return true;
    const { calculatedSize = 0, maxSize = 0, size = 0 } = this.kept ?? {};
    return calculatedSize + more * (calculatedSize / Math.max(1, size)) <= maxSize;
  }

  private async makeOrdered(): Promise<void> {
    while (this.orders.size > 0) {
      await this.schedule('fragments', async (run) => {
        // Lets the page that made the first order add its others.
        await Promise.resolve();
        const orders = [...this.orders.values()].slice(0, MAX_SEGMENTS_AT_ONCE);
        await this.makeAll(orders, run);
        for (const { key } of orders) this.orders.delete(FRAGMENT_FILES.textOf(key));
      });
    }
  }

  private schedule(work: Work, job: (run: RunTask) => Promise<void>): Promise<void> {
    return this.options.pool.schedule(work, 'fragments', job);
  }

  /**
   * Makes fragments in one task; if that fails, one segment at a time, since a single one may be at fault.
   * @param isAhead whether they are made before they are requested
   */
  private async makeAll(
    orders: readonly FragmentsOrder[],
    run: RunTask,
    isAhead = false,
  ): Promise<void> {
    if (this.closing) return;
    try {
      const made = await this.make(orders, run);
      for (const [i, { key }] of orders.entries()) await this.keep(key, made[i], isAhead);
    } catch (error) {
      if (orders.length > 1) {
        for (const order of orders) await this.makeAll([order], run, isAhead);
      } else if (orders.length === 1)
        this.giveUp(FRAGMENT_FILES.textOf(orders[0].key), error, isAhead);
    }
  }

  private async keep(key: FragmentsKey, packed: Uint8Array, isAhead: boolean): Promise<void> {
    if (!isAhead) {
      const fragments = unpackFragments(packed, key);
      if (fragments === null) throw new Error('fragments were damaged between threads');
      this.kept?.set(FRAGMENT_FILES.textOf(key), { fragments, isDoubtful: false });
    }
    await this.files?.write(key, packed);
    if (!isAhead) this.files?.touch(key);
  }

  private giveUp(name: string, error: unknown, isAhead: boolean): void {
    // The segment was replaced in between, or a thread was lost: later pages may order them again.
    if (error instanceof SegmentGoneError || error instanceof PoolUnavailableError) return;
    // A page that meets the fault reports it, and so does a check.
    if (isAhead) return;
    this.givenUp.set(name, true);
    this.options.logger.error('fragments could not be made', { fragments: name }, error);
  }

  private async make(orders: readonly FragmentsOrder[], run: RunTask): Promise<Uint8Array[]> {
    const ids = [...new Set(orders.map(({ key }) => key.segmentId))];
    const segments = await this.options.depth.readSegments(ids);
    const inputs = orders.map(({ key, marketCount }) => {
      return { ...key, segment: segments[ids.indexOf(key.segmentId)], marketCount };
    });
    const transfer = segments.map(({ buffer }) => buffer as ArrayBuffer);
    return run('makeFragments', inputs, transfer);
  }
}

function keyOf({ plan, group }: Request, segment: number): FragmentsKey {
  return { segmentId: plan.segmentIds[segment], group };
}

/** Whether rows `first <= row < end` are the plan's snapshots from index `at` on. */
function fits(
  { fragments: { t, digests }, isDoubtful }: Kept,
  { snapshots }: PagePlan,
  at: number,
  first: number,
  end: number,
): boolean {
  if (end > t.length || t[first] !== snapshots[at].t) return false;
  for (let row = first, s = at; isDoubtful && row < end; row++, s++) {
    if (digests[row] !== snapshots[s].digest >>> 0 || t[row] !== snapshots[s].t) return false;
  }
  return true;
}

/** The grouping of the fragments that a page needs; null if only the pool makes it. */
function groupOf({ query, format, encoding }: PageIdentity): FragmentGroup | null {
  const { group } = query;
  if (format !== 'json' || encoding !== 'gzip' || !isDefaultView(query)) return null;
  return group === 'market' || group === 'all' ? group : null;
}
