/** Reads tokens' newest snapshots out of the store; segments are decoded in the pool. */
import type { ComputePool } from '../../compute/pool.js';
import type { SnapshotCells } from '../../compute/segment/snapshots.js';
import type { Market } from '../../compute/market.js';
import {
  SegmentGoneError,
  type MarketSource,
  type NewestSnapshots,
  type SnapshotRef,
  type TokenDetails,
} from '../../storage/contract.js';
import { isSamePlace, type HeldDepth, type HeldSnapshot, type HeldToken } from './held-depth.js';
import type { TokenTable } from './token-table.js';

/** With `delayed=true`, depth is at least so old (data.md section 4, Market depth). */
export const DEPTH_DELAY_S = 15 * 60;
/** Reads of one batch: segments may be replaced by compaction while they are about to be read. */
const MAX_READS = 5;
const NO_PLACES: NewestSnapshots = { newest: null, delayed: null, nextChangeS: null };

/** A token as it is in the store. */
export interface LoadedToken {
  details: TokenDetails;
  /** null: its newest snapshots are the ones that were known, and they are not held. */
  held: HeldToken | null;
  /** When it changes by the clock alone. */
  nextChangeS: number | null;
}

type Plan = Omit<LoadedToken, 'held'> & {
  places: NewestSnapshots;
  markets: readonly Market[];
  /** Snapshots that need not be read again. */
  kept: HeldSnapshot[];
  skipped: boolean;
};

export interface LoadOptions {
  nowS: number;
  /** Where the snapshots lie, where that is known already; a token that lacks has none. */
  places?: ReadonlyMap<number, NewestSnapshots>;
  /** Reads what is not held even where nothing has changed. */
  always?: boolean;
}

export class DepthLoader {
  constructor(
    private readonly source: MarketSource,
    private readonly pool: Pick<ComputePool, 'run'>,
    private readonly held: HeldDepth,
    private readonly state: TokenTable,
  ) {}

  /** The tokens as they are now. @throws Error where a segment is damaged */
  async load(tokenIds: readonly number[], options: LoadOptions): Promise<LoadedToken[]> {
    let { places } = options;
    for (let reads = 1; ; reads++) {
      const plans = await Promise.all(tokenIds.map((id) => this.plan(id, { ...options, places })));
      try {
        return await this.read(plans.filter((plan) => plan !== null));
      } catch (error) {
        if (!(error instanceof SegmentGoneError) || reads === MAX_READS) throw error;
        places = undefined;
      }
    }
  }

  private async plan(tokenId: number, options: LoadOptions): Promise<Plan | null> {
    const { nowS, always = false } = options;
    const places =
      options.places === undefined
        ? await this.source.newestSnapshots(tokenId, nowS, DEPTH_DELAY_S)
        : (options.places.get(tokenId) ?? NO_PLACES);
    const details = this.source.tokenDetails(tokenId);
    if (details === null) return null;
    const held = this.held.get(tokenId);
    const known = this.state.tokenById(tokenId)?.newest?.place ?? null;
    return {
      details,
      places,
      nextChangeS: places.nextChangeS,
      // Read after the directory: a commit in between only appends to them.
      markets: this.source.markets(tokenId),
      kept: [held?.newest ?? null, held?.delayed ?? null].filter((snapshot) => snapshot !== null),
      skipped: !always && held === null && known !== null && isAt(known, places.newest),
    };
  }

  private async read(plans: readonly Plan[]): Promise<LoadedToken[]> {
    const rows = new Map<number, Set<number>>();
    for (const plan of plans) {
      if (plan.skipped) continue;
      for (const place of [plan.places.newest, plan.places.delayed]) {
        if (place === null || plan.kept.some((kept) => isSamePlace(kept.place, place))) continue;
        rows.set(place.segmentId, (rows.get(place.segmentId) ?? new Set()).add(place.row));
      }
    }
    const picked = await this.pick(rows);
    return plans.map((plan) => {
      const { details, nextChangeS, markets, places, skipped } = plan;
      if (skipped) return { details, nextChangeS, held: null };
      const newest = snapshotAt(places.newest, plan, picked);
      const delayed =
        newest !== null && isAt(newest.place, places.delayed)
          ? newest
          : snapshotAt(places.delayed, plan, picked);
      return { details, nextChangeS, held: { newest, delayed, markets } };
    });
  }

  /** The rows of the segments, by segment and row. */
  private async pick(
    rows: ReadonlyMap<number, ReadonlySet<number>>,
  ): Promise<Map<number, Map<number, SnapshotCells>>> {
    if (rows.size === 0) return new Map();
    const ids = [...rows.keys()];
    const wanted = Array.from(rows.values(), (set) => [...set]);
    const blocks = await this.source.readSegments(ids);
    const picked = await this.pool.run(
      'pickSnapshots',
      blocks.map((block, i) => ({ block, rows: wanted[i] })),
    );
    return new Map(
      ids.map((id, i) => [id, new Map(wanted[i].map((row, j) => [row, picked[i][j]]))]),
    );
  }
}

function isAt(place: SnapshotRef, other: SnapshotRef | null): boolean {
  return other !== null && isSamePlace(place, other);
}

function snapshotAt(
  place: SnapshotRef | null,
  { kept, markets }: Plan,
  picked: ReadonlyMap<number, ReadonlyMap<number, SnapshotCells>>,
): HeldSnapshot | null {
  if (place === null) return null;
  const known = kept.find((snapshot) => isSamePlace(snapshot.place, place));
  if (known !== undefined) return { ...known, place };
  const cells = picked.get(place.segmentId)?.get(place.row);
  if (cells === undefined) throw new Error(`segment ${place.segmentId} has no row ${place.row}`);
  // Cells are sorted by market: the last one tells whether the list of markets is older than they.
  if (cells.market.length > 0 && cells.market[cells.market.length - 1] >= markets.length) {
    throw new SegmentGoneError(`segment ${place.segmentId} is about to be published`);
  }
  return { place, cells };
}
