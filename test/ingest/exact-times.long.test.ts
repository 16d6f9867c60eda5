/** Times in files: fractions of a second are cut off exactly, and books of one second stay apart. */
import path from 'node:path';
import {
  Decimal,
  Float64,
  Int64,
  Table,
  TimestampNanosecond,
  tableToIPC,
  Utf8,
  Vector,
  makeData,
  vectorFromArray,
} from 'apache-arrow';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LongNumber, timeIn, timeNumber } from '../../storage/ingest/time-units.js';
import { cells, csv, lines, MINT, readJson, StoreScratch } from '../support/ingest.js';

const scratch = new StoreScratch();
const file = scratch.file.bind(scratch);
const takes = scratch.takes.bind(scratch);
const refuses = scratch.refuses.bind(scratch);

const T = 1_760_000_059;
const NS = 1_000_000_000n;
const PLACES = { s: 0, ms: 3, us: 6, ns: 9 } as const;

/** Digits with a decimal point so that they count units of `places`. */
const inUnit = (ns: bigint, places: number): string => {
  const digits = String(ns).padStart(10, '0');
  const point = digits.length - 9 + places;
  return point === digits.length ? digits : `${digits.slice(0, point)}.${digits.slice(point)}`;
};

describe('times', () => {
  it('are cut exactly in every unit, as texts and as numbers with many digits', () => {
    const anyNs = fc.bigInt({ min: 100_000_000n * NS, max: 4_294_967_295n * NS });
    const nearWhole = fc
      .tuple(fc.integer({ min: 100_000_001, max: 4_294_967_294 }), fc.constantFrom(-1n, 0n, 1n))
      .map(([s, off]) => BigInt(s) * NS + off);
    fc.assert(
      fc.property(
        fc.oneof(anyNs, nearWhole),
        fc.constantFrom('s', 'ms', 'us', 'ns'),
        (ns, unit) => {
          const text = inUnit(ns, PLACES[unit]);
          const time = { t: Number(ns / NS), fraction: Number(ns % NS) / 1e9 };
          expect(timeIn(unit, text)).toEqual(time);
          expect(timeIn('auto', text)).toEqual(time);
          expect(timeIn(unit, timeNumber(text))).toEqual(time);
        },
      ),
    );
  });

  it('keep the digits that a double would lose, and only those', () => {
    expect(timeNumber('1760000059999999999')).toEqual(new LongNumber('1760000059999999999'));
    expect(timeNumber('1760000059.9999999')).toEqual(new LongNumber('1760000059.9999999'));
    expect(timeNumber('1760000059.000000000')).toBe(T);
    expect(timeNumber('1760000059999')).toBe(1_760_000_059_999);
    expect(timeIn('s', '1.7600000599999999e9')).toEqual({ t: T, fraction: 0.9999999 });
    expect(timeIn('ns', 1.76e18)).toEqual({ t: 1_760_000_000, fraction: 0 });
    for (const odd of ['1e400', '1e-400', '0x10', 'Infinity', '', 'now', '-24h', NaN, null, {}]) {
      const read = timeIn('s', odd);
      expect(typeof read === 'string' || !(read.t >= 1 && read.t < 2 ** 32)).toBe(true);
      expect(typeof timeIn('iso', odd)).toBe('string');
    }
  });

  it.each([
    ['2025-10-09 08:54:20+00', 0],
    ['2025-10-09 08:54:20+0000', 0],
    ['2025-10-09 10:54:20+0200', 0],
    ['2025-10-09 10:54:20+02', 0],
    ['2025-10-09 10:54:20 +0200', 0],
    ['2025-10-09 14:24:20.25+0530', 0.25],
    ['2025-10-09T00:54:20.999999999999-08', 0.999999999999],
    ['2025-10-09T08:54:20Z', 0],
    ['2025-10-09 08:54:20.5 UTC', 0.5],
  ])('ISO: %s', async (text, fraction) => {
    expect(timeIn('iso', text)).toEqual({ t: T + 1, fraction });
    expect(timeIn('auto', text)).toEqual({ t: T + 1, fraction });
    const rows = cells(T).map((row) => ({ ...row, t: text }));
    const expected = [{ t: T + 1 }];
    for (const unit of ['iso', 'auto']) {
      expect(await takes('cells', file('.csv', csv(rows)), '--time-unit', unit)).toMatchObject(
        expected,
      );
      expect(await takes('cells', file('.ndjson', lines(rows)), '--time-unit', unit)).toMatchObject(
        expected,
      );
    }
  });

  it.each(['2025-10-09 08:54:20+2', '2025-10-09 08:54:20+25', '2025-10-09 08+02', '2025-10-09+02'])(
    'ISO: %s is none',
    (text) => {
      expect(timeIn('iso', text)).toMatch(/^must be an ISO time/);
    },
  );
});

/** Two books of one market in one second; the second has another price and size. */
const book = (bid: number, size: number, ask: number) =>
  [
    ['bid', 100 - bid, size],
    ['ask', 100.1, ask],
  ] as const;
const FIRST = book(10, 10, 10);
const LATER = book(0.1, 1, 2);

type LevelRow = Record<string, unknown> & { t: bigint };
const rowsAt = (t: bigint, levels: typeof FIRST): LevelRow[] =>
  levels.map(([side, price, size]) => ({
    chain: 'mainchain',
    address: MINT,
    t,
    source: 'K',
    exchange_type: 'CEX',
    side,
    price,
    size,
    price_usd: 100,
  }));

const BASE = BigInt(T + 1) * NS;
/** The later book comes first in the file. */
const TWO = [...rowsAt(BASE + 60n, LATER), ...rowsAt(BASE + 10n, FIRST)];
const BEFORE = rowsAt(BASE - 1n, LATER);

const withTimes = (rows: readonly LevelRow[], write: (ns: bigint) => unknown) =>
  rows.map((row) => ({ ...row, t: write(row.t) }));
/** NDJSON with times as numbers of all their digits. */
const ndjson = (rows: readonly LevelRow[], places: number, around = (t: string) => `"t":${t}`) =>
  withTimes(rows, (ns) => inUnit(ns, places))
    .map((row) => JSON.stringify(row).replace(`"t":"${row.t}"`, around(row.t as string)))
    .join('\n');

function arrow(rows: readonly LevelRow[], type: 'int' | 'timestamp' | 'decimal'): Uint8Array {
  const types = {
    int: new Int64(),
    timestamp: new TimestampNanosecond(),
    decimal: new Decimal(9, 38, 128),
  };
  const names = Object.keys(rows[0]).filter((name) => name !== 't');
  const columns = names.map((name) => {
    const values = rows.map((row) => row[name]);
    return [
      name,
      vectorFromArray(values, typeof values[0] === 'string' ? new Utf8() : new Float64()),
    ];
  });
  const words = (ns: bigint) => Uint32Array.of(Number(ns & 0xffff_ffffn), Number(ns >> 32n), 0, 0);
  const times = rows.map(({ t }) => (type === 'decimal' ? words(t) : t));
  const t =
    type === 'timestamp'
      ? new Vector([
          makeData({ type: types.timestamp, data: BigInt64Array.from(rows, (row) => row.t) }),
        ])
      : vectorFromArray(times as never[], types[type] as Int64);
  return tableToIPC(new Table({ ...Object.fromEntries(columns), t }), 'file');
}

const parquetOf = (rows: readonly LevelRow[], type: string): Promise<string> => {
  const source = file('.ndjson', lines(withTimes(rows, String)));
  return scratch.parquet(`SELECT * REPLACE (${type} AS t) FROM ${readJson(source)}`);
};

/** Each form of the rows: the file, and the unit of its times. */
const FORMS: readonly [
  string,
  (rows: readonly LevelRow[]) => Promise<string> | string,
  string?,
  string?,
][] = [
  ...(['s', 'ms', 'us', 'ns'] as const).flatMap((unit): typeof FORMS => [
    [
      `CSV in ${unit}`,
      (rows) => file('.csv', csv(withTimes(rows, (ns) => inUnit(ns, PLACES[unit])))),
      unit,
    ],
    [`NDJSON in ${unit}`, (rows) => file('.ndjson', ndjson(rows, PLACES[unit])), unit],
  ]),
  [
    'NDJSON with other fields of this name',
    (rows) =>
      file(
        '.ndjson',
        ndjson(rows, 9, (t) => `"x":{"t":1},"y":"\\"t\\":2","t" : ${t}`),
      ),
    'ns',
  ],
  ['Parquet, BIGINT', (rows) => parquetOf(rows, 't::BIGINT'), 'ns'],
  ['Parquet, UBIGINT', (rows) => parquetOf(rows, 't::UBIGINT'), 'auto'],
  ['Parquet, VARCHAR', (rows) => parquetOf(rows, 't::VARCHAR'), 'ns', '--coerce'],
  [
    'Parquet, DECIMAL',
    (rows) => parquetOf(rows, "(t[:-10] || '.' || t[-9:])::DECIMAL(38, 9)"),
    'auto',
  ],
  ['Parquet, TIMESTAMP_NS', (rows) => parquetOf(rows, 'make_timestamp_ns(t::BIGINT)')],
  ['Arrow, int64', (rows) => file('.arrow', arrow(rows, 'int')), 'ns'],
  ['Arrow, timestamp', (rows) => file('.arrow', arrow(rows, 'timestamp'))],
  ['Arrow, decimal', (rows) => file('.arrow', arrow(rows, 'decimal')), 'auto'],
];

describe('levels of', () => {
  it.each(FORMS)(
    '%s: 1 ns before a second, and books 50 ns apart',
    async (_, write, unit, ...coerce) => {
      // Unlike the default, `auto` cuts fractions of seconds off.
      const flags =
        unit === undefined
          ? []
          : [
              '--time-unit',
              unit === 's' ? 'auto' : unit,
              ...coerce.filter((flag) => flag !== undefined),
            ];
      const { length } = await takes('levels', await write(BEFORE), ...flags);
      expect(length).toBeGreaterThan(0);
      const stored = await takes('levels', await write(TWO), ...flags);
      expect(stored.map(({ t }) => t)).toEqual([T, T + 1]);
      expect(stored[1].cells).toEqual(stored[0].cells);
    },
  );
});

it('rows of cells with a fraction of a second are refused, however small it is', async () => {
  const source = file('.ndjson', lines(cells(T)));
  const query = (t: string) =>
    scratch.parquet(`SELECT * REPLACE (${t} AS t) FROM ${readJson(source)}`);
  const fault = /^1: t: must be whole epoch seconds/;
  const decimal = await query(`1760000059.999999999::DECIMAL(38, 9)`);
  expect((await refuses('cells', decimal))[0]).toMatch(fault);
  expect(await takes('cells', decimal, '--time-unit', 'auto')).toContainEqual(
    expect.objectContaining({ t: T }),
  );
  expect(await scratch.ingest('cells', await query('1760000059::DECIMAL(38, 9)'))).toMatchObject([
    { snapshots: 1 },
  ]);
  const long = lines(cells(T)).replaceAll(`"t":${T}`, `"t":${T}.99999999`);
  expect((await refuses('cells', file('.ndjson', long), '--coerce'))[0]).toMatch(/^1: t: /);
});

describe('files that other programs wrote', () => {
  const fixture = (name: string): string => path.resolve('test/fixtures/types', name);

  it('decimals of 50 digits: read from Arrow, refused in Parquet', async () => {
    const long = (field: string, digits: number): string =>
      `1: ${field}: must be decimals of at most 38 digits in a Parquet file, these have ${digits}: write them as DOUBLE, or the file as Arrow`;
    expect(await refuses('levels', fixture('dec256.parquet'))).toEqual([long('price', 50)]);
    expect(await refuses('holders', fixture('hold.parquet'))).toEqual([long('balance', 42)]);
    for (const name of ['dec256.arrow', 'pl.arrow']) {
      await scratch.ingest('levels', fixture(name));
      const stored = (await scratch.snapshots()).slice(-2);
      expect(stored).toMatchObject([{ t: 1_760_000_060 }, { t: 1_760_000_120 }]);
      for (const { priceUsd } of stored) expect(priceUsd).toBe(100);
    }
  });

  it('nanoseconds: integers and timestamps', async () => {
    for (const [name, ...flags] of [['i64.parquet', '--time-unit', 'ns'], ['ts.arrow']]) {
      await scratch.ingest('levels', fixture(name), { flags });
      expect((await scratch.snapshots()).map(({ t }) => t)).toContain(T);
    }
    const [csvFile, parquet] = ['two.csv', 'two.parquet'].map(fixture);
    const flags = ['--time-unit', 'ns'];
    const fromCsv = await takes('levels', csvFile, ...flags);
    expect(fromCsv.find(({ t }) => t === T + 1)?.cells).toEqual([['K/', 0, 9990, 20_020]]);
    expect(await takes('levels', parquet, ...flags)).toEqual(fromCsv);
  });
});
