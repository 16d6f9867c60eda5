import { describe, expect, it } from 'vitest';
import { fixture, hasShared, importAll, shared } from './import-helpers.js';
import { EVERY_SECOND, expectContractsInUsd, testSpotBook } from './import-books-checks.js';

describe('spot BTCUSDT, excerpts', () =>
  testSpotBook({
    native: [fixture('binance_spot_excerpt.stream.gz')],
    tardis: fixture('tardis_incremental_excerpt.csv.gz'),
    top: fixture('tardis_snapshot_excerpt.csv'),
    everyS: 1,
    depth: 3,
    disagreeing: 0,
  }));

it('COIN-M contracts are USD', () => expectContractsInUsd(fixture('binance_coinm_excerpt.stream')));

describe.runIf(hasShared)('samples that Tardis wrote', () => {
  it('are read: ten whole books; one with only asks is not a book', async () => {
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
