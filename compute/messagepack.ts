/** MessagePack: within Fathom, where typed arrays keep their type, and as clients read and write it. */
import { Packr, Unpackr } from 'msgpackr';

const packr = new Packr({ useRecords: false, moreTypes: true });
const unpackr = new Unpackr({ useRecords: false, moreTypes: true });
/** Plain maps; undefined values are left out, as in JSON. */
const mapPackr = new Packr({
  useRecords: false,
  variableMapSize: true,
  skipValues: [undefined],
} as ConstructorParameters<typeof Packr>[0]);

/** Integers of 64 bits are numbers, as in JSON. */
const mapUnpackr = new Unpackr({ useRecords: false, int64AsType: 'number' });

/** For frames, entries and messages between nodes. */
export const pack = (value: unknown): Buffer => packr.pack(value);

/** Decodes what pack() made. Binary parts are copies, aligned for any typed array. @throws Error */
export const unpack = (bytes: Uint8Array): unknown => unpackr.unpack(bytes);

/** Like unpack(); null if the bytes cannot be decoded. */
export function unpackOrNull<T>(bytes: Uint8Array): T | null {
  try {
    return unpack(bytes) as T;
  } catch {
    return null;
  }
}

/** For replies and messages to clients. */
export const packMaps = (value: unknown): Buffer => mapPackr.pack(value);

/**
 * Decodes a client's message. Extensions are refused before the library sees them: it would make objects of any kind
 * from them, and functions from its own.
 * @throws Error
 */
export function unpackMaps(bytes: Uint8Array): unknown {
  if (endOf(bytes, 0, 1) !== bytes.length) throw new Error('not one value of the standard types');
  return mapUnpackr.unpack(bytes);
}

/** Levels of lists and maps in a client's message. */
const MAX_LEVELS = 16;

/** By the first byte of a value, from 0xc0 on: the bytes that follow, or that have a length; null: refused. */
type Form = null | number | { length: 1 | 2 | 4; of: 'bytes' | 'items' | 'pairs' };
const inBytes = (length: 1 | 2 | 4): Form => ({ length, of: 'bytes' });
const FORMS: readonly Form[] = [
  // nil, the type that is never used, false, true
  ...[0, null, 0, 0],
  // bin
  ...[inBytes(1), inBytes(2), inBytes(4)],
  // ext
  ...[null, null, null],
  // float, uint, int
  ...[4, 8, 1, 2, 4, 8, 1, 2, 4, 8],
  // fixext
  ...[null, null, null, null, null],
  // str
  ...[inBytes(1), inBytes(2), inBytes(4)],
  ...([2, 4] as const).map((length): Form => ({ length, of: 'items' })),
  ...([2, 4] as const).map((length): Form => ({ length, of: 'pairs' })),
];

/** Where the value at a position ends; NaN if it has an extension or too many levels, or is cut short. */
function endOf(bytes: Uint8Array, at: number, level: number): number {
  if (level > MAX_LEVELS || !(at < bytes.length)) return NaN;
  const type = bytes[at];
  if (type < 0x80 || type >= 0xe0) return at + 1;
  if (type < 0x90) return endOfItems(bytes, at + 1, 2 * (type & 0x0f), level);
  if (type < 0xa0) return endOfItems(bytes, at + 1, type & 0x0f, level);
  if (type < 0xc0) return at + 1 + (type & 0x1f);
  const form = FORMS[type - 0xc0];
  if (form === null) return NaN;
  if (typeof form === 'number') return at + 1 + form;
  const from = at + 1 + form.length;
  const length = bytes.subarray(at + 1, from).reduce((sum, byte) => sum * 256 + byte, 0);
  if (form.of === 'bytes') return from + length;
  return endOfItems(bytes, from, form.of === 'pairs' ? 2 * length : length, level);
}

function endOfItems(bytes: Uint8Array, from: number, count: number, level: number): number {
  let at = from;
  for (let i = 0; i < count && at <= bytes.length; i++) at = endOf(bytes, at, level + 1);
  return at;
}
