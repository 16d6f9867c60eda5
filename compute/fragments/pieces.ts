/** Compressed pieces behind one another. */
import type { PackContent, Pieces } from './pack.js';

/** What becomes of a segment's texts in one coding. */
export type CompressedTexts = Pick<PackContent, 'alone' | 'linked' | 'linkedSpans'>;

export function gatherPieces(parts: readonly Uint8Array[]): Pieces {
  const offsets = new Uint32Array(parts.length + 1);
  parts.forEach((part, i) => (offsets[i + 1] = offsets[i] + part.length));
  const bytes = new Uint8Array(offsets[parts.length]);
  parts.forEach((part, i) => bytes.set(part, offsets[i]));
  return { offsets, bytes };
}
