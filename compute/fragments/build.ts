/** The pool's task: a segment in, one of its fragment packs out. */
import zlib from 'node:zlib';
import { decodeSegment } from '../segment/segment.js';
import { brotliPieces } from './brotli.js';
import { deflatePieces } from './deflate.js';
import { writePack, type Pack, type PackForm } from './pack.js';
import { textsOfRun } from './snapshots.js';

/** Plain data and bytes: it crosses a thread boundary. */
export interface PackInput extends PackForm {
  /** An LZ4 block that encodeSegment made. */
  segment: Uint8Array;
  /** Markets of the segment's token. */
  marketCount: number;
}

const COMMA = ','.charCodeAt(0);

/**
 * Makes a fragment pack.
 * @throws Error where the segment is damaged, RangeError where it names a market beyond the token's
 */
export async function buildPack({ segment, group, coding, marketCount }: PackInput): Promise<Pack> {
  const { texts, ...columns } = textsOfRun(decodeSegment(segment), group, marketCount);
  const pieces = coding === 'gzip' ? deflatePieces(texts) : await brotliPieces(texts);
  const sourceCrc = zlib.crc32(segment);
  return writePack({ group, coding, sourceCrc, ...columns, ...ends(texts), ...pieces });
}

/** Lengths and sums of the texts before each, every text with its comma. */
function ends(texts: readonly Uint8Array[]): { textEnds: Uint32Array; crcs: Uint32Array } {
  const textEnds = new Uint32Array(texts.length + 1);
  const crcs = new Uint32Array(texts.length + 1);
  texts.forEach((text, s) => {
    textEnds[s + 1] = textEnds[s] + 1 + text.length;
    crcs[s + 1] = zlib.crc32(text, zlib.crc32(Uint8Array.of(COMMA), crcs[s]));
  });
  return { textEnds, crcs };
}
