/** The columns of an Arrow page. Addresses are multiples of their values' bytes; `offsets` has each snapshot's first cell. */

/** Repeats each snapshot's value, of 2^`widthBits` bytes, for its cells. */
export function repeatValues(
  to: usize,
  widthBits: u32,
  offsets: usize,
  snapshots: u32,
  values: usize,
): void {
  for (let s: u32 = 0; s < snapshots; s++) {
    const end = to + (load<u32>(offsets + (s << 2), 4) << widthBits);
    let at = to + (load<u32>(offsets + (s << 2)) << widthBits);
    if (widthBits === 3) {
      const value = load<u64>(values + (s << 3));
      for (; at < end; at += 8) store<u64>(at, value);
    } else if (widthBits === 2) {
      const value = load<u32>(values + (s << 2));
      for (; at < end; at += 4) store<u32>(at, value);
    } else memory.fill(at, load<u8>(values + s), end - at);
  }
}

/** Writes the code (i32) of each cell's index (u16); 0 for those below 0, which stand for null. */
export function writeCodes(to: usize, index: usize, rows: u32, codes: usize): void {
  for (const end = index + (rows << 1); index < end; index += 2, to += 4) {
    const code = load<i32>(codes + ((<u32>load<u16>(index)) << 2));
    store<i32>(to, code & ~(code >> 31));
  }
}

/** Sets the bit of each cell whose code is not below 0, counted from the lowest of each byte. */
export function writeValidity(to: usize, index: usize, rows: u32, codes: usize): void {
  for (let row: u32 = 0; row < rows; row += 8, to++) {
    let bits: u32 = 0;
    for (let bit: u32 = 0, count = min<u32>(8, rows - row); bit < count; bit++) {
      const code = load<u32>(codes + ((<u32>load<u16>(index + ((row + bit) << 1))) << 2));
      bits |= ((code >> 31) ^ 1) << bit;
    }
    store<u8>(to, bits);
  }
}

/** Writes cents (f64) as USD. */
export function writeUsd(to: usize, cents: usize, rows: u32): void {
  for (const end = cents + (rows << 3); cents < end; cents += 8, to += 8) {
    store<f64>(to, load<f64>(cents) / 100);
  }
}

/**
 * Writes the price of each cell's bin (i16): its snapshot's price (f64) times the bin's factor.
 * @param factors the address of bin 0's factor
 */
export function writePrices(
  to: usize,
  offsets: usize,
  snapshots: u32,
  prices: usize,
  bin: usize,
  factors: usize,
): void {
  for (let s: u32 = 0; s < snapshots; s++) {
    const price = load<f64>(prices + (s << 3));
    const end = load<u32>(offsets + (s << 2), 4);
    for (let row = load<u32>(offsets + (s << 2)); row < end; row++) {
      const factor = factors + ((<i32>load<i16>(bin + (row << 1))) << 3);
      store<f64>(to + (row << 3), price * load<f64>(factor));
    }
  }
}
