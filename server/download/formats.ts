/**
 * The formats that are written page by page. With group=market, NDJSON rows fit the dataset
 * `snapshots` and CSV rows `cells` (docs/definitions.md#datasets), so that a download can be ingested
 * elsewhere.
 */
import { pushTo } from '../../compute/collections.js';
import { venueKey } from '../../compute/market.js';
import {
  indexKeyOf,
  type RemoteGroup,
  type RemoteMarket,
  type RemotePage,
  type RemoteSnapshot,
} from './page.js';
import type { FacetSum, Totals } from './totals.js';

export const REPLAY_FORMATS = ['json', 'ndjson', 'csv', 'arrow', 'parquet'] as const;
export type ReplayFormat = (typeof REPLAY_FORMATS)[number];

/** Writes pages in a format. It keeps no state, so that a download can be resumed. */
export interface PageWriter {
  /** Text that a page appends to the part file. @param totals including this page */
  page(page: RemotePage, totals: Totals): Iterable<string>;
  /** Text that completes the part file. */
  end?(totals: Totals): string;
  /** Converts the completed part file to the output file, if they differ. */
  convert?(totals: Totals, part: string, to: string): Promise<void>;
}

/** One document, like a reply without page limits. */
export const jsonWriter: PageWriter = {
  *page(page, totals) {
    if (totals.pages === 1) {
      // JSON.stringify omits undefined fields: window and filter are known only at the end, and follow the snapshots.
      const fields = { ...totals.head, window: undefined, filter: undefined };
      yield `${JSON.stringify(fields).slice(0, -1)},"snapshots":[`;
    }
    let first = totals.snapshots === page.snapshots.length;
    for (const snapshot of page.snapshots) {
      yield `${first ? '' : ','}\n${JSON.stringify(snapshot)}`;
      first = false;
    }
  },
  end: (totals) => `\n],${JSON.stringify(lastFields(totals)).slice(1)}\n`,
};

/** Fields that are known only after the last page. */
function lastFields(totals: Totals): object {
  const { head, slots, facets } = totals;
  const mean = ({ cents, ...facet }: FacetSum) => ({
    ...facet,
    usd: cents / (100 * (facets?.frames ?? 0)),
  });
  return {
    window: { ...head.window, served_from: totals.servedFrom, served_to: totals.servedTo },
    next_from: null,
    filter: { ...head.filter, venues_not_found: totals.venuesNotFound },
    snapshot_count: totals.snapshots,
    row_count: totals.cells,
    markets: head.group === 'market' ? slots : [],
    groups: head.group === 'market' ? [] : slots,
    ...(facets === null
      ? {}
      : {
          facets: {
            frames: facets.frames,
            types: facets.types.map(mean),
            venues: facets.venues.map(mean),
          },
        }),
  };
}

type Cell = [bin: number, supportUsd: number, resistanceUsd: number];

/** One self-contained line per snapshot. */
export const ndjsonWriter: PageWriter = {
  *page(page, totals) {
    const columns = slotColumns(totals);
    const slots = totals.slots.map((_, slot) =>
      Object.fromEntries(
        // Within a market, the name `address` is unambiguous.
        columns.map(({ name, values }) => [
          name === 'market_address' ? 'address' : name,
          values[slot],
        ]),
      ),
    );
    for (const snapshot of page.snapshots) {
      yield `${JSON.stringify(lineOf(snapshot, totals, slots))}\n`;
    }
  },
};

function lineOf(snapshot: RemoteSnapshot, totals: Totals, slots: readonly object[]): object {
  const { t, tier, price_usd, bin, support_usd, resistance_usd } = snapshot;
  const line = { chain: totals.head.chain, address: dataAddress(totals), t, tier, price_usd };
  const cellAt = (i: number): Cell => [bin[i], support_usd[i], resistance_usd[i]];
  const indexes = slotIndexes(snapshot, totals);
  if (indexes === null) return { ...line, cells: bin.map((_, i) => cellAt(i)) };
  const cellsOfSlot = new Map<number, Cell[]>();
  indexes.forEach((slot, i) => pushTo(cellsOfSlot, slot, cellAt(i)));
  const listed = [...cellsOfSlot].map(([slot, cells]) => ({ ...slots[slot], cells }));
  return { ...line, [totals.head.group === 'market' ? 'markets' : 'groups']: listed };
}

/** RFC 4180 with \n line ends: a header, then one row per cell. Null is empty, an empty text `""`. */
export const csvWriter: PageWriter = {
  *page(page, totals) {
    const columns = slotColumns(totals);
    if (totals.pages === 1) yield `${columnNames(totals).join(',')}\n`;
    const slotTexts = totals.slots.map((_, slot) =>
      columns.map(({ values }) => `,${csvField(values[slot])}`).join(''),
    );
    const { chain } = totals.head;
    yield* cellLines(
      page,
      totals,
      `${csvField(chain)},${csvField(dataAddress(totals))},`,
      slotTexts,
    );
  },
};

/**
 * One line per cell, as one text per snapshot.
 * @param prefix start of every line
 * @param slotTexts fields of each market or group, with their leading comma
 */
export function* cellLines(
  page: RemotePage,
  totals: Totals,
  prefix: string,
  slotTexts: readonly string[],
): Iterable<string> {
  for (const snapshot of page.snapshots) {
    const { t, tier, price_usd, bin, support_usd, resistance_usd } = snapshot;
    const indexes = slotIndexes(snapshot, totals);
    const before = `${prefix}${t},${csvField(tier)},${price_usd}`;
    let lines = '';
    for (let i = 0; i < bin.length; i++) {
      const slot = indexes === null ? '' : slotTexts[indexes[i]];
      lines += `${before}${slot},${bin[i]},${support_usd[i]},${resistance_usd[i]}\n`;
    }
    yield lines;
  }
}

/** A field of CSV (RFC 4180). */
export function csvField(text: string | null): string {
  if (text === null) return '';
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A text column that describes markets or groups. */
interface SlotColumn {
  name: string;
  nullable: boolean;
  /** One value per market or group; also null if no page has a cell of it. */
  values: readonly (string | null)[];
}

export function columnNames(totals: Totals): string[] {
  const slots = slotColumns(totals).map(({ name }) => name);
  const [before, after] = ['chain address t tier price_usd', 'bin support_usd resistance_usd'];
  return [...before.split(' '), ...slots, ...after.split(' ')];
}

/** The columns that describe markets or groups; none with group=all. */
export function slotColumns({ head, slots, facets }: Totals): SlotColumn[] {
  if (head.group === 'all') return [];
  if (head.group === 'market') {
    const markets = slots as RemoteMarket[];
    // A venue has one type, and facets name every venue with a cell.
    const types = new Map(facets?.venues.map(({ key, type }) => [key, type]));
    return [
      column('source', false, markets, ({ source }) => source),
      column('exchange_type', false, markets, ({ exchange_type }) => exchange_type),
      column('type', false, markets, ({ source }) => types.get(venueKey(source)) ?? null),
      column('market_address', true, markets, ({ address }) => address),
      column('pair', true, markets, ({ pair }) => pair),
    ];
  }
  const groups = slots as RemoteGroup[];
  return [
    column('group_key', false, groups, ({ key }) => key),
    column('group_label', false, groups, ({ label }) => label),
    column('type', false, groups, ({ type }) => type),
  ];
}

function column<T>(
  name: string,
  nullable: boolean,
  slots: readonly T[],
  value: (slot: T) => string | null,
): SlotColumn {
  return { name, nullable, values: slots.map(value) };
}

/** The address that the data belong to: the mint, if its data are shown for a `0x` address. */
export function dataAddress({ head }: Totals): string {
  return head.resolved_token ?? head.token;
}

/** Indexes of a snapshot's cells into the slots; null with group=all. */
function slotIndexes(snapshot: RemoteSnapshot, { head }: Totals): number[] | null {
  const key = indexKeyOf(head.group);
  return key === null ? null : (snapshot[key] ?? []);
}
