/** Joins runs of one token and tier, for ingest, merges and compaction. */
import { marketKey, type Market } from '../market.js';
import { MAX_NARROW_CENTS, type CentsColumn, type SnapshotRun } from './run.js';

/** A run together with the list of markets that its `market` column indexes. */
export interface MarketRun {
  run: SnapshotRun;
  markets: readonly Market[];
}

/**
 * How two snapshots of the same `t` are joined (docs/definitions.md#merging): with `replace`, the later one replaces
 * the earlier one; with `merge`, each market of the later one replaces that market of the earlier one.
 */
export type JoinMode = 'replace' | 'merge';

/**
 * Whether a cell has no amounts. A snapshot to be merged names an empty market with one such cell, to replace the
 * market's stored cells. Stored runs never contain one.
 */
export function isTombstone(run: SnapshotRun, cell: number): boolean {
  return run.supportCents[cell] === 0 && run.resistanceCents[cell] === 0;
}

/** Number of cells that hold an amount. */
export function countCells(run: SnapshotRun): number {
  let cells = 0;
  for (let c = 0; c < run.bin.length; c++) if (!isTombstone(run, c)) cells++;
  return cells;
}

/** Two runs to be merged have the same snapshot at different prices. */
export class PriceConflictError extends Error {
  constructor(readonly t: number) {
    super(`the snapshot at ${t} has another price by now`);
  }
}

/**
 * Joins runs of one token and tier, each ascending in `t`; later runs win over earlier ones. The result has
 * every `t` once, ascending, and cells sorted by market, then bin. Its markets are those of the first run,
 * followed by the new ones of the others in order of arrival. Cells without amounts are dropped unless
 * `keepTombstones` is set, for results that will be merged later.
 * @throws PriceConflictError in mode `merge`
 */
export function joinRuns(
  parts: readonly MarketRun[],
  mode: JoinMode,
  keepTombstones = false,
): MarketRun {
  const { markets, maps } = unifyMarkets(parts);
  const runs = parts.map((part, i) => remapMarkets(part.run, maps[i]));
  const picks = orderSnapshots(runs);
  const output = new RunWriter(runs, keepTombstones);
  for (let i = 0; i < picks.length;) {
    let next = i + 1;
    while (next < picks.length && picks[next].t === picks[i].t) next++;
    output.snapshot(mode === 'merge' ? picks.slice(i, next) : [picks[next - 1]]);
    i = next;
  }
  return { run: output.finish(), markets };
}

/** Renumbers a run's markets by `map` (old index -> new), keeping each snapshot's cells sorted. */
export function remapMarkets(run: SnapshotRun, map: ArrayLike<number>): SnapshotRun {
  let identity = true;
  let ascending = true;
  for (let i = 0; i < map.length; i++) {
    if (map[i] !== i) identity = false;
    if (i > 0 && map[i] <= map[i - 1]) ascending = false;
  }
  if (identity) return run;
  const market = Uint16Array.from(run.market, (index) => map[index]);
  const renamed = { ...run, market };
  return ascending ? renamed : sortCells(renamed);
}

interface Pick {
  t: number;
  run: SnapshotRun;
  row: number;
}

function unifyMarkets(parts: readonly MarketRun[]): { markets: Market[]; maps: Uint16Array[] } {
  const markets: Market[] = [];
  const indexes = new Map<string, number>();
  const maps = parts.map(({ markets: own }) =>
    Uint16Array.from(own, (market) => {
      const key = marketKey(market);
      let index = indexes.get(key);
      if (index === undefined) {
        index = markets.push(market) - 1;
        indexes.set(key, index);
      }
      return index;
    }),
  );
  return { markets, maps };
}

/** The snapshots of all runs by `t`; those with the same `t` in the order of their runs. */
function orderSnapshots(runs: readonly SnapshotRun[]): Pick[] {
  const picks: Pick[] = [];
  let sorted = true;
  for (const run of runs) {
    for (let row = 0; row < run.t.length; row++) {
      if (picks.length > 0 && picks[picks.length - 1].t > run.t[row]) sorted = false;
      picks.push({ t: run.t[row], run, row });
    }
  }
  return sorted ? picks : picks.sort((a, b) => a.t - b.t);
}

/** Writes snapshots into the columns of a run. */
class RunWriter {
  private readonly t: number[] = [];
  private readonly priceUsd: number[] = [];
  private readonly offsets: number[] = [0];
  private readonly market: Uint16Array;
  private readonly bin: Int16Array;
  private readonly support: CentsColumn;
  private readonly resistance: CentsColumn;
  private cells = 0;

  constructor(
    private readonly runs: readonly SnapshotRun[],
    private readonly keepTombstones: boolean,
  ) {
    let capacity = 0;
    let wide = false;
    for (const run of runs) {
      capacity += run.cellOffsets[run.t.length];
      wide ||=
        run.supportCents instanceof Float64Array || run.resistanceCents instanceof Float64Array;
    }
    this.market = new Uint16Array(capacity);
    this.bin = new Int16Array(capacity);
    this.support = wide ? new Float64Array(capacity) : new Uint32Array(capacity);
    this.resistance = wide ? new Float64Array(capacity) : new Uint32Array(capacity);
  }

  /** Adds a snapshot from picks of the same `t`: each market's cells come from the last pick that has it. */
  snapshot(picks: readonly Pick[]): void {
    const price = picks[0].run.priceUsd[picks[0].row];
    for (const { run, row, t } of picks) {
      if (run.priceUsd[row] !== price) throw new PriceConflictError(t);
    }
    this.t.push(picks[0].t);
    this.priceUsd.push(price);
    if (picks.length === 1) this.copyAll(picks[0]);
    else this.copyMerged(picks);
    this.offsets.push(this.cells);
  }

  finish(): SnapshotRun {
    const { chain, address, tier } = this.runs[0];
    return {
      chain,
      address,
      tier,
      t: Uint32Array.from(this.t),
      priceUsd: Float64Array.from(this.priceUsd),
      cellOffsets: Int32Array.from(this.offsets),
      market: this.market.slice(0, this.cells),
      bin: this.bin.slice(0, this.cells),
      supportCents: narrowest(this.support, this.cells),
      resistanceCents: narrowest(this.resistance, this.cells),
    };
  }

  private copyAll({ run, row }: Pick): void {
    this.copyCells(run, run.cellOffsets[row], run.cellOffsets[row + 1]);
  }

  private copyMerged(picks: readonly Pick[]): void {
    const latest = new Map<number, { run: SnapshotRun; first: number; last: number }>();
    for (const { run, row } of picks) {
      const end = run.cellOffsets[row + 1];
      for (let first = run.cellOffsets[row]; first < end;) {
        const market = run.market[first];
        let last = first + 1;
        while (last < end && run.market[last] === market) last++;
        latest.set(market, { run, first, last });
        first = last;
      }
    }
    for (const [, { run, first, last }] of [...latest].sort(([a], [b]) => a - b)) {
      this.copyCells(run, first, last);
    }
  }

  private copyCells(run: SnapshotRun, first: number, last: number): void {
    for (let c = first; c < last; c++) {
      if (!this.keepTombstones && isTombstone(run, c)) continue;
      this.market[this.cells] = run.market[c];
      this.bin[this.cells] = run.bin[c];
      this.support[this.cells] = run.supportCents[c];
      this.resistance[this.cells] = run.resistanceCents[c];
      this.cells++;
    }
  }
}

function narrowest(cents: CentsColumn, length: number): CentsColumn {
  if (cents instanceof Uint32Array) return cents.slice(0, length);
  for (let i = 0; i < length; i++) if (cents[i] > MAX_NARROW_CENTS) return cents.slice(0, length);
  return Uint32Array.from(cents.subarray(0, length));
}

function sortCells(run: SnapshotRun): SnapshotRun {
  const order = new Uint32Array(run.market.length);
  for (let i = 0; i < order.length; i++) order[i] = i;
  for (let s = 0; s < run.t.length; s++) {
    order
      .subarray(run.cellOffsets[s], run.cellOffsets[s + 1])
      .sort((a, b) => run.market[a] - run.market[b] || run.bin[a] - run.bin[b]);
  }
  const sorted = <T extends Uint16Array | Int16Array | CentsColumn>(column: T): T => {
    const copy = column.slice() as T;
    for (let i = 0; i < order.length; i++) copy[i] = column[order[i]];
    return copy;
  };
  return {
    ...run,
    market: sorted(run.market),
    bin: sorted(run.bin),
    supportCents: sorted(run.supportCents),
    resistanceCents: sorted(run.resistanceCents),
  };
}
