import { MIN_BIN } from '../ladder.js';
import { type Market, marketKey, MAX_MARKETS_PER_TOKEN } from '../market.js';
import { MAX_NARROW_CENTS, narrowCents, type RunKey, type SnapshotRun } from '../segment/run.js';
import { CellStore, type MarketBlock } from './cell-store.js';

/** What a row does to an earlier one of the same snapshot. */
export type IngestMode = 'replace' | 'merge';

/** Snapshots of one (chain, address, tier) and the markets that `run.market` indexes. */
export interface RunPart {
  run: SnapshotRun;
  /** In order of first arrival; a market named without any cell has arrived too. */
  markets: Market[];
  /** The place of each market's arrival among all of the batch: orders them across tiers. */
  arrivals: number[];
  /** Where each market first stood, for faults. */
  marketPlaces: MarketPlace[];
  /** The first line of each snapshot's rows, of the last row where several made it. */
  lines: Float64Array;
}

/** A market's place in the file: its row, and what stands before the names of its fields. */
export interface MarketPlace {
  line: number;
  prefix: string;
}

/** A snapshot whose cells still lie in the store, market by market. */
export interface PendingSnapshot {
  t: number;
  priceUsd: number;
  blocks: MarketBlock[];
  line: number;
}

/** Collects snapshots in any order of time and token. */
export class RunBuilder {
  readonly store: CellStore;
  private readonly parts = new Map<string, PartBuilder>();
  private arrivals = 0;

  /** @param cells about how many will come */
  constructor(
    private readonly mode: IngestMode,
    cells: number,
  ) {
    this.store = new CellStore(cells);
  }

  /** The part of a (chain, address, tier), made at its first call. */
  part(key: RunKey): PartBuilder {
    const name = `${key.chain} ${key.address} ${key.tier}`;
    let part = this.parts.get(name);
    if (part === undefined) {
      part = new PartBuilder(
        { chain: key.chain, address: key.address, tier: key.tier },
        () => this.arrivals++,
      );
      this.parts.set(name, part);
    }
    return part;
  }

  /** Parts in order of first arrival. Nothing can be added after. */
  finish(): RunPart[] {
    const parts = Array.from(this.parts.values(), (part) => part.finish(this.store, this.mode));
    this.store.release();
    return parts;
  }
}

/** One (chain, address, tier) of a batch. */
export class PartBuilder {
  private readonly markets: Market[] = [];
  private readonly indexes = new Map<string, number>();
  /** The same by object: a market usually comes as the one that came before. */
  private readonly indexesByObject = new Map<Market, number>();
  private readonly arrivals: number[] = [];
  private readonly places: MarketPlace[] = [];
  private readonly snapshots = new Map<number, PendingSnapshot>();

  constructor(
    private readonly key: RunKey,
    private readonly nextArrival: () => number,
  ) {}

  /** The snapshot at `t` so far. */
  at(t: number): PendingSnapshot | undefined {
    return this.snapshots.get(t);
  }

  /** Index of a market, which arrives with its first call; -1 where the list is full. */
  indexOf(market: Market, line: number, prefix: string): number {
    const same = this.indexesByObject.get(market);
    if (same !== undefined) return same;
    const index = this.indexOfKey(market, line, prefix);
    if (index >= 0) this.indexesByObject.set(market, index);
    return index;
  }

  private indexOfKey(market: Market, line: number, prefix: string): number {
    const key = marketKey(market);
    const known = this.indexes.get(key);
    if (known !== undefined) return known;
    if (this.markets.length >= MAX_MARKETS_PER_TOKEN) return -1;
    this.indexes.set(key, this.markets.length);
    this.arrivals.push(this.nextArrival());
    this.places.push({ line, prefix });
    return this.markets.push(market) - 1;
  }

  /** The market under an index that indexOf gave. */
  market(index: number): Market {
    return this.markets[index];
  }

  /** Puts a snapshot in its place, of an earlier one with the same `t` too. */
  replace(snapshot: PendingSnapshot): void {
    this.snapshots.set(snapshot.t, snapshot);
  }

  finish(store: CellStore, mode: IngestMode): RunPart {
    const snapshots = Array.from(this.snapshots.values());
    if (snapshots.some((s, i) => i > 0 && s.t < snapshots[i - 1].t)) {
      snapshots.sort((a, b) => a.t - b.t);
    }
    const run = runOf(this.key, snapshots, store, mode === 'merge');
    return {
      run,
      markets: this.markets,
      arrivals: this.arrivals,
      marketPlaces: this.places,
      lines: Float64Array.from(snapshots, ({ line }) => line),
    };
  }
}

/** The blocks of a snapshot after another's have been added or have replaced theirs. */
export function mergeBlocks(
  earlier: readonly MarketBlock[],
  later: readonly MarketBlock[],
): MarketBlock[] {
  const byMarket = new Map<number, MarketBlock>();
  for (const block of earlier) byMarket.set(block.market, block);
  for (const block of later) byMarket.set(block.market, block);
  return Array.from(byMarket.values());
}

/**
 * The columns of snapshots. With `tombstones` a market without any cell stands as one cell without
 * amounts in the lowest bin, as joinRuns wants it of what is yet to be merged.
 */
function runOf(
  key: RunKey,
  snapshots: readonly PendingSnapshot[],
  store: CellStore,
  tombstones: boolean,
): SnapshotRun {
  const widthOf = ({ start, end }: MarketBlock): number =>
    start === end && tombstones ? 1 : end - start;
  const cellOffsets = new Int32Array(snapshots.length + 1);
  snapshots.forEach((snapshot, s) => {
    let cells = cellOffsets[s];
    for (const block of snapshot.blocks) cells += widthOf(block);
    cellOffsets[s + 1] = cells;
  });
  const cells = cellOffsets[snapshots.length];
  const market = new Uint16Array(cells);
  const bin = new Int16Array(cells);
  // Mostly no cell of the store needs more than 32 bits: then none is to be narrowed.
  const isNarrow = store.greatestCents <= MAX_NARROW_CENTS;
  const support = isNarrow ? new Uint32Array(cells) : new Float64Array(cells);
  const resistance = isNarrow ? new Uint32Array(cells) : new Float64Array(cells);
  let at = 0;
  for (const { blocks } of snapshots) {
    if (blocks.some((b, i) => i > 0 && b.market < blocks[i - 1].market)) {
      blocks.sort((a, b) => a.market - b.market);
    }
    for (let b = 0; b < blocks.length;) {
      // Blocks that lie one behind the other in the store are copied at once.
      const { start } = blocks[b];
      const to = at;
      let end = start;
      do {
        const { market: index, end: blockEnd } = blocks[b];
        const width = widthOf(blocks[b]);
        market.fill(index, at, at + width);
        if (end === blockEnd) bin.fill(MIN_BIN, at, at + width);
        end = blockEnd;
        at += width;
        b++;
      } while (b < blocks.length && blocks[b].start === end && at - to === end - start);
      bin.set(store.bin.subarray(start, end), to);
      support.set(store.supportCents.subarray(start, end), to);
      resistance.set(store.resistanceCents.subarray(start, end), to);
    }
  }
  return {
    ...key,
    t: Uint32Array.from(snapshots, (s) => s.t),
    priceUsd: Float64Array.from(snapshots, (s) => s.priceUsd),
    cellOffsets,
    market,
    bin,
    supportCents: isNarrow ? support : narrowCents(support, cells),
    resistanceCents: isNarrow ? resistance : narrowCents(resistance, cells),
  };
}
