import { MAX_BIN, MIN_BIN } from '../ladder/ladder.js';
import { BatchBuilder, type BinnedBatch } from './batch.js';
import { INTEGER, NOT_NEGATIVE } from './fields.js';
import type { MarketFieldNames } from './market-fields.js';
import type { PartBuilder } from './run-builder.js';
import { ScratchCells } from './scratch-cells.js';
import { readHead, type SnapshotHead } from './snapshot-head.js';
import type { BatchOptions } from './snapshot-lines.js';
import { textColumn, type TextColumn } from './text-column.js';

/** Text columns of the dataset `cells`, in its order. */
export const CELL_TEXTS = [
  'chain',
  'address',
  'tier',
  'source',
  'exchange_type',
  'type',
  'market_address',
  'pair',
] as const;
export type CellText = (typeof CELL_TEXTS)[number];

/**
 * Rows of the dataset `cells` as columns of equal length. Number columns hold NaN where a value is
 * missing or not a number.
 */
export interface CellColumns {
  chain: TextValues;
  address: TextValues;
  tier: TextValues;
  source: TextValues;
  exchange_type: TextValues;
  type: TextValues;
  market_address: TextValues;
  pair: TextValues;
  t: Float64Array;
  price_usd: Float64Array;
  bin: Float64Array;
  support_usd: Float64Array;
  resistance_usd: Float64Array;
}

/** A text column: coded, or one value a row. */
export type TextValues = TextColumn | readonly unknown[];

/** Columns of a batch; `basePrices` has an entry a row. */
export interface CellColumnsInput extends CellColumns, BatchOptions {
  /** Line of each row, where that is not `firstLine` + its index. */
  lines?: Float64Array;
}

const NAMES: MarketFieldNames = { prefix: '', address: 'market_address' };

/**
 * Packs flat cells into runs. The rows of one snapshot lie together, so a batch is cut where a
 * snapshot ends; a snapshot that comes a second time in the batch is a fault.
 */
export function packCellColumns(input: CellColumnsInput): BinnedBatch {
  const packer = new CellPacker(input, textsOf(input));
  const rows = input.t.length;
  for (let row = 0; row < rows; row++) packer.add(row);
  return packer.finish();
}

/** Rows one by one: what is like the row before needs only its cell read. */
class CellPacker {
  private readonly batch: BatchBuilder;
  private readonly scratch: ScratchCells;
  private head: SnapshotHead | null = null;
  private part: PartBuilder | null = null;
  /** `price_usd` of the open snapshot's first row; NaN while none is open. */
  private priceUsd = NaN;
  /** First row of the open snapshot. */
  private firstRow = 0;
  /** Whether the row before named a snapshot rightly. */
  private isHeadSound = false;
  /** Index of the row's market; -1 while it is unknown. */
  private market = -1;

  constructor(
    private readonly input: CellColumnsInput,
    private readonly texts: CodedTexts,
  ) {
    this.batch = new BatchBuilder(input.mode);
    this.batch.rows = input.t.length;
    this.scratch = new ScratchCells(input.support_usd, input.resistance_usd);
  }

  add(row: number): void {
    const { input } = this;
    if (!this.isHeadSound || !this.inSameSnapshot(row)) this.enter(row);
    if (this.market < 0 || !this.isSameMarket(row)) this.enterMarket(row);
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

  finish(): BinnedBatch {
    this.close();
    return this.batch.finish();
  }

  private inSameSnapshot(row: number): boolean {
    const { t, price_usd } = this.input;
    const { address, chain, tier } = this.texts;
    return (
      t[row] === t[row - 1] &&
      price_usd[row] === this.priceUsd &&
      repeats(address, row) &&
      repeats(chain, row) &&
      repeats(tier, row)
    );
  }

  private isSameMarket(row: number): boolean {
    const { source, market_address, pair, exchange_type, type } = this.texts;
    return (
      repeats(market_address, row) &&
      repeats(source, row) &&
      repeats(pair, row) &&
      repeats(exchange_type, row) &&
      repeats(type, row)
    );
  }

  /** Moves to the row's snapshot, which may still be the open one under another spelling. */
  private enter(row: number): void {
    const { batch } = this;
    const { t, price_usd: priceUsd } = this.input;
    const { chain, address, tier } = this.texts;
    this.at(row);
    const head = readHead(
      {
        chain: valueAt(chain, row),
        address: valueAt(address, row),
        t: t[row],
        tier: valueAt(tier, row),
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
    this.part = batch.runs.part(head);
    this.head = head;
    this.priceUsd = head.priceUsd;
    this.firstRow = row;
    this.at(row);
    if (this.part.at(head.t) !== undefined) {
      batch.faults.add('t', 'the rows of one snapshot must lie together');
      return;
    }
    const base = input.basePrices?.[row] ?? NaN;
    batch.checkCellsPrice(head.priceUsd, batch.standingPrice(this.part, head.t, base));
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
    const { texts, batch, part } = this;
    this.at(row);
    this.market = -1;
    const read = batch.markets.read(
      {
        source: valueAt(texts.source, row),
        exchangeType: valueAt(texts.exchange_type, row),
        type: valueAt(texts.type, row),
        address: valueAt(texts.market_address, row),
        pair: valueAt(texts.pair, row),
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

  /** Faults belong to this row from now on. */
  private at(row: number): void {
    const { lines, firstLine } = this.input;
    this.batch.faults.line = lines?.[row] ?? firstLine + row;
  }
}

type CodedTexts = Readonly<Record<CellText, TextColumn>>;

function textsOf(columns: CellColumns): CodedTexts {
  const coded = CELL_TEXTS.map((name) => {
    const column = columns[name];
    return [name, 'codes' in column ? column : textColumn(column)];
  });
  return Object.fromEntries(coded) as CodedTexts;
}

/** Whether a row holds the same as the row before it. */
const repeats = ({ codes }: TextColumn, row: number): boolean => codes[row] === codes[row - 1];

const valueAt = ({ codes, values }: TextColumn, row: number): unknown => values[codes[row]];

function isSameSnapshot(a: SnapshotHead, b: SnapshotHead): boolean {
  return a.t === b.t && a.address === b.address && a.chain === b.chain && a.tier === b.tier;
}
