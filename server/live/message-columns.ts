/** The markets and groups that a message of snapshots names: those with cells in it, as `market_idx` and `group_idx` index them. */
import type { Market } from '../../compute/market.js';
import { listedMarket } from '../../compute/replay/page.js';
import type { PageGroup, ReplayGroup } from '../../compute/replay/query.js';
import { encodeLongLists } from '../long-lists.js';
import type { LiveFormat } from './protocol.js';

/** What the slots of a token's markets stand for. */
interface SlotNames {
  group: ReplayGroup;
  /** The slot of each market; -1: it is left out. */
  slot: Int32Array;
  markets: readonly Market[];
  groups: readonly PageGroup[];
}

/**
 * Puts the fields `markets` and `groups` before those of an encoded document.
 * @param slots in use, ascending
 * @param body a document with one field
 */
export function withColumns(
  format: LiveFormat,
  names: SlotNames,
  slots: Uint16Array,
  body: Uint8Array,
): Promise<Uint8Array> {
  const isMarkets = names.group === 'market';
  const markets = isMarkets ? marketsOf(names, slots) : [];
  const groups = isMarkets ? [] : Array.from(slots, (slot) => names.groups[slot]);
  return encodeLongLists(format, { fields: {}, lists: { markets, groups }, rest: body });
}

function marketsOf({ slot, markets }: SlotNames, slots: Uint16Array): object[] {
  const listed: object[] = [];
  // Slots ascend with the markets.
  for (let m = 0; m < slot.length && listed.length < slots.length; m++) {
    if (slot[m] === slots[listed.length]) listed.push(listedMarket(markets[m]));
  }
  return listed;
}
