/**
 * Tokens' newest snapshots: reads them from the store, decodes their segments in the pool, and holds
 * them in memory within a bound of bytes.
 */
import { LRUCache } from 'lru-cache';
import type { Market } from '../../compute/market.js';
import type { ComputePool, RunTask } from '../../compute/pool.js';
import { bytesOfCells, type SnapshotCells } from '../../compute/segment/snapshots.js';
import {
  type MarketSource,
  type NewestSnapshots,
  readStored,
  SegmentGoneError,
  type SnapshotRef,
  type TokenRecord,
} from '../../storage/contract.js';
import { DEFAULT_SHARES } from '../memory.js';

/** Bytes of a snapshot besides its columns. */
const SNAPSHOT_OVERHEAD_BYTES = 1024;

/** Segments never change, so a rewritten snapshot has another segment. */
export function isSameSnapshot(a: SnapshotRef, b: SnapshotRef | null): boolean {
  return b !== null && a.segmentId === b.segmentId && a.row === b.row;
}

export interface HeldSnapshot {
  ref: SnapshotRef;
  cells: SnapshotCells;
}

/** A token's held snapshots; one object if `newest` and `delayed` are the same snapshot. */
export interface HeldToken {
  newest: HeldSnapshot | null;
  delayed: HeldSnapshot | null;
  /** The markets that the cells index. */
  markets: readonly Market[];
}

/** Held snapshots by token id. A token that exceeds the bound by itself is not held. */
export type HeldDepth = LRUCache<number, HeldToken>;

/**
 * Holds snapshots within a bound of bytes, 12 KB for 1,000 cells. Beyond it the least recently used tokens are evicted,
 * and requests for them read the store.
 */
export function createHeldDepth(maxBytes: number = DEFAULT_SHARES.ladders): HeldDepth {
  return new LRUCache({ maxSize: maxBytes, sizeCalculation: bytesOfToken });
}

function bytesOfToken({ newest, delayed }: HeldToken): number {
  const snapshots = new Set([newest, delayed]);
  let bytes = SNAPSHOT_OVERHEAD_BYTES;
  for (const snapshot of snapshots) {
    if (snapshot !== null) bytes += bytesOfCells(snapshot.cells) + SNAPSHOT_OVERHEAD_BYTES;
  }
  return bytes;
}

/** Minimum age of depth with `delayed=true` (docs/definitions.md#market-depth). */
export const DEPTH_DELAY_S = 15 * 60;
const NO_SNAPSHOTS: NewestSnapshots = { newest: null, delayed: null, nextChangeS: null };

/** A token as stored. */
export interface LoadedToken {
  details: TokenRecord;
  /** null: its newest snapshot is unchanged, and it is not held. */
  held: HeldToken | null;
  /** When it next changes without a commit. */
  nextChangeS: number | null;
  /** Part of `held` could not be read: the caller does not keep it. */
  isPartial?: boolean;
  /** Why its newest snapshot cannot be read; only other data will change that. */
  damage?: Error;
}

type LoadPlan = Omit<LoadedToken, 'held' | 'isPartial' | 'damage'> & {
  snapshots: NewestSnapshots;
  markets: readonly Market[];
  /** Held snapshots, which need not be read again. */
  kept: HeldSnapshot[];
  skipped: boolean;
};

/** The newest snapshot in `oldestS <= t <= atS`. */
export interface Moment {
  atS: number;
  oldestS: number;
}

interface LoadOptions {
  nowS: number;
  /** The newest snapshots if already known; a token without an entry has none. */
  snapshots?: ReadonlyMap<number, NewestSnapshots>;
  /** Reads a token that is not held even if its newest snapshot is unchanged. */
  always?: boolean;
  /** Leaves out delayed snapshots. */
  onlyNewest?: boolean;
  /** Loads its snapshot instead of the newest, and no delayed one. */
  at?: Moment;
  /** Runs the pool's task; by default it is a job by itself. */
  run?: RunTask;
}

export class DepthLoader {
  constructor(
    private readonly source: MarketSource,
    private readonly pool: Pick<ComputePool, 'run'>,
    private readonly held: HeldDepth,
    /** A token's newest snapshot in the token table; null: none. */
    private readonly knownNewest: (tokenId: number) => SnapshotRef | null,
  ) {}

  /** Loads tokens as of now. @throws Error if a segment is damaged */
  async load(tokenIds: readonly number[], options: LoadOptions): Promise<LoadedToken[]> {
    let { snapshots } = options;
    return readStored(async () => {
      const plans = await Promise.all(
        tokenIds.map((id) => this.plan(id, { ...options, snapshots })),
      );
      // The caller's snapshots may be out of date at the next attempt.
      snapshots = undefined;
      return this.read(
        plans.filter((plan) => plan !== null),
        options.run,
      );
    });
  }

  /** A token whose newest snapshot is damaged. */
  damaged(tokenId: number, damage: Error): LoadedToken[] {
    const details = this.source.tokenById(tokenId);
    if (details === null) return [];
    const held = { newest: null, delayed: null, markets: [] };
    return [{ details, held, nextChangeS: null, damage }];
  }

  private async plan(tokenId: number, options: LoadOptions): Promise<LoadPlan | null> {
    const { always = false, onlyNewest = false } = options;
    const found = await this.find(tokenId, options);
    const snapshots = onlyNewest ? { ...found, delayed: null } : found;
    const details = this.source.tokenById(tokenId);
    if (details === null) return null;
    const held = this.held.get(tokenId);
    const known = this.knownNewest(tokenId);
    return {
      details,
      snapshots,
      nextChangeS: snapshots.nextChangeS,
      // Read after the snapshots: a commit in between only appends markets.
      markets: this.source.markets(tokenId),
      kept: [held?.newest ?? null, held?.delayed ?? null].filter((snapshot) => snapshot !== null),
      skipped:
        !always && held === undefined && known !== null && isSameSnapshot(known, snapshots.newest),
    };
  }

  private async find(
    tokenId: number,
    { nowS, at, snapshots }: LoadOptions,
  ): Promise<NewestSnapshots> {
    if (at !== undefined) {
      const newest = await this.source.newestShownAt(tokenId, at.atS, nowS);
      return { ...NO_SNAPSHOTS, newest: newest !== null && newest.t >= at.oldestS ? newest : null };
    }
    if (snapshots !== undefined) return snapshots.get(tokenId) ?? NO_SNAPSHOTS;
    return this.source.newestSnapshots(tokenId, nowS, DEPTH_DELAY_S);
  }

  private async read(plans: readonly LoadPlan[], run?: RunTask): Promise<LoadedToken[]> {
    const rows = new Map<number, Set<number>>();
    for (const plan of plans) {
      if (plan.skipped) continue;
      for (const ref of [plan.snapshots.newest, plan.snapshots.delayed]) {
        if (ref === null || plan.kept.some((kept) => isSameSnapshot(kept.ref, ref))) continue;
        rows.set(ref.segmentId, (rows.get(ref.segmentId) ?? new Set()).add(ref.row));
      }
    }
    const picked = await this.pick(rows, run);
    return plans.map((plan) => {
      const { details, nextChangeS, markets, snapshots, skipped } = plan;
      if (skipped) return { details, nextChangeS, held: null };
      const newest = snapshotAt(snapshots.newest, plan, picked);
      const delayed =
        newest !== null && isSameSnapshot(newest.ref, snapshots.delayed)
          ? newest
          : snapshotAt(snapshots.delayed, plan, picked);
      return { details, nextChangeS, held: { newest, delayed, markets } };
    });
  }

  /** Decodes the given rows; by segment and row. */
  private async pick(
    rows: ReadonlyMap<number, ReadonlySet<number>>,
    run: RunTask = (name, input) => this.pool.run(name, input),
  ): Promise<Map<number, Map<number, SnapshotCells>>> {
    if (rows.size === 0) return new Map();
    const ids = [...rows.keys()];
    const wanted = Array.from(rows.values(), (set) => [...set]);
    const blocks = await this.source.readSegments(ids);
    const picked = await run(
      'pickSnapshots',
      blocks.map((block, i) => ({ block, rows: wanted[i] })),
    );
    return new Map(
      ids.map((id, i) => [id, new Map(wanted[i].map((row, j) => [row, picked[i][j]]))]),
    );
  }
}

function snapshotAt(
  ref: SnapshotRef | null,
  { kept, markets }: LoadPlan,
  picked: ReadonlyMap<number, ReadonlyMap<number, SnapshotCells>>,
): HeldSnapshot | null {
  if (ref === null) return null;
  const known = kept.find((snapshot) => isSameSnapshot(snapshot.ref, ref));
  if (known !== undefined) return { ...known, ref };
  const cells = picked.get(ref.segmentId)?.get(ref.row);
  if (cells === undefined) throw new Error(`segment ${ref.segmentId} has no row ${ref.row}`);
  // Cells are sorted by market: if the last one's is missing, the list of markets is too old.
  if (cells.market.length > 0 && cells.market[cells.market.length - 1] >= markets.length) {
    throw new SegmentGoneError(`segment ${ref.segmentId} is about to be published`);
  }
  return { ref, cells };
}
