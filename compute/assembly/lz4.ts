/** Decompresses blocks of LZ4 (lz4_Block_format.md). */

const MIN_MATCH_BYTES: u32 = 4;
/** A length with this value continues in further bytes. */
const LENGTH_CONTINUES: u32 = 15;
/** Copies that are shorter are made word by word. */
const LONG_COPY_BYTES: u32 = 64;
const WORD_BYTES: u32 = 8;

/**
 * Decompresses the block between two addresses into the bytes between two others. Copies may read and write up to eight
 * bytes after either end. Returns whether the block has exactly these bytes; if not, they have any contents.
 */
export function lz4Decompress(from: u32, fromEnd: u32, start: u32, end: u32): bool {
  let to = start;
  while (from < fromEnd) {
    const token: u32 = load<u8>(from++);
    let length = token >> 4;
    if (length === LENGTH_CONTINUES) {
      let more: u32 = 255;
      while (more === 255 && from < fromEnd) {
        more = load<u8>(from++);
        length += more;
      }
    }
    if (length > fromEnd - from || length > end - to) return false;
    copy(to, from, length);
    to += length;
    from += length;
    // A block ends with literals.
    if (from === fromEnd) return to === end;
    if (from + 2 > fromEnd) return false;
    const distance: u32 = load<u16>(from);
    from += 2;
    length = token & 15;
    if (length === LENGTH_CONTINUES) {
      let more: u32 = 255;
      while (more === 255 && from < fromEnd) {
        more = load<u8>(from++);
        length += more;
      }
    }
    length += MIN_MATCH_BYTES;
    if (length > end - to || distance === 0 || distance > to - start) return false;
    repeat(to, distance, length);
    to += length;
  }
  return false;
}

function copy(to: u32, from: u32, length: u32): void {
  if (length > LONG_COPY_BYTES) memory.copy(to, from, length);
  else {
    for (const end = to + length; to < end; to += WORD_BYTES, from += WORD_BYTES) {
      store<u64>(to, load<u64>(from));
    }
  }
}

/** Repeats the bytes `distance` before `to`; they may overlap the bytes being written. */
function repeat(to: u32, distance: u32, length: u32): void {
  const end = to + length;
  if (distance >= WORD_BYTES) {
    if (distance >= length) copy(to, to - distance, length);
    else for (; to < end; to += WORD_BYTES) store<u64>(to, load<u64>(to - distance));
  } else for (; to < end; to++) store<u8>(to, load<u8>(to - distance));
}
