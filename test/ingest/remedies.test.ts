/** Refusals that say what is wrong with a whole file, and what to do. */
import { writeFileSync } from 'node:fs';
import * as zlib from 'node:zlib';
import {
  compressionRegistry,
  CompressionType,
  RecordBatchFileWriter,
  tableFromArrays,
  tableToIPC,
} from 'apache-arrow';
import { describe, expect, it, vi } from 'vitest';
import { cells, csv, duckdb, lines, MINT, readJson, StoreScratch } from '../support/ingest.js';
import type { Json } from '../support/tables.js';

const T = 1_794_000_000;
const scratch = new StoreScratch();

describe('the flag that a late row needs is found', () => {
  const faulty = [3000, 4990, 5000];
  const rows = Array.from({ length: 5000 }, (_, i): Json => {
    const side = faulty.includes(i + 1) ? 'sell' : 'bid';
    const market = { source: 'Kraken', exchange_type: 'CEX', pair: 'SOL/USD' };
    return { chain: 'mainchain', address: MINT, t: T + i, ...market, side, price: 99, size: 1 };
  });
  const expected = faulty.map(
    (line) => `${line}: side: must be bid or ask: "sell" for ask: add --coerce`,
  );
  const source = (): string => readJson(scratch.file('.ndjson', lines(rows)));

  it('in Parquet of several row groups', async () => {
    const file = scratch.place('groups.parquet');
    await duckdb(`COPY (SELECT * FROM ${source()}) TO '${file}' (ROW_GROUP_SIZE 2048)`);
    expect(await scratch.refuses('levels', file)).toEqual(expected);
  });

  it('in Parquet with a column of the name by which rows are found', async () => {
    const file = await scratch.parquet(`SELECT *, 7 AS "File_Row_Number" FROM ${source()}`);
    expect(await scratch.refuses('levels', file)).toEqual(expected);
  });

  it('in Arrow of several batches', async () => {
    const names = Object.keys(rows[0]);
    const batch = (from: number, to: number) =>
      tableFromArrays(
        Object.fromEntries(
          names.map((name) => [name, rows.slice(from, to).map((row) => row[name] as string)]),
        ),
      );
    const file = scratch.place('batches.arrow');
    writeFileSync(file, tableToIPC(batch(0, 4995).concat(batch(4995, 5000)), 'stream'));
    expect(await scratch.refuses('levels', file)).toEqual(expected);
  });
});

describe('a file with a whole book in each row', () => {
  const rest = { chain: 'mainchain', address: MINT, t: T, source: 'Kraken', exchange_type: 'CEX' };
  const names: [bid: string, ask: string][] = [
    ['bid_price1', 'ask_price1'],
    ['bid_price_1', 'ask_price_1'],
    ['bid1_price', 'ask1_price'],
    ['bids[0].price', 'asks[0].price'],
    ['bid_px_00', 'ask_px_00'],
    ['bidPx0', 'askPx0'],
  ];
  it.each(names)('such as %s is told that the layout is wide, once', async (bid, ask) => {
    const row = { ...rest, [bid]: 99, [ask]: 101 };
    const said = `side: the layout is wide: a row has a whole book ("${bid}", "${ask}", ...): write a row for each level, with its side, price and size`;
    expect(await scratch.refuses('levels', scratch.file('.csv', csv([row])))).toEqual([
      `1: ${said}`,
    ]);
    const [json] = await scratch.refuses('levels', scratch.file('.ndjson', lines([row])));
    expect(json).toBe(`1: json: ${said.slice('side: '.length)}`);
  });

  it('is read as the level that flags name', async () => {
    const row = { ...rest, bid_price1: 99, bid_qty1: 1, ask_price1: 101, ask_qty1: 1 };
    const file = scratch.file('.csv', csv([row]));
    const level = [
      '--set',
      'side=bid',
      '--column',
      'price=bid_price1',
      '--column',
      'size=bid_qty1',
    ];
    await scratch.takes('levels', file, ...level, '--set', 'price_usd=100');
  });
});

it('empty fields are called empty', async () => {
  const rows = cells(T).map((row) => ({ ...row, price_usd: null }));
  const begin = '2: price_usd: must be a number > 0: it is ';
  expect((await scratch.refuses('cells', scratch.file('.csv', csv(rows))))[0]).toBe(
    `${begin}empty`,
  );
  expect((await scratch.refuses('cells', scratch.file('.ndjson', `\n${lines(rows)}`)))[0]).toBe(
    `${begin}null`,
  );
  const blank = rows.map((row) => ({ ...row, price_usd: '' }));
  expect((await scratch.refuses('cells', scratch.file('.ndjson', `\n${lines(blank)}`)))[0]).toBe(
    `${begin}""`,
  );
});

it('hints for the last lines of a file read no other lines', async () => {
  const rows = Array.from({ length: 20_000 }, (_, i) => cells(T + i)).flat();
  const broken = [...rows, { ...rows[0], t: T + 30_000, exchange_type: 'cex' }];
  for (const [ending, text] of [
    ['.ndjson', lines(broken)],
    ['.csv', csv(broken)],
  ] as const) {
    const file = scratch.file(ending, text);
    const parse = vi.spyOn(JSON, 'parse');
    const faults = await scratch.refuses('cells', file);
    const parsed = parse.mock.calls.length;
    parse.mockRestore();
    const line = text.split('\n').length - 1;
    expect(faults).toEqual([
      `${line}: exchange_type: must be DEX or CEX: "cex" for CEX: add --coerce`,
    ]);
    // Threads parse the rows; the rest is where each chunk ends, and the last chunk.
    expect(parsed).toBeLessThan(rows.length / 2);
  }
});

/** A zstd frame of one block: a byte repeated, or bytes that are not compressed. */
function zstdFrame(bytes: Uint8Array): Uint8Array {
  const isOneByte = bytes.every((byte) => byte === bytes[0]);
  const head = Buffer.alloc(12);
  head.write('28b52ffda0', 'hex');
  head.writeUInt32LE(bytes.length, 5);
  head.writeUIntLE((bytes.length << 3) | (isOneByte ? 3 : 1), 9, 3);
  return Buffer.concat([head, isOneByte ? bytes.subarray(0, 1) : bytes]);
}

it('Arrow files packed with zstd are read, or the remedy is said', async () => {
  // The writer keeps only what is smaller.
  const rows = Array.from({ length: 100 }, (_, i): Json => ({
    ...cells(T + i)[0],
    support_usd: 0,
  }));
  const table = tableFromArrays(
    Object.fromEntries(Object.keys(rows[0]).map((name) => [name, rows.map((row) => row[name])])),
  );
  // The server's library has a registry of its own.
  compressionRegistry.set(CompressionType.ZSTD, { encode: zstdFrame, decode: (data) => data });
  const file = scratch.place('zstd.arrow');
  const writer = new RecordBatchFileWriter({ compressionType: CompressionType.ZSTD });
  writeFileSync(file, writer.writeAll(table).finish().toUint8Array(true));
  if ('zstdDecompressSync' in zlib) {
    expect(await scratch.ingest('cells', file)).toMatchObject([{ snapshots: 100 }]);
    return;
  }
  await expect(scratch.ingest('cells', file)).rejects.toThrow(
    'not a readable Arrow file (its buffers are compressed with zstd, which this Node.js lacks: write them with LZ4 or uncompressed, or use Node.js 22.15 or later)',
  );
});
