/**
 * A replay page as an Arrow IPC stream: one record batch, one row a cell, in the page's order.
 *
 * Columns, none of which but `pair` and `address` may hold nulls:
 * - `t` uint32 (epoch seconds), `tier` dictionary<int8, utf8>, `price_usd` float64 (the snapshot's)
 * - `market` (group=market) or `group` (venue, type) dictionary<int32, utf8>: index i of `market` is entry i
 *   of the reply's `markets`, of `group` entry i of `groups` (its value is the group's key)
 * - `bin` int16, `support_usd`, `resistance_usd` float64
 * - `timestamp` timestamp[ms, UTC]: `t` once more; `price` float64: the bin's, `price_usd * 1.01^bin`
 * - with group=market `source`, `pair`, `address` of the market, dictionary<int32, utf8>
 *
 * Columns are added at the end, for readers that count them.
 *
 * Schema metadata, each a string:
 * - `format`: `fathom.replay.1`
 * - `page`: JSON, the JSON reply's object without `snapshots`
 * - `snapshots`: JSON, `[{t, tier, price_usd, cells}]`: every snapshot of the page with its number of
 *   rows, those without any cell too
 */
import type { Data } from 'apache-arrow';
import { BIN_FACTORS, MIN_BIN } from '../ladder.js';
import { type Market, TIERS } from '../market.js';
import {
  dictionaryData,
  dictionaryType,
  distinctTexts,
  plainData,
  recordBatch,
  UTC_MILLISECONDS,
  utf8Vector,
} from './arrow-columns.js';
import { type Page, pageHead, type ReplayEnvelope } from './page.js';
import { arrow } from '../segment/arrow.js';
import { PlainMemory } from '../segment/lz4.js';

const { Field, Float64, Int16, Int8, Schema, Table, tableToIPC, Uint32 } = arrow;

/** Value of the `format` metadata; another value is another layout. */
const ARROW_PAGE_FORMAT = 'fathom.replay.1';

const TIER_TYPE = dictionaryType(0, new Int8());
const INDEX_TYPE = dictionaryType(1);

/** What the page says of each cell's market. */
const MARKET_COLUMNS = [
  { name: 'source', type: dictionaryType(2), nullable: false },
  { name: 'pair', type: dictionaryType(3), nullable: true },
  { name: 'address', type: dictionaryType(4), nullable: true },
] as const;

interface Column {
  name: string;
  data: Data;
  nullable?: boolean;
}

/** This thread's memory for columns, reused for every page: the encoded page is a copy of them. */
const columnMemory = new PlainMemory();

/** Encodes a page; the bytes own their whole ArrayBuffer. */
export function encodeArrow(page: Page, envelope: ReplayEnvelope): Uint8Array<ArrayBuffer> {
  columnMemory.clear();
  const columns = columnsOfPage(page);
  const schema = new Schema(
    columns.map(({ name, data, nullable = false }) => new Field(name, data.type, nullable)),
    new Map([
      ['format', ARROW_PAGE_FORMAT],
      ['page', JSON.stringify(pageHead(page, envelope))],
      ['snapshots', JSON.stringify(snapshotList(page))],
    ]),
  );
  const cells = columns.map(({ data }) => data);
  const ipc = tableToIPC(new Table([recordBatch(schema, page.rowCount, cells)]), 'stream');
  const isWhole = ipc.byteLength === ipc.buffer.byteLength;
  return isWhole ? (ipc as Uint8Array<ArrayBuffer>) : new Uint8Array(ipc);
}

function columnsOfPage(page: Page): Column[] {
  const { rowCount: length, index } = page;
  const t = perCell(page, newColumn(Uint32Array, length), page.t);
  const tier = perCell(page, newColumn(Int8Array, length), page.tier);
  const priceUsd = perCell(page, newColumn(Float64Array, length), page.priceUsd);
  const timeMs = perCell(page, newColumn(BigInt64Array, length), timesMs(page.t));
  return [
    { name: 't', data: plainData(new Uint32(), t) },
    { name: 'tier', data: dictionaryData(TIER_TYPE, tier, utf8Vector(TIERS)) },
    { name: 'price_usd', data: plainData(new Float64(), priceUsd) },
    ...(index === null ? [] : [indexColumn(page, index)]),
    { name: 'bin', data: plainData(new Int16(), page.bin) },
    { name: 'support_usd', data: plainData(new Float64(), usd(page.supportCents)) },
    { name: 'resistance_usd', data: plainData(new Float64(), usd(page.resistanceCents)) },
    { name: 'timestamp', data: plainData(UTC_MILLISECONDS, timeMs) },
    { name: 'price', data: plainData(new Float64(), prices(page, priceUsd)) },
    ...(index === null || page.query.group !== 'market' ? [] : marketColumns(page, index)),
  ];
}

/** A column with arbitrary contents, which lasts until the next page is encoded. */
function newColumn<T>(
  Column: (new (buffer: ArrayBuffer, at: number, length: number) => T) & {
    BYTES_PER_ELEMENT: number;
  },
  length: number,
): T {
  const { buffer, byteOffset } = columnMemory.take(length * Column.BYTES_PER_ELEMENT);
  return new Column(buffer, byteOffset, length);
}

function indexColumn(page: Page, index: Uint16Array): Column {
  const byMarket = page.query.group === 'market';
  const values = byMarket ? marketNames(page.markets) : page.groups.map(({ key }) => key);
  const codes = newColumn(Int32Array, index.length);
  codes.set(index);
  const data = dictionaryData(INDEX_TYPE, codes, utf8Vector(values));
  return { name: byMarket ? 'market' : 'group', data };
}

function marketColumns({ markets, rowCount }: Page, index: Uint16Array): Column[] {
  return MARKET_COLUMNS.map(({ name, type, nullable }) => {
    const { values, codes } = distinctTexts(markets.map((market) => market[name]));
    const cells = newColumn(Int32Array, rowCount);
    for (let i = 0; i < rowCount; i++) cells[i] = codes[index[i]];
    return { name, data: dictionaryData(type, cells, utf8Vector(values)), nullable };
  });
}

/** Repeats each snapshot's value for its cells. */
function perCell<T extends Int8Array | Uint32Array | Float64Array | BigInt64Array>(
  page: Page,
  column: T,
  values: ArrayLike<T[number]>,
): T {
  for (let s = 0; s < page.snapshotCount; s++) {
    column.fill(values[s] as never, page.cellOffsets[s], page.cellOffsets[s + 1]);
  }
  return column;
}

function timesMs(t: Uint32Array): BigInt64Array {
  return BigInt64Array.from(t, (seconds) => BigInt(seconds) * 1000n);
}

/** The price of each cell's bin, by its snapshot's price. */
function prices({ bin }: Page, priceUsd: Float64Array): Float64Array {
  const column = newColumn(Float64Array, bin.length);
  for (let i = 0; i < column.length; i++) column[i] = priceUsd[i] * BIN_FACTORS[bin[i] - MIN_BIN];
  return column;
}

function usd(cents: Float64Array): Float64Array {
  const column = newColumn(Float64Array, cents.length);
  for (let i = 0; i < column.length; i++) column[i] = cents[i] / 100;
  return column;
}

/**
 * Readable names, all different, because readers take dictionaries for categories: a market's source and its
 * address or pair, and its index where an earlier market has the same name.
 */
function marketNames(markets: readonly Market[]): string[] {
  const names = new Set<string>();
  markets.forEach(({ source, address, pair }, index) => {
    const what = address ?? pair;
    let name = what === null ? source : `${source} ${what}`;
    while (names.has(name)) name += ` #${index}`;
    names.add(name);
  });
  return [...names];
}

function snapshotList(page: Page) {
  return Array.from(page.t, (t, s) => ({
    t,
    tier: TIERS[page.tier[s]],
    price_usd: page.priceUsd[s],
    cells: page.cellOffsets[s + 1] - page.cellOffsets[s],
  }));
}
