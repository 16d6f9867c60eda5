/** Sorts the levels of a file by snapshot, market, side and price; they may exceed the memory. */
import { randomUUID } from 'node:crypto';
import { type FileHandle, open, rm } from 'node:fs/promises';
import path from 'node:path';
import { leaveStagingFolder, stagingFolder } from '../bundle.js';
import { readFully, writeFully } from '../disk.js';
import { InputError } from '../errors.js';
import { widened } from '../typed-arrays.js';

/** A level as numbers: first those by which levels are compared, in order, then the others. */
const LEVEL_PARTS = [
  'token',
  't',
  'market',
  /** Fraction of a second after `t`. */
  'fraction',
  /** 0: bid, 1: ask. */
  'side',
  'price',
  'line',
  'size',
  'quoteUsd',
  /** The snapshot's price; NaN if not given. */
  'priceUsd',
] as const;
export type Level = Record<(typeof LEVEL_PARTS)[number], number>;

const WIDTH = LEVEL_PARTS.length;
/** How many parts are compared; lines differ, so no two levels are equal. */
const COMPARED = 7;
/** Rows of a file of levels. */
const MAX_LEVELS_PER_FILE = 100_000_000;
/** Levels sorted in memory at once, at 80 bytes each: 40 MB. */
const RUN_LEVELS = 524_288;
/** Levels of a run read at once while up to 191 runs are merged: 30 MB. */
const READ_LEVELS = 2_048;

/** Sorted levels: in a file, or the last ones in memory. */
interface SortedRun {
  levels: number;
  read(from: number): Promise<Float64Array>;
}

export class LevelSorter {
  count = 0;
  private held = new Float64Array(0);
  private heldLevels = 0;
  private readonly runs: SortedRun[] = [];
  private handle: FileHandle | null = null;
  private file: string | null = null;
  private writtenBytes = 0;

  /**
   * @param directory the data directory, for levels that do not fit into memory
   * @param runLevels how many levels are sorted in memory
   */
  constructor(
    private readonly directory: string,
    private readonly runLevels = RUN_LEVELS,
  ) {}

  /** @throws InputError beyond MAX_LEVELS_PER_FILE, or an error of the disk */
  async add(level: Level): Promise<void> {
    if (this.count >= MAX_LEVELS_PER_FILE) {
      throw new InputError(`a file of levels has at most ${MAX_LEVELS_PER_FILE} rows: split it`);
    }
    if (this.heldLevels === this.runLevels) await this.writeRun();
    if (this.heldLevels * WIDTH === this.held.length) this.grow();
    const at = this.heldLevels++ * WIDTH;
    LEVEL_PARTS.forEach((part, i) => (this.held[at + i] = level[part]));
    this.count++;
  }

  /** All levels in order; may be called again. */
  async *sorted(): AsyncGenerator<Level> {
    if (this.heldLevels > 0) {
      this.runs.push(memoryRun(this.takeHeld()));
    }
    const heads = await Promise.all(this.runs.map((run) => RunReader.open(run)));
    const heap = new Heap(heads);
    for (let head = heap.top; head !== undefined; head = heap.top) {
      yield head.level();
      // Most levels are in memory: only readMore() waits.
      if (!head.next()) await head.readMore();
      heap.settle();
    }
  }

  /** Removes the written files. */
  async close(): Promise<void> {
    await this.handle?.close();
    if (this.file === null) return;
    await rm(this.file, { force: true });
    await leaveStagingFolder(this.directory);
  }

  private grow(): void {
    const levels = Math.min(this.runLevels, Math.max(1024, this.heldLevels * 2));
    this.held = widened(this.held, levels * WIDTH);
  }

  /** Returns the levels in memory, sorted, and empties the memory. */
  private takeHeld(): Float64Array {
    const { held, heldLevels } = this;
    this.heldLevels = 0;
    const rows = Uint32Array.from({ length: heldLevels }, (_, row) => row);
    rows.sort((a, b) => compared(held, a * WIDTH, held, b * WIDTH));
    const sorted = new Float64Array(heldLevels * WIDTH);
    rows.forEach((row, i) => {
      sorted.set(held.subarray(row * WIDTH, (row + 1) * WIDTH), i * WIDTH);
    });
    return sorted;
  }

  private async writeRun(): Promise<void> {
    if (this.handle === null) {
      this.file = path.join(await stagingFolder(this.directory), `${randomUUID()}.levels`);
      this.handle = await open(this.file, 'wx+', 0o600);
    }
    const { handle, writtenBytes: start } = this;
    const sorted = this.takeHeld();
    const levels = sorted.length / WIDTH;
    const bytes = new Uint8Array(sorted.buffer);
    await writeFully(handle, bytes, start);
    this.writtenBytes += bytes.length;
    this.runs.push({ levels, read: (from) => readLevels(handle, start, from, levels) });
  }
}

function memoryRun(sorted: Float64Array): SortedRun {
  const levels = sorted.length / WIDTH;
  return { levels, read: (from) => Promise.resolve(sorted.subarray(from * WIDTH)) };
}

async function readLevels(
  handle: FileHandle,
  start: number,
  from: number,
  levels: number,
): Promise<Float64Array> {
  const count = Math.min(READ_LEVELS, levels - from);
  const values = new Float64Array(count * WIDTH);
  const bytes = new Uint8Array(values.buffer);
  const position = start + from * WIDTH * Float64Array.BYTES_PER_ELEMENT;
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

  get isAtEnd(): boolean {
    return this.at === this.values.length;
  }

  level(): Level {
    const { values, at } = this;
    const level = {} as Level;
    for (let i = 0; i < WIDTH; i++) level[LEVEL_PARTS[i]] = values[at + i];
    return level;
  }

  /** Moves to the next level; false if readMore() must be called first. */
  next(): boolean {
    this.at += WIDTH;
    return this.at < this.values.length || this.from === this.run.levels;
  }

  async readMore(): Promise<void> {
    this.values = await this.run.read(this.from);
    this.from += this.values.length / WIDTH;
    this.at = 0;
  }

  isBefore(other: RunReader): boolean {
    return compared(this.values, this.at, other.values, other.at) < 0;
  }
}

/** Runs by their next level, the least on top; finished runs are removed. */
class Heap {
  private readonly readers: RunReader[];

  constructor(readers: readonly RunReader[]) {
    this.readers = [...readers].sort((a, b) => (a.isBefore(b) ? -1 : 1));
  }

  get top(): RunReader | undefined {
    return this.readers[0];
  }

  /** Restores the heap's order after the top has moved on. */
  settle(): void {
    const { readers } = this;
    if (readers[0].isAtEnd) {
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

function compared(a: Float64Array, atA: number, b: Float64Array, atB: number): number {
  for (let i = 0; i < COMPARED; i++) {
    const difference = a[atA + i] - b[atB + i];
    if (difference !== 0) return difference;
  }
  return 0;
}
