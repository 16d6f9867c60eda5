/** What the flat datasets share in reading CSV: numbers, headers and records that are none. */
import { MAX_FAULTS, type FaultLog } from '../../compute/ingest/faults.js';
import type { CsvFaultHandler } from '../csv.js';
import { checkColumns, type WantedColumn } from './columns.js';

const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/;

/** The number that a field's digits stand for; NaN for anything else, empty too. */
export function numberOfText(text: string): number {
  return NUMBER.test(text) ? Number(text) : NaN;
}

/** @throws InputError where a column that every row needs is missing */
export function checkHeader(
  file: string,
  header: readonly string[],
  wanted: readonly WantedColumn[],
): void {
  // A CSV column has no type: whether its fields are numbers is judged row by row.
  const untyped = wanted.map((column) => ({ ...column, kind: 'any' as const }));
  const found = new Map(header.map((name) => [name, { kind: 'text' as const, type: 'text' }]));
  checkColumns(file, found, untyped);
}

/** Notes records that are none as faults of field `csv`; `isFull` once nobody needs more of them. */
export function csvFaults(faults: FaultLog): { onFault: CsvFaultHandler; isFull: () => boolean } {
  return {
    onFault(line, what) {
      faults.line = line;
      faults.add('csv', what);
    },
    isFull: () => faults.count >= MAX_FAULTS,
  };
}
