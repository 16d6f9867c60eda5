import { MAX_BIN, MIN_BIN } from '../ladder.js';
import { BatchBuilder, type BinnedBatch } from './batch.js';
import { INTEGER, NOT_NEGATIVE } from './fields.js';
import type { MarketFieldNames } from './market-fields.js';
import type { PartBuilder } from './run-builder.js';
import { ScratchCells } from './scratch-cells.js';
import { readHead, type SnapshotHead } from './snapshot-head.js';
import type { BatchOptions } from './snapshot-lines.js';
import type { TextColumn } from './text-column.js';
import { textRuns, type CellText, type TextRuns, type TextValues } from './text-runs.js';

/** Number columns of flat cells: NaN where a value is missing or not a number. */
export interface CellNumbers {
  t: Float64Array;
  price_usd: Float64Array;
  bin: Float64Array;
  support_usd: Float64Array;
  resistance_usd: Float64Array;
}

/** Rows of the dataset `cells` as columns of equal length. */
export type CellColumns = CellNumbers & Record<CellText, TextValues>;

/** The same with the text columns as runs. */
export type CellRuns = CellNumbers & TextRuns;

/** What goes with the columns of a batch; `basePrices` has an entry a row. */
interface CellOptions extends BatchOptions {
  /** Line of each row, where that is not `firstLine` + its index. */
  lines?: Float64Array;
}

export type CellColumnsInput = (CellColumns | CellRuns) & CellOptions;

const NAMES: MarketFieldNames = { prefix: '', address: 'market_address' };

/**
 * Packs flat cells into runs. The rows of one snapshot lie together, so a batch is cut where a
 * snapshot ends; a snapshot that comes a second time in the batch is a fault.
 */
export function packCellColumns(input: CellColumnsInput): BinnedBatch {
  const runs = 'starts' in input ? input : textRuns(input, input.t.length);
  const packer = new CellPacker(input, runs);
  for (let run = 0; run < runs.starts.length; run++) packer.addRun(run);
  return packer.finish();
}

/** Run by run: a row that is like the one before it needs only its cell read. */
class CellPacker {
  private readonly batch: BatchBuilder;
  private readonly scratch: ScratchCells;
  /** Each part's markets by marketKeyOf() the run that named them. */
  private readonly known = new Map<PartBuilder, Map<number, number>>();
  private head: SnapshotHead | null = null;
  private part: PartBuilder | null = null;
  private knownHere = new Map<number, number>();
  /** `price_usd` of the open snapshot's first row; NaN while none is open. */
  private priceUsd = NaN;
  /** First row of the open snapshot. */
  private firstRow = 0;
  /** The run that rows are read of. */
  private run = 0;
  /** Whether the row before named a snapshot rightly. */
  private isHeadSound = false;
  /** Index of the row's market; -1 while it is unknown. */
  private market = -1;

  constructor(
    private readonly input: CellNumbers & CellOptions,
    private readonly runs: TextRuns,
  ) {
    const rows = input.t.length;
    this.batch = new BatchBuilder(input.mode, rows);
    this.batch.rows = rows;
    this.scratch = new ScratchCells(input.support_usd, input.resistance_usd);
  }

  addRun(run: number): void {
    const { starts, texts } = this.runs;
    const { t, price_usd } = this.input;
    const first = starts[run];
    const end = run + 1 < starts.length ? starts[run + 1] : t.length;
    this.run = run;
    let sameHead = repeats(texts, HEAD_TEXTS, run);
    let sameMarket = repeats(texts, MARKET_TEXTS, run);
    for (let row = first; row < end; row++) {
      const isSame = sameHead && t[row] === t[row - 1] && price_usd[row] === this.priceUsd;
      if (!isSame || !this.isHeadSound) this.enter(row);
      if (!sameMarket || this.market < 0) this.enterMarket(row);
      sameHead = true;
      sameMarket = true;
      this.addCell(row);
    }
  }

  finish(): BinnedBatch {
    this.close();
    return this.batch.finish();
  }

  private addCell(row: number): void {
    const { input } = this;
    const bin = input.bin[row];
    const support = input.support_usd[row];
    const resistance = input.resistance_usd[row];
    const sound =
      bin === Math.trunc(bin) &&
      support >= 0 &&
      resistance >= 0 &&
      support < Infinity &&
      resistance < Infinity;
    if (!sound) this.reportAmounts(row);
    else if (bin < MIN_BIN || bin > MAX_BIN) this.drop(row);
    else if (this.market >= 0 && this.isHeadSound) this.scratch.push(this.market, bin, row);
  }

  /** Moves to the row's snapshot, which may still be the open one under another spelling. */
  private enter(row: number): void {
    const { batch } = this;
    const { t, price_usd: priceUsd } = this.input;
    this.at(row);
    const head = readHead(
      {
        chain: this.text('chain'),
        address: this.text('address'),
        t: t[row],
        tier: this.text('tier'),
        priceUsd: priceUsd[row],
      },
      batch.faults,
    );
    this.isHeadSound = head !== null;
    if (head === null) {
      this.market = -1;
    } else if (this.head !== null && isSameSnapshot(head, this.head)) {
      if (head.priceUsd !== this.priceUsd) {
        const expected = `must be ${this.priceUsd} on all rows of this snapshot`;
        batch.faults.add('price_usd', expected);
      }
    } else {
      this.close();
      this.open(head, row);
    }
  }

  private open(head: SnapshotHead, row: number): void {
    const { batch, input } = this;
    const part = batch.runs.part(head);
    this.part = part;
    this.knownHere = this.known.get(part) ?? new Map<number, number>();
    this.known.set(part, this.knownHere);
    this.head = head;
    this.priceUsd = head.priceUsd;
    this.firstRow = row;
    this.at(row);
    if (part.at(head.t) !== undefined) {
      batch.faults.add('t', 'the rows of one snapshot must lie together');
      return;
    }
    const base = input.basePrices?.[row] ?? NaN;
    batch.checkCellsPrice(head.priceUsd, batch.standingPrice(part, head.t, base));
  }

  /** Ends the open snapshot. */
  private close(): void {
    const { head, part, batch } = this;
    if (head !== null && part !== null) {
      const blocks = this.scratch.blocks(batch.runs.store, (row) => {
        this.at(row);
        batch.faults.add('bin', `bin ${this.input.bin[row]} stands twice in its market`);
      });
      this.at(this.firstRow);
      batch.put(part, head, blocks, 'bin');
    }
    this.head = null;
    this.part = null;
    this.priceUsd = NaN;
    this.market = -1;
    this.scratch.clear();
  }

  private enterMarket(row: number): void {
    const key = marketKeyOf(this.runs.texts, this.run);
    this.market = this.part === null ? -1 : (this.knownHere.get(key) ?? -1);
    if (this.market >= 0) return;
    const { faults } = this.batch;
    const before = faults.count;
    this.readMarket(row);
    const isSound = this.market >= 0 && faults.count === before;
    if (isSound && Number.isSafeInteger(key)) this.knownHere.set(key, this.market);
  }

  private readMarket(row: number): void {
    const { batch, part } = this;
    this.at(row);
    const read = batch.markets.read(
      {
        source: this.text('source'),
        exchangeType: this.text('exchange_type'),
        type: this.text('type'),
        address: this.text('market_address'),
        pair: this.text('pair'),
      },
      NAMES,
    );
    const market = read === null ? null : batch.markets.ofLadder(read, NAMES);
    if (market !== null && part !== null) this.market = batch.arrive(part, market, NAMES);
  }

  /** Counts a cell outside the ladder. */
  private drop(row: number): void {
    const { input } = this;
    if (!INTEGER.holds(input.bin[row])) {
      this.reportAmounts(row);
      return;
    }
    if (input.support_usd[row] > 0 || input.resistance_usd[row] > 0) this.batch.droppedLevels++;
    if (!this.isHeadSound || this.market < 0) return;
    if (!this.scratch.pushDropped(this.market, input.bin[row])) {
      this.at(row);
      this.batch.faults.add('bin', `bin ${input.bin[row]} stands twice in its market`);
    }
  }

  private reportAmounts(row: number): void {
    const { input, batch } = this;
    this.at(row);
    if (!INTEGER.holds(input.bin[row])) batch.faults.add('bin', INTEGER.expected);
    for (const name of ['support_usd', 'resistance_usd'] as const) {
      if (!NOT_NEGATIVE.holds(input[name][row])) batch.faults.add(name, NOT_NEGATIVE.expected);
    }
  }

  /** A text of the run at hand. */
  private text(name: CellText): unknown {
    const { codes, values } = this.runs.texts[name];
    return values[codes[this.run]];
  }

  /** Faults belong to this row from now on. */
  private at(row: number): void {
    const { lines, firstLine } = this.input;
    this.batch.faults.line = lines?.[row] ?? firstLine + row;
  }
}

const HEAD_TEXTS = ['address', 'chain', 'tier'] as const;
const MARKET_TEXTS = ['market_address', 'source', 'pair', 'exchange_type', 'type'] as const;

/** Whether a run holds the same as the run before it. */
function repeats(
  texts: Readonly<Record<CellText, TextColumn>>,
  names: readonly CellText[],
  run: number,
): boolean {
  for (const name of names) {
    const { codes } = texts[name];
    if (codes[run] !== codes[run - 1]) return false;
  }
  return true;
}

/** A number for the texts of a run's market: no other market's if it is a safe integer. */
function marketKeyOf(texts: Readonly<Record<CellText, TextColumn>>, run: number): number {
  let key = 0;
  for (const name of MARKET_TEXTS) {
    const { codes, values } = texts[name];
    key = key * values.length + codes[run];
  }
  return key;
}

function isSameSnapshot(a: SnapshotHead, b: SnapshotHead): boolean {
  return a.t === b.t && a.address === b.address && a.chain === b.chain && a.tier === b.tier;
}
