/** Flat cells of CSV, read from bytes, against the same text cut at its commas. */
import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { FaultLog } from '../../compute/ingest/faults.js';
import { CELL_NUMBERS, CELL_TEXTS, type CellBatch } from '../../storage/ingest/cell-batch.js';
import { csvCells } from '../../storage/ingest/csv-cells.js';
import { numberOfText } from '../../storage/ingest/csv-fields.js';
import { PlainCsvCells, isPlainCsv } from '../../storage/ingest/plain-csv-cells.js';
import { temporaryDirectory } from '../support/cli.js';

const folder = temporaryDirectory();
afterAll(() => rmSync(folder, { recursive: true }));

type Row = Record<string, unknown>;

/** Rows as objects; what has the wrong number of fields is a fault. */
function expected(header: readonly string[], lines: readonly string[]) {
  const rows: Row[] = [];
  const faults: string[] = [];
  lines.forEach((line, i) => {
    const text = line.endsWith('\r') ? line.slice(0, -1) : line;
    if (text === '') return;
    const fields = text.split(',');
    if (fields.length !== header.length) {
      faults.push(
        `${7 + i}: expected ${header.length} fields as in the header, found ${fields.length}`,
      );
      return;
    }
    const field = (name: string) => (header.includes(name) ? fields[header.indexOf(name)] : '');
    rows.push({
      line: 7 + i,
      ...Object.fromEntries(CELL_NUMBERS.map((name) => [name, numberOfText(field(name))])),
      ...Object.fromEntries(CELL_TEXTS.map((name) => [name, field(name) || null])),
    });
  });
  return { rows, faults };
}

function rowsOf({ rows, numbers, starts, texts, lines }: CellBatch): Row[] {
  let run = -1;
  return Array.from({ length: rows }, (_, row) => {
    if (starts[run + 1] === row) run++;
    const text = (name: (typeof CELL_TEXTS)[number]) => texts[name].value(texts[name].codes[run]);
    return {
      line: lines?.[row],
      ...Object.fromEntries(CELL_NUMBERS.map((name) => [name, numbers[name][row]])),
      ...Object.fromEntries(CELL_TEXTS.map((name) => [name, text(name)])),
    };
  });
}

const NAMES = [...CELL_TEXTS, ...CELL_NUMBERS, 'note'];
const value = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom('', 'a', 'b', 'ab', 'Ä', '1', '12', '-3', '0.5', '148.25'),
  },
  { weight: 2, arbitrary: fc.double().map(String) },
  fc.constantFrom(
    ...['1.', '.5', '-.5', '+2', '-', '.', '-0', '007', '1e3', '1.2.3', '0x1', ' 1', 'NaN', '\r'],
  ),
  fc.constantFrom(
    ...['999999999', '9999999999', '0.000000001', '123456.789', '1234567.891', '\u0001'],
  ),
);

describe('CSV without quotes', () => {
  it('gives the fields between its commas', () => {
    const text = fc.shuffledSubarray(NAMES, { minLength: 1 }).chain((header) =>
      fc.record({
        header: fc.constant(header),
        // Each row has some fields of its own, the others are those of the row before.
        rows: fc.array(
          fc.record({
            changes: fc.array(fc.tuple(fc.nat(header.length - 1), value), { maxLength: 3 }),
            end: fc.constantFrom('\n', '\n', '\n', '\r\n', '\n\n', ',x\n'),
          }),
          { maxLength: 12 },
        ),
      }),
    );
    fc.assert(
      fc.property(text, text, (one, two) => {
        const { header } = one;
        const faults: string[] = [];
        const reader = new PlainCsvCells(header, (line, what) => faults.push(`${line}: ${what}`));
        const fields = header.map(() => 'a');
        // Two chunks: what is known of the first is not taken for the second's.
        for (const { rows } of [one, two]) {
          let csv = '';
          for (const { changes, end } of rows) {
            for (const [at, put] of changes) fields[at % header.length] = put;
            csv += fields.join(',') + end;
          }
          if (csv === '') continue;
          const chunk = { bytes: Buffer.from(csv), firstLine: 7 };
          expect(isPlainCsv(chunk)).toBe(true);
          const told = expected(header, csv.slice(0, -1).split('\n'));
          expect(rowsOf(reader.read(chunk))).toStrictEqual(told.rows);
          expect(faults.splice(0)).toStrictEqual(told.faults);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it('is read beside chunks with quotes, with other letters and without an end', async () => {
    const lines: string[] = [];
    const wanted: [number, number, string][] = [];
    const put = (line: string, bin: number, pair: string) =>
      wanted.push([lines.push(line) + 1, bin, pair]);
    for (let i = 0; i < 60_000; i++) {
      const pair = i === 30_000 ? '"A,""B"""' : i > 45_000 ? `Ä${i}` : `P${i >> 5}/B`;
      const line = `${'chain'.padEnd(50, 'x')},a,${i},,2,s,DEX,,,${pair},${i % 400},1.5,${i / 8}`;
      put(line, i % 400, i === 30_000 ? 'A,"B"' : pair);
    }
    const head = [...CELL_TEXTS.slice(0, 2), 't', 'tier', 'price_usd', ...CELL_TEXTS.slice(3)];
    const text = [[...head, 'bin', 'support_usd', 'resistance_usd'].join(), ...lines].join('\n');
    const file = path.join(folder, 'cells.csv');
    writeFileSync(file, text);
    const faults = new FaultLog();
    const told: [number, number, string][] = [];
    for await (const batch of csvCells(file, faults)) {
      for (const row of rowsOf(batch)) {
        told.push([row.line as number, row.bin as number, row.pair as string]);
      }
    }
    expect(faults.count).toBe(0);
    expect(told).toStrictEqual(wanted);
  });
});
