/**
 * NDJSON: a line a snapshot, complete in itself. With group=market it is a row of the dataset
 * `snapshots` (data.md 3), so that what was replayed can be ingested elsewhere.
 */
import { dataAddress, slotColumns, slotIndexes } from './columns.js';
import type { RemoteSnapshot } from './page.js';
import type { Totals } from './totals.js';
import type { PageWriter } from './writer.js';

type Cell = [bin: number, supportUsd: number, resistanceUsd: number];
type SlotText = Record<string, string | null>;

export const ndjsonWriter: PageWriter = {
  *page(page, totals) {
    const slots = slotTexts(totals);
    for (const snapshot of page.snapshots) {
      yield `${JSON.stringify(lineOf(snapshot, totals, slots))}\n`;
    }
  },
  end: () => [],
};

/** What is said of each market (as a row of `snapshots` has it) or group. */
function slotTexts(totals: Totals): SlotText[] {
  const columns = slotColumns(totals);
  // Inside a market `address` can only be its own.
  const names = columns.map(({ name }) => (name === 'market_address' ? 'address' : name));
  return totals.slots.map((_, slot) =>
    Object.fromEntries(columns.map(({ values }, c) => [names[c], values[slot]])),
  );
}

function lineOf(snapshot: RemoteSnapshot, totals: Totals, slots: readonly SlotText[]): object {
  const { t, tier, price_usd, bin, support_usd, resistance_usd } = snapshot;
  const line = { chain: totals.head.chain, address: dataAddress(totals), t, tier, price_usd };
  const cellAt = (i: number): Cell => [bin[i], support_usd[i], resistance_usd[i]];
  const indexes = slotIndexes(snapshot, totals);
  if (indexes === null) return { ...line, cells: bin.map((_, i) => cellAt(i)) };
  const cellsOfSlot = new Map<number, Cell[]>();
  indexes.forEach((slot, i) => {
    const cells = cellsOfSlot.get(slot);
    if (cells === undefined) cellsOfSlot.set(slot, [cellAt(i)]);
    else cells.push(cellAt(i));
  });
  const listed = [...cellsOfSlot].map(([slot, cells]) => ({ ...slots[slot], cells }));
  return { ...line, [totals.head.group === 'market' ? 'markets' : 'groups']: listed };
}
