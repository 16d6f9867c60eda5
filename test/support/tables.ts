/** Rows of datasets, and the same as Arrow tables made by apache-arrow from explicit types. */
import { writeFileSync } from 'node:fs';
import type { DataType } from 'apache-arrow';
import {
  Bool,
  CompressionType,
  Dictionary,
  Field,
  Float64,
  Int16,
  Int32,
  Int64,
  List,
  RecordBatchFileWriter,
  RecordBatchStreamWriter,
  Struct,
  Table,
  Utf8,
  compressionRegistry,
  vectorFromArray,
} from 'apache-arrow';
import { compressFrameSync } from 'lz4-napi';

// The contents of JSON, read without ceremony.
// oxlint-disable-next-line typescript/no-explicit-any
export type Json = Record<string, any>;

export interface SnapshotRow extends Json {
  chain: string;
  address: string;
  t: number;
  tier?: string;
  price_usd: number;
  markets: Json[];
}

export const CELL_FIELDS = [
  'chain',
  'address',
  't',
  'tier',
  'price_usd',
  'source',
  'exchange_type',
  'type',
  'market_address',
  'pair',
  'bin',
  'support_usd',
  'resistance_usd',
] as const;
export type CellRow = Json & Record<(typeof CELL_FIELDS)[number], unknown>;

/** Rows of `cells` of one market in one snapshot. */
export function cellsOfSnapshot(
  address: string,
  t: number,
  priceUsd: number,
  market: Json,
  cells: readonly (readonly [number, number, number])[],
): CellRow[] {
  const chain = address.startsWith('0x') ? 'evmchain' : 'mainchain';
  return cells.map(([bin, support, resistance]) => ({
    chain,
    address,
    t,
    tier: 'raw',
    price_usd: priceUsd,
    source: 'Kraken',
    exchange_type: 'CEX',
    type: null,
    market_address: null,
    pair: null,
    ...market,
    bin,
    support_usd: support,
    resistance_usd: resistance,
  }));
}

/** Cells of one snapshot in the 145 bins of each of these markets, all different. */
export function wideCells(address: string, t: number, markets: number): CellRow[] {
  return Array.from({ length: markets }, (_, m) =>
    cellsOfSnapshot(
      ...([address, t, 2] as const),
      { source: `Venue ${m}`, exchange_type: 'DEX', market_address: `pool-${m}` },
      Array.from({ length: 145 }, (_, i) => [i - 72, 1 + ((t + m) % 997), (i * 31 + m) % 89]),
    ),
  ).flat();
}

type Form = 'file' | 'stream';

function write(
  file: string,
  columns: Record<string, [DataType, unknown[]]>,
  form: Form,
  lz4 = false,
) {
  const entries = Object.entries(columns).map(([name, [type, values]]) => [
    name,
    vectorFromArray(values, type),
  ]);
  const table = new Table(Object.fromEntries(entries) as never);
  const options = lz4 ? { compressionType: CompressionType.LZ4_FRAME } : {};
  const Writer = form === 'file' ? RecordBatchFileWriter : RecordBatchStreamWriter;
  // The program's own codec only reads, and must be back when it reads the file.
  const own = compressionRegistry.get(CompressionType.LZ4_FRAME);
  const encode = (data: Uint8Array) => compressFrameSync(Buffer.from(data));
  compressionRegistry.set(CompressionType.LZ4_FRAME, { encode });
  writeFileSync(file, Writer.writeAll(table, options).toUint8Array(true));
  if (own !== null) compressionRegistry.set(CompressionType.LZ4_FRAME, own);
}

const column = (rows: readonly Json[], name: string): unknown[] =>
  rows.map((row) => row[name] ?? null);
const bigints = (values: unknown[]): unknown[] =>
  values.map((value) => (typeof value === 'number' ? BigInt(value) : value));

interface CellsArrow {
  form: Form;
  /** Texts as dictionaries. */
  dictionary: boolean;
  t: 'int32' | 'int64' | 'double';
  /** Buffers compressed with LZ4. */
  compressed?: boolean;
}

export function writeCellsArrow(file: string, rows: readonly Json[], options: CellsArrow): void {
  const times = column(rows, 't');
  const columns: Record<string, [DataType, unknown[]]> = {};
  for (const name of CELL_FIELDS) {
    const text = options.dictionary ? new Dictionary(new Utf8(), new Int32()) : new Utf8();
    columns[name] = [text, column(rows, name)];
  }
  const t = { int32: new Int32(), int64: new Int64(), double: new Float64() }[options.t];
  columns.t = [t, options.t === 'int64' ? bigints(times) : times];
  columns.bin = [options.t === 'int32' ? new Int16() : new Float64(), column(rows, 'bin')];
  for (const name of ['price_usd', 'support_usd', 'resistance_usd']) {
    columns[name] = [new Float64(), column(rows, name)];
  }
  write(file, columns, options.form, options.compressed);
}

export function writeTokensArrow(file: string, rows: readonly Json[]): void {
  const columns: Record<string, [DataType, unknown[]]> = {};
  for (const name of Object.keys(rows[0])) {
    const values = column(rows, name);
    if (name === 'decimals' || name === 'last_refresh') columns[name] = [new Int32(), values];
    else if (/price|mcap|liquidity/.test(name)) columns[name] = [new Float64(), values];
    else columns[name] = [new Utf8(), values];
  }
  write(file, columns, 'file');
}

/** Rows of any flat dataset: a column has the type of its first value. */
export function writeRowsArrow(
  file: string,
  rows: readonly Json[],
  options: { form: Form; dictionary: boolean },
): void {
  const columns: Record<string, [DataType, unknown[]]> = {};
  for (const name of Object.keys(rows[0])) {
    const values = column(rows, name);
    const first: unknown = values.find((value) => value !== null);
    if (typeof first === 'boolean') columns[name] = [new Bool(), values];
    else if (typeof first === 'number') columns[name] = [new Float64(), values];
    else {
      const text = options.dictionary ? new Dictionary(new Utf8(), new Int32()) : new Utf8();
      columns[name] = [text, values];
    }
  }
  write(file, columns, options.form);
}

const list = (type: DataType) => new List(new Field('item', type, true));
const struct = (fields: Record<string, DataType>) =>
  new Struct(Object.entries(fields).map(([name, type]) => new Field(name, type, true)));
const pairs = list(list(new Float64()));

function marketType(ticks: DataType): DataType {
  return struct({
    source: new Utf8(),
    exchange_type: new Utf8(),
    type: new Utf8(),
    address: new Utf8(),
    pair: new Utf8(),
    cells: pairs,
    book: struct({
      bids: pairs,
      asks: list(struct({ price_usd: new Float64(), size: new Float64() })),
    }),
    constant_product: struct({
      reserve_token: new Float64(),
      reserve_quote: new Float64(),
      quote_usd: new Float64(),
    }),
    clmm: struct({
      sqrt_price_x96: new Utf8(),
      ticks: list(ticks),
      decimals0: new Int32(),
      decimals1: new Int32(),
      token: new Int32(),
      quote_usd: new Float64(),
    }),
    dlmm: struct({
      bin_step: new Int64(),
      active_id: new Int64(),
      bins: pairs,
      decimals_x: new Int32(),
      decimals_y: new Int32(),
      token: new Utf8(),
      quote_usd: new Float64(),
    }),
  });
}

// apache-arrow's builders accept only null for a missing struct or list.
const orNull = (value: Json | undefined): Json | null => value ?? null;

/** A market with its lists in entries, as Arrow's single list type allows. */
function typedMarket(market: Json, ticks: 'structs' | 'texts'): Json {
  const { book, clmm, dlmm, ...rest } = market;
  return {
    type: null,
    address: null,
    pair: null,
    cells: null,
    constant_product: null,
    ...rest,
    book: orNull(book) && {
      bids: book.bids,
      asks: book.asks.map(([price_usd, size]: number[]) => ({ price_usd, size })),
    },
    clmm: orNull(clmm) && {
      ...clmm,
      ticks: clmm.ticks.map(([tick, liquidity_net]: [number, string]) =>
        ticks === 'structs' ? { tick, liquidity_net } : [String(tick), liquidity_net],
      ),
    },
    dlmm: orNull(dlmm) && {
      ...dlmm,
      bin_step: BigInt(dlmm.bin_step),
      active_id: BigInt(dlmm.active_id),
    },
  };
}

export function writeSnapshotsArrow(
  file: string,
  rows: readonly SnapshotRow[],
  { form, ticks }: { form: Form; ticks: 'structs' | 'texts' },
): void {
  const tick =
    ticks === 'structs'
      ? struct({ tick: new Int32(), liquidity_net: new Utf8() })
      : list(new Utf8());
  const markets = rows.map((row) => row.markets.map((market) => typedMarket(market, ticks)));
  write(
    file,
    {
      chain: [new Utf8(), column(rows, 'chain')],
      address: [new Utf8(), column(rows, 'address')],
      t: [new Int64(), bigints(column(rows, 't'))],
      tier: [new Utf8(), column(rows, 'tier')],
      price_usd: [new Float64(), column(rows, 'price_usd')],
      markets: [list(marketType(tick)), markets],
    },
    form,
  );
}
