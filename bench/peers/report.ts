/** The results of `npm run bench:peers` for people: one table per set of pages. */
import type { MachineFacts, Revision } from '../machine.js';
import { headingOf, SMOKE_NOTE } from '../program.js';
import { aligned, figure } from '../report.js';
import type { PeerRow, Turns } from './measure.js';
import type { PagesName } from './options.js';
import type { PeerSummary } from './summary.js';

export interface PeerStatus {
  name: string;
  version: string | null;
  /** Why it was left out; null if it was measured. */
  notRun: string | null;
}

/** The table of one set of pages. */
export interface SetReport {
  pages: PagesName;
  title: string;
  /** null if it was left out. */
  size: { tokens: number; snapshots: number; cells: number } | null;
  notRun: string | null;
  peers: readonly PeerStatus[];
  rows: readonly PeerRow[];
  summary: readonly PeerSummary[];
}

export interface PeersReport {
  machine: MachineFacts;
  revision: Revision | null;
  smoke: boolean;
  turns: Turns;
  elapsedS: number;
  sets: readonly SetReport[];
}

const LEFT = ['server', 'way', 'state', 'format', 'coding'];
const ROW_COLUMNS = [...LEFT, 'clients', 'pages/s', 'p50 ms', 'p99 ms', 'cpu ms/page', 'KB', 'n'];
const SUMMARY_COLUMNS = [
  'server',
  'way',
  'format',
  'coding',
  'clients',
  'pages/s',
  'KB',
  'fragments x',
  'cold x',
  'fragments cpu x',
  'cold cpu x',
];

const FOOTER =
  'All servers of a table hold the same cells and are asked for the same pages, of up to 288 snapshots; every number ' +
  'of several pages was compared with what they were given. cold: made for this request from the database, whose ' +
  "pages are in memory; fragments: assembled from Fathom's own compressed pieces, made at the first request for " +
  'the token; file: bytes that lie in a file as they are sent. ' +
  "x: Fathom's pages a second divided by those of the server's best way of the format, and that way's CPU time " +
  "per page divided by Fathom's. fragments x is against Fathom's JSON with gzip, whatever the server's format; " +
  'cold x against its cold pages: JSON with gzip for JSON, Arrow of the same coding for Arrow, Arrow with gzip for ' +
  'Parquet. KB shows how well each compresses, which is not part of the ratio. Peers have no keys, limits, facets or ' +
  'filters, hold only these tokens, and are loaded once, in order; a cache in front of any of them would serve a ' +
  'repeated window, but clients that page onwards seldom repeat one. Of Parquet files a client has read the footers, ' +
  'gets whole row groups, and does the rest itself, which is not counted. This is one query of many, and not what ' +
  'these databases do best. The clients share the cores, over loopback: where pages are cheap, the clients are the ' +
  'limit, and CPU time says more.';

export function textOf({ machine, smoke, elapsedS, sets }: PeersReport): string {
  const note = smoke ? [SMOKE_NOTE] : [];
  return [
    headingOf(machine),
    '',
    ...sets.flatMap((set) => [...setLines(set), '']),
    ...note,
    FOOTER,
    `${figure(elapsedS)} s in all`,
  ].join('\n');
}

function setLines({ title, size, notRun, peers, rows, summary }: SetReport): string[] {
  if (size === null) return [`${title}: not run, ${notRun}`];
  const { tokens, snapshots, cells } = size;
  const made = peers.map((one) =>
    one.notRun === null ? `${one.name}: ${one.version}` : `${one.name}: not run, ${one.notRun}`,
  );
  const of = tokens === 1 ? 'one token' : `${tokens} tokens`;
  const heading = `${title}: ${cells} cells in ${snapshots} snapshots of ${of}`;
  return [heading, ...made, '', ...rowsTable(rows), '', ...summaryTable(summary)];
}

function rowsTable(rows: readonly PeerRow[]): string[] {
  const cells = rows.map((row) => [
    row.peer,
    row.way,
    row.state,
    row.format,
    row.coding,
    String(row.clients),
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
    one.peer,
    one.way,
    one.format,
    one.coding,
    String(one.clients),
    figure(one.pagesPerSecond),
    figure(one.bytes / 1000),
    ...[one.fathomTimes.fragments, one.fathomTimes.cold].map(ratio),
    ...[one.cpuTimes.fragments, one.cpuTimes.cold].map(ratio),
  ]);
  return ['The best of each, and Fathom beside it', ...aligned([SUMMARY_COLUMNS, ...cells], LEFT)];
}
