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
import { BIN_FACTORS, MIN_BIN } from '../ladder.js';
import { type Market, TIERS } from '../market.js';
import { arrow } from '../segment/arrow.js';
import { dictionaryType, distinctTexts, UTC_MILLISECONDS, utf8Vector } from './arrow-columns.js';
import { ownedBytes, type Place, type StreamColumn, writeArrowStream } from './arrow-stream.js';
import { type Page, pageHead, type ReplayEnvelope } from './page.js';

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

/**
 * Encodes a page.
 * @param allocate returns the memory to write to, at a multiple of 8, of exactly this length
 */
export function encodeArrow(
  page: Page,
  envelope: ReplayEnvelope,
  allocate: typeof ownedBytes = ownedBytes,
): Uint8Array<ArrayBuffer> {
  const metadata = new Map([
    ['format', ARROW_PAGE_FORMAT],
    ['page', JSON.stringify(pageHead(page, envelope))],
    ['snapshots', JSON.stringify(snapshotList(page))],
  ]);
  return writeArrowStream(columnsOfPage(page), page.rowCount, metadata, allocate);
}

function columnsOfPage(page: Page): StreamColumn[] {
  const { index, query } = page;
  return [
    perSnapshot(page, 't', new Uint32(), Uint32Array, page.t),
    {
      ...perSnapshot(page, 'tier', TIER_TYPE, Int8Array, page.tier),
      dictionary: utf8Vector(TIERS),
    },
    perSnapshot(page, 'price_usd', new Float64(), Float64Array, page.priceUsd),
    ...(index === null ? [] : [indexColumn(page, index)]),
    column('bin', new Int16(), Int16Array, page.rowCount, (bins) => bins.set(page.bin)),
    usdColumn('support_usd', page.supportCents),
    usdColumn('resistance_usd', page.resistanceCents),
    perSnapshot(page, 'timestamp', UTC_MILLISECONDS, BigInt64Array, timesMs(page.t)),
    column('price', new Float64(), Float64Array, page.rowCount, (prices) => {
      fillPrices(prices, page);
    }),
    ...(index === null || query.group !== 'market' ? [] : marketColumns(page, index)),
  ];
}

type Values<T> = (new (buffer: ArrayBuffer, at: number, length: number) => T) & {
  BYTES_PER_ELEMENT: number;
};

/** A column without nulls. */
function column<T>(
  name: string,
  type: StreamColumn['type'],
  ValuesType: Values<T>,
  rows: number,
  fill: (values: T) => void,
): StreamColumn {
  return {
    name,
    type,
    nullable: false,
    nullCount: 0,
    bytesPerRow: ValuesType.BYTES_PER_ELEMENT,
    fill: ({ buffer, byteOffset }: Place) => fill(new ValuesType(buffer, byteOffset, rows)),
  };
}

/** Repeats each snapshot's value for its cells. */
function perSnapshot<T extends Int8Array | Uint32Array | Float64Array | BigInt64Array>(
  { cellOffsets, rowCount, snapshotCount }: Page,
  name: string,
  type: StreamColumn['type'],
  ValuesType: Values<T>,
  values: ArrayLike<T[number]>,
): StreamColumn {
  return column(name, type, ValuesType, rowCount, (cells) => {
    for (let s = 0; s < snapshotCount; s++) {
      cells.fill(values[s] as never, cellOffsets[s], cellOffsets[s + 1]);
    }
  });
}

function indexColumn({ query, markets, groups, rowCount }: Page, index: Uint16Array): StreamColumn {
  const byMarket = query.group === 'market';
  const texts = byMarket ? marketNames(markets) : groups.map(({ key }) => key);
  const name = byMarket ? 'market' : 'group';
  return {
    ...column(name, INDEX_TYPE, Int32Array, rowCount, (codes) => codes.set(index)),
    dictionary: utf8Vector(texts),
  };
}

function marketColumns({ markets, rowCount }: Page, index: Uint16Array): StreamColumn[] {
  return MARKET_COLUMNS.map(({ name, type, nullable }) => {
    const { values, codes } = distinctTexts(markets.map((market) => market[name]));
    const nullCount = codes.includes(-1) ? nullsOf(codes, index) : 0;
    return {
      name,
      type,
      nullable,
      nullCount,
      dictionary: utf8Vector(values),
      bytesPerRow: Int32Array.BYTES_PER_ELEMENT,
      fill({ buffer, byteOffset }, validity) {
        const cells = new Int32Array(buffer, byteOffset, rowCount);
        if (validity === null) for (let i = 0; i < rowCount; i++) cells[i] = codes[index[i]];
        else fillNullable(cells, validity, codes, index);
      },
    };
  });
}

function nullsOf(codes: Int32Array, index: Uint16Array): number {
  let nulls = 0;
  for (let i = 0; i < index.length; i++) nulls += codes[index[i]] >>> 31;
  return nulls;
}

/** Bit i, counted from the lowest of each byte, is set if row i has a value; the code of a null is 0. */
function fillNullable(
  cells: Int32Array,
  validity: Uint8Array,
  codes: Int32Array,
  index: Uint16Array,
): void {
  for (let i = 0; i < cells.length; i++) {
    const code = codes[index[i]];
    const isNull = code >>> 31;
    cells[i] = code & (isNull - 1);
    validity[i >> 3] |= (1 - isNull) << (i & 7);
  }
}

function timesMs(t: Uint32Array): BigInt64Array {
  return BigInt64Array.from(t, (seconds) => BigInt(seconds) * 1000n);
}

/** The price of each cell's bin, from its snapshot's price. */
function fillPrices(prices: Float64Array, page: Page): void {
  const { bin, priceUsd, cellOffsets, snapshotCount } = page;
  for (let s = 0; s < snapshotCount; s++) {
    const price = priceUsd[s];
    const end = cellOffsets[s + 1];
    for (let i = cellOffsets[s]; i < end; i++) prices[i] = price * BIN_FACTORS[bin[i] - MIN_BIN];
  }
}

function usdColumn(name: string, cents: Float64Array): StreamColumn {
  return column(name, new Float64(), Float64Array, cents.length, (usd) => {
    for (let i = 0; i < cents.length; i++) usd[i] = cents[i] / 100;
  });
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
