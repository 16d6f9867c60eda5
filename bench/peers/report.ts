/** The results of `npm run bench:peers` for people. */
import type { MachineFacts, Revision } from '../machine.js';
import { headingOf, SMOKE_NOTE } from '../program.js';
import { aligned, figure } from '../report.js';
import type { PeerRow, Turns } from './measure.js';
import type { PeerSummary } from './summary.js';

export interface PeerStatus {
  name: string;
  version: string | null;
  /** Why it was left out; null: it was measured. */
  notRun: string | null;
}

export interface PeersReport {
  machine: MachineFacts;
  revision: Revision | null;
  smoke: boolean;
  tokens: number;
  turns: Turns;
  elapsedS: number;
  peers: readonly PeerStatus[];
  rows: readonly PeerRow[];
  summary: readonly PeerSummary[];
}

const LEFT = ['server', 'way', 'state', 'coding'];
const ROW_COLUMNS = [...LEFT, 'clients', 'pages/s', 'p50 ms', 'p99 ms', 'cpu ms/page', 'KB', 'n'];
const SUMMARY_COLUMNS = [
  ...['server', 'way', 'coding', 'clients', 'pages/s', 'KB', 'fragments x', 'cold x'],
  ...['fragments cpu x', 'cold cpu x'],
];

const FOOTER =
  'Every server answers with the same 99,936 cells, of another token and window each time; every number of ' +
  'several pages was compared with what was generated. cold: made for this request from the database, whose ' +
  "pages are in memory; fragments: assembled from Fathom's own compressed pieces, made at the first request for " +
  "the token. x: Fathom's gzip pages a second divided by those of the server's best way, and that way's CPU time " +
  "per page divided by Fathom's; KB shows how well each compresses, which is not part of the ratio. Peers have no " +
  'keys, limits, facets or filters, hold only these tokens, and are loaded once, in order; a cache in front of ' +
  'any of them would serve a repeated window, but clients that page onwards seldom repeat one. This is one query ' +
  'of many, and not what these databases do best. The clients share the cores, over loopback: where pages are ' +
  'cheap, the clients are the limit, and CPU time says more.';

export function textOf(report: PeersReport): string {
  const { machine, smoke, elapsedS, peers } = report;
  const made = peers.map(({ name, version, notRun }) =>
    notRun === null ? `${name}: ${version}` : `${name}: not run, ${notRun}`,
  );
  const note = smoke ? [SMOKE_NOTE] : [];
  const tables = [...rowsTable(report.rows), '', ...summaryTable(report.summary)];
  return [
    headingOf(machine),
    ...made,
    '',
    ...tables,
    '',
    ...note,
    FOOTER,
    `${figure(elapsedS)} s in all`,
  ].join('\n');
}

function rowsTable(rows: readonly PeerRow[]): string[] {
  const cells = rows.map((row) => [
    ...[row.peer, row.way, row.state, row.coding, String(row.clients)],
    ...[row.pagesPerSecond, row.p50Ms, row.p99Ms].map(figure),
    row.cpuMsPerPage === null ? '' : figure(row.cpuMsPerPage),
    figure(row.bytes / 1000),
    String(row.pages),
  ]);
  return aligned([ROW_COLUMNS, ...cells], LEFT);
}

function summaryTable(summary: readonly PeerSummary[]): string[] {
  if (summary.length === 0) return [];
  const ratio = (value: number | null): string => (value === null ? '' : figure(value));
  const cells = summary.map((one) => [
    ...[one.peer, one.way, one.coding, String(one.clients), figure(one.pagesPerSecond)],
    figure(one.bytes / 1000),
    ...[one.fathomTimes.fragments, one.fathomTimes.cold].map(ratio),
    ...[one.cpuTimes.fragments, one.cpuTimes.cold].map(ratio),
  ]);
  return ['The best of each, and Fathom beside it', ...aligned([SUMMARY_COLUMNS, ...cells], LEFT)];
}
