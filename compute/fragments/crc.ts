/**
 * CRC-32 of texts put together from parts, from the parts' own sums: polynomials over GF(2) modulo
 * the one of gzip (RFC 1952, 8), bit-reflected, as in zlib's crc32_combine.
 */

const POLYNOMIAL = 0xedb8_8320;
/** x^0 and x^1: the highest bit is the lowest power. */
const ONE = 1 << 31;
const X = 1 << 30;

function multiply(a: number, b: number): number {
  let product = 0;
  for (let bit = ONE; a !== 0; bit >>>= 1) {
    if (a & bit) {
      product ^= b;
      a &= ~bit;
    }
    b = b & 1 ? (b >>> 1) ^ POLYNOMIAL : b >>> 1;
  }
  return product;
}

/** x^(8 * d * 256^k) at `256 * k + d`: what a sum is multiplied by where so many bytes follow. */
const POWERS = powers();

function powers(): Int32Array {
  const table = new Int32Array(4 * 256);
  let step = X;
  for (let k = 0; k < 3; k++) step = multiply(step, step);
  for (let k = 0; k < 4; k++) {
    table[256 * k] = ONE;
    for (let d = 1; d < 256; d++) table[256 * k + d] = multiply(step, table[256 * k + d - 1]);
    step = multiply(step, table[256 * k + 255]);
  }
  return table;
}

/** What the sum of a text is multiplied by where `bytes` bytes follow it, below 2^32. */
function powerOf(bytes: number): number {
  let power = POWERS[bytes & 255];
  if (bytes > 0xff) power = multiply(POWERS[256 + ((bytes >>> 8) & 255)], power);
  if (bytes > 0xffff) power = multiply(POWERS[512 + ((bytes >>> 16) & 255)], power);
  if (bytes > 0xff_ffff) power = multiply(POWERS[768 + (bytes >>> 24)], power);
  return power;
}

/** The sum of two texts, one after the other. */
export function crcOfBoth(first: number, second: number, secondBytes: number): number {
  return (multiply(powerOf(secondBytes), first) ^ second) >>> 0;
}

/**
 * The sum of a text followed by another's end, of which the sum of the whole and the sum of what
 * stands before that end are known.
 */
export function crcWithEnd(first: number, whole: number, before: number, endBytes: number): number {
  return crcOfBoth(first ^ before, whole, endBytes);
}
