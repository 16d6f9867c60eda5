/** Imports that yield nothing, and files of another kind: both say why. */
import { describe, expect, it } from 'vitest';
import type { ImportFormat } from '../../storage/import/formats.js';
import { fixture, importAll, Scratch, TOKEN } from './import-helpers.js';

const scratch = new Scratch();

const T0 = 1_700_000_000;
const TARDIS = 'exchange,symbol,timestamp,local_timestamp';
const CHANGES = `${TARDIS},is_snapshot,side,price,amount`;
const run = (format: ImportFormat, content: string, flags: Record<string, string> = TOKEN) =>
  importAll(format, [scratch.file('some.txt', content)], flags);

const at = (ms: number, us = ms * 1000) => `binance,X,${us},${us}`;
const message = (data: object, stream = 'x@depth') =>
  `17 ${JSON.stringify({ stream, data: { E: T0 * 1000, ...data } })}\n`;
const update = (id: number, ms = T0 * 1000) =>
  message({ e: 'depthUpdate', E: ms, s: 'X', U: id, u: id, b: [['9', '1']], a: [['10', '1']] });
const snapshot = (lastUpdateId: number, asks = [['10', '1']]) =>
  `17 ${JSON.stringify({ lastUpdateId, bids: [['9', '1']], asks })}\n`;

describe('nothing is imported', () => {
  const cases: [string, ImportFormat, string, string][] = [
    ['an empty stream', 'binance-stream', '', 'no depth update; the files are empty'],
    [
      'other streams',
      'binance-stream',
      message({ e: 'trade' }) + message({}, 'x@bookTicker') + message({}, 'x@bookTicker'),
      'no depth update; only trade (1), bookTicker (2)',
    ],
    [
      'partial depth',
      'binance-stream',
      message({ lastUpdateId: 1, bids: [], asks: [] }, 'x@depth20@100ms') +
        message({ e: 'depthUpdate', s: 'X', U: 1, u: 1, pu: 0, b: [], a: [] }, 'x@depth5'),
      'no depth update; only depth20 (1), depth5 (1)',
    ],
    [
      'updates without a snapshot',
      'binance-stream',
      update(1) + update(2),
      'no depth snapshot to begin the book with: a line with lastUpdateId, bids and asks, or rows of update_type snap in T_DEPTH (of 2 messages)',
    ],
    [
      'updates that do not fit the snapshot',
      'binance-stream',
      snapshot(5) + update(9, T0 * 1000 + 100),
      'the feed breaks off before any snapshot: update 9 does not follow 5',
    ],
    [
      'one side alone',
      'binance-stream',
      snapshot(1, []) + message({ e: 'trade', E: T0 * 1000 + 2 }),
      'the book never has levels on both sides',
    ],
    [
      'a snapshot alone',
      'binance-stream',
      snapshot(1),
      'no depth update follows the depth snapshot',
    ],
    [
      'less than a step',
      'binance-stream',
      snapshot(1) + update(2, (T0 + 1) * 1000) + update(3, (T0 + 3) * 1000 + 500),
      'the book is whole for 2.5 s (2023-11-14T22:13:21.000Z to 2023-11-14T22:13:23.500Z), ' +
        'which holds no multiple of the 60 s between snapshots: give a shorter --every',
    ],
    ['a header alone', 'tardis-incremental-l2', `${CHANGES}\n`, 'no row after the header'],
    [
      'changes alone',
      'tardis-incremental-l2',
      `${CHANGES}\n${at(T0 * 1000)},false,bid,1,1\n`,
      'no row of a snapshot (is_snapshot true) to begin the book with',
    ],
    ['no pool', 'cp-pairs', '', 'no pool states in the files'],
  ];
  it.each(cases)('from %s', async (_, format, content, cause) => {
    const { rows, nothing } = await run(format, content);
    expect([rows, nothing]).toEqual([[], `nothing to import: ${cause}`]);
  });

  it('from a sample shorter than a second, whatever the step', async () => {
    const file = `${CHANGES}\n${at(T0 * 1000 + 100)},true,bid,1,1\n${at(T0 * 1000 + 200)},false,ask,2,1\n`;
    const { nothing } = await run('tardis-incremental-l2', file, { ...TOKEN, every: '1s' });
    expect(nothing).toMatch(/whole for 0 s .* holds no multiple of the 1 s between snapshots$/);
  });

  it('from pools without the token, or without a price for its other side', async () => {
    const pools = fixture('cp_excerpt.ndjson');
    const { nothing } = await importAll('cp-pairs', [pools], { ...TOKEN, at: '1601683200' });
    expect(nothing).toMatch(/^nothing to import: none of \d+ pool states holds the token$/);
    const weth = 'evmchain:0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2';
    const { nothing: noTime, report } = await importAll('cp-pairs', [pools], { token: weth });
    expect(noTime).toBe(
      `nothing to import: all ${report.leftOut.count} pool states that hold the token were left out`,
    );
    expect(report.leftOut.first[0].reason).toContain('--');
  });
});

describe('a file of another kind', () => {
  const stream = "this is not a Binance stream: expected lines like '<local time> ";
  const captures: [string, string, string][] = [
    ['a log of a websocket', 'wss://ws.kraken.com <-> 1618678132.3\n', 'wss://ws.kraken.com <->'],
    ['a CSV', 'symbol,timestamp,first_update_id\n', 'symbol,timestamp,first_update_id'],
    ['Hyperliquid', '17 {"channel":"l2Book","data":{"coin":"BTC"}}\n', '17 {"channel":"l2Book"'],
    ['Bybit', '{"topic":"orderbook.500.X","type":"snapshot","data":{}}\n', '{"topic":"orderbook'],
    ['OKX', '{"arg":{},"data":[{"asks":[]}]}\n', '{"arg":{},"data":'],
    ['bytes', '\u0000\u0001x\n', "'??x'"],
  ];
  it.each(captures)('is not mistaken for a Binance stream: %s', async (_, content, found) => {
    const refused = run('binance-stream', `\n${content}`);
    await expect(refused).rejects.toThrow(`some.txt:2: ${stream}`);
    await expect(refused).rejects.toThrow(found);
    const many = run('binance-stream', content.repeat(2000));
    await expect(many).rejects.toThrow(`some.txt:1: ${stream}`);
  });

  it('within a stream is the fault of its line', async () => {
    await expect(run('binance-stream', `${update(1)}wss://x\n`)).rejects.toThrow(
      "some.txt:2: the line: expected '<local time> <JSON object>', found 'wss://x'",
    );
  });

  const types: [string, ImportFormat, string, string][] = [
    ['trades', 'tardis-incremental-l2', 'id,side,price,amount', 'trades or liquidations'],
    ['quotes', 'tardis-incremental-l2', 'ask_amount,ask_price,bid_price,bid_amount', 'quotes'],
    ['funding', 'tardis-book-snapshot', 'funding_rate,mark_price', 'derivative_ticker'],
    [
      'books',
      'tardis-incremental-l2',
      'asks[0].price,asks[0].amount,asks[1].price',
      'book_snapshot_2: import it as tardis-book-snapshot',
    ],
    [
      'changes',
      'tardis-book-snapshot',
      'is_snapshot,side,price,amount',
      'incremental_book_L2: import it as tardis-incremental-l2',
    ],
  ];
  it.each(types)('is named by its header: Tardis %s', async (_, format, columns, found) => {
    const expected = format === 'tardis-book-snapshot' ? 'book_snapshot_N' : 'incremental_book_L2';
    await expect(run(format, `${TARDIS},${columns}\n`)).rejects.toThrow(
      `some.txt:1: expected Tardis ${expected}, found ${found}`,
    );
  });

  it('is named by its fields where pools are expected', async () => {
    const dlmm = fixture('dlmm_excerpt.ndjson');
    await expect(importAll('cp-pairs', [dlmm], TOKEN)).rejects.toThrow(
      `${dlmm}:1: expected a pool state with venue, token0, token1, found `,
    );
    await expect(importAll('clmm-pools', [dlmm], TOKEN)).rejects.toThrow(
      `${dlmm}:1: expected a pool state with protocol, token0, token1, found protocol, pool, `,
    );
    await expect(importAll('clmm-pools', [dlmm], TOKEN)).rejects.toThrow(
      /: import it as dlmm-bins$/,
    );
    await expect(importAll('clmm-pools', [fixture('cp_excerpt.ndjson')], TOKEN)).rejects.toThrow(
      /: import it as cp-pairs$/,
    );
    await expect(run('cp-pairs', '{\n"venue": 1}\n')).rejects.toThrow(
      "some.txt:1: the line: expected one whole JSON object, found '{'",
    );
  });

  it('is not a Tardis CSV', async () => {
    await expect(run('tardis-incremental-l2', `${update(1)}`)).rejects.toThrow(
      'some.txt:1: this is not a Tardis CSV: expected a header such as exchange,symbol,timestamp,' +
        `local_timestamp,..., found '17 {"stream":"x@depth"`,
    );
  });
});
