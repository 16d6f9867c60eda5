import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cellColumnsOfRows } from '../../compute/ingest/cell-columns.js';
import { nameOfSnapshot } from '../../compute/ingest/fields.js';
import { columnsOfLines, packCellColumns } from '../../compute/ingest/flat-cells.js';
import { binSnapshotRows } from '../../compute/ingest/snapshots.js';
import { contentOf } from '../support/stores.js';

const MINT = 'So11111111111111111111111111111111111111112';
const EVM = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48';
type Loose = Record<string, unknown>;

const good: Loose = {
  chain: 'mainchain',
  address: MINT,
  t: 1_794_000_000,
  tier: 'raw',
  price_usd: 2,
  source: 'Kraken',
  exchange_type: 'CEX',
  type: 'cex_spot',
  market_address: null,
  pair: 'A/B',
  bin: 0,
  support_usd: 5,
  resistance_usd: 0,
};

const pack = (rows: unknown[], mode: 'replace' | 'merge' = 'replace', baseUsd?: number) =>
  packCellColumns({
    ...cellColumnsOfRows(rows),
    firstLine: 2,
    mode,
    basePrices:
      baseUsd === undefined ? undefined : new Map([[nameOfSnapshot(good as never), baseUsd]]),
  });

const amount = fc.oneof(
  fc.constant(0),
  fc.double({ min: 0, max: 3, noNaN: true }),
  fc.double({ min: 0, max: 1e10, noNaN: true }),
);
const cells = fc.uniqueArray(fc.tuple(fc.integer({ min: -240, max: 250 }), amount, amount), {
  selector: ([bin]) => bin,
  minLength: 1,
  maxLength: 8,
});
const market = fc.record({
  source: fc.constantFrom('Kraken', 'Orca', 'constant-product'),
  address: fc.constantFrom(null, 'pool1', EVM),
  pair: fc.constantFrom(null, 'A/B'),
  cells,
});
const markets = fc
  .uniqueArray(market, {
    selector: (m) => `${m.source} ${m.source === 'constant-product' || (m.address ?? m.pair)}`,
    minLength: 1,
    maxLength: 5,
  })
  .map((list) =>
    list.map((m) => {
      const own = m.source === 'constant-product' ? { ...m, address: null, pair: null } : m;
      return { ...own, exchange_type: m.source === 'Kraken' ? 'CEX' : 'DEX' };
    }),
  );
const token = fc.constantFrom(
  { chain: 'mainchain', address: MINT, tier: 'raw' },
  { chain: 'mainchain', address: MINT, tier: '1h' },
  { chain: 'evmchain', address: EVM, tier: undefined },
);
const snapshots = fc.uniqueArray(
  fc.record({
    token,
    t: fc.integer({ min: 1, max: 20 }),
    price_usd: fc.double({ min: 0.1, max: 10, noNaN: true }),
    markets,
  }),
  { selector: (s) => `${s.t} ${s.token.address} ${s.token.tier}`, maxLength: 10 },
);

const flatten = ({
  token,
  markets,
  ...head
}: (typeof snapshots extends fc.Arbitrary<infer S> ? S : never)[number]) =>
  markets.flatMap(({ cells, address, ...rest }) =>
    cells.map(([bin, support_usd, resistance_usd]) => ({
      ...token,
      ...head,
      ...rest,
      market_address: address,
      bin,
      support_usd,
      resistance_usd,
    })),
  );

describe('flat cells', () => {
  it('give the same result as nested cells', () => {
    fc.assert(
      fc.property(
        snapshots,
        fc.constantFrom('replace' as const, 'merge' as const),
        (list, mode) => {
          const nested = list.map(({ token, ...rest }) => ({ ...token, ...rest }));
          const expected = binSnapshotRows(nested, { firstLine: 2, mode });
          expect(expected.faults).toEqual([]);
          const rows = list.flatMap(flatten);
          expect(contentOf(pack(rows, mode))).toEqual(
            contentOf({ ...expected, rows: rows.length }),
          );
        },
      ),
    );
  });

  it('may come in any order within their snapshot', () => {
    const shuffled = snapshots.chain((list) =>
      fc.tuple(
        ...list.map((s) => {
          const rows = flatten(s);
          const inOrder = fc.constant(rows);
          return fc.tuple(inOrder, fc.shuffledSubarray(rows, { minLength: rows.length }));
        }),
      ),
    );
    const cellsOf = (rows: unknown[]) => {
      const batch = pack(rows);
      expect(batch.faults).toEqual([]);
      return batch.runs.map(({ run, markets }) =>
        Array.from(run.bin, (bin, i) => {
          const { source, address, pair } = markets[run.market[i]];
          return [source, address, pair, bin, run.supportCents[i], run.resistanceCents[i]].join();
        }).sort(),
      );
    };
    fc.assert(
      fc.property(shuffled, (list) => {
        const ordered = cellsOf(list.flatMap(([rows]) => rows));
        expect(cellsOf(list.flatMap(([, rows]) => rows))).toEqual(ordered);
      }),
    );
  });

  it('are one snapshot however its fields are spelled', () => {
    const evm = { ...good, chain: 'evmchain', address: EVM };
    const batch = pack([evm, { ...evm, address: EVM.toLowerCase(), tier: null, bin: 1 }]);
    expect(batch.faults).toEqual([]);
    expect(batch).toMatchObject({ snapshots: 1, cells: 2 });
  });

  it('give the same from lines, whose numbers include blank lines', () => {
    const rows = [good, { ...good, bin: 1 }, { ...good, bin: 1 }];
    const text = rows.map((row) => JSON.stringify(row)).join('\n\n');
    const lines = (more: string) =>
      packCellColumns({
        ...columnsOfLines({ bytes: Buffer.from(more), firstLine: 10 }),
        mode: 'replace',
      });
    expect(lines(text).faults).toEqual([
      { line: 14, field: 'bin', message: 'bin 1 occurs twice in its market' },
    ]);
    const broken = lines(`[]\n${text}\n{`);
    expect(broken.faults.map((fault) => [fault.line, fault.field])).toEqual([
      [10, 'json'],
      [15, 'bin'],
      [16, 'json'],
    ]);
    expect(broken).toMatchObject({ rows: 5, faultCount: 3, runs: [], cells: 0 });
    expect(contentOf(lines(JSON.stringify(good)))).toEqual(contentOf(pack([good])));
  });

  it('merge only at the existing price', () => {
    const rows = [good, { ...good, bin: 1 }];
    expect(pack(rows, 'merge', 2).cells).toBe(2);
    expect(pack(rows, 'merge', NaN).cells).toBe(2);
    expect(pack(rows, 'replace', 3).cells).toBe(2);
    expect(pack(rows, 'merge', 3).faults).toEqual([
      {
        line: 2,
        field: 'price_usd',
        message:
          'must be 3, the price of the existing snapshot: these cells were binned around another price',
      },
    ]);
  });

  const SHAPE = 'must be an address of mainchain, this one has the shape of evmchain';
  const SOURCE = 'must be a name with a letter a-z or a digit, at most 200 characters';
  const oneFault: [string, string, Loose][] = [
    ['chain', 'must be mainchain or evmchain', { chain: null }],
    ['address', SHAPE, { address: EVM }],
    ['t', 'must be whole epoch seconds from 1 to 4294967295', { t: '5' }],
    ['tier', 'must be raw, 15m or 1h', { tier: 'daily' }],
    ['price_usd', 'must be a number > 0', { price_usd: null }],
    ['price_usd', 'must be 2 on all rows of this snapshot', { price_usd: 2.5 }],
    ['source', SOURCE, { source: 4 }],
    ['exchange_type', 'must be DEX or CEX', { exchange_type: undefined }],
    ['type', 'must be onchain_pool, onchain_limit_order, cex_spot or cex_perp', { type: '' }],
    ['type', 'must be cex_spot, as in an earlier row', { type: 'cex_perp' }],
    ['market_address', 'must be null or a string of 1 to 200 characters', { market_address: '' }],
    ['pair', 'must be null or a string of 1 to 200 characters', { pair: 9 }],
    ['bin', 'must be an integer', { bin: 1.5 }],
    ['bin', 'must be an integer', { bin: '1' }],
    ['bin', 'must be an integer', { bin: Infinity }],
    ['support_usd', 'must be a number >= 0', { support_usd: -1 }],
    ['resistance_usd', 'must be a number >= 0', { resistance_usd: undefined }],
    ['resistance_usd', 'must be a number >= 0', { resistance_usd: Infinity }],
    ['bin', 'bin 0 occurs twice in its market', { bin: 0 }],
    [
      'pair',
      'must be null for constant-product',
      { source: 'constant-product', exchange_type: 'DEX', type: null },
    ],
  ];

  it.each(oneFault)('are refused for %s: %s', (field, message, wrong) => {
    const batch = pack([good, { ...good, bin: 1, ...wrong }]);
    expect(batch.faults).toEqual([{ line: 3, field, message }]);
    expect(batch.runs).toEqual([]);
    // The rows after an invalid one are still read normally.
    const after = pack([good, { ...good, bin: 1, ...wrong }, { ...good, bin: 2 }]);
    expect(after.faultCount).toBe(1);
  });

  it('are refused at their first row if a snapshot has too many', () => {
    const batch = pack([{ ...good, t: 5 }, good, { ...good, bin: 1, support_usd: 1e14 }]);
    expect(batch.faults).toEqual([
      { line: 3, field: 'bin', message: 'a snapshot holds at most 9007199254740991 cents in all' },
    ]);
  });

  it('are refused for each invalid row', () => {
    expect(pack([good, { ...good, t: 0 }, { ...good, bin: 1 }]).faultCount).toBe(1);
    const wrong = { ...good, t: 0, source: '' };
    const batch = pack([wrong, { ...wrong, bin: 1 }, good]);
    expect(batch.faults.map(({ line, field }) => [line, field])).toEqual([
      [2, 't'],
      [2, 'source'],
      [3, 't'],
      [3, 'source'],
    ]);
  });

  it('are refused if a bin outside the ladder occurs twice, although it is dropped', () => {
    const far = { ...good, bin: 300 };
    expect(pack([far]).droppedLevels).toBe(1);
    expect(pack([{ ...far, support_usd: 0 }]).droppedLevels).toBe(0);
    expect(pack([far, { ...far, pair: 'C/D' }]).faultCount).toBe(0);
    expect(pack([far, good, far]).faults).toEqual([
      { line: 4, field: 'bin', message: 'bin 300 occurs twice in its market' },
    ]);
  });

  it('are refused if a snapshot’s rows are not adjacent', () => {
    const batch = pack([good, { ...good, t: 5 }, { ...good, bin: 1 }, { ...good, bin: 2 }]);
    expect(batch.faults).toEqual([
      {
        line: 4,
        field: 't',
        message: 'the rows of one snapshot must be adjacent: sort by chain, address, tier, t',
      },
    ]);
  });
});
