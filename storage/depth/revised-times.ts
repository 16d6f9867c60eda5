/**
 * The times that a token's revisions have changed, by span of time. Followers that need the same span share it, and each
 * is read in turns, however many times a commit has revised.
 */
import { firstFrom } from '../../compute/search.js';
import type { RevisedTimes } from '../contract.js';
import type { Database } from '../duckdb/database.js';
import { SharedWork } from '../shared-work.js';
import { Turns } from '../turns.js';
import { uint32Of } from '../typed-arrays.js';

/** Length of a span, twelve days: at most 4 MiB of times, and 70 KiB with a snapshot each minute. */
const SPAN_S = 2 ** 20;
const SPAN_WORDS = SPAN_S / 32;
/** Bytes of spans that are kept for other followers, and for the next messages. */
const MAX_REVISED_BYTES = 32 * 1024 * 1024;
/** Memory for a kept span without its times; the assumed size of one that is being read. */
const SPAN_BYTES = 512;
/** Times noted, and words read, between two checks of the clock. */
const TIMES_AT_ONCE = 4096;
const WORDS_AT_ONCE = 1024;

/** Revisions of one token, of which followers that have those up to `after` get the ones up to `upTo` next. */
export interface RevisionRange {
  tokenId: number;
  after: number;
  upTo: number;
  /** The token's newest revision: what it changed once more comes with that. */
  last: number;
}

/** All revised times of a span; `nextS`: the first one after it. */
type Span = Omit<RevisedTimes, 'first' | 'end'>;

export class RevisedSpans {
  private readonly kept = new SharedWork<Span>({
    maxBytes: MAX_REVISED_BYTES,
    expectedBytes: SPAN_BYTES,
    bytesOf: ({ times }) => SPAN_BYTES + times.byteLength,
  });

  constructor(private readonly database: Pick<Database, 'streamChunks'>) {}

  /** The first revised times in `fromS <= t < toS`. */
  async first(range: RevisionRange, fromS: number, toS: number): Promise<RevisedTimes> {
    for (let s = fromS; ;) {
      const span = await this.span(range, Math.floor(s / SPAN_S));
      const first = firstFrom(span.times, s);
      const end = firstFrom(span.times, toS, first);
      const nextS = span.nextS < toS ? span.nextS : Infinity;
      if (first < end || nextS === Infinity) return { ...span, first, end, nextS };
      s = nextS;
    }
  }

  /** Call when positions begin to count anew. */
  clear(): void {
    this.kept.clear();
  }

  private span(range: RevisionRange, index: number): Promise<Span> {
    const { tokenId, after, last } = range;
    const upTo = Math.min(range.upTo, last);
    const key = `${tokenId} ${after} ${upTo} ${last} ${index}`;
    return this.kept.get(key, () => readSpan(this.database, { ...range, upTo }, index * SPAN_S));
  }
}

/** Times of a span, a bit for each. */
type Bits = Int32Array;

async function readSpan(
  database: Pick<Database, 'streamChunks'>,
  { tokenId, after, upTo, last }: RevisionRange,
  startS: number,
): Promise<Span> {
  const endS = startS + SPAN_S;
  const turns = new Turns();
  // Made with the first row: until then many spans may wait.
  let own: Bits | null = null;
  let later: Bits | null = null;
  let nextS = Infinity;
  let lastT: number | null = null;
  const rows = database.streamChunks(
    `SELECT position, times, last_t FROM depth_revisions
      WHERE token_id = ${tokenId} AND position > ${after} AND position <= ${last}`,
  );
  for await (const chunk of rows) {
    const [positions, blobs, lasts] = [0, 1, 2].map((column) => chunk.reader(column));
    for (let row = 0; row < chunk.rowCount; row++) {
      const times = uint32Of(blobs(row) as Uint8Array);
      const first = firstFrom(times, startS);
      const end = firstFrom(times, endS, first);
      if (Number(positions(row)) > upTo) {
        await note((later ??= new Int32Array(SPAN_WORDS)), times.subarray(first, end), turns);
        continue;
      }
      await note((own ??= new Int32Array(SPAN_WORDS)), times.subarray(first, end), turns);
      if (end < times.length) nextS = Math.min(nextS, times[end]);
      const movedBackTo = lasts(row);
      if (movedBackTo !== null) lastT = Math.min(lastT ?? Infinity, Number(movedBackTo));
    }
  }
  if (own === null) return { times: new Uint32Array(0), nextS, lastT };
  return { times: await timesOf(own, later, startS, lastT, turns), nextS, lastT };
}

/** @param times of the span, ascending */
async function note(bits: Bits, times: Uint32Array, turns: Turns): Promise<void> {
  for (let i = 0; i < times.length; i++) {
    bits[(times[i] % SPAN_S) >>> 5] |= 1 << (times[i] & 31);
    if (i % TIMES_AT_ONCE === 0) await turns.take();
  }
}

/**
 * The noted times, without those that later revisions changed too. After `lastT` those stay: the follower gets their
 * snapshots again as new ones, but has to drop what it has first.
 */
async function timesOf(
  own: Bits,
  later: Bits | null,
  startS: number,
  lastT: number | null,
  turns: Turns,
): Promise<Uint32Array> {
  const times: number[] = [];
  for (let word = 0; word < SPAN_WORDS; word++) {
    if (word % WORDS_AT_ONCE === 0) await turns.take();
    const hidden = later?.[word] ?? 0;
    for (let left = own[word]; left !== 0; left &= left - 1) {
      const bit = 31 - Math.clz32(left & -left);
      const t = startS + 32 * word + bit;
      const isLater = (hidden & (1 << bit)) !== 0 && (lastT === null || t <= lastT);
      if (!isLater) times.push(t);
    }
  }
  return Uint32Array.from(times);
}
