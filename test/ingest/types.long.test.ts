/**
 * Every type that a column of a Parquet or Arrow file may have: what a row has of it, or what is said. The files in
 * test/fixtures/types were written by PyArrow.
 */
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { FaultLog } from '../../compute/ingest/fields.js';
import { InputError } from '../../storage/errors.js';
import type { WantedColumn } from '../../storage/ingest/fields.js';
import type { FileFormat } from '../../storage/ingest/datasets.js';
import { FRACTION, NO_MAPPING } from '../../storage/ingest/mapping.js';
import { rowBatches } from '../../storage/ingest/rows.js';
import type { TimeUnit } from '../../storage/ingest/time-units.js';
import { lines, MINT, StoreScratch } from '../support/ingest.js';

const scratch = new StoreScratch();

const FIXTURES = path.resolve('test/fixtures/types');
const fixture = (name: string): string => path.join(FIXTURES, name);

const T = 1_760_000_059;
/** The times in the fixtures are 1 ns before the next second, cut to the type's unit. */
const AT = { s: 0, ms: 0.999, us: 0.999999, ns: 0.999999999 };

interface Reading {
  unit?: TimeUnit;
  coerce?: boolean;
}

/** The values that rows have of a column, read as a field; or the message of a refusal. */
async function valuesOf(
  source: string,
  column: string,
  field: WantedColumn,
  { unit = 's', coerce = false }: Reading = {},
): Promise<unknown> {
  const mapping = {
    ...NO_MAPPING,
    columns: new Map([[field.name, column]]),
    timeUnit: unit,
    coerce,
  };
  const format = path.extname(source).slice(1) as FileFormat;
  const faults = new FaultLog();
  const values: unknown[] = [];
  try {
    const read = { file: source, format, delimiter: ',', mapping, symbols: null };
    for await (const rows of rowBatches(read, [field], faults)) {
      for (const { row } of rows as { row: Record<string, unknown> }[]) {
        values.push(field.time ? [row.t, row[FRACTION]] : row[field.name]);
      }
    }
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return error.message.split('\n')[0].replace(/^.*?: (.*?: )?(?=must be|not a)/, '');
  }
  return faults.count > 0 ? faults.faults[0].message : values;
}

const NUMBER: WantedColumn = { name: 'size', kind: 'number', required: true };
const TEXT: WantedColumn = { name: 'source', kind: 'text', required: true };
const TIME: WantedColumn = { name: 't', kind: 'number', required: true, time: 'whole' };

const HALVES = [10.5, 12];
const WHOLE = [10, 12];
const TEXTS = ['Kraken', 'A venue whose name is long'];
const UUID = '00000000-0000-0000-0000-000000000005';

/** In both formats. */
const NUMBERS: Readonly<Record<string, readonly (number | null)[]>> = {
  ...Object.fromEntries(
    [8, 16, 32, 64].flatMap((bits) => [`i${bits}`, `u${bits}`].map((name) => [name, WHOLE])),
  ),
  i64_large: [9_007_199_254_740_992, -1],
  u64_large: [18_446_744_073_709_551_616, 12],
  f16: HALVES,
  f32: HALVES,
  f64: HALVES,
  nan: [NaN, 12],
  inf: [Infinity, 12],
  dec9: HALVES,
  dec18: HALVES,
  dec32: HALVES,
  dec64: HALVES,
  dec38: HALVES,
  dec38_long: [Number('12345678901234567890.123456789012345678'), 0.1],
  dict_i64: WHOLE,
  null: [null, null],
};

/** Decimals of more than 38 digits. */
const LONG_DECIMALS: Readonly<Record<string, readonly number[]>> = {
  dec39: HALVES,
  dec50: HALVES,
  dec57: HALVES,
  dec75: HALVES,
  dec76: HALVES,
  dec_neg: [-10.5, 12],
  dict_dec: HALVES,
};

/** Timestamps and dates, which need no unit: their fraction of a second. Integers and decimals, which need one. */
const DATES = ['date32', 'date64'];
const TIMESTAMPS: Readonly<Record<string, number>> = {
  ts_s: AT.s,
  ts_ms: AT.ms,
  ts_us: AT.us,
  ts_ns: AT.ns,
  tz_s: AT.s,
  tz_ms: AT.ms,
  tz_us: AT.us,
  tz_ns: AT.ns,
  tz_rome: AT.ns,
  dict_ts: AT.ns,
};
const TIME_NUMBERS: Readonly<Record<string, readonly [TimeUnit, number]>> = {
  int_ms: ['ms', AT.ms],
  int_ns: ['ns', AT.ns],
  uint_ns: ['ns', AT.ns],
  dec_t: ['auto', AT.ns],
  f64_t: ['auto', 0.75],
};
const TEXT_COLUMNS = ['utf8', 'large_utf8', 'utf8_view', 'dict', 'dict_large'];
/** Nothing is read from them. */
const OTHERS = [
  ...['bin', 'large_bin', 'bin_view', 'fsb', 'uuid'],
  ...['list', 'large_list', 'fsl', 'struct', 'map'],
  ...['time_s', 'time_ms', 'time_us', 'time_ns'],
];

describe.each(['parquet', 'arrow'] as const)('types of %s', (format) => {
  const types = fixture(`types.${format}`);

  it.each(Object.entries(NUMBERS))('%s: numbers', async (name, values) => {
    expect(await valuesOf(types, name, NUMBER)).toEqual(values);
    expect(await valuesOf(types, name, NUMBER, { coerce: true })).toEqual(values);
  });

  it.each(Object.entries(LONG_DECIMALS))('%s: decimals of over 38 digits', async (name, values) => {
    const said =
      /^must be decimals of at most 38 digits in a Parquet file, these have \d\d: write them as DOUBLE, or the file as Arrow$/;
    const expected = format === 'arrow' ? values : expect.stringMatching(said);
    for (const coerce of [false, true]) {
      expect(await valuesOf(types, name, NUMBER, { coerce })).toEqual(expected);
    }
  });

  it.each(Object.entries(TIMESTAMPS))('%s: times', async (name, fraction) => {
    // DuckDB has microseconds for timestamps with a zone.
    const isCut = format === 'parquet' && name.startsWith('tz') && fraction === AT.ns;
    const time = [T, isCut ? AT.us : fraction];
    for (const unit of ['s', 'ms'] as const) {
      expect(await valuesOf(types, name, TIME, { unit })).toEqual([time, time]);
    }
    for (const coerce of [false, true]) {
      expect(await valuesOf(types, name, NUMBER, { coerce })).toMatch(
        /^must be a column of numbers/,
      );
    }
    expect(await valuesOf(types, name, TEXT)).toMatch(/^must be a column of texts, this one is/);
  });

  it.each(DATES)('%s: midnights', async (name) => {
    const midnight = [1_759_968_000, 0];
    expect(await valuesOf(types, name, TIME)).toEqual([midnight, midnight]);
  });

  it.each(Object.entries(TIME_NUMBERS))('%s: times in a unit', async (name, [unit, fraction]) => {
    const time = [T, fraction];
    expect(await valuesOf(types, name, TIME, { unit })).toEqual([time, time]);
    expect(await valuesOf(types, name, TIME, { unit: 'auto' })).toEqual([time, time]);
  });

  it.each(TEXT_COLUMNS)('%s: texts', async (name) => {
    expect(await valuesOf(types, name, TEXT)).toEqual(TEXTS);
    expect(await valuesOf(types, name, NUMBER)).toMatch(
      /^must be a column of numbers, this one is/,
    );
  });

  it.each(OTHERS)('%s: refused', async (name) => {
    for (const field of [NUMBER, { ...TEXT, required: false }]) {
      const kinds = `must be a column of ${field.kind}s, this one is `;
      expect(await valuesOf(types, name, field)).toMatch(kinds);
    }
    expect(await valuesOf(types, name, TIME, { unit: 'auto' })).toMatch(
      /^must be a column of numbers or texts/,
    );
    expect(await valuesOf(types, name, NUMBER, { coerce: true })).toMatch(
      /^must be a column of numbers or texts/,
    );
  });

  it('booleans are no numbers', async () => {
    expect(await valuesOf(types, 'b', { ...NUMBER, kind: 'boolean' })).toEqual([true, false]);
    expect(await valuesOf(types, 'b', NUMBER)).toMatch(/^must be a column of numbers/);
  });

  it('are all in one of these tables', async () => {
    const own =
      format === 'parquet'
        ? ['list_view', 'large_list_view', 'uuid_ext', 'dur_ns']
        : ['uuid_ext', 'dict_view', 'interval', 'sparse', 'dense', 'dur_ns'];
    const all = [
      ...[NUMBERS, LONG_DECIMALS, TIMESTAMPS, TIME_NUMBERS].flatMap((table) => Object.keys(table)),
      ...[...DATES, ...TEXT_COLUMNS, ...OTHERS, 'b', ...own],
    ];
    let names: readonly string[] = [];
    const onColumns = (found: readonly string[]) => (names = found);
    const source = { file: types, format, delimiter: ',', mapping: null, symbols: null, onColumns };
    const rows = rowBatches(source, [{ ...NUMBER, name: 'i8' }], new FaultLog());
    await rows.next();
    await rows.return(undefined);
    expect(all.toSorted()).toEqual([...names].toSorted());
  });
});

describe('types that one of the formats has', () => {
  it('Parquet: lists, UUIDs, INT96, durations as plain integers', async () => {
    const types = fixture('types.parquet');
    for (const name of ['list_view', 'large_list_view']) {
      expect(await valuesOf(types, name, NUMBER)).toMatch(/this one is DOUBLE\[\]$/);
    }
    expect(await valuesOf(types, 'uuid_ext', TEXT)).toEqual([UUID, UUID]);
    expect(await valuesOf(types, 'dur_ns', TIME, { unit: 'ns' })).toEqual([
      [T, AT.ns],
      [T, AT.ns],
    ]);
    expect(await valuesOf(fixture('int96.parquet'), 'int96', TIME)).toEqual([
      [T, AT.us],
      [T, AT.us],
    ]);
  });

  it('Arrow: dictionaries of views; intervals, durations and unions are refused', async () => {
    const types = fixture('types.arrow');
    expect(await valuesOf(types, 'dict_view', TEXT)).toEqual(TEXTS);
    for (const name of ['uuid_ext', 'interval', 'sparse', 'dense', 'dur_ns']) {
      for (const field of [TEXT, NUMBER]) {
        expect(await valuesOf(types, name, field)).toMatch(/^must be a column of/);
      }
    }
  });

  it('DuckDB: intervals, enums, 128-bit integers, TIMESTAMP_S, bits, JSON', async () => {
    const target = await scratch.parquet(
      `SELECT INTERVAL 1 DAY AS interval, 'Kraken'::ENUM('Kraken') AS enum, 10::HUGEINT AS int128,
        12::UHUGEINT AS uint128, TIMESTAMP_S '2025-10-09 08:54:19' AS ts, '101'::BIT AS bits,
        '"Kraken"'::JSON AS json, TIME '01:00:00' AS time, TIMETZ '01:00:00+02' AS timetz`,
    );
    expect(await valuesOf(target, 'int128', NUMBER)).toEqual([10]);
    expect(await valuesOf(target, 'uint128', NUMBER)).toEqual([12]);
    expect(await valuesOf(target, 'enum', TEXT)).toEqual(['Kraken']);
    expect(await valuesOf(target, 'json', TEXT)).toEqual(['"Kraken"']);
    expect(await valuesOf(target, 'ts', TIME)).toEqual([[T, 0]]);
    for (const name of ['interval', 'time', 'timetz']) {
      expect(await valuesOf(target, name, NUMBER)).toMatch(/^must be a column of numbers/);
      expect(await valuesOf(target, name, TIME, { unit: 'auto' })).toMatch(/^must be a column of/);
    }
    expect(await valuesOf(target, 'bits', NUMBER)).toMatch(/^must be a column of numbers/);
  });
});

it.each(['pl-cells', 'pl-cells-categories'])('cells of Polars: %s', async (name) => {
  const markets = [
    ['Kraken', null],
    ['A venue whose name is long', 'SOL/USD'],
    ['A venue whose name is long too', 'SOL/USD'],
  ];
  const rows = markets.flatMap(([source, pair]) =>
    [-1, 0, 1].map((bin) => ({
      chain: 'mainchain',
      address: MINT,
      t: T,
      price_usd: 100,
      source,
      exchange_type: 'CEX',
      pair,
      bin,
      support_usd: bin < 1 ? 10 : 0,
      resistance_usd: bin > -1 ? 12 : 0,
    })),
  );
  const expected = await scratch.takes('cells', scratch.file('.ndjson', lines(rows)));
  expect(expected[0].cells).toHaveLength(9);
  expect(await scratch.takes('cells', fixture(`${name}.arrow`))).toEqual(expected);
});
