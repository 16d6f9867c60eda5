/** Nested `snapshots` in Parquet give what the same rows give as NDJSON, whatever the types of their numbers are. */
import { expect, it } from 'vitest';
import { lines, MINT, readJson, StoreScratch } from '../support/ingest.js';

const scratch = new StoreScratch();
const T = 1_760_000_060;

const LIQUIDITY = 9_007_199_254_740_993n;
const SQRT_PRICE = 79_228_162_514_264_337_593_543_950_336n;

const rows = (liquidity: string, tick: (index: number) => unknown = Number) =>
  Array.from({ length: 3 }, (_, i) => ({
    chain: 'mainchain',
    address: MINT,
    t: T + i,
    price_usd: 1,
    markets: [
      {
        source: 'Kraken\n"Infinity", NaN',
        exchange_type: 'CEX',
        book: { bids: [[0.999, 10 + i]], asks: [[1.001, 12]] },
      },
      {
        source: 'Orca',
        exchange_type: 'DEX',
        address: 'pool',
        clmm: {
          sqrt_price_x96: String(SQRT_PRICE),
          ticks: [
            [tick(-600), liquidity],
            [tick(600), `-${liquidity}`],
          ],
          decimals0: 6,
          decimals1: 6,
          token: 0,
          quote_usd: 1,
        },
      },
    ],
  }));

/** The rows with the pool's numbers in other types, and `t` in another one. */
async function typed(liquidity: string, number: string, t = 't'): Promise<string> {
  const source = scratch.file('.ndjson', lines(rows(liquidity, String)));
  const pool = `struct_pack(sqrt_price_x96 := m.clmm.sqrt_price_x96::DECIMAL(38, 0),
    ticks := list_transform(m.clmm.ticks, lambda k: {'tick': k[1]::INTEGER, 'liquidity_net': k[2]::${number}}),
    decimals0 := 6::TINYINT, decimals1 := 6::HUGEINT, token := 0, quote_usd := 1::DECIMAL(38, 18))`;
  const markets = `list_transform(markets, lambda m: struct_pack(source := m.source, exchange_type := m.exchange_type,
    address := m.address, book := m.book, clmm := CASE WHEN m.clmm IS NULL THEN NULL ELSE ${pool} END))`;
  return scratch.parquet(
    `SELECT * REPLACE (${t} AS t, ${markets} AS markets) FROM ${readJson(source)}`,
  );
}

async function stored(file: string, ...flags: string[]) {
  await scratch.ingest('snapshots', file, { flags });
  return (await scratch.snapshots()).slice(-3);
}

it.each(['BIGINT', 'DECIMAL(38, 0)', 'VARCHAR'])('%s: 64-bit numbers', async (type) => {
  const liquidity = String(LIQUIDITY);
  const expected = await stored(scratch.file('.ndjson', lines(rows(liquidity))));
  expect(expected[0].cells.length).toBeGreaterThan(2);
  const file = await typed(liquidity, type);
  expect(await stored(file)).toEqual(expected);
  for (const flags of [
    ['--time-unit', 's'],
    ['--set', 'tier=raw', '--coerce'],
  ]) {
    expect(await stored(file, ...flags), flags.join(' ')).toEqual(expected);
  }
});

it('times: timestamps, and decimals without a fraction', async () => {
  const expected = await stored(scratch.file('.ndjson', lines(rows('1000'))));
  for (const t of ['to_timestamp(t + 0.999999)', 't::DECIMAL(38, 9)', 't::UBIGINT']) {
    expect(await stored(await typed('1000', 'BIGINT', t))).toEqual(expected);
  }
  const part = await typed('1000', 'BIGINT', '(t - 0.000000001::DECIMAL(38, 9))');
  const faults = await scratch.refuses('snapshots', part);
  expect(faults).toHaveLength(3);
  for (const fault of faults) expect(fault).toMatch(/^\d: t: must be whole epoch seconds/);
});

it('NaN, Infinity and nulls are faults of their field and row', async () => {
  const bids = `[[[0.9, 1]], [[0.9, 'nan'::DOUBLE]], [['inf'::DOUBLE, 1]], [[NULL, 1]]]`;
  const file = await scratch.parquet(
    `SELECT 'mainchain' AS chain, '${MINT}' AS address, (${T} + i) AS t,
      CASE WHEN i = 4 THEN '-inf'::DOUBLE ELSE 1 END AS price_usd,
      [{'source': 'Kraken', 'exchange_type': 'CEX', 'book': {'bids': ${bids}[i], 'asks': [[1.1, 1]]}}] AS markets
      FROM range(1, 5) r(i)`,
  );
  expect(await scratch.refuses('snapshots', file)).toEqual([
    expect.stringMatching(/^2: markets\[0\]\.book\.bids\[0\]: /),
    expect.stringMatching(/^3: markets\[0\]\.book\.bids\[0\]: /),
    expect.stringMatching(/^4: price_usd: must be a number > 0/),
    expect.stringMatching(/^4: markets\[0\]\.book\.bids\[0\]: /),
  ]);
});

it('decimals of over 38 digits within a list are refused', async () => {
  expect(await scratch.refuses('snapshots', 'test/fixtures/types/nested.parquet')).toEqual([
    '1: markets: must be decimals of at most 38 digits in a Parquet file, these have 50: write them as DOUBLE, or the file as Arrow',
  ]);
});
