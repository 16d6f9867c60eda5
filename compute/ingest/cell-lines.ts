import type { BinnedBatch } from './batch.js';
import { packCellColumns, type CellRuns } from './cell-columns.js';
import { FaultLog, MAX_FAULTS } from './faults.js';
import { isFields, type Fields } from './fields.js';
import { eachJsonLine } from './json-lines.js';
import type { SnapshotLines } from './snapshot-lines.js';
import { textRunsOfRows } from './text-runs.js';

const NO_FIELDS: Fields = {};

/** Columns of parsed rows of `cells`; what is not an object has no field. */
export function cellColumnsOfRows(rows: readonly unknown[]): CellRuns {
  const fields = rows.map((row) => (isFields(row) ? row : NO_FIELDS));
  const numbers = (name: string): Float64Array => {
    const column = new Float64Array(fields.length);
    for (let row = 0; row < fields.length; row++) {
      const value = fields[row][name];
      column[row] = typeof value === 'number' ? value : NaN;
    }
    return column;
  };
  return {
    ...textRunsOfRows(fields),
    t: numbers('t'),
    price_usd: numbers('price_usd'),
    bin: numbers('bin'),
    support_usd: numbers('support_usd'),
    resistance_usd: numbers('resistance_usd'),
  };
}

/**
 * Packs NDJSON lines of the dataset `cells`, cut at a snapshot's border. `basePrices` has an entry a
 * line, blank ones too.
 */
export function packCellLines(input: SnapshotLines): BinnedBatch {
  const { bytes, firstLine, mode, basePrices } = input;
  const broken = new FaultLog();
  const rows: unknown[] = [];
  const indexes: number[] = [];
  const lines = eachJsonLine(bytes, firstLine, broken, (row, index) => {
    if (isFields(row)) {
      rows.push(row);
      indexes.push(index);
    } else {
      broken.add('json', 'must be an object');
    }
  });
  const batch = packCellColumns({
    ...cellColumnsOfRows(rows),
    firstLine,
    mode,
    lines: Float64Array.from(indexes, (index) => firstLine + index),
    basePrices: basePrices && Float64Array.from(indexes, (index) => basePrices[index]),
  });
  batch.rows = lines;
  if (broken.count === 0) return batch;
  const faults = [...broken.faults, ...batch.faults].sort((a, b) => a.line - b.line);
  const faultCount = broken.count + batch.faultCount;
  const nothing = { parts: [], snapshots: 0, cells: 0 };
  return { ...batch, ...nothing, faults: faults.slice(0, MAX_FAULTS), faultCount };
}
