/**
 * A replay page as an Arrow IPC stream: one record batch, one row per cell, in the page's order.
 *
 * Columns; only `pair` and `address` may hold nulls:
 * - `t` uint32 (epoch seconds), `tier` dictionary<int8, utf8>, `price_usd` float64 (the snapshot's)
 * - `market` (group=market) or `group` (venue, type) dictionary<int32, utf8>: index i of `market` is entry i
 *   of the reply's `markets`, of `group` entry i of `groups` (its value is the group's key)
 * - `bin` int16, `support_usd`, `resistance_usd` float64
 * - `timestamp` timestamp[ms, UTC]: `t` once more; `price` float64: the bin's, `price_usd * 1.01^bin`
 * - with group=market `source`, `pair`, `address` of the market, dictionary<int32, utf8>
 *
 * New columns are added at the end, for readers that address columns by number.
 *
 * Schema metadata, each a string:
 * - `format`: `fathom.replay.1`
 * - `page`: JSON, the JSON reply's object without `snapshots`
 * - `snapshots`: JSON, `[{t, tier, price_usd, cells}]`: every snapshot of the page with its number of
 *   rows, including snapshots without cells
 */
import { type Market, TIERS } from '../market.js';
import { arrow } from '../segment/arrow.js';
import { dictionaryType, distinctTexts, UTC_MILLISECONDS, utf8Vector } from './arrow-columns.js';
import { type ArrowStream, layOutStream, type StreamColumn, writeStream } from './arrow-stream.js';
import { ColumnWriter, type SnapshotValues } from './column-writer.js';
import { type Page, pageHead, type ReplayEnvelope } from './page.js';
import { textBytes } from './page-memory.js';

const { Float64, Int16, Int8, Uint32 } = arrow;

/** Value of the `format` metadata; another value is another layout. */
const ARROW_PAGE_FORMAT = 'fathom.replay.1';

const TIER_TYPE = dictionaryType(0, new Int8());
const INDEX_TYPE = dictionaryType(1);

/** Market fields that the page repeats for each cell. */
const MARKET_COLUMNS = [
  { name: 'source', type: dictionaryType(2), nullable: false },
  { name: 'pair', type: dictionaryType(3), nullable: true },
  { name: 'address', type: dictionaryType(4), nullable: true },
] as const;

/** Encodes a page. @returns a view that is valid until another text begins */
export function writeArrow(page: Page, envelope: ReplayEnvelope): Uint8Array<ArrayBuffer> {
  const stream = streamOf(page, envelope);
  const writer = new ColumnWriter(page, stream.bytes);
  const text = textBytes(stream.bytes);
  writeStream(stream, writer, text);
  return text;
}

function streamOf(page: Page, envelope: ReplayEnvelope): ArrowStream {
  const metadata = new Map([
    ['format', ARROW_PAGE_FORMAT],
    ['page', JSON.stringify(pageHead(page, envelope))],
    ['snapshots', JSON.stringify(snapshotList(page))],
  ]);
  return layOutStream(columnsOfPage(page), page.rowCount, metadata);
}

function columnsOfPage(page: Page): StreamColumn[] {
  const { index, query } = page;
  return [
    perSnapshot('t', new Uint32(), page.t),
    { ...perSnapshot('tier', TIER_TYPE, page.tier), dictionary: utf8Vector(TIERS) },
    perSnapshot('price_usd', new Float64(), page.priceUsd),
    ...(index === null ? [] : [indexColumn(page)]),
    column('bin', new Int16(), 2, (writer, to) => writer.bins(to)),
    column('support_usd', new Float64(), 8, (writer, to) => writer.usd(to, 'supportCents')),
    column('resistance_usd', new Float64(), 8, (writer, to) => writer.usd(to, 'resistanceCents')),
    perSnapshot('timestamp', UTC_MILLISECONDS, timesMs(page.t)),
    column('price', new Float64(), 8, (writer, to) => writer.prices(to)),
    ...(query.group === 'market' ? marketColumns(page) : []),
  ];
}

/** A column without nulls. */
function column(
  name: string,
  type: StreamColumn['type'],
  bytesPerRow: number,
  write: StreamColumn['write'],
): StreamColumn {
  return { name, type, nullable: false, nullCount: 0, bytesPerRow, write };
}

/** Repeats each snapshot's value for its cells. */
function perSnapshot(
  name: string,
  type: StreamColumn['type'],
  values: SnapshotValues,
): StreamColumn {
  const write: StreamColumn['write'] = (writer, to) => writer.repeat(to, values);
  return column(name, type, values.BYTES_PER_ELEMENT, write);
}

function indexColumn({ query, markets, groups }: Page): StreamColumn {
  const byMarket = query.group === 'market';
  const texts = byMarket ? marketNames(markets) : groups.map(({ key }) => key);
  return codesColumn(
    byMarket ? 'market' : 'group',
    INDEX_TYPE,
    texts,
    Int32Array.from(texts.keys()),
  );
}

function marketColumns({ markets, slotCells }: Page): StreamColumn[] {
  return MARKET_COLUMNS.map(({ name, type, nullable }) => {
    const { values, codes } = distinctTexts(markets.map((market) => market[name]));
    const nullCount = codes.reduce((sum, code, m) => (code < 0 ? sum + slotCells[m] : sum), 0);
    return { ...codesColumn(name, type, values, codes), nullable, nullCount };
  });
}

/** A column of texts by dictionary. @param codes by index; -1: null */
function codesColumn(
  name: string,
  type: StreamColumn['type'],
  texts: readonly string[],
  codes: Int32Array,
): StreamColumn {
  const write: StreamColumn['write'] = (writer, to, validity) => writer.codes(to, codes, validity);
  return { ...column(name, type, codes.BYTES_PER_ELEMENT, write), dictionary: utf8Vector(texts) };
}

function timesMs(t: Uint32Array): BigInt64Array {
  return BigInt64Array.from(t, (seconds) => BigInt(seconds) * 1000n);
}

/**
 * Readable, distinct names, because readers treat dictionaries as categories: a market's source and its
 * address or pair, and its index if an earlier market has the same name.
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
