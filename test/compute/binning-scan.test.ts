/** Lines read from bytes against the same lines read by JSON.parse. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BatchBuilder, type BinnedBatch } from '../../compute/ingest/batch.js';
import { LadderAccumulator } from '../../compute/ingest/accumulator.js';
import { NumberList } from '../../compute/ingest/number-list.js';
import type { IngestMode } from '../../compute/ingest/run-builder.js';
import { binSnapshotLines } from '../../compute/ingest/snapshot-lines.js';
import { SnapshotRowBinner } from '../../compute/ingest/snapshot-row.js';
import { SnapshotScanner } from '../../compute/ingest/snapshot-scanner.js';
import { MIN_BIN, binOfPrice } from '../../compute/ladder.js';

const MINT = 'So11111111111111111111111111111111111111112';
const scanner = new SnapshotScanner();

function scan(text: string): unknown {
  const bytes = Buffer.from(`${text}\n`);
  return plain(scanner.scan(bytes, 0, bytes.length - 1));
}

/** What was scanned as JSON.parse has it: lists for NumberLists, no fields that did not come. */
function plain(value: unknown): unknown {
  if (value instanceof NumberList) return value.toArrays();
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  return Object.fromEntries(fields.map(([name, field]) => [name, plain(field)]));
}

const READ: Record<string, readonly string[]> = {
  row: ['chain', 'address', 't', 'tier', 'price_usd', 'markets'],
  market: ['source', 'exchange_type', 'type', 'address', 'pair', 'cells', 'book'],
  book: ['bids', 'asks'],
};

/** A parsed row without the fields that nobody reads. */
function pruned(row: unknown): unknown {
  const only = (value: unknown, kind: string): Record<string, unknown> => {
    const entries = Object.entries(value as object);
    return Object.fromEntries(entries.filter(([name]) => READ[kind].includes(name)));
  };
  const fields = only(row, 'row');
  if (!Array.isArray(fields.markets)) return fields;
  const markets = fields.markets.map((market: unknown) => {
    const own = only(market, 'market');
    return typeof own.book === 'object' && own.book !== null
      ? { ...own, book: only(own.book, 'book') }
      : own;
  });
  return { ...fields, markets };
}

/** The batch as JSON.parse alone gives it. */
function binParsed(text: string, mode: IngestMode, basePrices?: Float64Array): BinnedBatch {
  const batch = new BatchBuilder(mode);
  const binner = new SnapshotRowBinner(batch);
  text.split('\n').forEach((line, i) => {
    if (/^[ \t\r]*$/.test(line)) return;
    batch.rows++;
    batch.faults.line = 1 + i;
    let row: unknown;
    try {
      row = JSON.parse(line);
    } catch {
      batch.faults.add('json', 'must be one JSON object, whole on its line');
      return;
    }
    binner.add(row, 1 + i, basePrices?.[i] ?? NaN);
  });
  return batch.finish();
}

const digits = (min: number, max: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: min, maxLength: max });

/** Numbers as JSON writes them, and some that it does not. */
const number = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: -300, max: 300 }).map(String) },
  { weight: 4, arbitrary: fc.double({ noNaN: true, min: 0 }).map(String) },
  { weight: 4, arbitrary: fc.tuple(digits(1, 20), digits(1, 20)).map(([a, b]) => `${a}.${b}`) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(
        fc.constantFrom('', '-'),
        digits(1, 6),
        fc.constantFrom('e', 'E', 'e+', 'e-', 'E-'),
        digits(0, 3),
      )
      .map((parts) => parts.join('')),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      ...[
        '-0',
        '0',
        '-0.0',
        '0.1e1',
        '1e3',
        '1e999',
        '-1e999',
        '5e-324',
        '00',
        '01',
        '1.',
        '.5',
        '+1',
      ],
      ...['9007199254740993', '999999999.9', '1000000000', '0.000000000000001', '1e', '-', 'NaN'],
      ...['2.2250738585072011e-308', '123456789012345678', '8.41e21', '9007199254740992.5', '1.0'],
    ),
  },
);

const space = fc.constantFrom('', '', '', ' ', '  ', '\t', '\r');
const joined = (open: string, items: string[], close: string, gap: string) =>
  `${open}${gap}${items.join(`${gap},${gap}`)}${gap}${close}`;
const listOf = (entry: fc.Arbitrary<string>) =>
  fc
    .tuple(fc.array(entry, { maxLength: 6 }), space)
    .map(([items, gap]) => joined('[', items, ']', gap));
const tuple = (width: number) =>
  fc
    .tuple(
      fc.oneof(
        { weight: 20, arbitrary: fc.array(number, { minLength: width, maxLength: width }) },
        {
          weight: 1,
          arbitrary: fc.array(fc.oneof(number, fc.constant('null'), fc.constant('"1"')), {
            maxLength: 4,
          }),
        },
      ),
      space,
    )
    .map(([items, gap]) => joined('[', items, ']', gap));
const soundCells = fc
  .uniqueArray(
    fc.tuple(
      fc.integer({ min: -260, max: 260 }),
      fc.double({ min: 0, max: 1e6, noNaN: true }),
      fc.nat(1000),
    ),
    {
      selector: ([bin]) => bin,
      maxLength: 12,
    },
  )
  .map((cells) => JSON.stringify(cells));
const word = fc.constantFrom(
  ...[
    '"Orca"',
    '"orca"',
    '"Kraken"',
    '"A/B"',
    '"DEX"',
    '"CEX"',
    '"constant-product"',
    '"Bl\\u0061h"',
  ],
  ...[
    '"é"',
    '"\u2028"',
    '""',
    'null',
    'true',
    'false',
    '7',
    '"a\\"b"',
    '"\u0001"',
    '{"a":[1]}',
    '[]',
  ],
);
const field = (name: string, value: fc.Arbitrary<string>) =>
  fc.tuple(space, value).map(([gap, text]) => `"${name}"${gap}:${gap}${text}`);
const object = (fields: fc.Arbitrary<string>[], extra: fc.Arbitrary<string>) =>
  fc
    .tuple(fc.tuple(...fields), fc.array(extra, { maxLength: 1 }), space, fc.boolean())
    .map(([own, more, gap, turned]) =>
      joined('{', turned ? [...more, ...own] : [...own, ...more], '}', gap),
    );

const book = object(
  [field('bids', listOf(tuple(2))), field('asks', fc.oneof(listOf(tuple(2)), word))],
  fc.oneof(field('sequence', word), field('bids', listOf(tuple(2)))),
);
const body = fc.oneof(
  { weight: 4, arbitrary: field('cells', soundCells) },
  { weight: 3, arbitrary: field('cells', listOf(tuple(3))) },
  { weight: 3, arbitrary: field('book', book) },
  {
    weight: 1,
    arbitrary: fc.oneof(field('cells', word), field('book', word), field('clmm', word)),
  },
);
const known = (name: string, ...values: string[]) =>
  field(
    name,
    fc.oneof({ weight: 30, arbitrary: fc.constantFrom(...values) }, { weight: 1, arbitrary: word }),
  );
const market = object(
  [
    known('source', '"Orca"', '"Kraken"', '"Raydium"'),
    known('exchange_type', '"DEX"'),
    known('pair', '"A/B"', '"C/D"', 'null'),
    body,
  ],
  fc.oneof(
    field('extra', word),
    field('dlmm', word),
    field('source', word),
    field('__proto__', word),
    field('type', fc.constantFrom('"onchain_pool"', 'null')),
    body,
  ),
);
const row = object(
  [
    known('chain', '"mainchain"'),
    known('address', `"${MINT}"`),
    field(
      't',
      fc.oneof(
        { weight: 20, arbitrary: fc.constantFrom('1794000000', '1794000060') },
        { weight: 1, arbitrary: number },
      ),
    ),
    field(
      'price_usd',
      fc.oneof(
        { weight: 20, arbitrary: fc.constantFrom('2', '2.5') },
        { weight: 1, arbitrary: number },
      ),
    ),
    field(
      'markets',
      fc.oneof({ weight: 20, arbitrary: listOf(market) }, { weight: 1, arbitrary: word }),
    ),
  ],
  fc.oneof(field('note', word), field('tier', word), field('t', number), field('markets', word)),
);
/** Rows, some with a character too many, too few or another one. */
const line = fc.oneof(
  { weight: 6, arbitrary: row },
  {
    weight: 1,
    arbitrary: fc
      .tuple(
        row,
        fc.nat(),
        fc.nat(1),
        fc.constantFrom('', ',', '"', '}', ']', '[', ' ', '-', '0', '.', 'e', '\\', 'x', 'é'),
      )
      .map(([text, at, cut, put]) => {
        const place = at % text.length;
        return text.slice(0, place) + put + text.slice(place + cut);
      }),
  },
  { weight: 1, arbitrary: fc.constantFrom('', ' \t', '[]', 'null', '{}', '{"markets":[]}x') },
);

describe('lines read from bytes', () => {
  it("are JSON.parse's rows, or are left to it", () => {
    let taken = 0;
    fc.assert(
      fc.property(line, (text) => {
        const scanned = scan(text);
        if (scanned === null) return;
        taken++;
        expect(scanned).toStrictEqual(pruned(JSON.parse(text)));
      }),
      { numRuns: 2_000 },
    );
    expect(taken).toBeGreaterThan(200);
  });

  it('give the same numbers, to the last bit', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(number, number, number), { minLength: 1 }), (cells) => {
        const text = `{"markets":[{"cells":[${cells.map((cell) => `[${cell.join(',')}]`).join()}]}]}`;
        const scanned = scan(text) as { markets: { cells: number[][] }[] } | null;
        let parsed: typeof scanned;
        try {
          parsed = JSON.parse(text) as typeof scanned;
        } catch {
          parsed = null;
        }
        expect(scanned).toStrictEqual(parsed);
      }),
      { numRuns: 2_000 },
    );
  });

  it('make the same batches and faults', () => {
    const mode = fc.constantFrom<IngestMode>('replace', 'merge');
    const base = fc.option(fc.constantFrom(2, 3), { nil: undefined });
    fc.assert(
      fc.property(
        fc.array(line, { maxLength: 5 }),
        mode,
        base,
        fc.boolean(),
        (lines, how, price, ends) => {
          const text = lines.join('\n') + (ends ? '\n' : '');
          const basePrices =
            price === undefined ? {} : { basePrices: new Float64Array(9).fill(price) };
          const bytes = new Uint8Array(Buffer.from(text));
          const binned = binSnapshotLines({ bytes, firstLine: 1, mode: how, ...basePrices });
          expect(binned).toStrictEqual(binParsed(text, how, basePrices.basePrices));
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it('take what collectors write', () => {
    const cells = [
      [-3, 12.5, 0],
      [0, 1e3, 7.25],
    ];
    const rows = [
      { chain: 'mainchain', t: 5, extra: null, markets: [{ source: 'A', address: null, cells }] },
      { price_usd: 0.000123456789012345, markets: [{ book: { bids: [[1.5, 2]], asks: [] } }] },
    ];
    for (const row of rows) {
      expect(scan(JSON.stringify(row))).toStrictEqual(pruned(row));
      // As Python writes it.
      const spaced = JSON.stringify(row).replace(/[,:]/g, '$& ');
      expect(scan(spaced)).toStrictEqual(pruned(row));
    }
  });

  it('leave long lists and what is not ASCII to JSON.parse', () => {
    const many = `{"markets":[{"cells":[${'[0,0,0],'.repeat(1_000_000)}[0,0,0]]}]}`;
    expect(scan(many)).toBe(null);
    expect(scan('{"markets":[{"source":"é"}]}')).toBe(null);
    expect(scan('{"markets":[{"source":"\\n"}]}')).toBe(null);
    expect(scan('{"meta":{},"markets":[]}')).toBe(null);
    expect(scan('{"markets":[]} ')).toStrictEqual({ markets: [] });
  });
});

describe('levels of a book', () => {
  it('are in the bin that the logarithm gives, whichever came before', () => {
    const ratio = fc.oneof(
      fc.double({ min: 0.05, max: 20, noNaN: true }),
      // The edges of bins, and their neighbours.
      fc
        .tuple(fc.integer({ min: -240, max: 245 }), fc.constantFrom(0, 1, -1, 5, -5))
        .map(([bin, steps]) => 1.01 ** (bin + 0.5) * (1 + steps * 2 ** -52)),
    );
    const price = fc.double({ min: 1e-300, max: 1e300, noNaN: true, noDefaultInfinity: true });
    fc.assert(
      fc.property(price, fc.array(ratio, { maxLength: 40 }), (priceUsd, ratios) => {
        const ladder = new LadderAccumulator();
        ladder.reset(priceUsd);
        const expected = new LadderAccumulator();
        for (const at of ratios.flatMap((r) => [r, r])) {
          ladder.addLevel(ladder.supportUsd, priceUsd * at, 1);
          const index = binOfPrice(priceUsd * at, priceUsd) - MIN_BIN;
          if (index >= 0 && index < expected.supportUsd.length) expected.supportUsd[index]++;
          else expected.droppedLevels++;
        }
        expect(ladder.supportUsd).toStrictEqual(expected.supportUsd);
        expect(ladder.droppedLevels).toBe(expected.droppedLevels);
      }),
    );
  });
});
