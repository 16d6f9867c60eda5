/** Books rebuilt by imports, compared with a plain replay of the same files. */
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { beforeAll, expect, it } from 'vitest';
import { replayPlainly, type PlainSnapshot, type PlainUpdate } from '../reference/order-book.js';
import { faultsOf, importAll, TOKEN, type SnapshotRow } from './import-helpers.js';

export const EVERY_SECOND = { ...TOKEN, every: '1s' };

interface Ticker {
  lastId: number;
  values: number[];
}

/** A Binance stream as the test itself reads it: snapshot, updates, tickers. */
export function readStream(files: string[]) {
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

/** Compares rows with a plain replay, at every moment from the first to the last, and with their tickers. */
export function checkAgainstPlain(
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

/** Every multiple of the step from the first moment at which the book is whole to the feed's end. */
function expectEveryMoment(rows: SnapshotRow[], firstMs: number, endMs: number, everyS: number) {
  const first = Math.ceil(firstMs / 1000 / everyS);
  const count = Math.floor(endMs / 1000 / everyS) - first + 1;
  expect(rows.map((row) => row.t)).toEqual(
    Array.from({ length: count }, (_, i) => (first + i) * everyS),
  );
}

/** The same book in three forms. */
interface SpotSource {
  native: string[];
  tardis: string;
  /** The top levels as the exporter rebuilt them. */
  top: string;
  everyS: number;
  depth: number;
  /** Rows that may differ from their tickers. */
  disagreeing: number;
}

/** Declares the tests of a book of BTCUSDT. */
export function testSpotBook({
  native,
  tardis,
  top,
  everyS,
  depth,
  disagreeing,
}: SpotSource): void {
  const every = (steps: number) => ({ ...TOKEN, every: `${steps * everyS}s` });
  let imported: ReturnType<typeof importAll<SnapshotRow>>;
  let stream: ReturnType<typeof readStream>;
  beforeAll(() => {
    imported = importAll('binance-stream', native, every(1));
    stream = readStream(native);
    return imported;
  });

  it('is the same from the native stream, from Tardis, and in a plain replay', async () => {
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
      expect([report.gaps.count, report.outOfOrder.count, report.crossed.count]).toEqual([0, 0, 0]);
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
}

/** A file of BTCUSD_PERP, whose sizes are contracts of 100 USD. */
export async function expectContractsInUsd(file: string): Promise<void> {
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
}
