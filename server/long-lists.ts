/** Encodes documents with lists of tens of thousands of items in turns. */
import { packMaps } from '../compute/messagepack.js';
import { arrayHeader } from '../compute/replay/msgpack.js';
import type { MessageFormat } from '../compute/replay/page-format.js';
import { Turns } from '../storage/turns.js';

/** Items encoded, and parts copied, between two checks of the clock. */
const ITEMS_AT_ONCE = 64;

interface LongLists {
  /** The document's first fields, fewer than ten. */
  fields: object;
  /** The fields after them, one or more. */
  lists: Readonly<Record<string, readonly object[]>>;
  /** An encoded document whose only field is the last one; null: there is none. */
  rest: Uint8Array | null;
}

/** The bytes of a document, as if it were encoded at once. */
export async function encodeLongLists(
  format: MessageFormat,
  { fields, lists, rest }: LongLists,
): Promise<Uint8Array> {
  const turns = new Turns();
  const parts: Uint8Array[] = [];
  const add = (text: string): void => void parts.push(Buffer.from(text));
  const isJson = format === 'json';
  const count = Object.keys(fields).length + Object.keys(lists).length + (rest === null ? 0 : 1);
  if (isJson) add(JSON.stringify(fields).slice(0, -1));
  else parts.push(Uint8Array.of(SMALL_MAP | count), packMaps(fields).subarray(1));
  let comma = Object.keys(fields).length === 0 ? '' : ',';
  for (const [name, items] of Object.entries(lists)) {
    if (isJson) add(`${comma}${JSON.stringify(name)}:[`);
    else parts.push(packMaps(name), arrayHeader(items.length));
    for (const [i, item] of items.entries()) {
      if (isJson) add(`${i === 0 ? '' : ','}${JSON.stringify(item)}`);
      else parts.push(packMaps(item));
      if (i % ITEMS_AT_ONCE === 0) await turns.take();
    }
    if (isJson) add(']');
    comma = ',';
  }
  if (rest !== null) {
    if (isJson) add(',');
    parts.push(rest.subarray(1));
  } else if (isJson) add('}');
  return concatenated(parts, turns);
}

/** A MessagePack map with up to 15 fields, together with their number. */
const SMALL_MAP = 0x80;

async function concatenated(parts: readonly Uint8Array[], turns: Turns): Promise<Uint8Array> {
  const whole = Buffer.allocUnsafeSlow(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const [i, part] of parts.entries()) {
    whole.set(part, at);
    at += part.length;
    if (i % ITEMS_AT_ONCE === 0) await turns.take();
  }
  return whole;
}
