/** CSV (RFC 4180, lines end in \n): a header, then a row a cell. Null is empty, empty is `""`. */
import {
  CELL_COLUMNS,
  SNAPSHOT_COLUMNS,
  dataAddress,
  slotColumns,
  slotIndexes,
} from './columns.js';
import type { RemotePage, RemoteSnapshot } from './page.js';
import type { Totals } from './totals.js';
import { isFirst, type Chunk, type PageWriter } from './writer.js';

export const csvWriter: PageWriter = {
  *page(page, totals) {
    const columns = slotColumns(totals);
    if (isFirst(totals)) {
      const names = columns.map(({ name }) => name);
      yield `${[...SNAPSHOT_COLUMNS, ...names, ...CELL_COLUMNS].join(',')}\n`;
    }
    const fixed = `${csvField(totals.head.chain)},${csvField(dataAddress(totals))}`;
    const slotTexts = totals.slots.map((_, slot) =>
      columns.map(({ values }) => `,${csvField(values[slot])}`).join(''),
    );
    yield* cellLines(page, totals, fixed, slotTexts);
  },
  end: () => [],
};

/**
 * A line a cell, a chunk a snapshot.
 * @param fixed what every line begins with
 * @param slotTexts what a line says of its market or group, from the comma on
 */
export function* cellLines(
  page: RemotePage,
  totals: Totals,
  fixed: string,
  slotTexts: readonly string[],
): Iterable<Chunk> {
  for (const snapshot of page.snapshots) {
    const { t, tier, price_usd } = snapshot;
    const before = `${fixed},${t},${csvField(tier)},${price_usd}`;
    yield snapshotLines(snapshot, before, slotTexts, slotIndexes(snapshot, totals));
  }
}

function snapshotLines(
  { bin, support_usd, resistance_usd }: RemoteSnapshot,
  before: string,
  slotTexts: readonly string[],
  indexes: readonly number[] | null,
): string {
  let lines = '';
  for (let i = 0; i < bin.length; i++) {
    const slot = indexes === null ? '' : slotTexts[indexes[i]];
    lines += `${before}${slot},${bin[i]},${support_usd[i]},${resistance_usd[i]}\n`;
  }
  return lines;
}

/** A text as a field: quoted where it has to be. */
export function csvField(text: string | null): string {
  if (text === null) return '';
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
