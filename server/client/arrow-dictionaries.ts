/** Text columns of Arrow output: distinct values, and codes that mean the same on every page. */
import { dataAddress, slotColumns } from './columns.js';
import type { Totals } from './totals.js';

/** A text column as a dictionary. */
export interface EncodedColumn {
  name: string;
  /** What decides a row's value: nothing, its snapshot's tier, or its market or group. */
  by: 'window' | 'tier' | 'slot';
  nullable: boolean;
  distinct: readonly string[];
  /** Index into `distinct` of each of the totals' tiers or slots; -1 for null. */
  codes: readonly number[];
}

/**
 * The text columns in their order. Distinct values stand in the order of the totals' lists, which
 * only ever grow at their ends: a code once given stays.
 */
export function encodedColumns(totals: Totals): EncodedColumn[] {
  const ofSlots = slotColumns(totals).map(({ name, nullable, values }) => {
    const byVenue = name === 'type' && totals.head.group === 'market';
    return encoded(name, 'slot', nullable, values, byVenue ? venueTypes(totals) : values);
  });
  return [
    encoded('chain', 'window', false, [totals.head.chain]),
    encoded('address', 'window', false, [dataAddress(totals)]),
    encoded('tier', 'tier', false, totals.tiers),
    ...ofSlots,
  ];
}

/** A market's type is known from when its venue has depth: in the venues' order, not the markets'. */
function venueTypes({ facets }: Totals): (string | null)[] {
  return facets?.venues.map(({ type }) => type ?? null) ?? [];
}

function encoded(
  name: string,
  by: EncodedColumn['by'],
  nullable: boolean,
  values: readonly (string | null)[],
  inOrder = values,
): EncodedColumn {
  const distinct = [...new Set(inOrder.filter((value) => value !== null))];
  const codeOf = new Map(distinct.map((text, code) => [text, code]));
  const codes = values.map((value) => (value === null ? -1 : (codeOf.get(value) ?? -1)));
  return { name, by, nullable, distinct, codes };
}
