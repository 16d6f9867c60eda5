/** The markets and groups that a message of snapshots names: those with cells in it, as `market_idx` and `group_idx` index them. */
import type { Market } from '../../compute/market.js';
import { packMaps } from '../../compute/messagepack.js';
import { arrayHeader } from '../../compute/replay/msgpack.js';
import { listedMarket } from '../../compute/replay/page.js';
import type { PageGroup, ReplayGroup } from '../../compute/replay/query.js';
import { Turns } from '../../storage/turns.js';
import type { LiveFormat } from './protocol.js';

/** Items encoded between two checks of the clock. */
const ITEMS_AT_ONCE = 256;

/** What the slots of a token's markets stand for. */
export interface SlotNames {
  group: ReplayGroup;
  /** The slot of each market; -1: it is left out. */
  slot: Int32Array;
  markets: readonly Market[];
  groups: readonly PageGroup[];
}

/**
 * Puts the fields `markets` and `groups` before those of an encoded document, in turns: a token may have tens of
 * thousands of markets with long names.
 * @param slots in use, ascending
 * @param body a document with one field
 */
export async function withColumns(
  format: LiveFormat,
  names: SlotNames,
  slots: Uint16Array,
  body: Uint8Array,
): Promise<Uint8Array> {
  const turns = new Turns();
  const isMarkets = names.group === 'market';
  const markets = isMarkets ? marketsOf(names, slots) : [];
  const groups = isMarkets ? [] : Array.from(slots, (slot) => names.groups[slot]);
  const parts =
    format === 'json'
      ? [
          Buffer.from('{"markets":['),
          ...(await encodedItems(
            markets,
            turns,
            (item) => Buffer.from(JSON.stringify(item)),
            COMMA,
          )),
          Buffer.from('],"groups":['),
          ...(await encodedItems(
            groups,
            turns,
            (item) => Buffer.from(JSON.stringify(item)),
            COMMA,
          )),
          Buffer.from('],'),
          body.subarray(1),
        ]
      : [
          Uint8Array.of(MAP_OF_THREE),
          packMaps('markets'),
          arrayHeader(markets.length),
          ...(await encodedItems(markets, turns, packMaps)),
          packMaps('groups'),
          arrayHeader(groups.length),
          ...(await encodedItems(groups, turns, packMaps)),
          body.subarray(1),
        ];
  return Buffer.concat(parts);
}

const COMMA = Buffer.from(',');
/** A MessagePack map of three fields. */
const MAP_OF_THREE = 0x83;

function marketsOf({ slot, markets }: SlotNames, slots: Uint16Array): object[] {
  const listed: object[] = [];
  // Slots ascend with the markets.
  for (let m = 0; m < slot.length && listed.length < slots.length; m++) {
    if (slot[m] === slots[listed.length]) listed.push(listedMarket(markets[m]));
  }
  return listed;
}

async function encodedItems(
  items: readonly object[],
  turns: Turns,
  encode: (item: object) => Uint8Array,
  separator?: Uint8Array,
): Promise<Uint8Array[]> {
  const parts: Uint8Array[] = [];
  for (const [i, item] of items.entries()) {
    if (i > 0 && separator !== undefined) parts.push(separator);
    parts.push(encode(item));
    if (i % ITEMS_AT_ONCE === 0) await turns.take();
  }
  return parts;
}
