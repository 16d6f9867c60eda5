/** Dataset `levels`, compared with a plain reference: rows in any order, one level each, become snapshots. */
import { Decimal, makeData, Table, tableFromArrays, tableToIPC, Vector } from 'apache-arrow';
import fc from 'fast-check';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { LEVEL, sortLevels } from '../../compute/ingest/level-rows.js';
import { LevelSorter } from '../../storage/ingest/level-sorter.js';
import { temporaryDirectory } from '../support/folders.js';
import { cells, csv, lines, MINT, readJson, StoreScratch } from '../support/ingest.js';
import type { Json } from '../support/tables.js';

const scratch = new StoreScratch();
const T = 1_793_995_200;

let tokens = 0;
/** A token that no other test uses. */
const fresh = (): string => `${MINT.slice(0, -3)}${String(100 + tokens++).replaceAll('0', 'a')}`;

const level = (
  address: string,
  side: string,
  price: unknown,
  size: unknown,
  more: Json = {},
): Json => ({
  chain: 'mainchain',
  address,
  t: T,
  source: 'Kraken',
  exchange_type: 'CEX',
  pair: 'SOL/USD',
  side,
  price,
  size,
  ...more,
});

async function stored(address: string, rows: readonly Json[], flags: string[] = []) {
  await scratch.ingest('levels', scratch.file('.ndjson', lines(rows)), { flags });
  return scratch.snapshots(address);
}

const faultsOf = (rows: readonly Json[]): Promise<string[]> =>
  scratch.refuses('levels', scratch.file('.ndjson', lines(rows)));

/** One snapshot by the definitions, without any of the code under test. */
function reference(rows: readonly Json[]) {
  const books = new Map<string, Map<string, Json>>();
  for (const row of rows) {
    const name = `${row.source as string}/${row.pair as string}`;
    const book = books.get(name) ?? new Map<string, Json>();
    book.set(`${row.side as string} ${row.price as number}`, row);
    books.set(name, book);
  }
  const all = [...books].map(([name, byPrice]) => {
    const own = [...byPrice.values()].filter(({ size }) => (size as number) > 0);
    const of = (side: string) => own.filter((row) => row.side === side);
    const prices = (side: string) => of(side).map(({ price }) => price as number);
    const quote = own.length > 0 ? (own[0].quote_usd as number) : 1;
    const depth = own.reduce(
      (sum, row) => sum + (row.price as number) * (row.size as number) * quote,
      0,
    );
    const mid = ((Math.max(...prices('bid')) + Math.min(...prices('ask'))) / 2) * quote;
    return { name, own, quote, depth, mid };
  });
  const whole = all.filter(({ mid }) => Number.isFinite(mid));
  const price = whole.sort((a, b) => b.depth - a.depth)[0].mid;
  const cells: [string, number, number, number][] = [];
  for (const { name, own, quote } of all) {
    const sums = new Map<number, [number, number]>();
    for (const row of own) {
      const usd = (row.price as number) * quote;
      const bin = Math.floor(Math.log(usd / price) / Math.log(1.01) + 0.5);
      if (bin < -232 || bin > 242) continue;
      const sum = sums.get(bin) ?? [0, 0];
      sum[row.side === 'bid' ? 0 : 1] += usd * (row.size as number);
      sums.set(bin, sum);
    }
    for (const [bin, amounts] of sums) {
      const [support, resistance] = amounts.map((usd) => Math.floor(usd * 100 + 0.5));
      if (support + resistance >= 100) cells.push([name, bin, support, resistance]);
    }
  }
  return { price, cells };
}

const byName = (a: unknown[], b: unknown[]) =>
  String(a[0]).localeCompare(String(b[0])) || Number(a[1]) - Number(b[1]);

describe('levels', () => {
  it('become the snapshots of a plain reference, in any order of rows', async () => {
    const side = fc.constantFrom('bid', 'ask');
    const row = fc.record({
      side,
      tick: fc.integer({ min: 1, max: 60 }),
      size: fc.integer({ min: 0, max: 4000 }),
      market: fc.integer({ min: 0, max: 2 }),
      after: fc.integer({ min: 0, max: 2 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 80 }), async (given) => {
        const address = fresh();
        // Every book has both sides, so every snapshot has a price. Quarters add up exactly in any order.
        const both = [0, 1, 2].flatMap((after) => [
          { side: 'bid', tick: 100, size: 40, market: 0, after },
          { side: 'ask', tick: 101, size: 41, market: 0, after },
        ]);
        const rows = [...given, ...both].map(({ tick, size, market, after, side: name }) =>
          level(address, name, tick / 4, size / 4, {
            t: T + after,
            source: `Venue ${market}`,
            quote_usd: [1, 0.5, 2][market],
          }),
        );
        const found = await stored(address, rows);
        expect(found.map(({ t }) => t)).toEqual([T, T + 1, T + 2]);
        for (const { t, priceUsd, cells } of found) {
          const expected = reference(rows.filter((one) => one.t === t));
          expect(priceUsd).toBe(expected.price);
          expect([...cells].sort(byName)).toEqual(expected.cells.sort(byName));
        }
      }),
      { numRuns: 25 },
    );
  });

  it('give the same as the same books in snapshots, in every format', async () => {
    const bids: [number, number][] = [
      [99.9, 10],
      [99.5, 3.25],
      [80, 7],
    ];
    const asks: [number, number][] = [
      [100.1, 12],
      [101.7, 0.4],
      [130, 9],
    ];
    const asRows = (address: string) => [
      ...asks.map(([price, size]) => level(address, 'ask', price, size)),
      ...bids.map(([price, size]) => level(address, 'bid', price, size)),
    ];
    const whole = fresh();
    const market = {
      source: 'Kraken',
      exchange_type: 'CEX',
      pair: 'SOL/USD',
      book: { bids, asks },
    };
    const row = { chain: 'mainchain', address: whole, t: T, price_usd: 100, markets: [market] };
    await scratch.ingest('snapshots', scratch.file('.ndjson', lines([row])));
    const expected = await scratch.snapshots(whole);
    for (const ending of ['.ndjson', '.csv', '.parquet']) {
      const address = fresh();
      const text = ending === '.csv' ? csv(asRows(address)) : lines(asRows(address));
      const file = scratch.file(ending === '.csv' ? '.csv' : '.ndjson', text);
      const input =
        ending === '.parquet' ? await scratch.parquet(`SELECT * FROM ${readJson(file)}`) : file;
      const [report] = await scratch.ingest('levels', input);
      expect(report).toMatchObject({ rows: 6, snapshots: 1 });
      expect(await scratch.snapshots(address)).toEqual(expected);
    }
  });

  it('of one price take the later row; a size of 0 is not a level', async () => {
    const address = fresh();
    const rows = [
      level(address, 'bid', 99, 500),
      level(address, 'bid', 99, 10),
      level(address, 'ask', 101, 10),
      level(address, 'ask', 100, 10),
      level(address, 'ask', 100, 0),
    ];
    expect(await stored(address, rows)).toMatchObject([
      {
        priceUsd: 100,
        cells: [
          ['Kraken/SOL/USD', -1, 99_000, 0],
          ['Kraken/SOL/USD', 1, 0, 101_000],
        ],
      },
    ]);
  });

  it('of several books within a second: the last one of each market counts', async () => {
    const address = fresh();
    const at = (ms: number, price: number, source: string) => [
      level(address, 'bid', price - 1, 10, { t: T * 1000 + ms, source }),
      level(address, 'ask', price + 1, 10, { t: T * 1000 + ms, source }),
    ];
    const rows = [...at(900, 100, 'A'), ...at(100, 50, 'A'), ...at(500, 100, 'B')];
    const [found] = await stored(address, rows, ['--time-unit', 'ms']);
    expect(found).toMatchObject({ t: T, priceUsd: 100 });
    expect(found.cells.map(([name, bin]) => `${name} ${bin}`)).toEqual([
      'A/SOL/USD -1',
      'A/SOL/USD 1',
      'B/SOL/USD -1',
      'B/SOL/USD 1',
    ]);
  });

  it('of equally deep books take the price of the first by source, in any order of rows', async () => {
    const books = [
      ['Binance', 1, 30, 3, 10],
      ['Kraken', 2, 15, 4, 7.5],
    ].map(([source, bid, bidSize, ask, askSize]) => (address: string) => [
      level(address, 'bid', bid, bidSize, { source }),
      level(address, 'ask', ask, askSize, { source }),
    ]);
    for (const inOrder of [books, [...books].reverse()]) {
      const address = fresh();
      const [{ priceUsd }] = await stored(
        address,
        inOrder.flatMap((rowsOf) => rowsOf(address)),
      );
      expect(priceUsd).toBe(2);
    }
  });

  it('that contradict each other are refused with the line', async () => {
    const address = fresh();
    const pair = [level(address, 'bid', 99, 1), level(address, 'ask', 101, 1)];
    const other = (more: Json) => [...pair, level(address, 'bid', 98, 1, more)];
    // The row that sorts after the other price is named.
    expect(await faultsOf(other({ quote_usd: 2 }))).toEqual([
      '1: quote_usd: must be 2 on all rows of this book',
    ]);
    const prices = pair.map((row) => ({ ...row, price_usd: 100 }));
    expect(await faultsOf([...prices, level(address, 'bid', 98, 1, { price_usd: 99 })])).toEqual([
      '1: price_usd: must be 99 on all rows of this snapshot',
    ]);
    expect(await faultsOf(other({ exchange_type: 'DEX', type: 'cex_spot' }))).toEqual([
      '3: exchange_type: must be CEX, as in an earlier row',
    ]);
    expect(await faultsOf(other({ source: 'Kraken', pair: 'X', type: 'cex_perp' }))).toEqual([
      '3: type: must be cex_spot, as in an earlier row of venue kraken, not cex_perp',
    ]);
    expect(await faultsOf([level(address, 'buy', -1, 'x')])).toEqual([
      '1: side: must be bid or ask: "buy" for bid: add --coerce',
      '1: price: must be a number > 0: it is -1',
      '1: size: must be a number >= 0: it is "x"',
    ]);
    expect(await faultsOf([pair[0]])).toEqual([
      '1: price_usd: no book of this t has bids and asks: add --column price_usd=NAME or --set price_usd=VALUE',
    ]);
  });

  it('of more USD than a snapshot holds are refused by their size', async () => {
    const address = fresh();
    const rows = [level(address, 'bid', 99.9, 10), level(address, 'ask', 100.1, 1e300)];
    expect(await faultsOf(rows)).toEqual([
      '1: size: a snapshot holds at most 9007199254740991 cents in all',
    ]);
  });

  it('of more markets than a token has are refused where the first too many is', async () => {
    const address = fresh();
    const rows = Array.from({ length: 65_536 }, (_, i) =>
      level(address, 'bid', 99.9, 10, { market_address: `m${i}` }),
    );
    expect(await faultsOf(rows)).toEqual([
      '65536: market_address: the token has more than 65535 markets',
    ]);
  });

  it('without a price are left out with a warning, unless all are', async () => {
    const whole = [level(fresh(), 'bid', 99, 1), level(fresh(), 'ask', 101, 1)];
    const address = fresh();
    const sides = (t: number, ...names: string[]) =>
      names.map((side) => ({ ...whole[0], address, side, t, price: side === 'bid' ? 99 : 101 }));
    const rows = [
      ...sides(T + 10, 'bid', 'ask'),
      ...sides(T + 20, 'ask', 'bid'),
      ...sides(T + 30, 'bid'),
    ];
    const [report] = await scratch.ingest('levels', scratch.file('.ndjson', lines(rows)));
    expect(report).toMatchObject({
      rows: 5,
      snapshots: 2,
      warnings: [{ kind: 'no_price', count: 1, line: 5 }],
    });
    expect((await scratch.snapshots(address)).map(({ t }) => t)).toEqual([T + 10, T + 20]);
  });

  it('merge into stored snapshots, around their price; ingested again they replace themselves', async () => {
    const address = fresh();
    const book = (source: string, price: number) => [
      level(address, 'bid', price - 1, 10, { source }),
      level(address, 'ask', price + 1, 10, { source }),
    ];
    await stored(address, book('A', 100));
    const file = scratch.file('.ndjson', lines(book('B', 110)));
    await scratch.ingest('levels', file, { merge: true });
    const [merged] = await scratch.snapshots(address);
    expect(merged.priceUsd).toBe(100);
    expect(new Set(merged.cells.map(([name]) => name)).size).toBe(2);
    const [again] = await scratch.ingest('levels', file, { merge: true });
    expect(again.replaced).toEqual({ snapshots: 1, cellsBefore: 2, cellsAfter: 2 });
  });
});

it('sorting is the same whether levels fit into memory or not, and leaves nothing behind', async () => {
  const directory = temporaryDirectory();
  const names = Object.keys(LEVEL) as (keyof typeof LEVEL)[];
  const small = { token: 0, fraction: 0, quoteUsd: 1, priceUsd: NaN };
  type Level = Record<keyof typeof LEVEL, number>;
  const levels = Array.from({ length: 5000 }, (_, i): Level => ({
    ...small,
    t: (i * 7919) % 13,
    market: (i * 31) % 3,
    side: i % 2,
    price: (i * 104_729) % 997,
    line: i,
    size: i / 3,
  }));
  const sortedBy = async (runLevels: number) => {
    const sort = (rows: Float64Array) => Promise.resolve(sortLevels(rows));
    const sorter = new LevelSorter(directory, sort, runLevels);
    for (const one of levels) await sorter.add(Float64Array.from(names, (name) => one[name]));
    const twice = [[], []] as Level[][];
    for (const found of twice) {
      for await (const rows of sorter.sorted()) {
        for (let at = 0; at < rows.length; at += names.length) {
          found.push(
            Object.fromEntries(names.map((name) => [name, rows[at + LEVEL[name]]])) as Level,
          );
        }
      }
    }
    const left = await readdir(path.join(directory, 'staging')).catch(() => []);
    expect(left).toHaveLength(runLevels < levels.length ? 1 : 0);
    await sorter.close();
    expect(twice[1]).toEqual(twice[0]);
    return twice[0];
  };
  const expected = [...levels].sort(
    (a, b) =>
      a.t - b.t || a.market - b.market || a.side - b.side || a.price - b.price || a.line - b.line,
  );
  expect(await sortedBy(10_000)).toEqual(expected);
  expect(await sortedBy(777)).toEqual(expected);
  expect(await readdir(directory)).toEqual([]);
});

describe('files of Arrow', () => {
  /** Texts of decimals as a column; null: a null. */
  const decimals = (texts: readonly (string | null)[], scale: number, bitWidth: 128 | 256) => {
    const words = bitWidth / 32;
    const data = new Uint32Array(texts.length * words);
    texts.forEach((text, row) => {
      const [whole, fraction = ''] = (text ?? '0').split('.');
      const value = BigInt(whole + fraction.padEnd(scale, '0'));
      for (let i = 0; i < words; i++) {
        data[row * words + i] = Number(BigInt.asUintN(32, value >> BigInt(32 * i)));
      }
    });
    const bits = texts.reduce((sum, text, row) => sum | (text === null ? 0 : 1 << row), 0);
    const type = new Decimal(scale, 38, bitWidth);
    const nullBitmap = Uint8Array.of(bits);
    return new Vector([makeData({ type, data, length: texts.length, nullBitmap })]);
  };
  const prices = ['99.9', '99.4567890123456789', '100.1'];
  const sizes = ['10', '20.25', '12.5'];
  const rowsOf = (address: string) =>
    prices.map((price, i) =>
      level(address, i < 2 ? 'bid' : 'ask', Number(price), Number(sizes[i])),
    );
  const fileOf = (
    rows: readonly Json[],
    columns: Record<string, Vector>,
    form: 'file' | 'stream',
  ) => {
    const names = Object.keys(rows[0]).filter((name) => !(name in columns));
    const table = tableFromArrays(
      Object.fromEntries(names.map((name) => [name, rows.map((row) => row[name] as string)])),
    );
    const bytes = tableToIPC(table.assign(new Table(columns as never)), form);
    return scratch.file('.arrow', bytes);
  };

  it.each([
    ['file', 128],
    ['stream', 256],
  ] as const)('with decimals in a %s (%i bits) are read like numbers', async (form, bitWidth) => {
    const [plain, decimal] = [fresh(), fresh()];
    const expected = await stored(plain, rowsOf(plain));
    expect(expected).toHaveLength(1);
    const file = fileOf(
      rowsOf(decimal),
      {
        price: decimals(prices, 16, bitWidth),
        size: decimals(sizes, 2, bitWidth),
        price_usd: decimals([null, null, null], 2, bitWidth),
      },
      form,
    );
    await scratch.ingest('levels', file);
    expect(await scratch.snapshots(decimal)).toEqual(expected);
  });

  it('of cells accept decimals too', async () => {
    const [plain, decimal] = [fresh(), fresh()];
    const columns = ['chain', 'address', 't', 'price_usd', 'source', 'exchange_type', 'pair'];
    const rowsOfCells = (address: string) =>
      cells(T, { address }).map((row): Json => {
        const names = [...columns, 'bin', 'support_usd', 'resistance_usd'];
        return Object.fromEntries(names.map((name) => [name, row[name]]));
      });
    const file = scratch.file('.ndjson', lines(rowsOfCells(plain)));
    await scratch.ingest('cells', file);
    const rows = rowsOfCells(decimal);
    const amounts = (name: string) =>
      decimals(
        rows.map((row) => String(row[name])),
        4,
        128,
      );
    const names = ['support_usd', 'resistance_usd', 'bin'];
    const arrow = fileOf(rows, Object.fromEntries(names.map((n) => [n, amounts(n)])), 'file');
    await scratch.ingest('cells', arrow);
    const expected = await scratch.snapshots(plain);
    expect(expected).toHaveLength(1);
    expect(await scratch.snapshots(decimal)).toEqual(expected);
  });

  it('with a negative decimal are refused for its value', async () => {
    const file = fileOf(rowsOf(fresh()), { size: decimals(['1', '-20.25', '1'], 2, 128) }, 'file');
    expect(await scratch.refuses('levels', file)).toEqual([
      '2: size: must be a number >= 0: it is -20.25',
    ]);
  });
});
