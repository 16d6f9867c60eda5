/** Captures with one update taken out: the loss is noticed, or changes nothing that the exchange vouches for. */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { booksOf, readPlainly } from '../reference/exchange-books.js';
import { hasShared, importAll, Scratch } from '../storage/import-helpers.js';
import { bookOf, CAPTURES, flagsOf } from './captures.js';

const scratch = new Scratch();

/** How many best levels the exchange's checksum covers; Infinity: its numbers cover the whole book. */
const COVERED: Record<string, number> = {
  bitget: 25,
  bybit: Infinity,
  kraken: 10,
  'kraken-futures': Infinity,
  kucoin: Infinity,
  okx: 25,
};
/** Updates that are taken out of a capture, one at a time. */
const TRIALS = 12;

describe.runIf(hasShared)('a lost update is noticed', () => {
  const verified = CAPTURES.filter(
    ({ exchange, files }) => exchange in COVERED && !files[0].includes('bybit_linear_2021'),
  );
  it.each(verified)('$exchange', async (capture) => {
    const { exchange, files, symbols } = capture;
    const [symbol] = symbols;
    const lines = files.map((file) => gunzipSync(readFileSync(file)).toString().split('\n'));
    const messages = readPlainly(exchange, files).filter((m) => m.symbol === symbol);
    const start = messages.findIndex((message) => message.whole);
    const flags = flagsOf(capture, symbol);
    const best = ({ bids, asks }: { bids: number[][]; asks: number[][] }): string =>
      JSON.stringify([bids, asks].map((side) => side.slice(0, COVERED[exchange])));
    const known = new Set([...booksOf(exchange, messages, symbol)].map(({ book }) => best(book())));
    // One of a KuCoin feed may come before the book from REST and is in it.
    const after = messages.slice(start + 1, -2).filter((m) => !m.isOld?.(messages[start].rest));
    let noticed = 0;
    for (let trial = 0; trial < TRIALS; trial++) {
      const lost = after[Math.floor((trial / TRIALS) * after.length)];
      // Line numbers count the received messages over all files.
      const received = lines.flat().filter((l) => l !== '' && !/ (<->|<-) /.test(l.slice(0, 300)));
      const text = received[lost.line];
      const cut = lines.map((own, i) =>
        scratch.file(
          `${exchange}-${trial}-${i}`.replace('/', '-'),
          own.filter((l) => l !== text).join('\n'),
        ),
      );
      const { rows, report } = await importAll('capture', cut, flags);
      if (report.gaps.count > 0) {
        noticed++;
        continue;
      }
      // Unnoticed, each row is a book that the exchange had: the lost one came last, or changed only deeper levels.
      expect(rows.map((row) => known.has(best(bookOf(row))))).not.toContain(false);
    }
    expect(noticed).toBeGreaterThan(TRIALS / 3);
  });
});
