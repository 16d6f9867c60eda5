/**
 * Hashed randomness: every draw of the demo is a pure function of a key and an index. Any moment of
 * the simulated market can be computed without the moments before it.
 */
import { toBase58 } from '../compute/base58.js';

const GOLDEN = 0x9e3779b1;
const TWO_POW_32 = 4_294_967_296;
const DRAW_BITS = 12;
const DRAW_COUNT = 1 << DRAW_BITS;

/** MurmurHash3's 32-bit finaliser (Appleby): every input bit reaches every output bit. */
function finalise(value: number): number {
  let h = value ^ (value >>> 16);
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** A hash of a key and an integer (negative ones too): 32 bits, unsigned. */
export function hash(key: number, index: number): number {
  return finalise((key + Math.imul(index + 1, GOLDEN)) | 0);
}

/** A key from a parent key and a name. */
export function keyOf(parent: number, name: string): number {
  let h = hash(parent, name.length);
  for (let i = 0; i < name.length; i++) h = hash(h, name.charCodeAt(i));
  return h;
}

/** A hash as a number in [0, 1). */
export function unit(h: number): number {
  return h / TWO_POW_32;
}

/** Maps a hash to a whole number from `low` to `high`, both included. */
export function between(h: number, low: number, high: number): number {
  return low + Math.floor(unit(h) * (high - low + 1));
}

/** A standard normal number from one hash (Box and Muller, 16 bits each); at most about 4.9. */
export function normal(h: number): number {
  const radius = Math.sqrt(-2 * Math.log(((h >>> 16) + 0.5) / 65_536));
  return radius * Math.cos(((h & 0xffff) / 65_536) * 2 * Math.PI);
}

const SIZE_SIGMA = 0.85;
const SIZE_TAIL_SHARE = 0.03;
const SIZE_TAIL_ALPHA = 1.3;

/** Order sizes about 1: lognormal, and one in thirty-three from a Pareto tail. */
const SIZES = Float64Array.from({ length: DRAW_COUNT }, (_, i) => {
  const key = hash(keyOf(0, 'sizes'), i);
  const body = Math.exp(SIZE_SIGMA * normal(key));
  const tail = unit(hash(key, 1));
  if (tail >= SIZE_TAIL_SHARE) return body;
  return 3 * Math.pow((tail + 1e-4) / SIZE_TAIL_SHARE, -1 / SIZE_TAIL_ALPHA);
});

/** A heavy-tailed size with a median of about 1. */
export function sizeDraw(h: number): number {
  return SIZES[h >>> (32 - DRAW_BITS)];
}

/** A base58 address of 32 bytes, made from a name: the same in every demo, whatever its seed. */
export function base58Address(name: string): string {
  return toBase58(Buffer.from(hexOf(name, 32), 'hex'));
}

/** A `0x` address made from a name. */
export function evmAddress(name: string): string {
  return `0x${hexOf(name, 20)}`;
}

function hexOf(name: string, bytes: number): string {
  const key = keyOf(0, name);
  return Array.from({ length: bytes }, (_, i) =>
    (hash(key, i) & 0xff).toString(16).padStart(2, '0'),
  ).join('');
}
