/** MessagePack of frames, entries and messages between nodes. Typed arrays keep their type. */
import { Packr, Unpackr } from 'msgpackr';

const packr = new Packr({ useRecords: false, moreTypes: true });
const unpackr = new Unpackr({ useRecords: false, moreTypes: true });

export const pack = (value: unknown): Buffer => packr.pack(value);

/** Decodes a value. Binary parts are copies, aligned for any typed array. @throws Error */
export const unpack = (bytes: Uint8Array): unknown => unpackr.unpack(bytes);

/** Null if the bytes cannot be decoded. */
export function unpackOrNull<T>(bytes: Uint8Array): T | null {
  try {
    return unpack(bytes) as T;
  } catch {
    return null;
  }
}
