/** Numbers read from bytes: JSON.parse is the reference, for every number, text and fault. */
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { cellColumnsOfRows } from '../../compute/ingest/cell-columns.js';
import { FaultLog, MAX_FAULTS, MAX_LEVELS_PER_LIST } from '../../compute/ingest/fields.js';
import { columnsOfLines, packCellColumns } from '../../compute/ingest/flat-cells.js';
import { NumberLists } from '../../compute/ingest/number-lists.js';
import { RepeatedLines } from '../../compute/ingest/repeated-lines.js';
import { binSnapshotLines, binSnapshotRows } from '../../compute/ingest/snapshots.js';

const WIDTHS = { cells: 3, bids: 2, asks: 2, bins: 3 } as const;
type Name = keyof typeof WIDTHS;

const isTaken = (value: unknown): boolean => typeof value === 'string' && value.startsWith('\0');

/** The value of a line as the reader gets it, its lists as arrays again; undefined if it is not UTF-8 or not JSON. */
function parsed(line: Uint8Array): { value: unknown; taken: number } | undefined {
  const lists = new NumberLists();
  const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let text: string;
  try {
    text = lists.takeFrom(line, 0, line.length, (from, to) => utf8.decode(line.subarray(from, to)));
    JSON.parse(text);
  } catch {
    return undefined;
  }
  let taken = 0;
  const whole = JSON.parse(text, (key, value: unknown) => {
    const name = (Object.keys(WIDTHS) as Name[]).find((one) => key.endsWith(one));
    if (name === undefined || !isTaken(value)) return value;
    const faults = new FaultLog();
    const list = lists.read({ [name]: value }, name, '', faults);
    // A text of the line that only looks like one.
    if (list === null) return value;
    taken++;
    const { values, start, length, broken } = list;
    expect(broken).toBeNull();
    const width = WIDTHS[name];
    return Array.from({ length }, (_, i) =>
      Array.from(values.subarray(start + i * width, start + (i + 1) * width)),
    );
  }) as unknown;
  return { value: whole, taken };
}

function expected(line: Uint8Array): { value: unknown } | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(line);
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/** Fails unless the line is the same value as JSON.parse's, to the sign of zeros. */
function check(line: string | Uint8Array): number {
  const bytes = typeof line === 'string' ? Buffer.from(line) : line;
  const found = parsed(bytes);
  const wanted = expected(bytes);
  if (wanted === undefined) expect(found).toBeUndefined();
  else expect(found?.value).toStrictEqual(wanted.value);
  return found?.taken ?? 0;
}

const digits = (most: number) =>
  fc
    .array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: most })
    .map((d) => d.join(''));
const integerPart = fc.oneof(
  fc.constantFrom('0', '00', '01', '', '9007199254740991', '9007199254740992', '9007199254740993'),
  digits(25),
  fc.bigInt({ min: 1n, max: 10n ** 17n }).map(String),
);
const exponent = fc.oneof(
  fc.integer({ min: -30, max: 30 }).map(String),
  fc.constantFrom('', '+5', '-', '308', '309', '-324', '-400', '999', '00001', '0000000001'),
);
const anyNumber = fc
  .record({
    sign: fc.constantFrom('', '', '', '-', '+', '--'),
    whole: integerPart,
    point: fc.constantFrom('', '.', '.'),
    fraction: fc.oneof(digits(25), fc.constant('')),
    e: fc.constantFrom('', '', '', 'e', 'E', 'e+', 'e-'),
    exponent,
  })
  .map(
    ({ sign, whole, point, fraction, e, exponent: power }) =>
      sign + whole + (point && point + fraction) + (e && e + power),
  );
const soundNumber = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  fc.integer().map(String),
  fc.tuple(fc.integer(), fc.integer({ min: 0, max: 8 })).map(([i, n]) => (i / 10 ** n).toFixed(n)),
  fc.constantFrom('-0', '0', '-0.0', '0e9', '1e22', '1e23', '-1e-22', '1.5E+3', '1e400', '5e-324'),
  fc.constantFrom('8.41e21', '123456789012345e22', '0.1e1', '2.2250738585072011e-308', '1e-23'),
);

/** Mostly what valid lines have: a line has few odd parts at once. */
const mostly = <T>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 30, arbitrary: usual }, { weight: 1, arbitrary: odd });
const space = mostly(fc.constantFrom('', '', ' ', '  '), fc.constantFrom('\t', '\r', '\u00a0'));
const name = fc.constantFrom(
  ...['cells', 'bids', 'asks', 'bins', 'cells', 'bids', 'asks', 'bins', 'ticks', 'cell'],
  ...['a\\"cells', '\\u0063ells', 'é"bids'.replace('"', '\\"'), '__proto__'],
);
const oddText = fc.constantFrom(
  ...['"\\u0000"', '"\\u00000"', '"\\u00001"', '"\\\\u00000"', '"é"', '"\\ud800"', '"\ud800"'],
  ...[
    '"\\"cells\\":[[1,2,3]]"',
    'null',
    'true',
    '{}',
    '[]',
    '[[]]',
    '{"cells":[[1,2,3]]}',
    '"\\u20ac"',
  ],
);
const brokenText = fc.constantFrom(
  'nul',
  '"',
  '"x',
  '[1',
  '[[1,2]',
  '[[1,2],]',
  '[[1,2]]]',
  '"a"b"',
);
const entries = (of: fc.Arbitrary<string>) =>
  fc
    .tuple(
      mostly(fc.constantFrom(2, 3), fc.constantFrom(1, 4)),
      fc.array(of, { minLength: 0, maxLength: 12 }),
      space,
      space,
    )
    .map(([width, all, before, after]) => {
      const rows: string[] = [];
      const whole = all.slice(0, all.length - (all.length % width));
      for (let i = 0; i < whole.length; i += width) {
        rows.push(`${before}[${whole.slice(i, i + width).join(`,${after}`)}]`);
      }
      return `[${rows.join(`${after},`)}${before}]`;
    });
const value = mostly(
  fc.oneof(
    { weight: 6, arbitrary: entries(soundNumber) },
    { weight: 1, arbitrary: entries(mostly(soundNumber, oddText)) },
    { weight: 1, arbitrary: oddText },
  ),
  fc.oneof(entries(mostly(soundNumber, anyNumber)), brokenText),
);
const { object } = fc.letrec<{ object: string }>((tie) => ({
  object: fc
    .array(fc.tuple(name, fc.oneof({ weight: 5, arbitrary: value }, tie('object')), space, space), {
      maxLength: 5,
    })
    .map((fields) => `{${fields.map(([n, v, a, b]) => `"${n}"${a}:${b}${v}${a}`).join(',')}}`),
}));

describe('the value of a line', () => {
  it('is that of JSON.parse, whatever the numbers', () => {
    let taken = 0;
    fc.assert(
      fc.property(fc.array(fc.tuple(soundNumber, soundNumber), { minLength: 1 }), (levels) => {
        taken += check(`{"bids":[${levels.map((pair) => `[${pair.join(',')}]`).join(',')}]}`);
      }),
    );
    // Each of them is a list that needs no other reader.
    expect(taken).toBe(100);
    fc.assert(
      fc.property(anyNumber, soundNumber, (odd, sound) => {
        check(`{"asks":[[${odd},${sound}]]}`);
      }),
      { numRuns: 3000 },
    );
  });

  it('is that of JSON.parse, whatever the text', () => {
    let taken = 0;
    fc.assert(
      fc.property(object, (line) => {
        taken += check(line);
      }),
      { numRuns: 3000 },
    );
    expect(taken).toBeGreaterThan(300);
  });

  it('is that of JSON.parse if a line is cut, or one of its bytes is another or missing', () => {
    const bytes = fc.oneof(fc.constantFrom(...Buffer.from('[]{},:"\\ -.e0\n\r\t')), fc.nat(255));
    fc.assert(
      fc.property(object, fc.nat(), bytes, fc.nat(2), (line, at, byte, how) => {
        const whole = Buffer.from(line);
        const i = at % whole.length;
        const given = [[byte], [], [byte, whole[i]]][how];
        check(Buffer.concat([whole.subarray(0, i), Buffer.from(given), whole.subarray(i + 1)]));
        check(whole.subarray(0, i));
      }),
      { numRuns: 2000 },
    );
  });

  it('has the nearest double where decimals lie half-way between two', () => {
    const half = fc
      .tuple(fc.bigInt({ min: 2n ** 52n, max: 2n ** 53n - 1n }), fc.integer({ min: 0, max: 60 }))
      .map(([mantissa, shift]) => ((2n * mantissa + 1n) << BigInt(shift)).toString());
    const near = fc.tuple(half, fc.constantFrom(-1n, 0n, 1n), fc.integer({ min: -40, max: 20 }));
    fc.assert(
      fc.property(near, ([text, more, power]) => {
        const integer = String(BigInt(text) + more);
        const point = integer.length >> 1;
        check(`{"bids":[[${integer},${integer}e${power}]]}`);
        check(`{"bids":[[${integer.slice(0, point)}.${integer.slice(point)},0.${integer}]]}`);
      }),
      { numRuns: 2000 },
    );
  });

  it('is that of JSON.parse with too many digits, or too many levels', () => {
    const long = '1234567890'.repeat(50_000);
    check(`{"bids":[[${long},0.${long}]]}`);
    check(`{"bids":[[0.${'0'.repeat(400_000)}1,1e${'0'.repeat(400_000)}1]]}`);
    const textOf = (levels: number): string => {
      const line = Buffer.from(`{"bids":[${'[1,2],'.repeat(levels - 1)}[1,2]]}`);
      return new NumberLists().takeFrom(line, 0, line.length, (from, to) =>
        line.toString('latin1', from, to),
      );
    };
    expect(textOf(MAX_LEVELS_PER_LIST).length).toBeLessThan(30);
    expect(textOf(MAX_LEVELS_PER_LIST + 1).length).toBeGreaterThan(MAX_LEVELS_PER_LIST);
  });
});

const good = {
  chain: 'mainchain',
  address: 'So11111111111111111111111111111111111111112',
  t: 1_794_000_000,
  price_usd: 2,
};
const usd = fc.integer({ min: 0, max: 1e7 }).map((cents) => String(cents / 100));
const ownCells = fc
  .array(fc.tuple(fc.integer({ min: -600, max: 600 }), usd, usd), { minLength: 1 })
  .map((cells) => `[${cells.map((cell) => `[${cell.join(',')}]`).join(',')}]`);
const ownLevels = fc
  .array(fc.tuple(fc.integer({ min: 1, max: 400 }), usd), { minLength: 1 })
  .map((levels) => `[${levels.map(([price, size]) => `[${price / 100},${size}]`).join(',')}]`);
const market = { source: 'Kraken', exchange_type: 'CEX' };
const pool = { bin_step: 20, active_id: 0, decimals_x: 6, decimals_y: 6, token: 'x', quote_usd: 1 };

describe('a line of snapshots', () => {
  it('gives the cells, warnings and faults of its row', () => {
    const bodies = fc.oneof(
      fc.oneof(ownCells, value).map((cells) => `"cells":${cells}`),
      fc
        .tuple(ownLevels, fc.oneof(ownLevels, value))
        .map(([bids, asks]) => `"book":{"bids":${bids},"asks":${asks}}`),
      fc
        .oneof(ownCells, value)
        .map((bins) => `"dlmm":{"bins":${bins},${JSON.stringify(pool).slice(1)}`),
      fc.tuple(value, value).map(([a, b]) => `"cells":${a},"cells":${b}`),
      oddText.map((text) => `"source":${text},"cells":[[1,2,3]]`),
    );
    let sound = 0;
    fc.assert(
      fc.property(fc.array(bodies, { maxLength: 2 }), (all) => {
        const head = JSON.stringify(good).slice(0, -1);
        const each = all.map((body, i) => {
          return `${JSON.stringify({ ...market, pair: String(i) }).slice(0, -1)},${body}}`;
        });
        const line = `${head},"markets":[${each.join(',')}]}`;
        const found = binSnapshotLines({ bytes: Buffer.from(line), firstLine: 1, mode: 'replace' });
        const wanted = expected(Buffer.from(line));
        if (wanted === undefined) {
          expect(found.faults.map(({ field }) => field)).toEqual(['json']);
          return;
        }
        expect(found).toStrictEqual(
          binSnapshotRows([wanted.value], { firstLine: 1, mode: 'replace' }),
        );
        if (found.cells > 0) sound++;
      }),
      { numRuns: 2000 },
    );
    expect(sound).toBeGreaterThan(100);
  });
});

const TEXTS = ['chain', 'address', 'tier', 'source', 'exchange_type', 'market_address', 'pair'];
const NUMBERS = ['t', 'price_usd', 'bin', 'support_usd', 'resistance_usd'];

describe('lines of cells', () => {
  /** Fields as a line has them, and the same with other numbers. */
  const fieldsOf = fc
    .tuple(
      mostly(fc.constant(good.address), fc.constantFrom(`0x${'a'.repeat(40)}`, 'x')),
      fc.constantFrom('Kraken', 'Orca', 'É'),
      mostly(fc.constant(null), oddText),
      fc.array(
        fc.tuple(
          fc.constantFrom(...TEXTS, ...NUMBERS, 'seq', 'a\\"t', '\\u0074', '__proto__'),
          mostly(fc.oneof(soundNumber, fc.constant('"1"')), fc.oneof(oddText, value)),
        ),
        { maxLength: 2 },
      ),
      space,
    )
    .map(([address, source, odd, more, gap]) => {
      const fields: [string, string][] = [
        ['chain', '"mainchain"'],
        ['address', JSON.stringify(address)],
        ['t', '%t'],
        ['price_usd', '2'],
        ['source', JSON.stringify(source)],
        ['exchange_type', '"CEX"'],
        ['pair', odd ?? '"A/B"'],
        ['bin', '%bin'],
        ['support_usd', '%'],
        ['resistance_usd', '%'],
      ];
      return [...fields, ...(more.length === 2 ? [more[0]] : [])]
        .map(([key, text]) => `"${key}"${gap}:${gap}${text}`)
        .join(`,${gap}`);
    });
  const amounts = fc.array(mostly(usd, fc.oneof(soundNumber, anyNumber, oddText)), {
    minLength: 1,
    maxLength: 6,
  });
  /** Several lines of the same fields each; now and then one that is no row. */
  const file = fc
    .array(
      mostly(
        fc.tuple(fieldsOf, amounts),
        fc.tuple(fc.constantFrom<string>('', '5', '{}', '[', 'null'), fc.constant<string[]>(['1'])),
      ),
      { minLength: 1, maxLength: 12 },
    )
    .map((groups) =>
      groups.flatMap(([fields, all], g) =>
        all.map((amount, i) => {
          const text = fields
            .replaceAll('%t', String(1_794_000_000 + g))
            .replace('%bin', String(i));
          const line = text.replaceAll('%', amount);
          return line.includes(':') ? `{${line}}` : line;
        }),
      ),
    );

  it('give the cells, warnings and faults of their rows', () => {
    let cells = 0;
    let faulty = 0;
    fc.assert(
      fc.property(file, fc.constantFrom('\n', '\r\n'), (all, newline) => {
        const bytes = Buffer.from(all.join(newline));
        const found = packCellColumns({
          ...columnsOfLines({ bytes, firstLine: 1 }),
          mode: 'replace',
        });
        const rows: unknown[] = [];
        const lines: number[] = [];
        let broken = 0;
        all.forEach((line, i) => {
          if (line.trim() === '') return;
          const row = expected(Buffer.from(line))?.value;
          if (typeof row !== 'object' || row === null || Array.isArray(row)) broken++;
          else {
            rows.push(row);
            lines.push(i + 1);
          }
        });
        if (broken >= MAX_FAULTS) return;
        const wanted = packCellColumns({
          ...cellColumnsOfRows(rows),
          lines: Float64Array.from(lines),
          firstLine: 1,
          mode: 'replace',
        });
        expect(found.faultCount).toBe(wanted.faultCount + broken);
        expect(found.rows).toBe(rows.length + broken);
        if (broken > 0) {
          faulty++;
          return;
        }
        expect(found).toStrictEqual(wanted);
        cells += found.cells;
      }),
      { numRuns: 2000 },
    );
    expect(cells).toBeGreaterThan(300);
    expect(faulty).toBeGreaterThan(20);
  });

  it('are like the one before only if nothing but numbers differs', () => {
    const isLike = (first: string, second: string): boolean => {
      const parser = new RepeatedLines(['t', 'bin'], ['pair']);
      const read = (line: string): unknown => {
        const bytes = Buffer.from(`${line}\n`);
        const textOf = (from: number, to: number) => bytes.toString('utf8', from, to);
        return parser.parse(bytes, 0, bytes.length - 1, textOf);
      };
      expect(read(first)).toEqual(JSON.parse(first));
      try {
        return read(second) === parser.numbers;
      } catch {
        return false;
      }
    };
    const line = '{"t":1,"pair":"é","bin":-2}';
    expect(isLike(line, '{"t":25,"pair":"é","bin":1e3}')).toBe(true);
    expect(isLike('{"pair":[1],"seq":1}', '{"pair":[1],"seq":2}')).toBe(true);
    for (const other of [
      ...['{"t":1,"pair":"e","bin":-2}', `${line}x`, `${line} `, line.slice(0, -1), `x${line}`],
      ...['{"t":1,"pair":"é","bin":-2,"t":5}', '{"t":"1","pair":"é","bin":-2}'],
      ...[
        '{"t":01,"pair":"é","bin":-2}',
        '{"t":1,"pair":"é","bin":-}',
        '{"t":1.,"pair":"é","bin":2}',
      ],
    ]) {
      expect([other, isLike(line, other)]).toEqual([other, false]);
    }
    // A text field's number is a text of the row, and only the last of two fields counts.
    expect(isLike('{"pair":1}', '{"pair":2}')).toBe(false);
    expect(isLike('{"pair":[1]}', '{"pair":[2]}')).toBe(false);
    expect(isLike('{"t":1,"t":2}', '{"t":1,"t":3}')).toBe(false);
    expect(isLike('{"t":1,"\\u0074":2}', '{"t":1,"\\u0074":3}')).toBe(false);
  });

  it('are rarely parsed whole if only numbers differ, and as before if rows alternate', () => {
    const parse = vi.spyOn(JSON, 'parse');
    const parsedOf = (sources: string[]): number => {
      const rows = sources.map((source, i) => {
        const row = { ...good, ...market, source, bin: i, support_usd: 5, resistance_usd: i / 7 };
        return `${JSON.stringify(row)}\n`;
      });
      parse.mockClear();
      const found = packCellColumns({
        ...columnsOfLines({ bytes: Buffer.from(rows.join('')), firstLine: 1 }),
        mode: 'replace',
      });
      expect([found.cells, found.faultCount]).toEqual([rows.length, 0]);
      return parse.mock.calls.length;
    };
    try {
      expect(parsedOf(Array.from({ length: 100 }, () => 'Orca'))).toBe(1);
      expect(parsedOf(Array.from({ length: 100 }, (_, i) => 'AB'[i % 2]))).toBe(100);
    } finally {
      parse.mockRestore();
    }
  });
});
