/** Pages from fragments: what is kept of packs, and what the event loop does with them. */
import { assemblePage, cellsOf, type PackStretch } from '../../../compute/fragments/assemble.js';
import type { Pack, PackForm } from '../../../compute/fragments/pack.js';
import type { ComputePool } from '../../../compute/pool.js';
import { DEFAULT_BAND } from '../../../compute/ladder.js';
import { PAGE_LIMITS } from '../../../compute/replay/page.js';
import { hasFilter } from '../../../compute/replay/query.js';
import type { DepthSource, PagePlan } from '../../../storage/contract.js';
import type { Log } from '../../log.js';
import type { PageIdentity } from '../caching.js';
import { PackBuilder } from './builder.js';
import { PackDisk } from './disk.js';
import { nameOf, type PackKey } from './key.js';
import { PackMemory } from './memory.js';
import { pageOfPlan, type PlanStretch } from './stretches.js';

/** The fragments' folder within a data directory; it may be deleted at any time. */
export const FRAGMENTS_FOLDER = 'fragments';

/** How much room packs may take. */
export interface FragmentLimits {
  /** 0: they are on disk alone. */
  memoryBytes: number;
  /** 0: they are in memory alone. */
  diskBytes: number;
}

export const FRAGMENT_LIMITS: Readonly<FragmentLimits> = {
  /** Some 350 full pages in one coding. */
  memoryBytes: 256 * 1024 * 1024,
  diskBytes: 4 * 1024 * 1024 * 1024,
};

export interface FragmentsOptions {
  pool: ComputePool;
  depth: DepthSource;
  log: Log;
  /**
   * A folder of the fragments' own, made where there is none, emptied where none may be on disk; null:
   * they are kept in memory alone.
   */
  directory: string | null;
  limits?: Readonly<FragmentLimits>;
}

export class Fragments {
  private readonly memory: PackMemory;
  private readonly disk: PackDisk | null;
  private readonly builder: PackBuilder;
  /** Packs that are being read, by name. */
  private readonly loading = new Map<string, Promise<Pack | null>>();
  private readonly swept: Promise<void>;
  private readonly keepsNone: boolean;
  private isDiskFaulty = false;

  constructor(private readonly options: FragmentsOptions) {
    const { pool, depth, directory, limits = FRAGMENT_LIMITS } = options;
    this.memory = new PackMemory(limits.memoryBytes);
    this.keepsNone = limits.memoryBytes === 0 && (directory === null || limits.diskBytes === 0);
    this.disk = directory === null ? null : new PackDisk(directory, limits.diskBytes);
    this.builder = new PackBuilder({
      pool,
      depth,
      onPack: (key, pack) => this.keep(key, pack),
      onError: (key, error) => options.log.error('fragments', { pack: nameOf(key) }, error),
    });
    this.swept = this.sweep();
  }

  /** Bytes that packs take in memory. */
  get memoryBytes(): number {
    return this.memory.bytes;
  }

  /**
   * A page's body from fragments, or null where they can't make it: the page is of another kind, or
   * packs are missing, which are then made when they are missed again.
   */
  async page(plan: PagePlan, page: PageIdentity): Promise<Uint8Array | null> {
    const form = this.keepsNone ? null : formOf(page);
    if (form === null) return null;
    const { stretches, nextFrom } = pageOfPlan(plan, form.group);
    if (stretches.length === 0) return null;
    const packs = await this.packs(plan, form, stretches);
    if (packs === null) return null;
    const found = stretches.map(({ segment, first, end }): PackStretch => {
      return { pack: packs[segment] as Pack, first, end };
    });
    if (cellsOf(found) > PAGE_LIMITS.maxCells) return null;
    const { markets } = plan;
    const { query, envelope } = page;
    return assemblePage({ stretches: found, markets, query, envelope, nextFrom });
  }

  /** Resolves when nothing is being made, and what an earlier run has left is taken over. */
  async idle(): Promise<void> {
    await this.swept;
    await this.builder.idle();
  }

  async close(): Promise<void> {
    await this.builder.close();
    await this.swept;
  }

  /** The packs by the plan's index of their segments; null where one is missing. */
  private async packs(
    plan: PagePlan,
    form: PackForm,
    stretches: readonly PlanStretch[],
  ): Promise<(Pack | undefined)[] | null> {
    const packs: (Pack | undefined)[] = [];
    const loads: Promise<void>[] = [];
    for (const segment of new Set(stretches.map((stretch) => stretch.segment))) {
      const key = { segmentId: plan.segmentIds[segment], ...form };
      packs[segment] = this.memory.get(nameOf(key));
      if (packs[segment] === undefined) {
        loads.push(this.load(key).then((pack) => void (packs[segment] = pack ?? undefined)));
      }
    }
    if (loads.length > 0) await Promise.all(loads);
    const missing = stretches.filter((stretch) => !holds(packs[stretch.segment], stretch));
    const marketCount = plan.markets.length;
    for (const segment of new Set(missing.map((stretch) => stretch.segment))) {
      const key = { segmentId: plan.segmentIds[segment], ...form };
      this.builder.miss({ key, marketCount });
    }
    return missing.length === 0 ? packs : null;
  }

  /** A pack from disk into memory; null where it is not there. */
  private async load(key: PackKey): Promise<Pack | null> {
    const disk = this.disk;
    const name = nameOf(key);
    if (disk === null || !disk.has(name)) return null;
    let load = this.loading.get(name);
    if (load === undefined) {
      load = disk
        .load(key)
        .then((pack) => {
          if (pack !== null) this.memory.put(name, pack);
          return pack;
        })
        .finally(() => this.loading.delete(name));
      this.loading.set(name, load);
    }
    return load;
  }

  private async keep(key: PackKey, pack: Pack): Promise<void> {
    this.memory.put(nameOf(key), pack);
    try {
      await this.disk?.save(key, pack);
      this.isDiskFaulty = false;
    } catch (error) {
      // A full disk stays full for a while: it is said once, and pages are served from memory.
      if (!this.isDiskFaulty) this.options.log.error('fragments on disk', {}, error);
      this.isDiskFaulty = true;
    }
  }

  private async sweep(): Promise<void> {
    try {
      await this.disk?.sweep((ids) => this.options.depth.segmentChecksums(ids));
    } catch (error) {
      this.options.log.error('fragments on disk', {}, error);
    }
  }
}

/** Whether a pack is there and is of the plan's snapshots. */
function holds(pack: Pack | undefined, { first, end, t }: PlanStretch): boolean {
  return pack !== undefined && end <= pack.t.length && pack.t[first] === t;
}

/** The packs that could serve a page; null where it is one that only the pool makes. */
function formOf({ query, format, encoding }: PageIdentity): PackForm | null {
  const { group, band } = query;
  if (format !== 'json' || (encoding !== 'gzip' && encoding !== 'br')) return null;
  if ((group !== 'market' && group !== 'all') || hasFilter(query)) return null;
  const isDefault = band.first === DEFAULT_BAND.first && band.last === DEFAULT_BAND.last;
  return isDefault ? { group, coding: encoding } : null;
}
