/**
 * Sums of the snapshots that series show. They are kept by point, so that a series that moves with time reads only
 * the segments of its new points; the pool sums the others, a few segments at a time.
 */
import {
  type SnapshotSums,
  type SumsInput,
  widthOfSums,
} from '../../compute/depth/depth-series.js';
import type { RunTask } from '../../compute/pool.js';
import { Turns } from '../../storage/turns.js';
import type { ReplyMemory } from '../api/replies.js';
import type { Exchange } from '../http/exchange.js';
import type { SegmentColumns } from '../replay/segment-columns.js';

/** A snapshot of a series. */
interface SummedSnapshot {
  /** Number of the point: its time by the step. */
  point: number;
  /** Where it is stored. What is there never changes. */
  segmentId: number;
  row: number;
}

/** Who waits for sums: tells whether it is gone. */
export type SumsClient = Readonly<Pick<Exchange, 'aborted'> & Partial<Pick<Exchange, 'cancel'>>>;

const NEVER_GONE: SumsClient = { aborted: false };

/** Segments of one task: the event loop holds and copies 1 MB for them. */
const SEGMENTS_AT_ONCE = 8;
/** Tasks of one reply at the same time: some read while others are in the threads. */
const TASKS_AT_ONCE = 4;
/** Neighbouring points that are kept together. */
const POINTS_OF_BLOCK = 32;
/** Wider sums are not kept: a block of them is more than a megabyte. */
const MAX_KEPT_WIDTH = 2048;
/** Bytes of a block beside its numbers, and of a point beside those. */
const BLOCK_OVERHEAD_BYTES = 512;
const POINT_OVERHEAD_BYTES = 12;

/** Points of one series: `point % POINTS_OF_BLOCK` is the index of each. */
class Block {
  private readonly segmentIds = new Float64Array(POINTS_OF_BLOCK).fill(-1);
  private readonly rows = new Uint32Array(POINTS_OF_BLOCK);
  private readonly numbers: Float64Array;

  constructor(private readonly width: number) {
    this.numbers = new Float64Array(POINTS_OF_BLOCK * width);
  }

  /** The numbers of this very snapshot, if they are kept. */
  find({ point, segmentId, row }: SummedSnapshot): Float64Array | null {
    const i = point % POINTS_OF_BLOCK;
    if (this.segmentIds[i] !== segmentId || this.rows[i] !== row) return null;
    return this.numbers.subarray(i * this.width, (i + 1) * this.width);
  }

  put({ point, segmentId, row }: SummedSnapshot, numbers: Float64Array): void {
    const i = point % POINTS_OF_BLOCK;
    this.segmentIds[i] = segmentId;
    this.rows[i] = row;
    this.numbers.set(numbers, i * this.width);
  }
}

/** The snapshots of one segment that have to be summed, as indexes. */
type Unread = [segmentId: number, snapshots: number[]];

export class SnapshotSumsReader {
  constructor(
    private readonly columns: SegmentColumns,
    private readonly memory: ReplyMemory,
  ) {}

  /**
   * The numbers of each snapshot, one after the other; null if the client has disconnected.
   * @param key names the token, the step and `sums`
   * @throws SegmentGoneError; Error where a segment is damaged
   */
  async read(
    key: string,
    sums: SnapshotSums,
    snapshots: readonly SummedSnapshot[],
    run: RunTask,
    client: SumsClient = NEVER_GONE,
  ): Promise<Float64Array<ArrayBuffer> | null> {
    const width = widthOfSums(sums);
    const numbers = new Float64Array(snapshots.length * width);
    const unread = new Map<number, number[]>();
    const turns = new Turns();
    for (const [i, snapshot] of snapshots.entries()) {
      await turns.take();
      const kept = this.block(key, snapshot)?.find(snapshot);
      if (kept) {
        numbers.set(kept, i * width);
        continue;
      }
      const ofSegment = unread.get(snapshot.segmentId);
      if (ofSegment === undefined) unread.set(snapshot.segmentId, [i]);
      else ofSegment.push(i);
    }
    const parts = partsOf([...unread]);
    const readParts = async (): Promise<void> => {
      for (let part = parts.next(); !part.done; part = parts.next()) {
        const indexes = part.value.flatMap(([, own]) => own);
        const found = await this.readPart(part.value, snapshots, sums, run, client);
        if (found === null) return;
        indexes.forEach((i, n) => {
          const own = found.subarray(n * width, (n + 1) * width);
          numbers.set(own, i * width);
          this.keep(key, snapshots[i], own);
        });
      }
    };
    // They share one iterator: each takes the next part when it finishes one.
    try {
      await Promise.all(Array.from({ length: TASKS_AT_ONCE }, readParts));
    } finally {
      parts.return();
    }
    return client.aborted ? null : numbers;
  }

  private async readPart(
    part: readonly Unread[],
    snapshots: readonly SummedSnapshot[],
    sums: SnapshotSums,
    run: RunTask,
    { aborted, cancel }: SumsClient,
  ): Promise<Float64Array | null> {
    if (aborted) return null;
    const selection = {
      run: part.flatMap(([, own], s) => own.map(() => s)),
      row: part.flatMap(([, own]) => own.map((i) => snapshots[i].row)),
    };
    const ids = part.map(([segmentId]) => segmentId);
    return this.columns.use(ids, async (segments, transfer) => {
      const input: SumsInput = { segments, selection, sums, cancel };
      const result = await run('sumSnapshots', input, transfer);
      return result.status === 'done' ? result.numbers : null;
    });
  }

  private block(key: string, { point }: SummedSnapshot): Block | undefined {
    return this.memory.get(blockKey(key, point)) as Block | undefined;
  }

  private keep(key: string, snapshot: SummedSnapshot, numbers: Float64Array): void {
    const width = numbers.length;
    if (width > MAX_KEPT_WIDTH) return;
    let block = this.block(key, snapshot);
    if (block === undefined) {
      block = new Block(width);
      const size = BLOCK_OVERHEAD_BYTES + POINTS_OF_BLOCK * (POINT_OVERHEAD_BYTES + 8 * width);
      this.memory.set(blockKey(key, snapshot.point), block, { size });
    }
    block.put(snapshot, numbers);
  }
}

const blockKey = (key: string, point: number): string =>
  `sums ${Math.floor(point / POINTS_OF_BLOCK)} ${key}`;

function* partsOf(unread: readonly Unread[]): Generator<readonly Unread[], void> {
  for (let from = 0; from < unread.length; from += SEGMENTS_AT_ONCE) {
    yield unread.slice(from, from + SEGMENTS_AT_ONCE);
  }
}
