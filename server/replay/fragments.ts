/** Pages from fragments: finds the fragments of a page, orders those that it lacks, and assembles it. */
import type { ComputePool } from '../../compute/pool.js';
import type { FragmentsKey } from '../../compute/replay/fragment-file.js';
import {
  assemblePage,
  cellsOf,
  type FragmentGroup,
  type SegmentFragments,
} from '../../compute/replay/fragments.js';
import { hasLongNames } from '../../compute/replay/names.js';
import { PAGE_LIMITS } from '../../compute/replay/page.js';
import type { DepthSource, PagePlan } from '../../storage/contract.js';
import type { Logger } from '../logger.js';
import type { PageIdentity } from './entity-tag.js';
import { FragmentOrders } from './fragment-orders.js';
import {
  FragmentStore,
  type FragmentStoreOptions,
  type WantedFragments,
} from './fragment-store.js';
import {
  isDefaultView,
  type MadePage,
  type PageStart,
  type PlanSpan,
  spansOfPlan,
  startOfPlan,
} from './page-plan.js';

/** A page that fragments can make. */
interface FragmentsPage {
  plan: PagePlan;
  start: PageStart;
  spans: readonly PlanSpan[];
  /** By the plan's index of the segment. */
  wanted: ReadonlyMap<number, WantedFragments>;
  identity: PageIdentity;
}

/** Fragments by the plan's index of their segment. */
type Found = Map<number, SegmentFragments>;

/** A page from fragments, and the fragments. */
export interface AssembledPage extends MadePage {
  keys: readonly FragmentsKey[];
}

interface FragmentsOptions extends FragmentStoreOptions {
  pool: Pick<ComputePool, 'schedule'>;
  depth: Pick<DepthSource, 'readSegments'>;
  logger: Logger;
}

export class Fragments {
  readonly store: FragmentStore;
  readonly orders: FragmentOrders;

  constructor(options: FragmentsOptions) {
    this.store = new FragmentStore(options);
    this.orders = new FragmentOrders(this.store, options);
  }

  /**
   * A page from fragments: at once if they are in memory. Null if the page is of another kind, or fragments are
   * missing: those are made when they are missed a second time.
   */
  page(
    plan: PagePlan,
    identity: PageIdentity,
  ): AssembledPage | null | Promise<AssembledPage | null> {
    const group = this.store.isOff ? null : groupOf(identity);
    if (group === null || !canAssemble(group, plan)) return null;
    const start = startOfPlan(plan, identity.query);
    if (start.length === 0) return null;
    const spans = spansOfPlan(plan, start.length);
    const page = { plan, start, spans, wanted: wantedBy(plan, spans, group), identity };
    const found: Found = new Map();
    const missing: [number, WantedFragments][] = [];
    for (const [segment, wanted] of page.wanted) {
      const fragments = this.store.inMemory(wanted);
      if (fragments === null) missing.push([segment, wanted]);
      else found.set(segment, fragments);
    }
    if (missing.length === 0) return this.assemble(page, found);
    const lacking = missing.filter(([, { key }]) => !this.store.hasFile(key));
    if (lacking.length === 0) return this.readAndAssemble(page, found, missing);
    this.order(page, lacking);
    return null;
  }

  /** Resolves when nothing that was missed is being made, and no file being removed. */
  async idle(): Promise<void> {
    await this.orders.idle();
    await this.store.settled();
  }

  /** Drops waiting orders, and waits for the current task. Idempotent. */
  async close(): Promise<void> {
    await this.orders.close();
    await this.store.settled();
  }

  private readAndAssemble(
    page: FragmentsPage,
    found: Found,
    missing: readonly [number, WantedFragments][],
  ): Promise<AssembledPage | null> {
    const wanted = missing.map(([, one]) => one);
    return this.store.read(wanted, (read) => {
      missing.forEach(([segment], i) => {
        const fragments = read[i];
        if (fragments !== null) found.set(segment, fragments);
      });
      const lacking = missing.filter(([segment]) => !found.has(segment));
      if (lacking.length === 0) return this.assemble(page, found);
      this.order(page, lacking);
      return null;
    });
  }

  private assemble(
    { plan: { markets }, start, spans: planned, wanted, identity }: FragmentsPage,
    found: Found,
  ): AssembledPage | null {
    const spans = planned.map(({ segment, first, end }) => {
      return { fragments: found.get(segment)!, first, end };
    });
    if (cellsOf(spans) > PAGE_LIMITS.maxCells) return null;
    const { query, envelope } = identity;
    const body = assemblePage({ spans, markets, query, envelope, nextFrom: start.nextT });
    if (body === null) return null;
    const keys = Array.from(wanted.values(), ({ key }) => key);
    this.orders.served(keys.length);
    return { body, nextFrom: start.nextT, keys };
  }

  private order({ plan }: FragmentsPage, lacking: readonly [number, WantedFragments][]): void {
    const marketCount = plan.markets.length;
    this.orders.missed(lacking.map(([, { key }]) => ({ key, marketCount })));
  }
}

/** Whether pages of a token with these markets can be assembled: the event loop encodes their heads. */
export function canAssemble(group: FragmentGroup, { markets }: Pick<PagePlan, 'markets'>): boolean {
  return group === 'all' || !hasLongNames(markets);
}

/** The grouping of the fragments that a page needs; null if only the pool makes it. */
function groupOf({ query, format, encoding }: PageIdentity): FragmentGroup | null {
  const { group } = query;
  if (format !== 'json' || encoding !== 'gzip' || !isDefaultView(query)) return null;
  return group === 'market' || group === 'all' ? group : null;
}

function wantedBy(
  { segmentIds, snapshots }: PagePlan,
  spans: readonly PlanSpan[],
  group: FragmentGroup,
): Map<number, WantedFragments> {
  const all = new Map<number, WantedFragments>();
  let at = 0;
  for (const { segment, first, end } of spans) {
    let wanted = all.get(segment);
    if (wanted === undefined) {
      wanted = { key: { segmentId: segmentIds[segment], group }, snapshots, rows: [] };
      all.set(segment, wanted);
    }
    wanted.rows.push({ first, end, at });
    at += end - first;
  }
  return all;
}
