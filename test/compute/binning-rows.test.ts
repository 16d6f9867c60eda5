import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { transferablesOf, type BinnedChunk } from '../../compute/ingest/binned-chunk.js';
import { binSnapshotLines, binSnapshotRows } from '../../compute/ingest/snapshots.js';
import { DEFAULT_BAND } from '../../compute/ladder.js';
import * as reference from '../reference/binning.js';
import { contentOf } from '../support/stores.js';

const MINT = 'So11111111111111111111111111111111111111112';
const EVM = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48';
const T = 1_794_000_000;

const market = (source: string, body: object, more: object = {}) => ({
  source,
  exchange_type: 'DEX',
  address: null,
  pair: 'A/B',
  ...more,
  ...body,
});
const row = (t: number, markets: object[], more: object = {}) => ({
  chain: 'mainchain',
  address: MINT,
  t,
  price_usd: 2,
  markets,
  ...more,
});
const cells = (...list: [number, number, number][]) => ({ cells: list });

/** Every snapshot of a batch as `[t, price, [[source, bin, support cents, resistance cents]]]`. */
function contentOfRun(batch: BinnedChunk, part = 0) {
  expect(batch.faults).toEqual([]);
  const { run, markets } = batch.runs[part];
  return Array.from(run.t, (t, s) => {
    const list = [];
    for (let i = run.cellOffsets[s]; i < run.cellOffsets[s + 1]; i++) {
      const { source } = markets[run.market[i]];
      list.push([source, run.bin[i], run.supportCents[i], run.resistanceCents[i]]);
    }
    return [t, run.priceUsd[s], list];
  });
}

const replace = (...rows: unknown[]) => binSnapshotRows(rows, { firstLine: 1, mode: 'replace' });
/** @param baseUsd that of the snapshot at T */
const merge = (rows: unknown[], baseUsd?: number) =>
  binSnapshotRows(rows, { firstLine: 1, mode: 'merge', basePrices: basePrices([T, baseUsd]) });
const basePrices = (...prices: [t: number, usd: number | undefined][]) =>
  new Map(
    prices.flatMap(([t, usd]) => (usd === undefined ? [] : [[`mainchain ${MINT} raw ${t}`, usd]])),
  );

it('a snapshot of every kind of market gives the cells of another implementation', () => {
  const { row, cells } = JSON.parse(readFileSync('test/fixtures/binning/snapshot.json', 'utf8'));
  const batch = replace(row);
  expect(batch.faults).toEqual([]);
  const [{ run, markets }, ...others] = batch.runs;
  expect([others, run.tier, [...run.t]]).toEqual([[], row.tier, [row.t]]);
  const found = Array.from(run.bin, (bin, i) => {
    const { source, address, pair } = markets[run.market[i]];
    const name = address ?? pair;
    const market = name === null ? source : `${source}/${name}`;
    return [market, bin, run.supportCents[i], run.resistanceCents[i]] as const;
  }).filter(([, bin]) => bin >= DEFAULT_BAND.first && bin <= DEFAULT_BAND.last);
  const expected = cells.map(([name, bin, ...usd]: [string, number, number, number]) => [
    name,
    bin,
    ...usd.map((amount) => Math.round(amount * 100)),
  ]);
  expect(found.map(String).sort()).toEqual(expected.map(String).sort());
});

describe('snapshot rows', () => {
  it('omit cells under 1.00 USD and count amounts outside the ladder', () => {
    const list = cells([0, 0.5, 0.49], [1, 0.499, 0.505], [243, 0, 1], [-233, 0, 0], [-999, 1, 1]);
    const bids = [
      [2, 1],
      [1e-9, 1],
      [1e-9, 0],
    ];
    const batch = replace(row(T, [market('A', list), market('B', { book: { bids, asks: [] } })]));
    // Rounded separately, 0.499 and 0.505 give 0.50 and 0.51.
    expect(contentOfRun(batch)).toEqual([
      [
        T,
        2,
        [
          ['A', 1, 50, 51],
          ['B', 0, 200, 0],
        ],
      ],
    ]);
    expect(batch.droppedLevels).toBe(3);
  });

  it('take defaults for tier and type and fold 0x addresses of markets', () => {
    const batch = replace(
      row(T, [
        market('Kraken', cells(), { exchange_type: 'CEX', type: null }),
        market('Pool', cells(), { address: EVM, pair: undefined }),
        market('V4', cells(), { address: `0x${'AB'.repeat(32)}` }),
      ]),
    );
    expect(batch.runs[0].run.tier).toBe('raw');
    expect(batch.runs[0].markets).toEqual([
      { source: 'Kraken', exchangeType: 'CEX', type: 'cex_spot', address: null, pair: 'A/B' },
      {
        source: 'Pool',
        exchangeType: 'DEX',
        type: 'onchain_pool',
        address: EVM.toLowerCase(),
        pair: null,
      },
      {
        source: 'V4',
        exchangeType: 'DEX',
        type: 'onchain_pool',
        address: `0x${'ab'.repeat(32)}`,
        pair: 'A/B',
      },
    ]);
  });

  it('sum constant-product pools before rounding, at the position of the first', () => {
    const pools = [
      { reserve_token: 1000.123, reserve_quote: 2000.77, quote_usd: 1 },
      { reserve_token: 0, reserve_quote: 5, quote_usd: 1 },
      { reserve_token: 31.5, reserve_quote: 0.41, quote_usd: 150.3 },
    ];
    const batch = replace(
      row(T, [
        market('First', cells([0, 9, 0])),
        market('Raydium', { constant_product: pools[0] }, { address: 'p0' }),
        market('Last', cells([0, 8, 0])),
        market('Raydium', { constant_product: pools[1] }, { address: 'p1' }),
        market('constant-product', { constant_product: pools[2] }, { address: 'p2' }),
      ]),
    );
    expect(batch.runs[0].markets.map((m) => m.source)).toEqual([
      'First',
      'constant-product',
      'Last',
    ]);
    expect(batch.runs[0].markets[1]).toEqual({
      source: 'constant-product',
      exchangeType: 'DEX',
      type: 'onchain_pool',
      address: null,
      pair: null,
    });
    const expected = reference.roundLadder(reference.binConstantProduct(2, pools));
    expect(expected.length).toBeGreaterThan(300);
    expect(contentOfRun(batch)[0][2]).toEqual([
      ['First', 0, 900, 0],
      ...expected.map((cell) => ['constant-product', ...cell]),
      ['Last', 0, 800, 0],
    ]);
  });

  it('merged into a stored snapshot: raw bodies are binned against its price', () => {
    const asks = [[2 * 1.01 ** 10, 5]];
    const later = row(T, [market('C', { book: { bids: [], asks } })], {
      price_usd: 2 * 1.01 ** 10,
    });
    expect(contentOfRun(merge([later], 2))).toEqual([[T, 2, [['C', 10, 0, 1105]]]]);
    expect(contentOfRun(merge([later], NaN))[0][2]).toEqual([['C', 0, 0, 1105]]);
  });

  it('merged: cells binned around another price are refused', () => {
    const batch = merge([row(T, [market('A', cells([0, 5, 0]))])], 2.0000001);
    expect(batch.faults).toEqual([
      {
        line: 1,
        field: 'price_usd',
        message:
          'must be 2.0000001, the price of the existing snapshot: these cells were binned around another price',
      },
    ]);
    expect(batch.runs).toEqual([]);
    const within = merge([
      row(T, []),
      row(T, [market('A', cells([0, 5, 0]))], { price_usd: 3 }),
      row(T, [market('A', cells([0, 5, 0]))]),
    ]);
    expect(within.faults.map((fault) => fault.line)).toEqual([2]);
  });

  it('are the same from lines and from values, with blank lines counted', () => {
    const rows = [
      row(T, [market('A', cells([0, 5, 0]))]),
      row(T + 1, [market('Ä1', { book: { bids: [[1, 500]], asks: [] } })]),
    ];
    const text = `\ufeff${JSON.stringify(rows[0])}\r\n\n  \t\r\n${JSON.stringify(rows[1])}`;
    const bytes = new TextEncoder().encode(text);
    const batch = binSnapshotLines({ bytes, firstLine: 1, mode: 'replace' });
    expect(contentOf(batch)).toEqual(contentOf(replace(...rows)));
    expect(batch.rows).toBe(2);
    const merged = binSnapshotLines({
      bytes,
      firstLine: 1,
      mode: 'merge',
      basePrices: basePrices([T + 1, 4]),
    });
    expect(Array.from(merged.runs[0].run.priceUsd)).toEqual([2, 4]);
  });

  it('give buffers that can move to another thread whole, each once', () => {
    const wide = market('A', cells([0, 5e9, 1]));
    const batch = replace(row(T, [wide]), row(T, [], { tier: '15m' }));
    const before = structuredClone(batch);
    const buffers = transferablesOf(batch.runs);
    expect(new Set(buffers).size).toBe(14);
    const moved = structuredClone(batch, { transfer: buffers });
    expect(moved).toEqual(before);
    expect(batch.runs[0].run.t.length).toBe(0);
  });

  it('keep every cent, in any order of rows, markets and bins', () => {
    const cell = fc.tuple(
      fc.integer({ min: -232, max: 242 }),
      fc.integer({ min: 0, max: 1e12 }),
      fc.integer({ min: 0, max: 1e12 }),
    );
    const list = fc.uniqueArray(cell, { selector: ([bin]) => bin, maxLength: 12 });
    const sources = fc.uniqueArray(fc.constantFrom('A', 'B', 'C', 'D', 'E'));
    const snapshot = fc.record({
      t: fc.integer({ min: 1, max: 40 }),
      tier: fc.constantFrom('raw', '15m'),
      markets: sources.chain((names) =>
        fc.tuple(...names.map((n) => fc.tuple(fc.constant(n), list))),
      ),
    });
    fc.assert(
      fc.property(fc.array(snapshot, { maxLength: 12 }), (snapshots) => {
        const rows = snapshots.map(({ t, tier, markets }) => {
          const usd = markets.map(([name, sum]) =>
            market(name, { cells: sum.map(([b, s, r]) => [b, s / 100, r / 100]) }),
          );
          return row(t, usd, { tier });
        });
        const expected = new Map<string, unknown[]>();
        for (const { t, tier, markets } of snapshots) {
          const kept = markets.flatMap(([name, sum]) =>
            sum.filter(([, s, r]) => s + r >= 100).map((one) => [name, ...one].join(' ')),
          );
          expected.set(`${tier} ${t}`, kept.sort());
        }
        const batch = replace(...rows);
        const found = new Map<string, unknown[]>();
        batch.runs.forEach(({ run }, part) => {
          const snapshotsFound = contentOfRun(batch, part);
          expect(Array.from(run.t)).toEqual([...new Set(run.t)].sort((a, b) => a - b));
          for (const [t, , kept] of snapshotsFound as [number, number, unknown[][]][]) {
            found.set(`${run.tier} ${t}`, kept.map((one) => one.join(' ')).sort());
          }
          for (let s = 0; s < run.t.length; s++) {
            for (let i = run.cellOffsets[s] + 1; i < run.cellOffsets[s + 1]; i++) {
              const step = run.market[i] * 1000 + run.bin[i];
              expect(step).toBeGreaterThan(run.market[i - 1] * 1000 + run.bin[i - 1]);
            }
          }
        });
        expect(found).toEqual(expected);
      }),
    );
  });
});
