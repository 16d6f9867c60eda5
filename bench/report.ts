/** Results for people (a table) and for programs (JSON). */
import type { CaseResult, Extra } from './case.js';
import type { MachineFacts, Revision } from './machine.js';
import { headingOf, SMOKE_NOTE, writeResults } from './program.js';

/** Changes with the layout of the JSON. */
const REPORT_VERSION = 1;

interface Report {
  machine: MachineFacts;
  revision: Revision | null;
  seed: number;
  smoke: boolean;
  elapsedS: number;
  cases: readonly CaseResult[];
}

const COLUMNS = ['case', 'ops/s', 'p50 ms', 'p99 ms', 'cpu ms/op', 'n', 'hash', 'more'];
const LEFT = ['case', 'hash', 'more'];

const FOOTER =
  'ms: how long the caller of one operation waits; cpu ms/op: its CPU time in all threads of this process; ' +
  'MB = 10^6 bytes. Compare rows of one table, not times of different machines.';

/** The table, its heading and its footer, as lines. */
export function tableOf({ machine, revision, smoke, cases, elapsedS }: Report): string {
  const commit =
    revision === null
      ? ''
      : `, ${revision.commit.slice(0, 8)}${revision.dirty ? ' and changes' : ''}`;
  const heading = `${headingOf(machine)}${commit}`;
  const rows = cases.map((one) => [
    one.name,
    figure(one.opsPerSecond),
    figure(one.p50Ms),
    figure(one.p99Ms),
    one.extra.cpuMs === undefined ? '' : figure(one.extra.cpuMs),
    String(one.samples),
    one.hash,
    extraText(one.extra),
  ]);
  const note = smoke ? [SMOKE_NOTE] : [];
  return [heading, '', ...aligned([COLUMNS, ...rows], LEFT), '', ...note, FOOTER]
    .concat(`${figure(elapsedS)} s in all`)
    .join('\n');
}

/** Aligns the columns of rows, the first of which is the heading; figures are aligned right. */
export function aligned(rows: readonly string[][], left: readonly string[]): string[] {
  const [columns] = rows;
  const widths = columns.map((_, c) => Math.max(...rows.map((row) => row[c].length)));
  const cell = (text: string, c: number): string =>
    left.includes(columns[c]) ? text.padEnd(widths[c]) : text.padStart(widths[c]);
  return rows.map((row) => row.map(cell).join('  ').trimEnd());
}

function extraText({ cpuMs: _, ...extra }: Extra): string {
  return Object.entries(extra)
    .map(([name, value]) => `${name} ${figure(value)}`)
    .join(', ');
}

/** Three significant digits; above 1,000 a whole number with its thousands separated. */
export function figure(value: number): string {
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString('en-US');
  return Number.isInteger(value) ? String(value) : value.toPrecision(3);
}

/** Writes the report as one JSON document. */
export async function writeReport(report: Report, file: string): Promise<void> {
  const cases = Object.fromEntries(report.cases.map(({ name, ...figures }) => [name, figures]));
  await writeResults(file, { version: REPORT_VERSION, ...report, cases });
}
