/**
 * Columns of the flat formats, one row a cell. With group=market they are those of the dataset
 * `cells` (data.md 3), so that what was replayed can be ingested elsewhere.
 */
import { venueKey } from '../../compute/market.js';
import { indexKeyOf, type RemoteGroup, type RemoteMarket, type RemoteSnapshot } from './page.js';
import type { Totals } from './totals.js';

export interface TextColumn {
  name: string;
  nullable: boolean;
  /** One value a market or group; null also where it is not known, as no page has a cell of it. */
  values: readonly (string | null)[];
}

/** Columns that come before the ones of slotColumns. */
export const SNAPSHOT_COLUMNS = ['chain', 'address', 't', 'tier', 'price_usd'] as const;
/** Columns that come after them. */
export const CELL_COLUMNS = ['bin', 'support_usd', 'resistance_usd'] as const;

/** What tells the markets or groups of a grouping apart; none with group=all. */
export function slotColumns({ head, slots, facets }: Totals): TextColumn[] {
  switch (head.group) {
    case 'all':
      return [];
    case 'market': {
      const markets = slots as RemoteMarket[];
      const types = new Map(facets?.venues.map(({ key, type }) => [key, type]));
      return [
        column('source', false, markets, ({ source }) => source),
        column('exchange_type', false, markets, ({ exchange_type }) => exchange_type),
        // A venue has one type, and facets name every venue with a cell.
        column('type', false, markets, ({ source }) => types.get(venueKey(source)) ?? null),
        column('market_address', true, markets, ({ address }) => address),
        column('pair', true, markets, ({ pair }) => pair),
      ];
    }
    default: {
      const groups = slots as RemoteGroup[];
      return [
        column('group_key', false, groups, ({ key }) => key),
        column('group_label', false, groups, ({ label }) => label),
        column('type', false, groups, ({ type }) => type),
      ];
    }
  }
}

function column<T>(
  name: string,
  nullable: boolean,
  slots: readonly T[],
  value: (slot: T) => string | null,
): TextColumn {
  return { name, nullable, values: slots.map(value) };
}

/** The address that the data is of: the mint where a `0x` leg was answered from it. */
export function dataAddress({ head }: Totals): string {
  return head.resolved_token ?? head.token;
}

/** Indexes of a snapshot's cells into the slots; null where there are none. */
export function slotIndexes(snapshot: RemoteSnapshot, { head }: Totals): number[] | null {
  const key = indexKeyOf(head.group);
  return key === null ? null : (snapshot[key] as number[]);
}
