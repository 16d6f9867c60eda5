/**
 * Numbers as JSON text. Every writer takes an address and returns the one after its last byte. Texts of up to four
 * characters are stored as words from tables, so a writer may touch eight bytes after the address that it returns.
 */

const COMMA: u8 = 44;
const ZERO: u32 = 48;

/** Those of compute/ladder.ts. */
const MIN_BIN: i32 = -232;
const BIN_COUNT: u32 = 475;
const SHORT_INDEXES: u32 = 1000;
/** Most amounts are below this. */
const SHORT_CENTS: i64 = 1_000_000;

/** Texts by number: the first four characters as a little-endian word, and the length. */
const FOURS: usize = memory.data(4 * 10_000, 16);
const UINTS: usize = memory.data(4 * 10_000, 16);
const UINT_LENGTHS: usize = memory.data(10_000, 16);
/** The text after the dollars: `,` `.5,` `.05,` */
const CENTS: usize = memory.data(4 * 100, 16);
const CENT_LENGTHS: usize = memory.data(100, 16);
/** Bins with their comma; the fifth character of the longest is always the comma. */
const BINS: usize = memory.data(4 * BIN_COUNT, 16);
const BIN_LENGTHS: usize = memory.data(BIN_COUNT, 16);
/** Indexes that fit into a word with their comma. */
const INDEXES: usize = memory.data(4 * SHORT_INDEXES, 16);
const INDEX_LENGTHS: usize = memory.data(SHORT_INDEXES, 16);

fillTables();

function fillTables(): void {
  const scratch: usize = memory.data(16, 16);
  for (let n: u32 = 0; n < 10_000; n++) {
    const fours = digit(n / 1000) | (digit((n / 100) % 10) << 8);
    const word = fours | (digit((n / 10) % 10) << 16) | (digit(n % 10) << 24);
    const length: u32 = n < 10 ? 1 : n < 100 ? 2 : n < 1000 ? 3 : 4;
    store<u32>(FOURS + (n << 2), word);
    store<u32>(UINTS + (n << 2), word >> ((4 - length) << 3));
    store<u8>(UINT_LENGTHS + n, length);
  }
  for (let cents: u32 = 0; cents < 100; cents++) {
    let at = scratch;
    if (cents > 0) {
      store<u8>(at, 46);
      store<u8>(at + 1, digit(cents / 10));
      store<u8>(at + 2, digit(cents % 10));
      at += cents % 10 === 0 ? 2 : 3;
    }
    keep(CENTS, CENT_LENGTHS, cents, scratch, at);
  }
  for (let b: u32 = 0; b < BIN_COUNT; b++) {
    const bin = <i32>b + MIN_BIN;
    let at = scratch;
    if (bin < 0) store<u8>(at++, 45);
    keep(BINS, BIN_LENGTHS, b, scratch, writeUint(at, bin < 0 ? -bin : bin));
  }
  for (let n: u32 = 0; n < SHORT_INDEXES; n++) {
    keep(INDEXES, INDEX_LENGTHS, n, scratch, writeUint(scratch, n));
  }
}

function digit(n: u32): u32 {
  return ZERO + n;
}

/** Keeps the text between two addresses, and a comma, as number `n` of a table. */
function keep(words: usize, lengths: usize, n: u32, from: usize, end: usize): void {
  store<u8>(end, COMMA);
  const length = <u32>(end - from) + 1;
  store<u32>(words + (n << 2), load<u32>(from) & (length < 4 ? (1 << (length << 3)) - 1 : -1));
  store<u8>(lengths + n, length);
}

/** Writes an integer without leading zeros. */
function writeUint(at: usize, n: u32): usize {
  return n < 10_000 ? writeShort(at, n) : writeLong(at, n);
}

function writeLong(at: usize, n: u32): usize {
  const high = n / 10_000;
  if (high < 10_000) at = writeShort(at, high);
  else {
    const top = high / 10_000;
    at = writeFour(writeShort(at, top), high - top * 10_000);
  }
  return writeFour(at, n - high * 10_000);
}

function writeShort(at: usize, n: u32): usize {
  store<u32>(at, load<u32>(UINTS + (n << 2)));
  return at + load<u8>(UINT_LENGTHS + n);
}

function writeFour(at: usize, n: u32): usize {
  store<u32>(at, load<u32>(FOURS + (n << 2)));
  return at + 4;
}

function writeFraction(at: usize, cents: u32): usize {
  store<u32>(at, load<u32>(CENTS + (cents << 2)));
  return at + load<u8>(CENT_LENGTHS + cents);
}

/** Writes cents of 10,000 USD and more, up to 2^53. */
function writeLargeCents(at: usize, cents: u64): usize {
  const whole = cents / 100;
  const high = <u32>(whole / 100_000_000);
  const low = <u32>(whole % 100_000_000);
  if (high === 0) at = writeUint(at, low);
  else {
    const middle = low / 10_000;
    at = writeFour(writeFour(writeUint(at, high), middle), low - middle * 10_000);
  }
  return writeFraction(at, <u32>(cents % 100));
}

/**
 * Writes the amounts (f64, whole cents up to 2^53) between two addresses as USD with a comma after each, exact and in the
 * shortest form: `12,` `12.5,` `12.05,`.
 * @param marks gets the address of each amount's text as u32
 */
export function writeAmounts(at: usize, from: usize, to: usize, marks: usize): usize {
  for (; from < to; from += 8, marks += 4) {
    store<u32>(marks, at);
    const cents = <i64>load<f64>(from);
    if (cents < SHORT_CENTS) {
      const whole = <u32>cents / 100;
      at = writeFraction(writeShort(at, whole), <u32>cents - whole * 100);
    } else at = writeLargeCents(at, cents);
  }
  return at;
}

/** Writes the bins (i16) between two addresses, a comma after each. */
export function writeBins(at: usize, from: usize, to: usize): usize {
  for (; from < to; from += 2) {
    const b: u32 = load<i16>(from) - MIN_BIN;
    store<u32>(at, load<u32>(BINS + (b << 2)));
    store<u8>(at + 4, COMMA);
    at += load<u8>(BIN_LENGTHS + b);
  }
  return at;
}

/** Writes the indexes (u16) between two addresses, a comma after each. */
export function writeIndexes(at: usize, from: usize, to: usize): usize {
  for (; from < to; from += 2) {
    const index: u32 = load<u16>(from);
    if (index < SHORT_INDEXES) {
      store<u32>(at, load<u32>(INDEXES + (index << 2)));
      at += load<u8>(INDEX_LENGTHS + index);
    } else {
      at = writeUint(at, index);
      store<u8>(at++, COMMA);
    }
  }
  return at;
}
