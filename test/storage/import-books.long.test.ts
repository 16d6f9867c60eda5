/** Whole files of exchanges, if they are there. */
import { describe, expect, it } from 'vitest';
import { hasShared, importAll, shared, TOKEN } from './import-helpers.js';
import {
  checkAgainstPlain,
  expectContractsInUsd,
  readStream,
  testSpotBook,
} from './import-books-checks.js';

describe.runIf(hasShared)('whole files', () => {
  describe('of spot BTCUSDT', () =>
    testSpotBook({
      native: ['20240808', '20240809'].map((day) =>
        shared(`cex/binance/spot_BTCUSDT_${day}.stream.gz`),
      ),
      tardis: shared('cex/tardis/binance_incremental_book_L2_2024-08-08_BTCUSDT.csv.gz'),
      top: shared('cex/tardis/binance_book_snapshot_25_2024-08-08_BTCUSDT.csv.gz'),
      everyS: 5,
      depth: 25,
      disagreeing: 2,
    }));

  it('of COIN-M contracts are USD', () =>
    expectContractsInUsd(shared('cex/binance/coinm_BTCUSD_PERP_20240808.stream.gz')));

  describe('USD-M perpetual', () => {
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

    it('is written at a moment that only another kind of message reaches', async () => {
      const file = shared('cex/binance/usdm_BTCUSDT_20230404.stream.gz');
      const { rows } = await importAll('binance-stream', [file], TOKEN);
      expect(rows.map((row) => row.t)).toEqual([1680652740, 1680652800]);
    });
  });
});
