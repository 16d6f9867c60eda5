/**
 * A replay page as an Arrow IPC stream: one record batch, one row a cell, in the page's order.
 *
 * Columns: `t` uint32 (epoch seconds), `tier` dictionary<int8, utf8>, `price_usd` float64 (the
 * snapshot's), `market` (group=market) or `group` (venue, type) dictionary<int32, utf8>, `bin` int16,
 * `support_usd`, `resistance_usd` float64. No column holds nulls. Dictionary index i of `market` is
 * entry i of the reply's `markets`, of `group` entry i of `groups` (its value is the group's key).
 *
 * Schema metadata, each a string:
 * - `format`: `fathom.replay.1`
 * - `page`: JSON, the JSON reply's object without `snapshots`
 * - `snapshots`: JSON, `[{t, tier, price_usd, cells}]`: every snapshot of the page with its number of
 *   rows, those without any cell too
 */
import {
  type Data,
  type DataType,
  Dictionary,
  Field,
  Float64,
  Int16,
  Int32,
  Int8,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Table,
  tableToIPC,
  Uint32,
  Utf8,
  Vector,
} from 'apache-arrow';
import { type Market, TIERS } from '../market.js';
import { type Page, pageHead, type ReplayEnvelope } from './page.js';

/** Value of the `format` metadata; another value is another layout. */
export const ARROW_PAGE_FORMAT = 'fathom.replay.1';

/** Fixed ids: the library would count them up, and the same page would get other bytes each time. */
const TIER_DICTIONARY_ID = 0;
const INDEX_DICTIONARY_ID = 1;

interface Column {
  name: string;
  data: Data;
}

/** Encodes a page; the bytes own their whole ArrayBuffer. */
export function encodeArrow(page: Page, envelope: ReplayEnvelope): Uint8Array<ArrayBuffer> {
  const columns = columnsOfPage(page);
  const schema = new Schema(
    columns.map(({ name, data }) => new Field(name, data.type, false)),
    new Map([
      ['format', ARROW_PAGE_FORMAT],
      ['page', JSON.stringify(pageHead(page, envelope))],
      ['snapshots', JSON.stringify(snapshotList(page))],
    ]),
  );
  const rows = makeData({
    type: new Struct(schema.fields),
    length: page.rowCount,
    nullCount: 0,
    children: columns.map(({ data }) => data),
  });
  const ipc = tableToIPC(new Table([new RecordBatch(schema, rows as never)]), 'stream');
  return new Uint8Array(ipc);
}

function columnsOfPage(page: Page): Column[] {
  const { rowCount: length } = page;
  const plain = (type: DataType, data: ArrayBufferView): Data =>
    makeData({ type, length, nullCount: 0, data } as never);
  const tier = perCell(page, new Int8Array(length), page.tier);
  const columns: Column[] = [
    { name: 't', data: plain(new Uint32(), perCell(page, new Uint32Array(length), page.t)) },
    { name: 'tier', data: dictionaryColumn(TIER_DICTIONARY_ID, new Int8(), tier, TIERS) },
    {
      name: 'price_usd',
      data: plain(new Float64(), perCell(page, new Float64Array(length), page.priceUsd)),
    },
  ];
  if (page.index !== null) {
    const byMarket = page.query.group === 'market';
    const values = byMarket ? marketNames(page.markets) : page.groups.map(({ key }) => key);
    const index = Int32Array.from(page.index);
    columns.push({
      name: byMarket ? 'market' : 'group',
      data: dictionaryColumn(INDEX_DICTIONARY_ID, new Int32(), index, values),
    });
  }
  columns.push(
    { name: 'bin', data: plain(new Int16(), page.bin) },
    { name: 'support_usd', data: plain(new Float64(), usd(page.supportCents)) },
    { name: 'resistance_usd', data: plain(new Float64(), usd(page.resistanceCents)) },
  );
  return columns;
}

/** Repeats each snapshot's value for its cells. */
function perCell<T extends Int8Array | Uint32Array | Float64Array>(
  page: Page,
  column: T,
  values: ArrayLike<number>,
): T {
  for (let s = 0; s < page.snapshotCount; s++) {
    column.fill(values[s], page.cellOffsets[s], page.cellOffsets[s + 1]);
  }
  return column;
}

function usd(cents: Float64Array): Float64Array {
  const column = new Float64Array(cents.length);
  for (let i = 0; i < column.length; i++) column[i] = cents[i] / 100;
  return column;
}

function dictionaryColumn(
  id: number,
  indexType: Int8 | Int32,
  data: Int8Array | Int32Array,
  values: readonly string[],
): Data {
  return makeData({
    type: new Dictionary(new Utf8(), indexType, id, false),
    length: data.length,
    nullCount: 0,
    data,
    dictionary: utf8Vector(values),
  } as never);
}

function utf8Vector(values: readonly string[]): Vector<Utf8> {
  const texts = values.map((value) => Buffer.from(value));
  const valueOffsets = new Int32Array(texts.length + 1);
  texts.forEach((text, i) => (valueOffsets[i + 1] = valueOffsets[i] + text.length));
  const data = new Uint8Array(Buffer.concat(texts));
  return new Vector([
    makeData({ type: new Utf8(), length: texts.length, nullCount: 0, valueOffsets, data }),
  ]);
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
