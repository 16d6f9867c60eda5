/** Captures of real messages, imported and compared with a plain second opinion. */
import { describe, expect, it } from 'vitest';
import { booksOf, type PlainBook, readPlainly } from '../reference/exchange-books.js';
import {
  hasShared,
  importAll,
  Scratch,
  type SnapshotRow,
  TOKEN,
} from '../storage/import-helpers.js';
import { BINANCE_CAPTURES, bookOf, type Capture, CAPTURES, flagsOf } from './captures.js';

/** Compares each row with the plain book after the last message up to its time. @returns how many differ */
function differing(rows: SnapshotRow[], capture: Capture, symbol: string): number {
  const wanted = [...rows];
  let wrong = 0;
  let before: PlainBook | null = null;
  let last!: { book: () => PlainBook };
  const compare = (row: SnapshotRow): void => {
    if (JSON.stringify(bookOf(row)) !== JSON.stringify(before)) wrong++;
  };
  for (const state of booksOf(
    capture.exchange,
    readPlainly(capture.exchange, capture.files),
    symbol,
  )) {
    while (wanted.length > 0 && wanted[0].t * 1e6 < state.us) {
      before = last.book();
      compare(wanted.shift()!);
    }
    last = state;
  }
  before = last.book();
  for (const row of wanted) compare(row);
  return wrong;
}

describe.runIf(hasShared)('captures of exchanges', () => {
  for (const capture of CAPTURES) {
    const { exchange, files, symbols } = capture;
    it.each(symbols)(`${exchange}: %s equals the plain book at every second`, async (symbol) => {
      const { rows, report } = await importAll('capture', files, flagsOf(capture, symbol));
      expect(report.gaps.first).toEqual([]);
      expect(report.crossed.count).toBe(0);
      expect(rows.length).toBeGreaterThan(4);
      expect(differing(rows, capture, symbol)).toBe(0);
    });
  }

  it.each(BINANCE_CAPTURES.flatMap((c) => c.symbols.map((symbol) => ({ ...c, symbol }))))(
    '$exchange: $symbol is whole without a gap',
    async (capture) => {
      const { rows, report } = await importAll(
        'capture',
        capture.files,
        flagsOf(capture, capture.symbol),
      );
      expect([report.gaps.count, report.crossed.count]).toEqual([0, 0]);
      expect(rows.length).toBeGreaterThan(15);
      expect(rows[0].markets[0].source).toBe(capture.exchange);
    },
  );

  it('several symbols are refused with their names', async () => {
    const [{ files }] = CAPTURES;
    await expect(importAll('capture', files, { ...TOKEN, exchange: 'bitget' })).rejects.toThrow(
      /several symbols.*AVAXUSDT, EOSUSDT/,
    );
  });

  it('contracts need their worth', async () => {
    const capture = CAPTURES.find(({ exchange }) => exchange === 'kraken-futures')!;
    const flags = { ...TOKEN, exchange: 'kraken-futures', symbol: 'PI_ETHUSD' };
    await expect(importAll('capture', capture.files, flags)).rejects.toThrow(/--contract-usd/);
  });
});

describe('the exchange of a capture', () => {
  const scratch = new Scratch();
  const S = 1_700_000_000;
  const binance = (symbol: string, pu?: number): string[] => [
    `{"lastUpdateId":100,"symbol":"${symbol}","bids":[["99","1"]],"asks":[["101","1"]]}`,
    ...[0, 1, 2].map(
      (i) =>
        `{"e":"depthUpdate","E":${(S + i) * 1000},"s":"${symbol}","U":${101 + i},"u":${101 + i},${pu === undefined ? '' : `"pu":${100 + i},`}"b":[],"a":[]}`,
    ),
  ];
  const imported = (exchange: string, lines: string[], flags: object = {}) =>
    importAll('capture', [scratch.file('capture.txt', lines.join('\n'))], {
      ...TOKEN,
      exchange,
      every: '1s',
      ...flags,
    });

  it.each([
    ['binance', 'binance-futures', binance('SOLUSDT', 1)],
    ['binance-us', 'binance-futures', binance('SOLUSDT', 1)],
    ['binance-futures', 'binance', binance('SOLUSDT')],
    ['binance-futures', 'binance-delivery', binance('SOLUSD_PERP', 1)],
  ])('%s is refused where the updates are those of %s', async (given, found, lines) => {
    await expect(imported(given, lines, { 'contract-size': '1' })).rejects.toThrow(
      new RegExp(`are those of ${found}, not of ${given}: expected --exchange ${found}`),
    );
  });

  it('binance.us cannot be told from binance.com', async () => {
    const { rows } = await imported('binance-us', binance('SOLUSDT'));
    expect(rows[0].markets[0].source).toBe('binance-us');
  });

  const bybit = ['snapshot', 'delta', 'delta'].map(
    (type, i) =>
      `{"topic":"orderbook.500.SOLUSDT","type":"${type}","ts":${(S + i) * 1000},"data":{"s":"SOLUSDT","b":[["99","1"]],"a":[["101","1"]],"u":${2 + i}}}`,
  );
  const okx = (symbol: string) =>
    ['snapshot', 'update', 'update'].map(
      (action, i) =>
        `{"arg":{"channel":"books","instId":"${symbol}"},"action":"${action}","data":[{"ts":"${(S + i) * 1000}","bids":[["99","1"]],"asks":[["101","1"]]}]}`,
    );
  it.each([
    ['bybit', bybit, {}, 'bybit', 'cex_perp'],
    ['bybit', bybit, { type: 'cex_spot' }, 'bybit-spot', 'cex_spot'],
    ['okx', okx('SOL-USDT'), {}, 'okx', 'cex_spot'],
    ['okx', okx('SOL-USDT-SWAP'), { 'contract-size': '1' }, 'okx-perp', 'cex_perp'],
  ])('%s, of either type: two venues', async (exchange, lines, flags, source, type) => {
    const { rows } = await imported(exchange, lines, flags);
    expect(rows[0].markets[0]).toMatchObject({ source, type });
  });

  it('contracts of a swap need their worth', async () => {
    await expect(imported('okx', okx('SOL-USDT-SWAP'))).rejects.toThrow(/--contract-usd/);
  });
});

describe('connections of a capture', () => {
  const scratch = new Scratch();
  const A = 'wss://a.example/feed';
  const B = 'wss://b.example/feed';
  const S = 1_650_000_000;
  const snapshot = (s: number): string =>
    `${A} -> ${s}: {"type":"snapshot","product_id":"SOL-USD","bids":[["100","1"]],"asks":[["101","1"]]}`;
  const imported = (...captured: string[]) => {
    const file = scratch.file('capture.txt', captured.join('\n'));
    return importAll('capture', [file], { ...TOKEN, exchange: 'coinbase', symbol: 'SOL-USD' });
  };

  it('any that begins again breaks the book off, and not only the first', async () => {
    const { report } = await imported(
      `${A} <-> ${S}`,
      `${B} <-> ${S}`,
      snapshot(S + 1),
      `${B} <-> ${S + 2}`,
    );
    expect(report.gaps.first).toMatchObject([{ reason: 'the connection begins anew' }]);
    const once = await imported(`${A} <-> ${S}`, snapshot(S + 1), `${B} <-> ${S + 2}`);
    expect(once.report.gaps.count).toBe(0);
  });

  it('have an address, or the line is named', async () => {
    await expect(imported(`https://:80/x -> ${S}: {}`)).rejects.toThrow(
      /:1: 'https:\/\/:80\/x': expected a URL/,
    );
  });
});
