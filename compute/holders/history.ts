/** Holder snapshots of one token, packed: the form in which history is stored and read. */
export { decodeHolderBlock } from './block-decoder.js';
export { encodeHolderBlock } from './block-encoder.js';

/** The owners of a token by their number, which never changes. */
export interface OwnerNames {
  /** `offsets[id]..offsets[id + 1]` are the bytes of owner `id`; one more than there are owners. */
  offsets: Uint32Array;
  /** ASCII. */
  bytes: Uint8Array;
}

/** One snapshot: who held how much. */
export interface HolderSnapshot {
  /** Epoch seconds. */
  t: number;
  /** Owner numbers, ascending. */
  owner: Uint32Array;
  /** Tokens, > 0; parallel to `owner`. */
  balance: Float64Array;
}
