import { existsSync, readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { replayPlainly, type PlainSnapshot, type PlainUpdate } from '../reference/order-book.js';
import {
  faultsOf,
  fixture,
  hasShared,
  importAll,
  shared,
  TOKEN,
  type SnapshotRow,
} from './import-helpers.js';

const EVERY_SECOND = { ...TOKEN, every: '1s' };

interface Ticker {
  lastId: number;
  values: number[];
}

/** A Binance stream by the test's own reading: snapshot, updates, tickers. */
function readStream(files: string[]) {
  const updates: PlainUpdate[] = [];
  const tickers: Ticker[] = [];
  let snapshot: PlainSnapshot | null = null;
  let endMs = 0;
  const bytes = files.map((file) => readFileSync(file));
  const texts = bytes.map((raw) => (raw[0] === 0x1f ? gunzipSync(raw) : raw).toString());
  for (const line of texts.join('').split('\n')) {
    if (line === '') continue;
    const message = JSON.parse(line.slice(line.indexOf(' ')));
    const m = message.data ?? message;
    if (m.E !== undefined) endMs = Math.max(endMs, m.E);
    if (m.e === 'depthUpdate') {
      updates.push({ ms: m.E, firstId: m.U, lastId: m.u, bids: m.b, asks: m.a });
    } else if (m.lastUpdateId !== undefined) {
      snapshot ??= { lastId: m.lastUpdateId, bids: m.bids, asks: m.asks };
    } else if (/bookTicker$/.test(message.stream)) {
      tickers.push({ lastId: m.u, values: [m.b, m.B, m.a, m.A].map(Number) });
    }
  }
  return { updates, tickers, snapshot: snapshot!, endMs };
}

/** Rows against a plain replay, at every moment from the first to the last; and their tickers. */
function checkAgainstPlain(
  rows: SnapshotRow[],
  stream: ReturnType<typeof readStream>,
  sizeOf = (_price: number, size: number) => size,
) {
  const times = rows.map((row) => row.t * 1000);
  const live = stream.updates.filter((update) => update.lastId > stream.snapshot.lastId);
  const lastBefore = times.map((ms) => live.findLastIndex((update) => update.ms <= ms));
  const wanted = new Set(lastBefore);
  const states = replayPlainly(stream.snapshot, stream.updates, (_, i) => wanted.has(i));
  const stateOf = new Map([...wanted].sort((a, b) => a - b).map((i, n) => [i, states[n]]));
  let agreeing = 0;
  rows.forEach((row, i) => {
    const state = stateOf.get(lastBefore[i])!;
    const sized = (levels: number[][]) => levels.map(([p, s]) => [p, sizeOf(p, s)]);
    const { bids, asks } = row.markets[0].book;
    expect(isDeepStrictEqual(bids, sized(state.book.bids))).toBe(true);
    expect(isDeepStrictEqual(asks, sized(state.book.asks))).toBe(true);
    expect(row.price_usd).toBe((bids[0][0] + asks[0][0]) / 2);
    expect(bids[0][0]).toBeLessThan(asks[0][0]);
    const ticker = stream.tickers.findLast((known) => known.lastId <= state.lastId);
    if (ticker === undefined) return;
    const [bid, bidSize, ask, askSize] = ticker.values;
    const best = [bid, sizeOf(bid, bidSize), ask, sizeOf(ask, askSize)];
    if (JSON.stringify([...bids[0], ...asks[0]]) === JSON.stringify(best)) agreeing++;
  });
  return agreeing;
}

/** Every multiple of the step from the first at which the book is whole to the feed's end. */
function expectEveryMoment(rows: SnapshotRow[], firstMs: number, endMs: number, everyS: number) {
  const first = Math.ceil(firstMs / 1000 / everyS);
  const count = Math.floor(endMs / 1000 / everyS) - first + 1;
  expect(rows.map((row) => row.t)).toEqual(
    Array.from({ length: count }, (_, i) => (first + i) * everyS),
  );
}

const sources = [
  {
    name: 'excerpts',
    native: [fixture('binance_spot_excerpt.stream.gz')],
    tardis: fixture('tardis_incremental_excerpt.csv.gz'),
    top: fixture('tardis_snapshot_excerpt.csv'),
    everyS: 1,
    depth: 3,
    disagreeing: 0,
  },
  {
    name: 'whole files',
    native: ['20240808', '20240809'].map((day) =>
      shared(`cex/binance/spot_BTCUSDT_${day}.stream.gz`),
    ),
    tardis: shared('cex/tardis/binance_incremental_book_L2_2024-08-08_BTCUSDT.csv.gz'),
    top: shared('cex/tardis/binance_book_snapshot_25_2024-08-08_BTCUSDT.csv.gz'),
    everyS: 5,
    depth: 25,
    disagreeing: 2,
  },
];

describe.each(sources.filter((source) => existsSync(source.tardis)))(
  'spot BTCUSDT, $name',
  ({ native, tardis, top, everyS, depth, disagreeing }) => {
    const every = (steps: number) => ({ ...TOKEN, every: `${steps * everyS}s` });
    let imported: ReturnType<typeof importAll<SnapshotRow>>;
    let stream: ReturnType<typeof readStream>;
    beforeAll(() => {
      imported = importAll('binance-stream', native, every(1));
      stream = readStream(native);
      return imported;
    });

    it('is the same from the native stream, from Tardis, and by a plain replay', async () => {
      const [ours, theirs] = [
        await imported,
        await importAll('tardis-incremental-l2', [tardis], every(1)),
      ];
      expect(isDeepStrictEqual(theirs.rows, ours.rows)).toBe(true);
      const { snapshot, updates } = stream;
      const first = updates.find((update) => update.lastId > snapshot.lastId)!;
      expectEveryMoment(ours.rows, first.ms, stream.endMs, everyS);
      const agreeing = checkAgainstPlain(ours.rows, stream);
      expect(agreeing).toBeGreaterThanOrEqual(ours.rows.length - disagreeing);
      for (const { report, rows } of [ours, theirs]) {
        expect(report.rows).toBe(rows.length);
        expect([report.gaps.count, report.outOfOrder.count, report.crossed.count]).toEqual([
          0, 0, 0,
        ]);
      }
      expect(faultsOf(ours.rows.slice(0, 20))).toEqual([]);
      const { source, exchange_type, type, address, pair } = ours.rows[0].markets[0];
      expect([source, exchange_type, type, address, pair]).toEqual([
        'binance',
        'CEX',
        'cex_spot',
        null,
        'BTCUSDT',
      ]);
    });

    it('has the top levels that the rebuilt book_snapshot file has', async () => {
      const text = readFileSync(top);
      const lines = (text[0] === 0x1f ? gunzipSync(text) : text).toString().trim().split('\n');
      const fileRows = lines.slice(1).map((line) => line.split(','));
      const times = new Set(fileRows.map((fields) => Number(fields[2]) / 1000));
      const states = replayPlainly(stream.snapshot, stream.updates, (ms) => times.has(ms));
      const byMs = new Map(states.map((state) => [state.ms, state.book]));
      const { rows } = await importAll('tardis-book-snapshot', [top], every(1));
      expect(rows.length).toBeGreaterThan(2);
      for (const row of rows) {
        const fields = fileRows.findLast((line) => Number(line[2]) <= row.t * 1e6)!;
        const { bids, asks } = row.markets[0].book;
        const level = (i: number) => fields.slice(4 + 4 * i, 8 + 4 * i).map(Number);
        const levels = Array.from({ length: depth }, (_, i) => level(i));
        expect(asks).toEqual(levels.map(([price, size]) => [price, size]));
        expect(bids).toEqual(levels.map(([, , price, size]) => [price, size]));
        const book = byMs.get(Number(fields[2]) / 1000)!;
        expect(bids).toEqual(book.bids.slice(0, depth));
        expect(asks).toEqual(book.asks.slice(0, depth));
      }
    });

    it('is the same at the moments of a coarser step', async () => {
      const { rows } = await imported;
      const coarse = await importAll('binance-stream', native, every(2));
      const even = rows.filter((row) => row.t % (2 * everyS) === 0);
      expect(isDeepStrictEqual(coarse.rows, even)).toBe(true);
    });
  },
);

describe('COIN-M contracts', () => {
  const files = [
    fixture('binance_coinm_excerpt.stream'),
    shared('cex/binance/coinm_BTCUSD_PERP_20240808.stream.gz'),
  ];
  it.each(files.filter((file) => existsSync(file)))('are USD in %s', async (file) => {
    const { rows, report } = await importAll('binance-stream', [file], {
      ...EVERY_SECOND,
      'contract-usd': '100',
    });
    expect(rows.length).toBeGreaterThan(0);
    expect(report.gaps.count).toBe(0);
    const stream = readStream([file]);
    const sizeOf = (price: number, contracts: number) => (contracts * 100) / price;
    const agreeing = checkAgainstPlain(rows, stream, sizeOf);
    if (stream.tickers.length > 0) expect(agreeing).toBe(rows.length);
    const { source, type, pair, book } = rows[0].markets[0];
    expect([source, type, pair]).toEqual(['binance-delivery', 'cex_perp', 'BTCUSD_PERP']);
    for (const [price, size] of [...book.bids, ...book.asks]) {
      const contracts = (price * size) / 100;
      expect(Math.abs(contracts - Math.round(contracts))).toBeLessThan(1e-9 * contracts);
    }
  });
});

describe.runIf(hasShared)('USD-M perpetual', () => {
  it.each(['20230404', '20240808'])('of %s agrees with a plain replay', async (day) => {
    const file = shared(`cex/binance/usdm_BTCUSDT_${day}.stream.gz`);
    const { rows, report } = await importAll('binance-stream', [file], {
      ...TOKEN,
      every: day === '20230404' ? '1s' : '10s',
    });
    const agreeing = checkAgainstPlain(rows, readStream([file]));
    expect(agreeing).toBeGreaterThanOrEqual(rows.length - 1);
    expect(report.gaps.count).toBe(0);
    expect(rows[0].markets[0]).toMatchObject({ source: 'binance-futures', type: 'cex_perp' });
  });

  it('is written at a moment that only another message of the feed reaches', async () => {
    const file = shared('cex/binance/usdm_BTCUSDT_20230404.stream.gz');
    const { rows } = await importAll('binance-stream', [file], TOKEN);
    expect(rows.map((row) => row.t)).toEqual([1680652740, 1680652800]);
  });
});

describe.runIf(hasShared)('samples that Tardis wrote', () => {
  it('are read: ten whole books, and asks alone that make none', async () => {
    const books = shared(
      'cex/tardis/binance-futures_book_snapshot_25_2020-09-01_BTCUSDT.sample.csv',
    );
    const top = await importAll('tardis-book-snapshot', [books], EVERY_SECOND);
    expect(top.report.messages).toBe(10);
    expect(top.rows.map((row) => row.t)).toEqual([1598918404]);
    expect(top.rows[0].markets[0]).toMatchObject({ source: 'binance-futures', type: 'cex_perp' });
    const asks = shared(
      'cex/tardis/deribit_incremental_book_L2_2020-04-01_BTC-PERPETUAL.sample.csv',
    );
    const none = await importAll('tardis-incremental-l2', [asks], {
      ...EVERY_SECOND,
      'contract-usd': '1',
    });
    expect([none.report.messages, none.rows.length]).toEqual([1, 0]);
  });
});
