/** Numbers as MessagePack. Every writer takes an address and returns the one after its last byte. */

const FIXARRAY: u32 = 0x90;
const FLOAT64: u8 = 0xcb;
const UINT8: u8 = 0xcc;
const UINT16: u8 = 0xcd;
const INT8: u8 = 0xd0;
const INT16: u8 = 0xd1;
const ARRAY16: u8 = 0xdc;
const ARRAY32: u8 = 0xdd;

export function packArrayHeader(at: usize, length: u32): usize {
  if (length < 16) {
    store<u8>(at, FIXARRAY | length);
    return at + 1;
  }
  if (length < 0x1_0000) return pack16(at, ARRAY16, length);
  store<u8>(at, ARRAY32);
  store<u32>(at + 1, bswap<u32>(length));
  return at + 5;
}

/** Writes the amounts (f64, whole cents) between two addresses as doubles of USD, with the highest byte first. */
export function packAmounts(at: usize, from: usize, to: usize): usize {
  for (; from < to; from += 8, at += 9) {
    store<u8>(at, FLOAT64);
    store<u64>(at + 1, bswap<u64>(reinterpret<u64>(load<f64>(from) / 100)));
  }
  return at;
}

/** Writes the bins (i16) between two addresses. */
export function packBins(at: usize, from: usize, to: usize): usize {
  for (; from < to; from += 2) at = packInteger(at, load<i16>(from));
  return at;
}

/** Writes the indexes (u16) between two addresses. */
export function packIndexes(at: usize, from: usize, to: usize): usize {
  for (; from < to; from += 2) at = packInteger(at, load<u16>(from));
  return at;
}

/** Writes an integer from -32,768 to 65,535 in its shortest form. */
function packInteger(at: usize, value: i32): usize {
  if (value >= -32 && value < 128) {
    store<u8>(at, value);
    return at + 1;
  }
  if (value >= 256) return pack16(at, UINT16, value);
  if (value < -128) return pack16(at, INT16, value);
  store<u8>(at, value < 0 ? INT8 : UINT8);
  store<u8>(at + 1, value);
  return at + 2;
}

function pack16(at: usize, type: u8, value: u32): usize {
  store<u8>(at, type);
  store<u16>(at + 1, bswap<u16>(<u16>value));
  return at + 3;
}
