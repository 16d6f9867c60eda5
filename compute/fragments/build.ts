/** The pool's task: a segment in, one of its fragment packs out. */
import zlib from 'node:zlib';
import { decodeSegment } from '../segment/segment.js';
import { brotliPieces } from './brotli.js';
import { deflatePieces } from './deflate.js';
import { writePack, type Pack, type PackForm } from './pack.js';
import { PieceMatcher } from './piece-matches.js';
import { textsOfRun } from './snapshots.js';

/** Plain data and bytes: it crosses a thread boundary. */
export interface PackInput extends PackForm {
  /** An LZ4 block that encodeSegment made. */
  segment: Uint8Array;
  /** Markets of the segment's token. */
  marketCount: number;
}

/** What the segment that this thread works on is compressed in: used again for the next. */
const matcher = new PieceMatcher();

/**
 * Makes a fragment pack.
 * @throws Error where the segment is damaged, RangeError where it names a market beyond the token's
 */
export async function buildPack({ segment, group, coding, marketCount }: PackInput): Promise<Pack> {
  const run = decodeSegment(segment);
  const follower = coding === 'gzip' ? matcher : null;
  const { text, ...columns } = textsOfRun(run, group, marketCount, follower);
  const crcs = crcsOf(text, columns.textEnds);
  const pieces =
    coding === 'gzip' ? deflatePieces(matcher) : await brotliPieces(text, columns.textEnds);
  return writePack({ group, coding, sourceCrc: zlib.crc32(segment), ...columns, crcs, ...pieces });
}

/** Sums of the text before each of the ends. */
function crcsOf(text: Uint8Array, ends: Uint32Array): Uint32Array {
  const crcs = new Uint32Array(ends.length);
  for (let s = 1; s < ends.length; s++) {
    crcs[s] = zlib.crc32(text.subarray(ends[s - 1], ends[s]), crcs[s - 1]);
  }
  return crcs;
}
