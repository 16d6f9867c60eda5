import { MAX_CELLS_PER_SNAPSHOT, MAX_SNAPSHOT_CENTS } from '../ladder.js';
import { MAX_MARKETS_PER_TOKEN, type Market } from '../market.js';
import { countCells } from '../segment/merge.js';
import type { SnapshotRun } from '../segment/run.js';
import type { MarketBlock } from './cell-store.js';
import { FaultLog, type Fault } from './faults.js';
import { MarketReader, type MarketFieldNames } from './market-fields.js';
import {
  RunBuilder,
  mergeBlocks,
  type IngestMode,
  type PartBuilder,
  type RunPart,
} from './run-builder.js';
import type { SnapshotHead } from './snapshot-head.js';

/** A piece of a file, binned. */
export interface BinnedBatch {
  /** In order of first arrival of the (chain, address, tier); empty where there are faults. */
  parts: RunPart[];
  /** Rows read, the faulty ones too. */
  rows: number;
  /** Snapshots and cells in `parts`; of the cells only those that hold an amount. */
  snapshots: number;
  cells: number;
  /** Levels, pool bins and cells with an amount outside the ladder. */
  droppedLevels: number;
  /** The first MAX_FAULTS faults. */
  faults: Fault[];
  faultCount: number;
}

/** The buffers of runs' columns, each whole and its own: they move between threads uncopied. */
export function transferablesOf(batch: { parts: readonly { run: SnapshotRun }[] }): ArrayBuffer[] {
  return batch.parts.flatMap(({ run }) =>
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

/** A batch while its rows are read. */
export class BatchBuilder {
  readonly faults = new FaultLog();
  readonly markets = new MarketReader(this.faults);
  readonly runs: RunBuilder;
  rows = 0;
  droppedLevels = 0;

  /** @param cells about how many will come */
  constructor(
    readonly mode: IngestMode,
    cells = 0,
  ) {
    this.runs = new RunBuilder(mode, cells);
  }

  /**
   * The price that a snapshot has already: an earlier row's of the batch, else the stored one's
   * (`basePriceUsd`, NaN for none). NaN where there is none, or nothing is merged.
   */
  standingPrice(part: PartBuilder, t: number, basePriceUsd: number): number {
    if (this.mode === 'replace') return NaN;
    return part.at(t)?.priceUsd ?? basePriceUsd;
  }

  /** Refuses cells that were binned around another price than the one that stands. */
  checkCellsPrice(givenUsd: number, standingUsd: number): void {
    if (Number.isNaN(standingUsd) || givenUsd === standingUsd) return;
    this.faults.add(
      'price_usd',
      `must be ${standingUsd}, the price of the snapshot that stands: cells made for another price`,
    );
  }

  /**
   * Index of a market in its part. -1 and a fault where the token has too many, or where the market
   * came earlier in the batch as something else.
   */
  arrive(part: PartBuilder, market: Market, names: MarketFieldNames): number {
    const index = part.indexOf(market, this.faults.line, names.prefix);
    if (index < 0) {
      this.faults.add(
        names.prefix + names.address,
        `the token has more than ${MAX_MARKETS_PER_TOKEN} markets`,
      );
      return -1;
    }
    const known = part.market(index);
    if (known.type !== market.type) {
      this.faults.add(`${names.prefix}type`, `must be ${known.type}, as in an earlier row`);
    }
    if (known.exchangeType !== market.exchangeType) {
      const field = `${names.prefix}exchange_type`;
      this.faults.add(field, `must be ${known.exchangeType}, as in an earlier row`);
    }
    return index;
  }

  /**
   * Takes a snapshot in, unless it exceeds what a snapshot may hold.
   * @param head with the price that its cells were binned against, of an earlier snapshot too
   */
  put(part: PartBuilder, head: SnapshotHead, blocks: MarketBlock[], field: string): void {
    const earlier = this.mode === 'merge' ? part.at(head.t) : undefined;
    const all = earlier === undefined ? blocks : mergeBlocks(earlier.blocks, blocks);
    let cells = 0;
    let cents = 0;
    for (const block of all) {
      cells += block.end - block.start;
      cents += block.totalCents;
    }
    if (cells > MAX_CELLS_PER_SNAPSHOT) {
      this.faults.add(field, `a snapshot holds at most ${MAX_CELLS_PER_SNAPSHOT} cells`);
    } else if (!(cents <= MAX_SNAPSHOT_CENTS)) {
      this.faults.add(field, `a snapshot holds at most ${MAX_SNAPSHOT_CENTS} cents in all`);
    } else {
      part.replace({ t: head.t, priceUsd: head.priceUsd, blocks: all, line: this.faults.line });
    }
  }

  finish(): BinnedBatch {
    const { faults, count: faultCount } = this.faults;
    const parts = faultCount === 0 ? this.runs.finish() : [];
    return {
      parts,
      rows: this.rows,
      snapshots: parts.reduce((sum, { run }) => sum + run.t.length, 0),
      cells: parts.reduce((sum, { run }) => sum + this.cellsOf(run), 0),
      droppedLevels: this.droppedLevels,
      faults,
      faultCount,
    };
  }
  /** Cells without amounts stand in what is to be merged alone. */
  private cellsOf(run: SnapshotRun): number {
    return this.mode === 'merge' ? countCells(run) : run.bin.length;
  }
}
