/** Dataset `cells`: rows of one cell each, already binned, packed into runs. */
import { MAX_BIN, MIN_BIN } from '../ladder.js';
import { type BinnedChunk, type Binning, ChunkBuilder, type RunBuilder } from './binned-chunk.js';
import {
  CELL_NUMBERS,
  CELL_TEXTS,
  CellColumnBuilder,
  type CellColumns,
  type CellText,
  type CellTexts,
} from './cell-columns.js';
import { ScratchCells } from './cell-store.js';
import {
  FaultLog,
  INTEGER,
  isFields,
  MAX_FAULTS,
  NOT_NEGATIVE,
  readHead,
  type SnapshotHead,
} from './fields.js';
import { eachJsonLine } from './json-lines.js';
import type { MarketFieldNames } from './market-fields.js';
import { RepeatedLines } from './repeated-lines.js';
import type { SnapshotLines } from './snapshots.js';

/** What is wrong with lines that are no rows; as in a FaultLog. */
export type BrokenLines = Pick<FaultLog, 'faults' | 'count'>;

export interface CellRows extends CellColumns {
  /** Number of the first row in the file, from 1. */
  firstLine: number;
  /** Lines among the rows that are none. */
  broken?: BrokenLines | undefined;
}

/** Typical bytes of a row as a line. */
const BYTES_PER_ROW = 256;

const NAMES: MarketFieldNames = { prefix: '', address: 'market_address' };

const HEAD_TEXTS = ['address', 'chain', 'tier'] as const;
const MARKET_TEXTS = ['market_address', 'source', 'pair', 'exchange_type', 'type'] as const;

/**
 * Packs flat cells into runs. All rows of a snapshot are adjacent and in one chunk; rows elsewhere are
 * a fault.
 */
export function packCellColumns(input: CellRows & Binning): BinnedChunk {
  const packer = new CellPacker(input);
  for (let run = 0; run < input.starts.length; run++) packer.addTextRun(run);
  const chunk = packer.finish();
  const { broken } = input;
  if (broken === undefined || broken.count === 0) return chunk;
  const faults = [...broken.faults, ...chunk.faults].sort((a, b) => a.line - b.line);
  const faultCount = broken.count + chunk.faultCount;
  const nothing = { runs: [], rows: chunk.rows + broken.count, snapshots: 0, cells: 0 };
  return { ...chunk, ...nothing, faults: faults.slice(0, MAX_FAULTS), faultCount };
}

/** The rows of NDJSON lines of the dataset `cells`. */
export function columnsOfLines({
  bytes,
  firstLine,
}: Pick<SnapshotLines, 'bytes' | 'firstLine'>): CellRows {
  const broken = new FaultLog();
  const columns = new CellColumnBuilder(Math.ceil(bytes.length / BYTES_PER_ROW));
  const indexes: number[] = [];
  const parser = new RepeatedLines(CELL_NUMBERS, CELL_TEXTS);
  const take = (row: unknown, index: number): void => {
    if (row === parser.numbers) {
      columns.addNumbers(parser.numbers);
    } else if (isFields(row)) {
      columns.add(row);
    } else {
      broken.add('json', 'must be an object');
      return;
    }
    indexes.push(index);
  };
  eachJsonLine(bytes, firstLine, broken, take, parser);
  const lines = Float64Array.from(indexes, (index) => firstLine + index);
  const { faults, count } = broken;
  return { ...columns.finish(), lines, firstLine, broken: { faults, count } };
}

/** Works by text run: of a row with the same texts as the row before, it reads only the cell. */
class CellPacker {
  private readonly chunk: ChunkBuilder;
  private readonly scratch: ScratchCells;
  private head: SnapshotHead | null = null;
  private run: RunBuilder | null = null;
  /** `price_usd` of the open snapshot's first row; NaN if none is open. */
  private priceUsd = NaN;
  /** First row of the open snapshot. */
  private firstRow = 0;
  /** Cells of the open snapshot outside the ladder. */
  private dropped = 0;
  private textRun = 0;
  /** Whether the previous row had a valid head. */
  private isHeadValid = false;
  /** Index of the row's market; -1 if unknown. */
  private market = -1;

  constructor(private readonly input: CellRows & Binning) {
    const rows = input.t.length;
    this.chunk = new ChunkBuilder(input, rows);
    this.chunk.rows = rows;
    this.scratch = new ScratchCells(input.support_usd, input.resistance_usd);
  }

  addTextRun(textRun: number): void {
    const { t, price_usd, starts, texts } = this.input;
    const end = textRun + 1 < starts.length ? starts[textRun + 1] : t.length;
    this.textRun = textRun;
    let sameHead = repeats(texts, HEAD_TEXTS, textRun);
    let sameMarket = repeats(texts, MARKET_TEXTS, textRun);
    for (let row = starts[textRun]; row < end; row++) {
      const isSame = sameHead && t[row] === t[row - 1] && price_usd[row] === this.priceUsd;
      if (!isSame || !this.isHeadValid) this.enter(row);
      if (!sameMarket || this.market < 0) this.enterMarket(row);
      sameHead = true;
      sameMarket = true;
      this.addCell(row);
    }
  }

  finish(): BinnedChunk {
    this.close();
    return this.chunk.finish();
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
    else if (this.market >= 0 && this.isHeadValid) this.scratch.push(this.market, bin, row);
  }

  /** Moves to the row's snapshot, which may be the open one, spelled differently. */
  private enter(row: number): void {
    const { chunk } = this;
    const { t, price_usd } = this.input;
    this.at(row);
    const head = readHead(
      {
        chain: this.text('chain'),
        address: this.text('address'),
        t: t[row],
        tier: this.text('tier'),
        price_usd: price_usd[row],
      },
      chunk.faults,
    );
    this.isHeadValid = head !== null;
    if (head === null) {
      this.market = -1;
    } else if (this.head !== null && isSameSnapshot(head, this.head)) {
      if (head.priceUsd !== this.priceUsd) {
        const expected = `must be ${this.priceUsd} on all rows of this snapshot`;
        chunk.faults.add('price_usd', expected);
      }
    } else {
      this.close();
      this.open(head, row);
    }
  }

  private open(head: SnapshotHead, row: number): void {
    const { chunk } = this;
    const run = chunk.run(head);
    this.run = run;
    this.head = head;
    this.priceUsd = head.priceUsd;
    this.firstRow = row;
    this.at(row);
    if (run.at(head.t) !== undefined) {
      chunk.faults.add(
        't',
        'the rows of one snapshot must be adjacent: sort by chain, address, tier, t',
      );
      return;
    }
    chunk.checkCellsPrice(head.priceUsd, chunk.existingPrice(run, head));
  }

  private close(): void {
    const { head, run, chunk } = this;
    if (head !== null && run !== null) {
      const markets = this.scratch.byMarket(chunk.store, (row) => {
        this.at(row);
        chunk.faults.add('bin', `bin ${this.input.bin[row]} occurs twice in its market`);
      });
      this.at(this.firstRow);
      chunk.put(run, head, markets, 'bin');
      const cells = markets.reduce((sum, { start, end }) => sum + end - start, 0);
      const levels = this.scratch.count + this.dropped;
      chunk.warnOfLevels(chunk.faults.line, head.t, levels, this.dropped, cells);
    }
    this.head = null;
    this.run = null;
    this.priceUsd = NaN;
    this.market = -1;
    this.dropped = 0;
    this.scratch.clear();
  }

  /** Moves to the row's market. */
  private enterMarket(row: number): void {
    const { chunk, run } = this;
    this.market = -1;
    this.at(row);
    const read = chunk.markets.read(
      {
        source: this.text('source'),
        exchange_type: this.text('exchange_type'),
        type: this.text('type'),
        address: this.text('market_address'),
        pair: this.text('pair'),
      },
      NAMES,
    );
    const market = read === null ? null : chunk.markets.withOwnBody(read, NAMES);
    if (market !== null && run !== null) this.market = chunk.arrive(run, market, NAMES);
  }

  /** Counts a cell outside the ladder. */
  private drop(row: number): void {
    const { input } = this;
    if (!INTEGER.holds(input.bin[row])) {
      this.reportAmounts(row);
      return;
    }
    if (input.support_usd[row] > 0 || input.resistance_usd[row] > 0) {
      this.chunk.droppedLevels++;
      this.dropped++;
    }
    if (!this.isHeadValid || this.market < 0) return;
    if (!this.scratch.pushDropped(this.market, input.bin[row])) {
      this.at(row);
      this.chunk.faults.add('bin', `bin ${input.bin[row]} occurs twice in its market`);
    }
  }

  private reportAmounts(row: number): void {
    const { chunk, input } = this;
    this.at(row);
    if (!INTEGER.holds(input.bin[row])) chunk.faults.add('bin', INTEGER.expected);
    for (const name of ['support_usd', 'resistance_usd'] as const) {
      if (!NOT_NEGATIVE.holds(input[name][row])) chunk.faults.add(name, NOT_NEGATIVE.expected);
    }
  }

  private text(name: CellText): unknown {
    const { codes, values } = this.input.texts[name];
    return values[codes[this.textRun]];
  }

  /** Sets the row of faults added from now on. */
  private at(row: number): void {
    const { lines, firstLine } = this.input;
    this.chunk.faults.line = lines?.[row] ?? firstLine + row;
  }
}

/** Whether a text run has some of the same texts as the one before. */
function repeats(texts: CellTexts, names: readonly CellText[], run: number): boolean {
  for (const name of names) {
    const { codes } = texts[name];
    if (codes[run] !== codes[run - 1]) return false;
  }
  return true;
}

function isSameSnapshot(a: SnapshotHead, b: SnapshotHead): boolean {
  return a.t === b.t && a.address === b.address && a.chain === b.chain && a.tier === b.tier;
}
