/** Messages between nodes, which are no entries: MessagePack. */
import { Packr, Unpackr } from 'msgpackr';

const packr = new Packr({ useRecords: false });
const unpackr = new Unpackr({ useRecords: false });

export const packMessage = (value: unknown): Uint8Array => packr.pack(value);

/** null: the bytes are no message of a node. */
export function unpackMessage<T>(data: Uint8Array): T | null {
  try {
    return unpackr.unpack(data) as T;
  } catch {
    return null;
  }
}
