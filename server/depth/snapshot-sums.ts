/**
 * Sums of the snapshots that series show. They are kept by point, so that a series that moves with time reads only
 * the segments of its new points; the pool sums the others, a few segments at a time. If the step is long, it reads
 * the segments' samples.
 */
import {
  type SnapshotSums,
  type SumsInput,
  widthOfSums,
} from '../../compute/depth/depth-series.js';
import { pushTo } from '../../compute/collections.js';
import type { RunTask } from '../../compute/pool.js';
import { isSampled } from '../../compute/segment/sample.js';
import type { StoredBlock } from '../../compute/segment/segment.js';
import type { DepthSource } from '../../storage/contract.js';
import { Turns } from '../../storage/turns.js';
import type { ReplyMemory } from '../api/replies.js';
import type { Exchange } from '../http/exchange.js';
import type { SegmentBlocks } from '../replay/segment-blocks.js';

interface SummedSnapshot {
  /** Number of the point: its time divided by the step. */
  point: number;
  /** Where it is stored. The content of that place never changes. */
  segmentId: number;
  row: number;
  t: number;
}

/** The client that waits for sums; says whether it has disconnected. */
export type SumsClient = Readonly<Pick<Exchange, 'aborted'> & Partial<Pick<Exchange, 'cancel'>>>;

const NEVER_GONE: SumsClient = { aborted: false };

/** Segments of one task: the event loop holds and copies 1 MB for them. */
const SEGMENTS_AT_ONCE = 8;
/** Tasks of one reply at the same time: some read while others are in the threads. */
const SEGMENT_TASKS = 4;
/** Samples of one task: some hundred kilobytes. */
const SAMPLES_AT_ONCE = 128;
/** A task that waits for a thread starts another one, which costs more than all samples of a reply. */
const SAMPLE_TASKS = 1;
/** Neighbouring points that are kept together. */
const POINTS_OF_BLOCK = 32;
/** Wider sums are not kept: a block of them is more than a megabyte. */
const MAX_KEPT_WIDTH = 2048;
/** Bytes of a block and of each of its points, besides the numbers. */
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

  /** The kept numbers of exactly this snapshot, if there are any. */
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

/** The kept points of one series. Each block is looked up once. */
class SeriesBlocks {
  private readonly known = new Map<number, Block | null>();

  constructor(
    private readonly memory: ReplyMemory,
    private readonly key: string,
    private readonly width: number,
  ) {}

  find(snapshot: SummedSnapshot): Float64Array | null {
    return this.block(snapshot.point)?.find(snapshot) ?? null;
  }

  keep(snapshot: SummedSnapshot, numbers: Float64Array): void {
    if (this.width > MAX_KEPT_WIDTH) return;
    const block = this.block(snapshot.point) ?? this.addBlock(snapshot.point);
    block.put(snapshot, numbers);
  }

  private block(point: number): Block | null {
    const n = Math.floor(point / POINTS_OF_BLOCK);
    let block = this.known.get(n);
    if (block === undefined) {
      block = (this.memory.get(this.nameOf(n)) as Block | undefined) ?? null;
      this.known.set(n, block);
    }
    return block;
  }

  private addBlock(point: number): Block {
    const n = Math.floor(point / POINTS_OF_BLOCK);
    const block = new Block(this.width);
    const size = BLOCK_OVERHEAD_BYTES + POINTS_OF_BLOCK * (POINT_OVERHEAD_BYTES + 8 * this.width);
    this.memory.set(this.nameOf(n), block, { size });
    this.known.set(n, block);
    return block;
  }

  private nameOf(n: number): string {
    return `sums ${n} ${this.key}`;
  }
}

/** The snapshots of one segment that have to be summed, as indexes. */
type Unread = [segmentId: number, snapshots: number[]];

interface SumsRequest {
  /** Names the token, the step and `sums`. */
  key: string;
  stepS: number;
  sums: SnapshotSums;
}

/** Sums some snapshots of some segments, or of their samples. */
type SumPart = (
  part: readonly Unread[],
  segments: SumsInput['segments'],
  transfer: ArrayBuffer[],
) => Promise<void>;

/** Where sums come from, and where they are kept. */
interface SumsSources {
  depth: Pick<DepthSource, 'readSamples'>;
  blocks: SegmentBlocks;
  kept: ReplyMemory;
}

/**
 * The numbers of each snapshot, one after the other; null if the client has disconnected.
 * @throws SegmentGoneError; Error if a segment is damaged
 */
export async function readSums(
  { depth, blocks, kept: memory }: SumsSources,
  { key, stepS, sums }: SumsRequest,
  snapshots: readonly SummedSnapshot[],
  run: RunTask,
  client: SumsClient = NEVER_GONE,
): Promise<Float64Array<ArrayBuffer> | null> {
  const width = widthOfSums(sums);
  const numbers = new Float64Array(snapshots.length * width);
  const isKnown = new Uint8Array(snapshots.length);
  const seriesBlocks = new SeriesBlocks(memory, key, width);
  const turns = new Turns();
  for (const [i, snapshot] of snapshots.entries()) {
    if (i % POINTS_OF_BLOCK === 0) await turns.take();
    const kept = seriesBlocks.find(snapshot);
    if (kept === null) continue;
    numbers.set(kept, i * width);
    isKnown[i] = 1;
  }
  const sum: SumPart = async (part, segments, transfer) => {
    const indexes = part.flatMap(([, own]) => own);
    const selection = {
      run: part.flatMap(([, own], s) => own.map(() => s)),
      row: indexes.map((i) => snapshots[i].row),
      t: indexes.map((i) => snapshots[i].t),
    };
    const input: SumsInput = { segments, selection, sums, cancel: client.cancel };
    const result = await run('sumSnapshots', input, transfer);
    if (result.status === 'cancelled') return;
    indexes.forEach((i, n) => {
      const own = result.numbers.subarray(n * width, (n + 1) * width);
      // The sample lacks this snapshot; its segment has it.
      if (Number.isNaN(own[0])) return;
      numbers.set(own, i * width);
      isKnown[i] = 1;
      seriesBlocks.keep(snapshots[i], own);
    });
  };
  if (isSampled(stepS)) {
    const effort = { atOnce: SAMPLES_AT_ONCE, tasks: SAMPLE_TASKS };
    await inParts(unreadOf(snapshots, isKnown), effort, client, async (part) => {
      const samples = await depth.readSamples(part.map(([segmentId]) => segmentId));
      const found = part.filter(([segmentId]) => samples.has(segmentId));
      const segments = found.flatMap(([id]) => ({ sample: samples.get(id) as StoredBlock }));
      const transfer = segments.map(({ sample }) => sample.block.buffer as ArrayBuffer);
      if (found.length > 0) await sum(found, segments, transfer);
    });
  }
  const effort = { atOnce: SEGMENTS_AT_ONCE, tasks: SEGMENT_TASKS };
  await inParts(unreadOf(snapshots, isKnown), effort, client, async (part) => {
    const ids = part.map(([segmentId]) => segmentId);
    await sum(part, await blocks.read(ids), []);
  });
  return client.aborted ? null : numbers;
}

/** The snapshots that are not known yet, by segment. */
function unreadOf(snapshots: readonly SummedSnapshot[], isKnown: Uint8Array): Unread[] {
  const unread = new Map<number, number[]>();
  for (const [i, { segmentId }] of snapshots.entries()) {
    if (isKnown[i] === 0) pushTo(unread, segmentId, i);
  }
  return [...unread];
}

/** Reads everything in parts, some at a time, until the client disconnects. */
async function inParts(
  unread: readonly Unread[],
  { atOnce, tasks }: { atOnce: number; tasks: number },
  client: SumsClient,
  read: (part: readonly Unread[]) => Promise<void>,
): Promise<void> {
  let next = 0;
  const readParts = async (): Promise<void> => {
    try {
      while (next < unread.length && !client.aborted) {
        const from = next;
        next += atOnce;
        await read(unread.slice(from, next));
      }
    } finally {
      // After a failure, the other parts are not needed.
      if (next < unread.length) next = unread.length;
    }
  };
  await Promise.all(Array.from({ length: tasks }, readParts));
}
