/** Sorts the levels of a file, as rows of numbers; they may exceed the memory. */
import { randomUUID } from 'node:crypto';
import { type FileHandle, open, rm } from 'node:fs/promises';
import path from 'node:path';
import { compareLevels, LEVEL_WIDTH } from '../../compute/ingest/level-rows.js';
import { leaveStagingFolder, stagingFolder } from '../bundle.js';
import { readFully, writeFully } from '../disk.js';
import { InputError } from '../errors.js';

/** Rows of a file of levels. */
const MAX_LEVELS_PER_FILE = 100_000_000;
/** Levels sorted in memory at once, at 80 bytes each: 20 MB, twice while they are sorted. */
const RUN_LEVELS = 262_144;
/** Runs that are sorted or written while the next one is collected. */
const RUNS_SORTING = 2;
/** Levels of a run read at once while up to 382 runs are merged: 30 MB. */
const READ_LEVELS = 1_024;
/** Levels that are passed on at once. */
const PIECE_LEVELS = 16_384;

const NO_ROWS = new Float64Array(0);

/** Sorted levels: in a file, or the last ones in memory. */
interface SortedRun {
  levels: number;
  read(from: number): Promise<Float64Array>;
}

/** Returns the rows in order, in a buffer of their own. */
type SortRows = (rows: Float64Array) => Promise<Float64Array>;

export class LevelSorter {
  count = 0;
  private held: Float64Array = NO_ROWS;
  private heldLevels = 0;
  private readonly runs: SortedRun[] = [];
  /** Runs being sorted and written, one after the other. */
  private readonly spilling: Promise<void>[] = [];
  private written: Promise<void> = Promise.resolve();
  private handle: FileHandle | null = null;
  private file: string | null = null;
  private writtenBytes = 0;

  /**
   * @param directory the data directory, for levels that do not fit into memory
   * @param runLevels how many levels are sorted in memory
   */
  constructor(
    private readonly directory: string,
    private readonly sort: SortRows,
    private readonly runLevels = RUN_LEVELS,
  ) {}

  /**
   * Adds a row.
   * @returns if earlier rows are to be written first, when the row is added; otherwise null
   * @throws InputError beyond MAX_LEVELS_PER_FILE, or an error of the disk
   */
  add(row: Float64Array): Promise<void> | null {
    if (this.count >= MAX_LEVELS_PER_FILE) {
      throw new InputError(`a file of levels has at most ${MAX_LEVELS_PER_FILE} rows: split it`);
    }
    this.count++;
    if (this.heldLevels === this.runLevels) return this.spill().then(() => this.hold(row));
    this.hold(row);
    return null;
  }

  /** All rows in order, some whole rows at a time; may be called again. */
  async *sorted(): AsyncGenerator<Float64Array> {
    await Promise.all(this.spilling);
    if (this.heldLevels > 0) this.runs.push(memoryRun(await this.sort(this.takeHeld())));
    const heads = await Promise.all(this.runs.map((run) => RunReader.open(run)));
    const heap = new Heap(heads);
    let piece = new Float64Array(PIECE_LEVELS * LEVEL_WIDTH);
    let used = 0;
    for (let head = heap.top; head !== undefined; head = heap.top) {
      const rows = head.take(heap.second, piece.length - used);
      piece.set(rows, used);
      used += rows.length;
      if (used === piece.length) {
        yield piece;
        piece = new Float64Array(PIECE_LEVELS * LEVEL_WIDTH);
        used = 0;
      }
      if (head.isEmpty) await head.readMore();
      heap.settle();
    }
    if (used > 0) yield piece.subarray(0, used);
  }

  /** Removes the written files. */
  async close(): Promise<void> {
    await Promise.allSettled(this.spilling);
    await this.handle?.close();
    if (this.file === null) return;
    await rm(this.file, { force: true });
    await leaveStagingFolder(this.directory);
  }

  private hold(row: Float64Array): void {
    const at = this.heldLevels * LEVEL_WIDTH;
    if (at === this.held.length) {
      const levels = Math.min(this.runLevels, Math.max(1024, this.heldLevels * 2));
      // Shared with the pool, which needs no copy of them, not even to sort them again after a thread has died.
      const bytes = levels * LEVEL_WIDTH * Float64Array.BYTES_PER_ELEMENT;
      const wider = new Float64Array(new SharedArrayBuffer(bytes));
      wider.set(this.held);
      this.held = wider;
    }
    for (let i = 0; i < LEVEL_WIDTH; i++) this.held[at + i] = row[i];
    this.heldLevels++;
  }

  /** Returns the rows in memory and empties the memory. */
  private takeHeld(): Float64Array {
    const rows = this.held.subarray(0, this.heldLevels * LEVEL_WIDTH);
    this.held = NO_ROWS;
    this.heldLevels = 0;
    return rows;
  }

  /** Begins to sort and write the rows in memory. */
  private async spill(): Promise<void> {
    const previous = this.written;
    const sorted = this.sort(this.takeHeld());
    const written = sorted.then(async (rows) => {
      await previous;
      await this.writeRun(rows);
    });
    // Awaited later; until then a failure must not count as unhandled.
    written.catch(() => undefined);
    this.written = written;
    this.spilling.push(written);
    if (this.spilling.length > RUNS_SORTING) await this.spilling.shift();
  }

  private async writeRun(sorted: Float64Array): Promise<void> {
    if (this.handle === null) {
      this.file = path.join(await stagingFolder(this.directory), `${randomUUID()}.levels`);
      this.handle = await open(this.file, 'wx+', 0o600);
    }
    const { handle, writtenBytes: start } = this;
    const levels = sorted.length / LEVEL_WIDTH;
    const bytes = new Uint8Array(sorted.buffer, sorted.byteOffset, sorted.byteLength);
    await writeFully(handle, bytes, start);
    this.writtenBytes += bytes.length;
    this.runs.push({ levels, read: (from) => readLevels(handle, start, from, levels) });
  }
}

function memoryRun(sorted: Float64Array): SortedRun {
  const levels = sorted.length / LEVEL_WIDTH;
  return { levels, read: (from) => Promise.resolve(sorted.subarray(from * LEVEL_WIDTH)) };
}

async function readLevels(
  handle: FileHandle,
  start: number,
  from: number,
  levels: number,
): Promise<Float64Array> {
  const count = Math.min(READ_LEVELS, levels - from);
  const values = new Float64Array(count * LEVEL_WIDTH);
  const bytes = new Uint8Array(values.buffer);
  const position = start + from * LEVEL_WIDTH * Float64Array.BYTES_PER_ELEMENT;
  if ((await readFully(handle, bytes, position)) < bytes.length)
    throw new Error('the sorted levels were cut short');
  return values;
}

/** Reads one run from start to end. */
class RunReader {
  private values: Float64Array = new Float64Array(0);
  private at = 0;
  private from = 0;

  private constructor(private readonly run: SortedRun) {}

  static async open(run: SortedRun): Promise<RunReader> {
    const reader = new RunReader(run);
    await reader.readMore();
    return reader;
  }

  /** Whether readMore() must be called before the next row, if there is one. */
  get isEmpty(): boolean {
    return this.at === this.values.length;
  }

  /** The next rows, at least one: those before another run's next row, at most `length` numbers. */
  take(other: RunReader | undefined, length: number): Float64Array {
    const { values, at } = this;
    const most = Math.min(values.length, at + length);
    let end = at + LEVEL_WIDTH;
    if (other === undefined) end = most;
    // Runs often follow each other: the steps grow.
    for (let step = LEVEL_WIDTH; end < most && this.isBefore(other!, end);) {
      const far = Math.min(end + step, most) - LEVEL_WIDTH;
      const isFar = this.isBefore(other!, far);
      end = isFar ? far + LEVEL_WIDTH : end + LEVEL_WIDTH;
      step = isFar ? step * 2 : LEVEL_WIDTH;
    }
    this.at = end;
    return values.subarray(at, end);
  }

  async readMore(): Promise<void> {
    this.values = this.from < this.run.levels ? await this.run.read(this.from) : NO_ROWS;
    this.from += this.values.length / LEVEL_WIDTH;
    this.at = 0;
  }

  /** Whether the row at an offset, by default the next one, comes before another run's next row. */
  isBefore(other: RunReader, at = this.at): boolean {
    return compareLevels(this.values, at, other.values, other.at) < 0;
  }
}

/** Runs by their next row, the least on top; finished runs are removed. */
class Heap {
  private readonly readers: RunReader[];

  constructor(readers: readonly RunReader[]) {
    this.readers = [...readers].sort((a, b) => (a.isBefore(b) ? -1 : 1));
  }

  get top(): RunReader | undefined {
    return this.readers[0];
  }

  /** The run with the next row after those of the top. */
  get second(): RunReader | undefined {
    const [, left, right] = this.readers;
    return right?.isBefore(left) === true ? right : left;
  }

  /** Restores the heap's order after the top has moved on. */
  settle(): void {
    const { readers } = this;
    if (readers[0].isEmpty) {
      const last = readers.pop()!;
      if (readers.length === 0) return;
      readers[0] = last;
    }
    for (let i = 0; ;) {
      let least = i;
      for (const child of [2 * i + 1, 2 * i + 2]) {
        if (child < readers.length && readers[child].isBefore(readers[least])) least = child;
      }
      if (least === i) return;
      [readers[i], readers[least]] = [readers[least], readers[i]];
      i = least;
    }
  }
}
