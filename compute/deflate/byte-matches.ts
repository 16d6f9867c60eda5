/** Finds matches in arbitrary bytes with a hash of four bytes, for text of unknown structure. */
import type { MatchSink } from './encoder.js';

const HASH_BITS = 13;
const HASHED_BYTES = 4;
/** A shorter match costs more than its digits do. */
const MIN_LENGTH_BYTES = 6;
/** Within a match, every how many bytes a position is remembered. */
const STRIDE_BYTES = 4;
/** Knuth's multiplier: the golden ratio of 2^32. */
const GOLDEN = 0x9e37_79b1;

/** Where `text` stops repeating the bytes `distance` before it; at most `limit`. */
function matchEnd(text: Uint8Array, at: number, distance: number, limit: number): number {
  while (at < limit && text[at] === text[at - distance]) at++;
  return at;
}

/** Finds matches in a text, section by section. */
export class ByteMatcher {
  /** By hash: the last position + 1 of bytes with this hash; 0 if none. */
  private readonly last = new Int32Array(1 << HASH_BITS);
  /** Text before this position is not repeated. */
  floor = 0;

  /** Starts a new text. */
  clear(): void {
    this.last.fill(0);
    this.floor = 0;
  }

  /** Passes the matches of `text[from..to)` to the encoder. */
  take(encoder: MatchSink, text: Uint8Array, from: number, to: number): void {
    const last = this.last;
    const { floor } = this;
    const { maxDistance } = encoder;
    const hashed = to - HASHED_BYTES;
    let at = Math.max(from, encoder.taken);
    while (at <= hashed) {
      const hash = hashAt(text, at);
      const before = last[hash] - 1;
      last[hash] = at + 1;
      if (before < floor || at - before > maxDistance) {
        at++;
        continue;
      }
      const distance = at - before;
      const end = matchEnd(text, at, distance, to);
      let start = at;
      while (
        start > encoder.taken &&
        start > floor + distance &&
        text[start - 1] === text[start - 1 - distance]
      )
        start--;
      // When hashes collide, bytes before `at` may match: `at` must advance anyway.
      if (end === at || end - start < MIN_LENGTH_BYTES) {
        at++;
        continue;
      }
      encoder.match(start, end - start, distance);
      for (at++; at <= hashed && at < end; at += STRIDE_BYTES) last[hashAt(text, at)] = at + 1;
      at = end;
    }
  }
}

function hashAt(text: Uint8Array, at: number): number {
  const word = text[at] | (text[at + 1] << 8) | (text[at + 2] << 16) | (text[at + 3] << 24);
  return Math.imul(word, GOLDEN) >>> (32 - HASH_BITS);
}
