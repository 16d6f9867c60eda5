/** Rows of dataset `snapshots` from files whose schema gives all entries of a list the same type. */

import { type Fields, isFields } from './fields.js';

/** The fields of list entries that are structs, in the order of the NDJSON lists. */
const ENTRY_FIELDS: Readonly<Record<string, readonly string[]>> = {
  cells: ['bin', 'support_usd', 'resistance_usd'],
  bids: ['price_usd', 'size'],
  asks: ['price_usd', 'size'],
  ticks: ['tick', 'liquidity_net'],
  bins: ['id', 'amount_x', 'amount_y'],
};
const INTEGER = /^-?\d{1,15}$/;
const QUOTED = /^"[^"\\]*"$/;

/**
 * A row as in NDJSON. An entry of `cells`, `bids`, `asks`, `ticks` or `bins` may be a struct of named values. A tick,
 * whose two values differ in type, may be two texts, with or without JSON's quotes. 64-bit integers become numbers, or
 * decimal strings if the dataset has strings there.
 */
export function plainSnapshotRow(row: Fields): Fields {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(name, value)]));
}

function plain(name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return name === 'sqrt_price_x96' ? String(value) : Number(value);
  if (isStruct(value)) return plainSnapshotRow(value);
  if (!Array.isArray(value)) return value;
  // All entries have one type: copying millions of pairs of numbers would double a chunk's time.
  const [first] = value as unknown[];
  if (isNumbers(first)) return value;
  const names = ENTRY_FIELDS[name];
  if (names === undefined) return value.map((entry: unknown) => plain(name, entry));
  return value.map((given: unknown) => {
    const entry = isStruct(given) ? names.map((field) => given[field]) : given;
    if (!Array.isArray(entry)) return entry;
    return name === 'ticks' ? plainTick(entry) : entry.map(plainNumber);
  });
}

function plainTick(entry: readonly unknown[]): unknown[] {
  const [tick, net, ...rest] = entry.map((value) =>
    typeof value === 'string' && QUOTED.test(value) ? value.slice(1, -1) : value,
  );
  const index = typeof tick === 'string' && INTEGER.test(tick) ? Number(tick) : plainNumber(tick);
  return [index, typeof net === 'bigint' ? String(net) : net, ...rest];
}

function plainNumber(value: unknown): unknown {
  return typeof value === 'bigint' ? Number(value) : value;
}

const isNumbers = (entry: unknown): boolean =>
  Array.isArray(entry) && entry.length > 0 && entry.every((one) => typeof one === 'number');

function isStruct(value: unknown): value is Fields {
  return isFields(value) && !(value instanceof Date) && !ArrayBuffer.isView(value);
}
