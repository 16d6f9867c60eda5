/** The warnings about files, and --strict. */
import { describe, expect, it } from 'vitest';
import { fathom } from '../support/cli.js';
import { cells, lines, MINT, Scratch, snapshot, storedSnapshots } from '../support/ingest.js';
import { dcaRow } from '../support/flat.js';
import type { Json } from '../support/tables.js';

const scratch = Scratch.held();

/** 2026-11-06T20:00:00Z */
const T = 1_793_995_200;
const FUTURE = 4_000_000_000;

const booked = (t: number, bids: number[][], asks: number[][], more: Json = {}) =>
  snapshot(t, [], {
    price_usd: 100,
    markets: [{ source: 'Kraken', exchange_type: 'CEX', pair: 'A/B', book: { bids, asks } }],
    ...more,
  });
const whole: number[][][] = [[[99, 10]], [[101, 10]]];
const book = (t: number, more: Json = {}) => booked(t, [[99, 10]], [[101, 10]], more);

async function run(dataset: string, rows: readonly object[], ...flags: string[]) {
  const file = scratch.file('.ndjson', lines(rows));
  const words = ['ingest', dataset, file, '--data', scratch.data, '--json', ...flags];
  const { status, stdout, stderr } = await fathom(words);
  const document = JSON.parse(stdout.replaceAll(`${file}:`, '')) as Json;
  return { status, stderr: stderr.replaceAll(`${file}:`, ''), document };
}

const warningsOf = async (dataset: string, rows: readonly object[]): Promise<Json[]> => {
  const { status, document } = await run(dataset, rows, '--dry-run');
  expect(status).toBe(0);
  return (document.files as Json[])[0].warnings as Json[];
};

it('a file without rows is valid, and stderr says that it has none', async () => {
  const files = [
    scratch.file('.csv', 'chain,address,symbol\n'),
    scratch.file('.ndjson', ''),
    scratch.file('.csv', `chain,address,symbol\nmainchain,${MINT},A\n`),
  ];
  const words = ['ingest', 'tokens', ...files, '--strict', '--dry-run', '--data', scratch.data];
  const { status, stdout, stderr } = await fathom(words);
  expect([status, stdout]).toEqual([0, '']);
  expect(stderr.split('\n').filter((line) => line.startsWith('warning'))).toEqual(
    files.slice(0, 2).map((file) => `warning: ${file} has no rows`),
  );
});

describe('a file gets warnings about', () => {
  it('nothing that is normal', async () => {
    expect(await warningsOf('snapshots', [book(T), book(T + 60)])).toEqual([]);
    expect(await warningsOf('cells', cells(T))).toEqual([]);
  });

  it('prices in the wrong unit, swapped and half-empty books, and future times', async () => {
    const rows = [
      book(T),
      book(T + 60, { price_usd: 0.1 }),
      book(T + 120, { price_usd: 100_000 }),
      booked(T + 180, [[101, 10]], [[99, 10]]),
      booked(T + 240, [[99, 10]], [[101, 0]]),
      book(FUTURE),
    ];
    expect(await warningsOf('snapshots', rows)).toEqual([
      {
        kind: 'no_cells',
        count: 2,
        example: '2: the snapshot of 2026-11-06T20:01:00.000Z has no cell',
      },
      {
        kind: 'outside_ladder',
        count: 2,
        example:
          '2: 2 of 2 levels of the snapshot of 2026-11-06T20:01:00.000Z lie outside the ladder: is price_usd right?',
      },
      {
        kind: 'crossed_book',
        count: 1,
        example:
          '4: the book of Kraken A/B is crossed: best bid 101, best ask 99 (USD); are bids and asks swapped?',
      },
      { kind: 'one_sided_book', count: 1, example: '5: the book of Kraken A/B has no asks' },
      {
        kind: 'future_time',
        count: 1,
        example: '6: 2096-10-02T07:06:40.000Z is more than an hour ahead',
      },
    ]);
  });

  it('pools whose liquidity falls below 0, with the first such tick', async () => {
    const pool = (...ticks: [number, string][]) =>
      snapshot(T, [], {
        price_usd: 100,
        markets: [
          {
            source: 'Orca',
            exchange_type: 'DEX',
            pair: 'A/B',
            clmm: {
              sqrt_price_x96: String(10n * 2n ** 96n),
              ticks,
              decimals0: 6,
              decimals1: 6,
              token: 0,
              quote_usd: 1,
            },
          },
        ],
      });
    const whole = pool([45_000, '1000000000'], [47_000, '-1000000000']);
    expect(await warningsOf('snapshots', [whole])).toEqual([]);
    const broken = pool([45_000, '1000000000'], [47_000, '-1000000001'], [48_000, '1']);
    expect(await warningsOf('snapshots', [broken])).toEqual([
      {
        kind: 'negative_liquidity',
        count: 1,
        example:
          '1: the liquidity of the pool Orca A/B falls below 0 at tick 47000: are ticks missing?',
      },
    ]);
    const fallen = pool([47_000, '1'], [45_000, '-1']);
    const { stderr } = await run('snapshots', [fallen], '--dry-run');
    expect(stderr).toContain('ticks must ascend: 45000 follows 47000');
    // The numbers are texts, as they should be.
    expect(stderr).not.toContain('--coerce');
  });

  it('more than half of the levels outside the ladder, not exactly half', async () => {
    const outside = (count: number) =>
      booked(
        T,
        [...whole[0]],
        [...whole[1], ...Array.from({ length: count }, (_, i) => [9000 + i, 1])],
      );
    expect(await warningsOf('snapshots', [outside(2)])).toEqual([]);
    expect(await warningsOf('snapshots', [outside(3)])).toMatchObject([
      { kind: 'outside_ladder', count: 1 },
    ]);
    const far = cells(T).map((cell, i) => ({ ...cell, bin: i === 0 ? 0 : 300 + i }));
    expect(await warningsOf('cells', far)).toMatchObject([{ kind: 'outside_ladder', count: 1 }]);
    expect(await warningsOf('cells', far.slice(1))).toMatchObject([
      { kind: 'no_cells', count: 1 },
      { kind: 'outside_ladder', count: 1 },
    ]);
  });

  it('books on the ladder that are far from the price of their snapshot', async () => {
    const rows = [
      book(T, { price_usd: 60 }),
      book(T + 60, { price_usd: 40 }),
      book(T + 120, { price_usd: 1000 }),
    ];
    expect(await warningsOf('snapshots', rows)).toEqual([
      {
        kind: 'far_from_price',
        count: 2,
        example:
          '2: the book of Kraken A/B is far from price_usd 40: best bid 99, best ask 101 (USD)',
      },
    ]);
  });

  it('books whose best ask is more than ten times their best bid', async () => {
    const wide = (ask: number) => booked(T, [[20, 1]], [[ask, 1]]);
    expect(await warningsOf('snapshots', [wide(200)])).toEqual([]);
    expect(await warningsOf('snapshots', [wide(200.1)])).toEqual([
      {
        kind: 'wide_spread',
        count: 1,
        example:
          '1: the book of Kraken A/B has a wide spread: best bid 20, best ask 200.1 (USD); is one of them mistyped?',
      },
    ]);
    const level = (side: string, price: number) => ({
      ...{ chain: 'mainchain', address: MINT, t: T, source: 'Kraken', exchange_type: 'CEX' },
      ...{ side, price, size: 1 },
    });
    const levels = [level('bid', 9.9), level('ask', 1_000_000)];
    expect(await warningsOf('levels', levels)).toMatchObject([{ kind: 'wide_spread', count: 1 }]);
  });

  it('the same in levels', async () => {
    const level = {
      chain: 'mainchain',
      address: MINT,
      t: T,
      source: 'Kraken',
      exchange_type: 'CEX',
    };
    const rows = [
      { ...level, side: 'ask', price: 99, size: 10 },
      { ...level, side: 'bid', price: 101, size: 10 },
    ];
    expect(await warningsOf('levels', rows)).toMatchObject([{ kind: 'crossed_book', count: 1 }]);
  });

  it('levels that a later row of their book replaces with another size', async () => {
    const level = (side: string, price: number, size: number) => ({
      chain: 'mainchain',
      address: MINT,
      t: T,
      source: 'Kraken',
      exchange_type: 'CEX',
      side,
      price,
      size,
    });
    const rows = [
      level('bid', 99, 1),
      level('ask', 101, 10),
      level('ask', 101, 10),
      level('bid', 99, 2),
      level('bid', 99, 3),
    ];
    expect(await warningsOf('levels', rows)).toEqual([
      {
        kind: 'replaced_level',
        count: 2,
        example: '1: line 4 has the same side and price, and size 2, not 1',
      },
    ]);
    expect(await warningsOf('levels', rows.slice(1, 4))).toEqual([]);
  });

  it('levels whose prices are in another unit than the stored ones', async () => {
    const levels = (t: number, factor: number) =>
      [99, 101].map((price, i) => ({
        chain: 'mainchain',
        address: MINT,
        t,
        source: 'Kraken',
        exchange_type: 'CEX',
        side: ['bid', 'ask'][i],
        price: price * factor,
        size: 10,
      }));
    expect((await run('levels', levels(T, 1))).document).toMatchObject({
      files: [{ warnings: [] }],
    });
    const warning = {
      kind: 'far_from_stored',
      count: 1,
      example: `1: the price of mainchain:${MINT} is 100000, the stored one is 100 (USD): are the prices in another unit?`,
    };
    for (const t of [T - 60, T, T + 60]) {
      expect(await warningsOf('levels', levels(t, 1000))).toEqual([warning]);
      expect(await warningsOf('levels', levels(t, 0.001))).toMatchObject([
        { kind: 'far_from_stored' },
      ]);
      for (const factor of [0.011, 99]) {
        expect(await warningsOf('levels', levels(t, factor))).toEqual([]);
      }
    }
    const refused = await run('levels', levels(T + 60, 1000), '--strict');
    expect(refused).toMatchObject({ status: 1 });
    expect(refused.stderr).toContain('1 far_from_stored');
    expect(await storedSnapshots(scratch.data, 'mainchain', MINT)).toHaveLength(1);
  });

  it('future times in flat datasets', async () => {
    const holder = { token_address: MINT, t: FUTURE, owner: 'Ann', balance: 1 };
    expect(await warningsOf('holders', [holder])).toMatchObject([
      { kind: 'future_time', count: 1 },
    ]);
  });

  it('DCA orders with more left than was deposited', async () => {
    const order = (dca: string, left: number) =>
      dcaRow({ dca_address: dca, deposited_usd: 100, remaining_usd: left });
    const rows = [order('a', 100), order('b', 100.5), order('c', 500)];
    expect(await warningsOf('dca_orders', rows)).toEqual([
      {
        kind: 'over_deposit',
        count: 2,
        example: '2: remaining_usd, 100.5, is greater than deposited_usd, 100',
      },
    ]);
  });
});

it('the report counts levels of books that a later one within their second replaced', async () => {
  const at = (ms: number, bid: number) => ({
    chain: 'mainchain',
    address: MINT,
    t: T + ms / 1000,
    source: 'Kraken',
    exchange_type: 'CEX',
    side: 'bid',
    price: bid,
    size: 10,
    price_usd: 100,
  });
  const rows = [at(100, 97), at(100, 98), at(300, 99), at(1200, 98)];
  const flags = ['--time-unit', 'auto', '--dry-run'];
  const { document, stderr } = await run('levels', rows, ...flags);
  expect(document.files).toMatchObject([{ rows: 4, cells: 2, earlier_levels: 2 }]);
  expect(stderr).toContain(', 2 levels of earlier books within a second left out');
  const whole = await run('levels', rows.slice(2), ...flags);
  expect((whole.document.files as Json[])[0]).not.toHaveProperty('earlier_levels');
});

it('--strict refuses a whole file for a warning, and accepts one without', async () => {
  const rows = [book(T), booked(T + 60, [[99, 10]], [])];
  const refused = await run('snapshots', rows, '--strict');
  expect(refused).toMatchObject({
    status: 1,
    document: { files: [], faults: ['2: the book of Kraken A/B has no asks'] },
  });
  expect(refused.stderr).toContain(
    'nothing was stored: --strict refuses a file with warnings: 1 one_sided_book',
  );
  const taken = await run('snapshots', [book(T)], '--strict');
  expect(taken.status).toBe(0);
  expect(await storedSnapshots(scratch.data, 'mainchain', MINT)).toHaveLength(1);
  const warned = await run('snapshots', rows);
  expect(warned.status).toBe(0);
  expect(warned.stderr).toContain(
    'warning: books with only one side: 1, such as 2: the book of Kraken A/B has no asks',
  );
  expect(warned.stderr).toContain(', replaced 1 stored snapshot (2 cells before, 2 after) in ');
});
