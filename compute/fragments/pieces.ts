/** Compressed pieces behind one another. */
import type { PackContent, Pieces } from './pack.js';
import type { PieceMatcher } from './piece-matches.js';

/** What becomes of a segment's texts in one coding. */
export type CompressedTexts = Pick<PackContent, 'alone' | 'linked'>;

/**
 * The snapshots that the matcher has followed, each for itself, behind a comma, and each as it can
 * follow the one before it; that form is left out where it is no shorter: of a text longer than the
 * coding's window too little is in reach.
 */
export function gatherTexts(matcher: PieceMatcher, comma: Uint8Array): CompressedTexts {
  const { alone, linked } = matcher.pieces();
  const withCommas = partsOf(alone).map((part) => Buffer.concat([comma, part]));
  const linkedParts = partsOf(linked).map((part, s) =>
    part.length < withCommas[s].length ? part : part.subarray(0, 0),
  );
  return { alone: gatherPieces(withCommas), linked: gatherPieces(linkedParts) };
}

export function gatherPieces(parts: readonly Uint8Array[]): Pieces {
  const offsets = new Uint32Array(parts.length + 1);
  parts.forEach((part, i) => (offsets[i + 1] = offsets[i] + part.length));
  const bytes = new Uint8Array(offsets[parts.length]);
  parts.forEach((part, i) => bytes.set(part, offsets[i]));
  return { offsets, bytes };
}

function partsOf({ offsets, bytes }: Pieces): Uint8Array[] {
  return Array.from(offsets.subarray(1), (end, i) => bytes.subarray(offsets[i], end));
}
