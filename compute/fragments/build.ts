/** The pool's task: a segment in, one of its fragment packs out. */
import zlib from 'node:zlib';
import { decodeSegment } from '../segment/segment.js';
import { BROTLI_COMMA, newBrotliEncoder } from './brotli.js';
import { DEFLATE_COMMA, newDeflateEncoder } from './deflate.js';
import { writePack, type Pack, type PackForm } from './pack.js';
import { PieceMatcher } from './piece-matches.js';
import { gatherTexts } from './pieces.js';
import { textsOfRun } from './snapshots.js';

/** Plain data and bytes: it crosses a thread boundary. */
export interface PackInput extends PackForm {
  /** An LZ4 block that encodeSegment made. */
  segment: Uint8Array;
  /** Markets of the segment's token. */
  marketCount: number;
}

/** What the segment that this thread works on is compressed in: used again for the next. */
const matchers = {
  gzip: new PieceMatcher(newDeflateEncoder),
  br: new PieceMatcher(newBrotliEncoder),
};
const commas = { gzip: DEFLATE_COMMA, br: BROTLI_COMMA };

/**
 * Makes a fragment pack.
 * @throws Error where the segment is damaged, RangeError where it names a market beyond the token's
 */
export function buildPack({ segment, group, coding, marketCount }: PackInput): Pack {
  const matcher = matchers[coding];
  const run = decodeSegment(segment);
  const { text, ...columns } = textsOfRun(run, group, marketCount, matcher);
  const crcs = crcsOf(text, columns.textEnds);
  const pieces = gatherTexts(matcher, commas[coding]);
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
