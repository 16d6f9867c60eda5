/** Collects the snapshots of a chunk's rows, in any order, into one run for each token and tier. */
import { MAX_CELLS_PER_SNAPSHOT, MAX_SNAPSHOT_CENTS, MIN_BIN } from '../ladder.js';
import { type Market, MAX_MARKETS_PER_TOKEN } from '../market.js';
import { countCells, type JoinMode } from '../segment/merge.js';
import { MAX_NARROW_CENTS, narrowCents, type RunKey, type SnapshotRun } from '../segment/run.js';
import { CellStore, type MarketCells } from './cell-store.js';
import { type Fault, FaultLog, nameOfSnapshot, type SnapshotHead } from './fields.js';
import { type Warning, WarningTally } from './warnings.js';
import {
  type KeyedMarket,
  type MarketFieldNames,
  MarketParser,
  TOO_MANY_MARKETS,
} from './market-fields.js';

/** How a chunk is binned. */
export interface Binning {
  mode: JoinMode;
  /**
   * For `merge`: the prices in USD to bin around, by nameOfSnapshot(): the stored snapshot's, otherwise that of the
   * snapshot's first row in the file.
   */
  basePrices?: ReadonlyMap<string, number> | undefined;
}

/** A chunk of a file, binned. */
export interface BinnedChunk {
  /** In order of first arrival of the (chain, address, tier); empty if any row has faults. */
  runs: BinnedRun[];
  /** Rows read, faulty ones included. */
  rows: number;
  /** Snapshots and cells in `runs`; cells without amounts do not count. */
  snapshots: number;
  cells: number;
  /** Levels, pool bins and cells with an amount outside the ladder. */
  droppedLevels: number;
  /** Levels of books that a later moment within their second replaced. */
  earlierLevels: number;
  /** First lines of snapshots left out because no row gives their price, the first MAX_FAULTS. */
  unpriced: number[];
  /** The first MAX_FAULTS faults. */
  faults: Fault[];
  faultCount: number;
  warnings: Warning[];
}

/** Snapshots of one (chain, address, tier) and the markets that `run.market` indexes. */
export interface BinnedRun {
  run: SnapshotRun;
  /** In order of first arrival, including markets without cells. */
  markets: Market[];
  /** When each market arrived, counted over the whole chunk, to order markets across tiers. */
  arrivals: number[];
  /** Where each market first appeared, for faults. */
  marketOrigins: MarketOrigin[];
  /** The first line of each snapshot; if several rows form the snapshot, that of the last row. */
  lines: Float64Array;
}

/** A market's row in a file, and the prefix of its field names there. */
export interface MarketOrigin {
  line: number;
  prefix: string;
}

/** The buffers of the runs' columns, for transfer to another thread. */
export function transferablesOf(runs: readonly { run: SnapshotRun }[]): ArrayBuffer[] {
  return runs.flatMap(({ run }) =>
    [
      run.t,
      run.priceUsd,
      run.cellOffsets,
      run.market,
      run.bin,
      run.supportCents,
      run.resistanceCents,
    ].map((column) => column.buffer as ArrayBuffer),
  );
}

/** A chunk whose rows are being read. */
export class ChunkBuilder {
  readonly faults = new FaultLog();
  readonly warnings = new WarningTally();
  readonly markets = new MarketParser(this.faults);
  readonly store: CellStore;
  rows = 0;
  droppedLevels = 0;
  earlierLevels = 0;
  readonly unpriced: number[] = [];
  private readonly runs = new Map<string, RunBuilder>();
  private arrivals = 0;

  /** @param cells expected number of cells */
  constructor(
    private readonly binning: Binning,
    cells = 0,
  ) {
    this.store = CellStore.take(cells);
  }

  /** The run of a (chain, address, tier). */
  run({ chain, address, tier }: RunKey): RunBuilder {
    const name = `${chain} ${address} ${tier}`;
    let run = this.runs.get(name);
    if (run === undefined) {
      run = new RunBuilder({ chain, address, tier });
      this.runs.set(name, run);
    }
    return run;
  }

  /**
   * The price of the snapshot into which a row is merged: that of an earlier row of the chunk, otherwise
   * its base price. NaN if there is no such snapshot, or nothing is merged.
   */
  existingPrice(run: RunBuilder, head: SnapshotHead): number {
    const { mode, basePrices } = this.binning;
    if (mode === 'replace') return NaN;
    return run.at(head.t)?.priceUsd ?? basePrices?.get(nameOfSnapshot(head)) ?? NaN;
  }

  /** Adds a fault if cells were binned around another price than the snapshot's. */
  checkCellsPrice(givenUsd: number, existingUsd: number): void {
    if (Number.isNaN(existingUsd) || givenUsd === existingUsd) return;
    this.faults.add(
      'price_usd',
      `must be ${existingUsd}, the price of the existing snapshot: these cells were binned around another price`,
    );
  }

  /**
   * Index of a market in its run; -1 and a fault if the token has too many. Also adds a fault if an
   * earlier row of the chunk gives the market another type.
   */
  arrive(run: RunBuilder, keyed: KeyedMarket, names: MarketFieldNames): number {
    const { prefix } = names;
    const index = run.indexOf(keyed) ?? run.add(keyed, this.arrivals++, this.faults.line, prefix);
    if (index < 0) {
      this.faults.add(prefix + names.address, TOO_MANY_MARKETS);
      return -1;
    }
    const known = run.market(index);
    const { market } = keyed;
    if (known.type !== market.type) {
      this.faults.add(`${prefix}type`, `must be ${known.type}, as in an earlier row`);
    }
    if (known.exchangeType !== market.exchangeType) {
      this.faults.add(
        `${prefix}exchange_type`,
        `must be ${known.exchangeType}, as in an earlier row`,
      );
    }
    return index;
  }

  /** Warns if a snapshot has no cells, or more than half of its levels are outside the ladder. */
  warnOfLevels(line: number, t: number, levels: number, dropped: number, cells: number): void {
    const named = (): string => `the snapshot of ${new Date(t * 1000).toISOString()}`;
    if (cells === 0) this.warnings.add('no_cells', line, () => `${named()} has no cell`);
    if (dropped * 2 > levels) {
      const what = (): string =>
        `${dropped} of ${levels} levels of ${named()} lie outside the ladder: is price_usd right?`;
      this.warnings.add('outside_ladder', line, what);
    }
  }

  /**
   * Adds a snapshot, unless it exceeds the limits of one.
   * @param head with the price that the cells were binned around
   */
  put(run: RunBuilder, head: SnapshotHead, markets: MarketCells[], field: string): void {
    const earlier = this.binning.mode === 'merge' ? run.at(head.t) : undefined;
    const all = earlier === undefined ? markets : merged(earlier.markets, markets);
    let cells = 0;
    let cents = 0;
    for (const market of all) {
      cells += market.end - market.start;
      cents += market.totalCents;
    }
    if (cells > MAX_CELLS_PER_SNAPSHOT) {
      this.faults.add(field, `a snapshot holds at most ${MAX_CELLS_PER_SNAPSHOT} cells`);
    } else if (!(cents <= MAX_SNAPSHOT_CENTS)) {
      this.faults.add(field, `a snapshot holds at most ${MAX_SNAPSHOT_CENTS} cents in all`);
    } else {
      run.put({ t: head.t, priceUsd: head.priceUsd, markets: all, line: this.faults.line });
    }
  }

  /** The chunk; nothing can be added afterwards. */
  finish(): BinnedChunk {
    const { faults, count: faultCount } = this.faults;
    const builders = faultCount === 0 ? [...this.runs.values()] : [];
    const runs = builders.map((run) => run.finish(this.store, this.binning.mode));
    this.store.release();
    return {
      runs,
      rows: this.rows,
      snapshots: runs.reduce((sum, { run }) => sum + run.t.length, 0),
      cells: runs.reduce((sum, { run }) => sum + this.cellsOf(run), 0),
      droppedLevels: this.droppedLevels,
      earlierLevels: this.earlierLevels,
      unpriced: this.unpriced,
      faults,
      faultCount,
      warnings: this.warnings.all,
    };
  }

  /** Only runs to be merged hold cells without amounts. */
  private cellsOf(run: SnapshotRun): number {
    return this.binning.mode === 'merge' ? countCells(run) : run.bin.length;
  }
}

/** A snapshot whose cells are still in the store. */
interface PendingSnapshot {
  t: number;
  priceUsd: number;
  markets: MarketCells[];
  line: number;
}

/** The snapshots and markets of one (chain, address, tier). */
export class RunBuilder {
  private readonly markets: Market[] = [];
  private readonly indexes = new Map<string, number>();
  private readonly arrivals: number[] = [];
  private readonly origins: MarketOrigin[] = [];
  private readonly snapshots = new Map<number, PendingSnapshot>();

  constructor(private readonly key: RunKey) {}

  /** The snapshot at `t` so far. */
  at(t: number): PendingSnapshot | undefined {
    return this.snapshots.get(t);
  }

  /** Index of a market that has arrived. */
  indexOf({ key }: KeyedMarket): number | undefined {
    return this.indexes.get(key);
  }

  /** Index of a market that arrives now; -1 if the list is full. */
  add({ market, key }: KeyedMarket, arrival: number, line: number, prefix: string): number {
    if (this.markets.length >= MAX_MARKETS_PER_TOKEN) return -1;
    this.indexes.set(key, this.markets.length);
    this.arrivals.push(arrival);
    this.origins.push({ line, prefix });
    return this.markets.push(market) - 1;
  }

  market(index: number): Market {
    return this.markets[index];
  }

  /** Adds a snapshot in place of an earlier one of the same `t`. */
  put(snapshot: PendingSnapshot): void {
    this.snapshots.set(snapshot.t, snapshot);
  }

  finish(store: CellStore, mode: JoinMode): BinnedRun {
    const snapshots = [...this.snapshots.values()].sort((a, b) => a.t - b.t);
    return {
      run: runOf(this.key, snapshots, store, mode === 'merge'),
      markets: this.markets,
      arrivals: this.arrivals,
      marketOrigins: this.origins,
      lines: Float64Array.from(snapshots, ({ line }) => line),
    };
  }
}

/** The markets of a snapshot after a later one has added its own or replaced them. */
function merged(earlier: readonly MarketCells[], later: readonly MarketCells[]): MarketCells[] {
  const byMarket = new Map<number, MarketCells>();
  for (const cells of earlier) byMarket.set(cells.market, cells);
  for (const cells of later) byMarket.set(cells.market, cells);
  return [...byMarket.values()];
}

/**
 * The columns of snapshots. With `tombstones`, a market without cells becomes one cell without
 * amounts in the lowest bin, which joinRuns takes as the market's removal.
 */
function runOf(
  key: RunKey,
  snapshots: readonly PendingSnapshot[],
  store: CellStore,
  tombstones: boolean,
): SnapshotRun {
  const least = tombstones ? 1 : 0;
  const cellOffsets = new Int32Array(snapshots.length + 1);
  snapshots.forEach(({ markets }, s) => {
    let cells = cellOffsets[s];
    for (const { start, end } of markets) cells += Math.max(end - start, least);
    cellOffsets[s + 1] = cells;
  });
  const cells = cellOffsets[snapshots.length];
  const market = new Uint16Array(cells);
  const bin = new Int16Array(cells);
  // In most stores every cell fits into 32 bits.
  const isNarrow = store.greatestCents <= MAX_NARROW_CENTS;
  const support = isNarrow ? new Uint32Array(cells) : new Float64Array(cells);
  const resistance = isNarrow ? new Uint32Array(cells) : new Float64Array(cells);
  let at = 0;
  for (const { markets } of snapshots) {
    markets.sort((a, b) => a.market - b.market);
    for (const { market: index, start, end } of markets) {
      if (start === end && tombstones) {
        market[at] = index;
        bin[at++] = MIN_BIN;
      }
      market.fill(index, at, at + end - start);
      bin.set(store.bin.subarray(start, end), at);
      support.set(store.supportCents.subarray(start, end), at);
      resistance.set(store.resistanceCents.subarray(start, end), at);
      at += end - start;
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
