/** MessagePack: within Fathom, where typed arrays keep their type, and as clients read and write it. */
import { Packr, Unpackr, unpack as unpackPlain } from 'msgpackr';

const packr = new Packr({ useRecords: false, moreTypes: true });
const unpackr = new Unpackr({ useRecords: false, moreTypes: true });
/** Plain maps; undefined values are left out, as in JSON. */
const mapPackr = new Packr({
  useRecords: false,
  variableMapSize: true,
  skipValues: [undefined],
} as ConstructorParameters<typeof Packr>[0]);

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

/** Decodes a client's message. @throws Error */
export const unpackMaps = (bytes: Uint8Array): unknown => unpackPlain(bytes);
