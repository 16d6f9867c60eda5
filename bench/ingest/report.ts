/** The ingest bench's results for people. */
import { median } from '../case.js';
import { aligned, figure } from '../report.js';
import type { IngestRun } from './command.js';
import type { Input } from './inputs.js';

/** Medians of one file's runs; the peak is the greatest. */
export interface IngestRow extends IngestRun {
  name: string;
  rows: number;
  cells: number;
}

const COLUMNS = ['file', 'M rows', 'MB', 'wall s', 'own s', 'rows/s', 'cells/s', 'MB/s'].concat([
  'rows/s own',
  'MB/s own',
  'cpu s',
  'cpu us/row',
  'peak MB',
  'stored B/cell',
]);

export const FOOTER =
  "wall: from the start of the command's process to its end, into a new directory, and the rates that follow. " +
  'own: the time that the command itself reports, without start and end of the process, and the rates that ' +
  'follow. cpu: all threads, start included, which hardly depends on what else runs. Input files are in the ' +
  "system's cache. stored: the closed database file, with its catalogue.";

export function rowOf({ name, rows, cells }: Input, runs: readonly IngestRun[]): IngestRow {
  const medianOf = (figure: (run: IngestRun) => number): number => median(runs.map(figure));
  return {
    name,
    rows,
    cells,
    wallS: medianOf(({ wallS }) => wallS),
    ownS: medianOf(({ ownS }) => ownS),
    cpuS: medianOf(({ cpuS }) => cpuS),
    peakMegabytes: Math.max(...runs.map(({ peakMegabytes }) => peakMegabytes)),
    inputBytes: runs[0].inputBytes,
    storedBytes: medianOf(({ storedBytes }) => storedBytes),
  };
}

export function tableOf(rows: readonly IngestRow[]): string[] {
  return aligned([COLUMNS, ...rows.map(cellsOf)], ['file']);
}

function cellsOf(row: IngestRow): string[] {
  const { rows, cells, wallS, ownS, cpuS, inputBytes } = row;
  const megabytes = inputBytes / 1e6;
  return [
    row.name,
    ...[rows / 1e6, megabytes, wallS, ownS, rows / wallS].map(figure),
    cells === 0 ? '' : figure(cells / wallS),
    ...[megabytes / wallS, rows / ownS, megabytes / ownS].map(figure),
    ...[cpuS, (1e6 * cpuS) / rows, row.peakMegabytes].map(figure),
    cells === 0 ? '' : figure(row.storedBytes / cells),
  ];
}
