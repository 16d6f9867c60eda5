/** Makes the objects of a closed UTC day. */
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Tier } from '../../compute/market.js';
import type { EncodedSegment } from '../../compute/segment/segment.js';
import { DAY_S, isoOf } from '../../compute/time.js';
import type { TokenName } from '../contract.js';
import type { Rewrite } from '../depth/depth-commit.js';
import type { SampleSegments } from '../depth/samples.js';
import { overlapping, type SegmentRef, type TierDirectory } from '../depth/directory.js';
import { bytesOf } from '../typed-arrays.js';
import {
  type ArchivedDay,
  columnsOfWindow,
  digestOfWindow,
  type SegmentOfObject,
} from './archived-day.js';

/** Keys of days begin with it. */
export const SEGMENTS_PREFIX = 'segments/';
/** A day with more bytes, or with too many markets for an entry, becomes several objects. */
const MAX_OBJECT_BYTES = 64 * 1024 * 1024;
/** Bytes of what an entry says of an object's segments: JetStream takes entries of up to 1 MiB. */
const MAX_ENTRY_BYTES = 512 * 1024;
/** Of a segment, besides its markets and sample. */
const SEGMENT_ENTRY_BYTES = 128;
/** Stored segments that are cut into those of an object at once. */
const CUT_AT_ONCE = 16;

/** A day that is made into an object, with its blocks. */
export interface DayObject {
  day: ArchivedDay;
  content: Uint8Array;
  blocks: readonly Uint8Array[];
}

interface DaySource {
  token: TokenName;
  tier: Tier;
  /** The day's first second. */
  dayS: number;
  /** The tier's directory. */
  segments: TierDirectory;
  read: (refs: readonly SegmentRef[]) => Promise<Uint8Array[]>;
  rewrite: Rewrite;
  sample: SampleSegments;
}

/** A segment of an object, with its sample. */
interface SampledSegment extends EncodedSegment {
  sample: Uint8Array | null;
}

/**
 * The objects of a day. Snapshots are split into segments greedily from the day's start, whatever segments have them
 * now: so every node makes the same bytes.
 */
export async function* objectsOfDay(source: DaySource): AsyncGenerator<DayObject> {
  const { dayS, sample: sampleOf } = source;
  let fromS = dayS;
  let waiting: SampledSegment[] = [];
  let bytes = 0;
  let entryBytes = 0;
  for await (const segment of segmentsOfDay(source)) {
    const block = new Uint8Array(segment.block);
    const [sample] = await sampleOf([{ segmentId: 0, block, crc32: crc32(block) }]);
    const ownEntryBytes =
      SEGMENT_ENTRY_BYTES + segment.marketRows.byteLength + (sample?.length ?? 0);
    const isFull =
      bytes + segment.block.length > MAX_OBJECT_BYTES ||
      entryBytes + ownEntryBytes > MAX_ENTRY_BYTES;
    if (waiting.length > 0 && isFull) {
      const [toS] = segment.times;
      yield objectOf(source, waiting, { fromS, toS });
      [waiting, bytes, entryBytes, fromS] = [[], 0, 0, toS];
    }
    waiting.push({ ...segment, sample });
    bytes += segment.block.length;
    entryBytes += ownEntryBytes;
  }
  if (waiting.length > 0) yield objectOf(source, waiting, { fromS, toS: dayS + DAY_S });
}

async function* segmentsOfDay({
  dayS,
  segments,
  read,
  rewrite,
}: DaySource): AsyncGenerator<EncodedSegment> {
  const window = { fromS: dayS, toS: dayS + DAY_S };
  const { from, to } = overlapping(segments, window.fromS, window.toS - 1);
  /** Further snapshots may belong to it. */
  let last: EncodedSegment | null = null;
  for (let at = from; at < to; at += CUT_AT_ONCE) {
    const blocks = await read(segments.slice(at, Math.min(to, at + CUT_AT_ONCE)));
    const stored = last === null ? blocks : [last.block, ...blocks];
    const result = await rewrite({ stored, added: null, window, mode: 'replace' });
    if (result.status !== 'done') throw new Error('cutting stored segments cannot conflict');
    yield* result.segments.slice(0, -1);
    last = result.segments.at(-1) ?? last;
  }
  if (last !== null) yield last;
}

function objectOf(
  { token, tier, dayS }: DaySource,
  segments: readonly SampledSegment[],
  { fromS, toS }: { fromS: number; toS: number },
): DayObject {
  const blocks = segments.map(({ block }) => block);
  const content = Buffer.concat(blocks);
  const sha256 = createHash('sha256').update(content).digest('hex');
  let at = 0;
  const places = segments.map(({ times, cells, block, marketRows, sample }): SegmentOfObject => {
    const place = { snapshots: times.length, cells, at, bytes: block.length };
    at += block.length;
    return { ...place, crc32: crc32(block), marketRows: bytesOf(marketRows), sample };
  });
  const refs = segments.map((segment) => ({ ...segment, segmentId: 0, tier, isArchived: false }));
  const date = isoOf(dayS).slice(0, 10);
  return {
    blocks,
    content,
    day: {
      token,
      tier,
      fromS,
      toS,
      key: `${SEGMENTS_PREFIX}${token.chain}/${token.address}/${tier}/${date}-${sha256}`,
      sha256,
      bytes: content.length,
      digest: digestOfWindow(columnsOfWindow(refs, { fromS, toS })),
      segments: places,
    },
  };
}
