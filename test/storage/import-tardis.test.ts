import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseDecimalBytes, parseIntegerBytes } from '../../storage/import/fields.js';
import { MAX_SIDE_LEVELS } from '../../storage/import/order-book.js';
import { importAll, Scratch, TOKEN, type SnapshotRow } from './import-helpers.js';

const scratch = new Scratch();

const FLAGS = { ...TOKEN, every: '1s' };
const T0 = 1_700_000_000;
const HEADER = 'exchange,symbol,timestamp,local_timestamp,is_snapshot,side,price,amount';

/** A Tardis row at so many seconds after T0. */
const row = (s: number, local: number, snapshot: boolean, side: string, price: number, n: number) =>
  `deribit,X,${(T0 + s) * 1e6},${(T0 + local) * 1e6},${snapshot},${side},${price},${n}`;
const whole = (s: number, bid = 99, ask = 101) => [
  row(s, s, true, 'bid', bid, 1),
  row(s, s, true, 'ask', ask, 2),
];
const tardis = (rows: string[], name = 'feed.csv') =>
  scratch.file(name, `${[HEADER, ...rows].join('\n')}\n`);
const importTardis = (rows: string[], flags = {}) =>
  importAll('tardis-incremental-l2', [tardis(rows)], { ...FLAGS, ...flags });
const seconds = (rows: SnapshotRow[]) => rows.map((r) => r.t - T0);
const best = (rows: SnapshotRow[]) =>
  rows.map((r) => [r.markets[0].book.bids[0][0], r.markets[0].book.asks[0][0]]);

describe('Tardis changes', () => {
  it('give each moment the state after the last message at or before it', async () => {
    const { rows } = await importTardis([
      ...whole(0.5),
      row(2, 2, false, 'bid', 100, 1),
      row(2, 2.1, false, 'bid', 100.5, 1),
      row(4.2, 4.2, false, 'bid', 100.5, 0),
      row(4.2, 4.2, false, 'bid', 100, 0),
    ]);
    expect(seconds(rows)).toEqual([1, 2, 3, 4]);
    expect(best(rows).map(([bid]) => bid)).toEqual([99, 100.5, 100.5, 100.5]);
    expect(rows[0].price_usd).toBe(100);
  });

  it('are never cut inside a message', async () => {
    const { rows } = await importTardis([
      ...whole(0.5),
      row(1.9, 3, false, 'bid', 100, 1),
      row(2.1, 3, false, 'ask', 100.5, 1),
      row(3, 3.1, false, 'ask', 103, 1),
    ]);
    expect(seconds(rows)).toEqual([1, 2, 3]);
    expect(best(rows)).toEqual([
      [99, 101],
      [99, 101],
      [100, 100.5],
    ]);
  });

  it('wait for a snapshot, and start over at each one that follows changes', async () => {
    const { rows, report } = await importTardis([
      row(0.1, 0.1, false, 'bid', 90, 1),
      row(0.2, 0.2, false, 'ask', 91, 1),
      ...whole(1.5),
      row(2.5, 2.5, false, 'bid', 98, 1),
      ...whole(3.5, 50, 51),
      row(4.5, 4.5, false, 'ask', 52, 1),
    ]);
    expect(seconds(rows)).toEqual([2, 3, 4]);
    expect(rows[1].markets[0].book.bids).toEqual([
      [99, 1],
      [98, 1],
    ]);
    expect(rows[2].markets[0].book).toEqual({ bids: [[50, 1]], asks: [[51, 2]] });
    expect(report.oldMessages).toBe(2);
    expect(report.gaps.first).toEqual([
      { t: T0 + 3.5, reason: 'the feed starts over with a snapshot' },
    ]);
  });

  it('are not carried over an outage, from the last message to the new snapshot', async () => {
    const { rows, report } = await importTardis([
      ...whole(0.5),
      row(1.5, 1.5, false, 'bid', 98, 1),
      ...whole(100.5),
      row(101.5, 101.5, false, 'bid', 98, 1),
    ]);
    expect(seconds(rows)).toEqual([1, 101]);
    expect(report.gaps.first).toEqual([
      { t: T0 + 1.5, reason: 'the feed starts over after 99 s without a message' },
    ]);
    const silent = await importTardis([...whole(0), row(90, 90, false, 'bid', 98, 1)]);
    expect(silent.rows.length).toBe(91);
    const dead = await importTardis([...whole(0), row(90_000, 90_000, false, 'bid', 98, 1)]);
    expect(seconds(dead.rows)).toEqual([0]);
    expect(dead.report.gaps.count).toBe(1);
  });

  it('replace the book with each message of a snapshot', async () => {
    // A feed of snapshots alone, each of one level a side that the next one does not have.
    const books = Array.from({ length: 600 }, (_, s) => whole(s + 0.5, 100 + s, 101 + s)).flat();
    const { rows, report } = await importTardis([...books, row(600, 600, false, 'bid', 1, 0)]);
    expect(rows.map(({ markets }) => markets[0].book)).toEqual(
      Array.from({ length: 600 }, (_, s) => ({ bids: [[100 + s, 1]], asks: [[101 + s, 2]] })),
    );
    expect([report.gaps.count, report.crossed.count]).toEqual([0, 0]);
  });

  it('of two snapshots with a silence between are a break', async () => {
    const late = [...whole(0.5), ...whole(90.5, 50, 51), row(91, 91, false, 'bid', 49, 1)];
    const { rows, report } = await importTardis(late);
    expect(seconds(rows)).toEqual([91]);
    expect(report.gaps.first).toEqual([
      { t: T0 + 0.5, reason: 'the feed starts over after 90 s without a message' },
    ]);
  });

  it('keep the moment of the last message before a break', async () => {
    const { rows } = await importTardis([
      ...whole(0.5),
      row(2, 2, false, 'bid', 98, 1),
      ...whole(100.5),
      row(101, 101, false, 'bid', 98, 1),
    ]);
    expect(seconds(rows)).toEqual([1, 2, 101]);
    expect(rows[1].markets[0].book.bids).toEqual([
      [99, 1],
      [98, 1],
    ]);
  });

  it('start over within a message at its first row of a snapshot', async () => {
    const { rows } = await importTardis([
      ...whole(0.5),
      row(1.5, 1.5, false, 'bid', 98, 1),
      row(1.5, 1.5, true, 'bid', 97, 1),
      row(1.5, 1.5, true, 'ask', 103, 1),
      row(2, 2, false, 'ask', 104, 1),
    ]);
    expect(rows.at(-1)!.markets[0].book.bids).toEqual([[97, 1]]);
  });

  it('are not used while a side is empty', async () => {
    const { rows, report } = await importTardis([
      ...whole(0.5),
      row(1.5, 1.5, false, 'bid', 99, 0),
      row(3.5, 3.5, false, 'bid', 98, 1),
      row(4, 4, false, 'bid', 97, 1),
    ]);
    expect(seconds(rows)).toEqual([1, 4]);
    expect(report.gaps.first[0].reason).toBe('a side of the book is empty');
  });

  it('out of order are applied in file order, at the latest time so far', async () => {
    const { rows, report } = await importTardis([
      ...whole(2.5),
      row(1.5, 2.6, false, 'bid', 100, 1),
      row(3.5, 2.4, false, 'bid', 98, 1),
      row(4, 4, false, 'bid', 97, 1),
    ]);
    expect(seconds(rows)).toEqual([3, 4]);
    expect(best(rows)[0][0]).toBe(100);
    expect(report.outOfOrder.first.map((note) => note.reason)).toEqual([
      'a time before the last',
      'a local_timestamp before the last',
    ]);
  });

  it('that cross the book are written and reported', async () => {
    const { rows, report } = await importTardis([
      ...whole(0),
      row(0.5, 0.5, false, 'bid', 102, 1),
      row(1.5, 1.5, false, 'bid', 102, 0),
    ]);
    expect(seconds(rows)).toEqual([0, 1]);
    expect(report.crossed.first.map((note) => note.t! - T0)).toEqual([1]);
  });

  it('take names, prices and contracts from the flags', async () => {
    const { rows } = await importTardis(whole(0), {
      source: 'My Venue',
      pair: 'X/EUR',
      type: 'cex_spot',
      'quote-usd': '1.25',
      'contract-usd': '10',
    });
    expect(rows[0].price_usd).toBe(125);
    expect(rows[0].markets[0]).toEqual({
      source: 'My Venue',
      exchange_type: 'CEX',
      type: 'cex_spot',
      address: null,
      pair: 'X/EUR',
      book: { bids: [[123.75, 10 / 123.75]], asks: [[126.25, 20 / 126.25]] },
    });
    const plain = await importTardis(whole(0));
    expect(plain.rows[0].markets[0]).toMatchObject({ source: 'deribit', type: 'cex_perp' });
  });

  it('continue across files, gzip or plain, even within a message', async () => {
    const rows = [
      ...whole(0.5),
      row(1.5, 1.5, false, 'bid', 98, 1),
      row(3, 3, false, 'ask', 100, 1),
    ];
    const one = await importTardis(rows);
    const parts = [1, 3].map((end, i) => rows.slice(i === 0 ? 0 : 1, end));
    const files = [
      scratch.file('a.csv', `\uFEFF${[HEADER, ...parts[0]].join('\r\n')}\r\n\r\n`),
      scratch.file('b.csv', gzipSync([HEADER, ...parts[1]].join('\n'))),
      tardis(rows.slice(3), 'c.csv'),
    ];
    const three = await importAll('tardis-incremental-l2', files, FLAGS);
    expect(three.rows).toEqual(one.rows);
    expect(three.report).toEqual(one.report);
  });

  const good = row(1, 1, false, 'bid', 99, 1);
  const damaged: [string, string, string][] = [
    ['a quote', good.replace('deribit', '"deribit"'), 'the row: expected no quotes'],
    ['a missing field', good.replace(',false', ''), 'the row: expected 8 fields'],
    [
      'another exchange',
      good.replace('deribit,', 'binance,'),
      'expected X of deribit (one import is one market), found that of binance',
    ],
    [
      'milliseconds',
      good.replaceAll('000000,', '000,'),
      'local_timestamp: expected epoch microseconds',
    ],
    [
      'a word for a price',
      good.replace(',99,', ',x,'),
      "price: expected a number above 0, found 'x'",
    ],
    ['a price of 0', good.replace(',99,', ',0,'), 'price: expected a number above 0'],
    ['an empty price', good.replace(',99,', ',,'), "price: expected a number above 0, found ''"],
    ['a negative amount', good.replace(/1$/, '-1'), 'amount: expected a number of at least 0'],
    ['another side', good.replace('bid', 'buy'), "side: expected bid or ask, found 'buy'"],
    ['another flag', good.replace('false', '0'), "is_snapshot: expected true or false, found '0'"],
  ];
  it.each(damaged)('with %s are refused with file and line', async (_, line, message) => {
    const rows = [...whole(0), line];
    await expect(importTardis(rows)).rejects.toThrow(`feed.csv:4: ${message}`);
  });

  it('continue after a repeated header, but not after a different one', async () => {
    const [first, second] = [whole(0), whole(1)];
    const plain = await importTardis([...first, ...second]);
    expect(await importTardis([...first, HEADER, ...second])).toEqual(plain);
    const other = HEADER.replace('side,price', 'price,side');
    await expect(importTardis([...first, other, ...second])).rejects.toThrow(
      `feed.csv:${2 + first.length}: the row: expected the same columns as in the header, found others`,
    );
  });

  it('are refused if a side grows beyond its limit', async () => {
    const level = (_: unknown, i: number) => row(0, 0, true, 'bid', 1 + i / 1000, 1);
    const rows = Array.from({ length: MAX_SIDE_LEVELS + 1 }, level);
    await expect(importTardis([...rows, ...whole(1)])).rejects.toThrow(
      'feed.csv:2: a side of the book holds more than',
    );
  });

  it('are refused without a header, a column, or the end of the gzip', async () => {
    const run = (content: string | Buffer) =>
      importAll('tardis-incremental-l2', [scratch.file('bad.csv', content)], FLAGS);
    await expect(run('')).rejects.toThrow('bad.csv:1: expected a header');
    await expect(run('exchange,symbol,price\n')).rejects.toThrow(
      'bad.csv:1: timestamp: the header has no such column',
    );
    const cut = gzipSync(`${[HEADER, ...whole(0)].join('\n')}\n`).subarray(0, -9);
    await expect(run(cut)).rejects.toThrow('bad.csv: gzip: the file is cut short');
  });
});

describe('Tardis book snapshots', () => {
  const header =
    'exchange,symbol,timestamp,local_timestamp,asks[0].price,asks[0].amount,bids[0].price,' +
    'bids[0].amount,asks[1].price,asks[1].amount,bids[1].price,bids[1].amount';
  const at = (s: number) => `binance,X,${(T0 + s) * 1e6},${(T0 + s) * 1e6}`;
  const run = (lines: string[]) =>
    importAll(
      'tardis-book-snapshot',
      [scratch.file('top.csv', [header, ...lines].join('\n'))],
      FLAGS,
    );

  it('are whole books, thin or far apart', async () => {
    const { rows, report } = await run([
      `${at(0.5)},101,1,99,2,102,3,,`,
      `${at(1.5)},101,1,,,,,,`,
      `${at(70.5)},101,1,99,2,102,3,98,9e-05`,
      `${at(172)},101,1,99,2,102,3,98,4`,
    ]);
    expect(seconds(rows)).toEqual([1, ...Array.from({ length: 102 }, (_, i) => 71 + i)]);
    expect(rows[0].markets[0].book.bids).toEqual([[99, 2]]);
    expect(rows[1].markets[0].book.bids[1]).toEqual([98, 9e-5]);
    expect(report.messages).toBe(4);
  });

  it('are refused if levels are out of order or follow an empty one', async () => {
    await expect(run([`${at(0)},101,1,99,2,100,3,98,4`])).rejects.toThrow(
      'top.csv:2: asks[1].price: expected the levels best first',
    );
    await expect(run([`${at(0)},101,1,,,102,1,98,4`])).rejects.toThrow(
      'top.csv:2: bids[1].price: expected nothing after an empty level',
    );
  });
});

describe('Numbers of Tardis files', () => {
  const bytesOf = (text: string): [Uint8Array, number, number] => {
    const bytes = Buffer.from(`7${text},`);
    return [bytes, 1, bytes.length - 1];
  };
  const digits = fc.stringMatching(/^[0-9]{0,20}$/, { size: 'max' });
  const zeros = fc.nat(30).map((count) => '0'.repeat(count));
  const text = fc.oneof(
    digits,
    fc.tuple(digits, zeros, digits).map(([whole, leading, rest]) => `${whole}.${leading}${rest}`),
    fc.tuple(digits, fc.integer({ min: -330, max: 330 })).map(([whole, e]) => `${whole}e${e}`),
    fc.stringMatching(/^[0-9.e-]{0,6}$/),
  );

  it('are those that JavaScript reads', () => {
    fc.assert(
      fc.property(text, (decimal) => {
        const isNumber = /^\d+(\.\d*)?(e[+-]?\d+)?$/.test(decimal);
        const value = isNumber ? Number(decimal) : NaN;
        expect(parseDecimalBytes(...bytesOf(decimal))).toBe(value < Infinity ? value : NaN);
        const isExact = /^\d+$/.test(decimal) && Number.isSafeInteger(value);
        expect(parseIntegerBytes(...bytesOf(decimal))).toBe(isExact ? value : NaN);
      }),
      { numRuns: 2000, examples: [[`0.${'0'.repeat(25)}1`]] },
    );
  });
});
