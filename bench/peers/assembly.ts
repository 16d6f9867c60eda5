/** Makes the reply's JSON from a database's rows, columns or JSON texts. */
import { snapshotsOfColumns, type CellColumns, type PlainSnapshot } from './content.js';

/** Prices by `t`. */
export type Prices = ReadonlyMap<number, number>;

/** @param rows t, market, bin, support and resistance of a cell, in order */
export function textOfRows(token: string, rows: readonly number[][], prices: Prices): string {
  const snapshots: PlainSnapshot[] = [];
  let open: PlainSnapshot | undefined;
  for (const [t, market, bin, support, resistance] of rows) {
    if (open?.t !== t) snapshots.push((open = emptySnapshot(t, prices)));
    open.market_idx.push(market);
    open.bin.push(bin);
    open.support_usd.push(support);
    open.resistance_usd.push(resistance);
  }
  return textOf(token, snapshots);
}

export function textOfColumns(token: string, cells: CellColumns, prices: Prices): string {
  const priceOf = (row: number): number => priceAt(prices, cells.t[row]);
  return textOf(token, snapshotsOfColumns(cells, priceOf));
}

/** @param cellTexts `t` and the text of a JSON object with the snapshot's arrays, in order */
export function textOfObjects(
  token: string,
  cellTexts: readonly (readonly [t: number, object: string])[],
  prices: Prices,
): string {
  const snapshots = cellTexts.map(
    ([t, object]) => `{"t":${t},"price_usd":${priceAt(prices, t)},${object.slice(1)}`,
  );
  return `{"token":"${token}","snapshot_count":${snapshots.length},"snapshots":[${snapshots.join(',')}]}`;
}

function textOf(token: string, snapshots: readonly PlainSnapshot[]): string {
  return JSON.stringify({ token, snapshot_count: snapshots.length, snapshots });
}

function emptySnapshot(t: number, prices: Prices): PlainSnapshot {
  const arrays = { market_idx: [], bin: [], support_usd: [], resistance_usd: [] };
  return { t, price_usd: priceAt(prices, t), ...arrays };
}

/** @throws Error if there is no price */
export function priceAt(prices: Prices, t: number): number {
  const price = prices.get(t);
  if (price === undefined) throw new Error(`no price at ${t}`);
  return price;
}
