/** Files with several symbols, of which an import takes one. */
import { describe, expect, it } from 'vitest';
import { importAll, Scratch, TOKEN } from './import-helpers.js';

const scratch = new Scratch();

const FLAGS = { ...TOKEN, every: '1s' };
const T0 = 1_700_000_000;
const several = (where: string, symbols: string) =>
  `${where}: the files hold several symbols (one import is one market): ${symbols}: choose one with --symbol`;

describe('a Tardis file', () => {
  const HEADER = 'exchange,symbol,timestamp,local_timestamp,is_snapshot,side,price,amount';
  /** A row of a book around a price, at so many seconds. */
  const row = (symbol: string, s: number, snapshot: boolean, side: 'bid' | 'ask', price: number) =>
    `binance,${symbol},${(T0 + s) * 1e6},${(T0 + s) * 1e6},${snapshot},${side},${price},1`;
  const book = (symbol: string, price: number) => [
    row(symbol, 0, true, 'bid', price - 1),
    row(symbol, 0, true, 'ask', price + 1),
    row(symbol, 1.5, false, 'bid', price - 0.5),
    row(symbol, 3, false, 'ask', price + 0.5),
  ];
  /** The symbols' rows in turn, in the order of a grouped channel. */
  const grouped = (books: string[][]) => books[0].flatMap((_, i) => books.map((rows) => rows[i]));
  const run = (rows: string[], flags = {}) => {
    const file = scratch.file('grouped.csv', [HEADER, ...rows].join('\n'));
    return importAll('tardis-incremental-l2', [file], { ...FLAGS, ...flags });
  };
  const rows = grouped([book('BTCUSDT', 100), book('ETHUSDT', 10), book('SOLUSDT', 50)]);

  it.each(['ETHUSDT', 'ethusdt'])('gives %s as from a separate file', async (symbol) => {
    const chosen = await run(rows, { symbol });
    const alone = await run(book('ETHUSDT', 10));
    expect(chosen.rows).toEqual(alone.rows);
    expect(chosen.rows.map(({ t, price_usd }) => [t - T0, price_usd])).toEqual([
      [0, 10],
      [1, 10],
      [2, 10.25],
      [3, 10],
    ]);
    expect(chosen.report.messages).toBe(3);
  });

  it('is refused without a choice, with the symbols that it holds', async () => {
    await expect(run(rows)).rejects.toThrow(several('grouped.csv:3', 'BTCUSDT, ETHUSDT, SOLUSDT'));
    const names = Array.from({ length: 40 }, (_, i) => `S${10 + i}`);
    const many = grouped(names.map((name) => book(name, 10)));
    await expect(run(many)).rejects.toThrow(
      `${names.slice(0, 20).join(', ')} and more: choose one`,
    );
  });

  it('says what it holds if that is not the choice', async () => {
    await expect(run(rows, { symbol: 'BTCUSD' })).rejects.toThrow(
      'nothing to import: no symbol BTCUSD in the files; they hold BTCUSDT, ETHUSDT, SOLUSDT',
    );
  });

  it('is refused if two exchanges have the choice', async () => {
    const other = book('ETHUSDT', 10).map((text) => text.replace('binance', 'okex'));
    await expect(run([...rows, ...other], { symbol: 'ETHUSDT' })).rejects.toThrow(
      'grouped.csv:14: expected ETHUSDT of binance (one import is one market), found that of okex',
    );
  });
});

describe('a Binance stream', () => {
  const line = (data: object, stream = 'x@depth') =>
    `1700000000000000000 ${JSON.stringify({ stream, data })}`;
  /** Updates of a symbol, 0.4 s apart, with one id each from `firstId` on. */
  const updates = (s: string, firstId: number, price: number, futures = false) =>
    Array.from({ length: 8 }, (_, i) => {
      const U = firstId + i;
      const b = [[String(price - 1 + i / 100), '1']];
      const pu = futures ? { pu: U - 1 } : {};
      return line({ e: 'depthUpdate', E: T0 * 1000 + i * 400, s, U, u: U, ...pu, b, a: [] });
    });
  const snapshot = (lastUpdateId: number, price: number, more: object = {}) =>
    `17 ${JSON.stringify({
      lastUpdateId,
      bids: [[String(price - 1), '1']],
      asks: [[String(price + 1), '1']],
      ...more,
    })}`;
  const inTurn = (...feeds: string[][]) => feeds[0].flatMap((_, i) => feeds.map((feed) => feed[i]));
  const run = (lines: string[], flags = {}) => {
    const file = scratch.file('several.stream', lines.join('\n'));
    return importAll('binance-stream', [file], { ...FLAGS, ...flags });
  };
  const BTC = updates('BTCUSDT', 50_000_000_000, 100);
  const ETH = updates('ETHUSDT', 40_000_000_000, 10);
  const feeds = inTurn(BTC, ETH);
  const btcSnapshot = snapshot(50_000_000_002, 100);
  const ethSnapshot = snapshot(40_000_000_002, 10);

  it('is refused without a choice, or if it does not hold it', async () => {
    const lines = [...feeds, btcSnapshot];
    await expect(run(lines)).rejects.toThrow(several('several.stream:2', 'BTCUSDT, ETHUSDT'));
    await expect(run(lines, { symbol: 'SOLUSDT' })).rejects.toThrow(
      'nothing to import: no symbol SOLUSDT in the files; they hold BTCUSDT, ETHUSDT',
    );
  });

  it('uses the snapshot that the updates of the choice continue, wherever it is', async () => {
    for (const [symbol, own, snapshotOfOwn] of [
      ['BTCUSDT', BTC, btcSnapshot],
      ['ETHUSDT', ETH, ethSnapshot],
    ] as const) {
      for (const place of [0, 4, 9]) {
        const alone = await run(own.toSpliced(Math.ceil(place / 2), 0, snapshotOfOwn));
        expect(alone.rows.length).toBeGreaterThan(0);
        for (const both of [
          [btcSnapshot, ethSnapshot],
          [ethSnapshot, btcSnapshot],
        ]) {
          const { rows, report } = await run(feeds.toSpliced(place, 0, ...both), { symbol });
          // A snapshot before its updates may wait for them and then has their time.
          expect(rows.filter(({ t }) => t >= alone.rows[0].t)).toEqual(alone.rows);
          expect(rows.at(-1)!.t).toBe(T0 + 2);
          expect(report.gaps.count).toBe(0);
        }
      }
    }
  });

  it('uses a snapshot by the symbol it names', async () => {
    const named = (symbol: string, price: number) => snapshot(50_000_000_002, price, { symbol });
    const wrapped = line(JSON.parse(btcSnapshot.slice(3)) as object, 'btcusdt@snapshot');
    const alone = await run(BTC.toSpliced(4, 0, btcSnapshot));
    for (const lines of [[named('ETHUSDT', 10), named('BTCUSDT', 100)], [wrapped]]) {
      const { rows } = await run(feeds.toSpliced(8, 0, ...lines), { symbol: 'btcusdt' });
      expect(rows).toEqual(alone.rows);
    }
  });

  it('is refused if a snapshot may belong to either of two symbols', async () => {
    // Futures of all symbols share one sequence of ids.
    const eth = updates('ETHUSDT', 50_000_003_000, 10, true);
    const btc = updates('BTCUSDT', 50_000_000_000, 100, true);
    const message = 'also fits ETHUSDT: add "symbol" to it, or split the capture by symbol';
    for (const lines of [inTurn(eth, btc), [...btc, ...eth]]) {
      const all = lines.toSpliced(8, 0, btcSnapshot);
      await expect(run(all, { symbol: 'BTCUSDT' })).rejects.toThrow(message);
    }
  });

  it('never uses the snapshot of another symbol', async () => {
    const { rows, nothing } = await run(feeds.toSpliced(4, 0, ethSnapshot), { symbol: 'BTCUSDT' });
    expect(rows).toEqual([]);
    expect(nothing).toBe(
      'nothing to import: no depth snapshot names the symbol or fits its updates (of 9 messages)',
    );
  });
});
