/** The markets and groups that a message of snapshots names: those with cells in it, as `market_idx` and `group_idx` index them. */
import type { Market } from '../../compute/market.js';
import { listedMarket } from '../../compute/replay/page.js';
import {
  bytesOfGroup,
  factsOfMarkets,
  type PageGroup,
  type ReplayGroup,
} from '../../compute/replay/query.js';
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

/** Bytes of the names that a message lists. @param slots as of withColumns() */
export function bytesOfColumns(names: SlotNames, slots: Uint16Array): number {
  const { group, slot, markets, groups } = names;
  if (group !== 'market') return slots.reduce((sum, i) => sum + bytesOfGroup(groups[i]), 0);
  const { marketBytes } = factsOfMarkets(markets);
  return marketsIn(slot, slots).reduce((sum, m) => sum + marketBytes[m], 0);
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
  const markets = isMarkets
    ? marketsIn(names.slot, slots).map((m) => listedMarket(names.markets[m]))
    : [];
  const groups = isMarkets ? [] : Array.from(slots, (slot) => names.groups[slot]);
  return encodeLongLists(format, { fields: {}, lists: { markets, groups }, rest: body });
}

/** Indexes of the markets with these slots. */
function marketsIn(slot: Int32Array, slots: Uint16Array): number[] {
  const found: number[] = [];
  // Slots ascend with the markets.
  for (let m = 0; m < slot.length && found.length < slots.length; m++) {
    if (slot[m] === slots[found.length]) found.push(m);
  }
  return found;
}
