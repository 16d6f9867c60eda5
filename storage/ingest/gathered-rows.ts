/** Rows of flat cells on their way into one piece. */
import { TextCoder } from '../../compute/ingest/text-column.js';
import { canonicalAddress } from '../../compute/market.js';
import {
  CELL_NUMBERS,
  CELL_TEXTS,
  cellTexts,
  type CellBatch,
  type CellNumber,
  type CellText,
  type TextCodes,
} from './cell-batch.js';
import type { GatheredColumns } from './cell-gatherer.js';

/** Runs that are made room for at first. */
const FIRST_RUNS = 4_096;

export class GatheredRows {
  length = 0;
  /** Row at which the last snapshot begins. */
  lastSnapshot = 0;
  private runs = 0;
  private readonly numbers = {} as Record<CellNumber, Float64Array>;
  /** First row of each run. */
  private starts = new Uint32Array(FIRST_RUNS);
  private readonly codes = {} as Record<CellText, Uint32Array>;
  private readonly coders = {} as Record<CellText, TextCoder>;
  private lines: Float64Array | null = null;

  constructor(private capacity: number) {
    for (const name of CELL_NUMBERS) this.numbers[name] = new Float64Array(capacity);
    for (const name of CELL_TEXTS) {
      this.codes[name] = new Uint32Array(FIRST_RUNS);
      this.coders[name] = new TextCoder();
    }
  }

  append({ rows, numbers, starts, texts, lines }: CellBatch): void {
    const first = this.length;
    if (first + rows > this.capacity) this.grow(first + rows);
    for (const name of CELL_NUMBERS) this.numbers[name].set(numbers[name], first);
    if (lines !== undefined) {
      this.lines ??= new Float64Array(this.capacity);
      this.lines.set(lines, first);
    }
    this.appendRuns(starts, texts);
    this.length += rows;
    this.findLastSnapshot(first);
  }

  lineOf(row: number): number | undefined {
    return this.lines?.[row];
  }

  /** The rows before `end`. The buffers go with them: nothing can be added or read here after. */
  columns(end: number): GatheredColumns {
    const { lines } = this;
    const numbers = {} as Record<CellNumber, Float64Array>;
    for (const name of CELL_NUMBERS) numbers[name] = this.numbers[name].subarray(0, end);
    const runs = this.runOf(end - 1) + 1;
    const texts = CELL_TEXTS.map((name) => [
      name,
      { codes: this.codes[name].subarray(0, runs), values: this.coders[name].values },
    ]);
    return {
      ...numbers,
      starts: this.starts.subarray(0, runs),
      texts: Object.fromEntries(texts) as GatheredColumns['texts'],
      ...(lines && { lines: lines.subarray(0, end) }),
    };
  }

  /** The rows from `from` on. */
  tail(from: number): CellBatch {
    const { length, lines } = this;
    const rows = length - from;
    const numbers = {} as Record<CellNumber, Float64Array>;
    for (const name of CELL_NUMBERS) numbers[name] = this.numbers[name].subarray(from, length);
    const firstRun = this.runOf(from);
    const starts = this.starts
      .slice(firstRun, this.runs)
      .map((start) => Math.max(start, from) - from);
    const texts = cellTexts((name) => {
      const { values } = this.coders[name];
      const codes = this.codes[name].subarray(firstRun, this.runs);
      return { codes, size: values.length, value: (code) => values[code] };
    });
    return { rows, numbers, starts, texts, ...(lines && { lines: lines.subarray(from, length) }) };
  }

  private appendRuns(starts: Uint32Array, texts: CellBatch['texts']): void {
    const { runs, length } = this;
    const needed = runs + starts.length;
    if (needed > this.starts.length) this.growRuns(needed);
    for (let i = 0; i < starts.length; i++) this.starts[runs + i] = length + starts[i];
    for (const name of CELL_TEXTS) {
      recode(texts[name], starts.length, this.coders[name], this.codes[name], runs);
    }
    this.runs = needed;
  }

  /** Looks for the last snapshot's beginning, back to row `first`. */
  private findLastSnapshot(first: number): void {
    const { t } = this.numbers;
    let run = this.runs - 1;
    for (let row = this.length - 1; row >= Math.max(first, 1); row--) {
      const isStart = row === this.starts[run];
      if (t[row] !== t[row - 1] || (isStart && !this.continues(run))) {
        this.lastSnapshot = row;
        return;
      }
      if (isStart) run--;
    }
  }

  /** Whether a run may belong to the same snapshot as the run before it, however that is spelt. */
  private continues(run: number): boolean {
    return (
      this.agrees('address', run, canonical) &&
      this.agrees('chain', run, same) &&
      this.agrees('tier', run, tierName)
    );
  }

  private agrees(name: CellText, run: number, spelling: (value: unknown) => unknown): boolean {
    const codes = this.codes[name];
    if (codes[run] === codes[run - 1]) return true;
    const { values } = this.coders[name];
    return spelling(values[codes[run]]) === spelling(values[codes[run - 1]]);
  }

  /** The run that a row is of. */
  private runOf(row: number): number {
    let low = 0;
    let high = this.runs - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.starts[middle] <= row) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  private grow(rows: number): void {
    this.capacity = Math.max(rows, this.capacity * 2);
    const { capacity } = this;
    for (const name of CELL_NUMBERS)
      this.numbers[name] = grownDoubles(this.numbers[name], capacity);
    if (this.lines !== null) this.lines = grownDoubles(this.lines, capacity);
  }

  private growRuns(runs: number): void {
    const capacity = Math.max(runs, this.starts.length * 2);
    this.starts = grownCodes(this.starts, capacity);
    for (const name of CELL_TEXTS) this.codes[name] = grownCodes(this.codes[name], capacity);
  }
}

const same = (value: unknown): unknown => value;
/** Null or left out, a tier is `raw`. */
const tierName = (value: unknown): unknown => value ?? 'raw';
const canonical = (value: unknown): unknown =>
  typeof value === 'string' ? canonicalAddress(value) : value;

function grownDoubles(column: Float64Array, capacity: number): Float64Array {
  const larger = new Float64Array(capacity);
  larger.set(column);
  return larger;
}

function grownCodes(column: Uint32Array, capacity: number): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(capacity);
  larger.set(column);
  return larger;
}

/** Writes a batch's codes as those of the piece. */
function recode(
  { codes, size, value }: TextCodes,
  runs: number,
  coder: TextCoder,
  into: Uint32Array,
  at: number,
): void {
  const known = new Int32Array(size).fill(-1);
  for (let i = 0; i < runs; i++) {
    const code = codes[i];
    if (known[code] < 0) known[code] = coder.code(value(code));
    into[at + i] = known[code];
  }
}
