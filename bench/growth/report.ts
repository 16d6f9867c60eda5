/** The growth bench's results for people. */
import { aligned, figure } from '../report.js';
import type { DayResult } from './day.js';
import type { GrowthStore } from '../data/growth-store.js';
import type { ServeResult } from './serve.js';

export interface GrowthRow {
  store: Omit<GrowthStore, 'directory' | 'key'>;
  served: ServeResult;
}

const COLUMNS = (
  'store,tokens,M cells,segments,file MB,B/cell,fill s,listens ms,most,start cpu ms,first page ms,' +
  'MB then,page KB,p50 ms,p99,cpu ms,p50 x,cpu x,MB at end'
).split(',');

export const FOOTER =
  'listens, first page: from the start of the process, median of the starts (most: the longest); cpu: all ' +
  'threads, which hardly depends on what else runs. Pages: one client asks the servers of a block in turn for ' +
  'a random window of a random token, group=venue gzip, which no cache holds; so the ratios (x, to the first ' +
  'store of the block) hold on a busy machine, too, but the times do not. The servers keep no cells ' +
  "(--blocks-memory-mib 0): after some pages they would hold all of the small store's. A token's older " +
  "segments are looked up at its first request. The files are in the system's cache: no disk is involved. Full " +
  'segments repeat a few histories under other names and times: the file compresses as those do. Tiny segments ' +
  'stand for the index of a store of as many full ones: their page is not page A, and their bytes per cell mean ' +
  "nothing. The day's file is closed; most: with its log, while it is written.";

export function rowsTable(title: string, rows: readonly GrowthRow[]): string[] {
  if (rows.length === 0) return [];
  const [{ served: least }] = rows;
  return [title, ...aligned([COLUMNS, ...rows.map((row) => cellsOf(row, least))], ['store']), ''];
}

function cellsOf({ store, served }: GrowthRow, least: ServeResult): string[] {
  const ratio = (value: number | null, of: number | null): string =>
    value === null || of === null || of === 0 ? '' : figure(value / of);
  const known = (value: number | null): string => (value === null ? '' : figure(value));
  return [
    store.name,
    ...[store.tokens, store.cells / 1e6, store.segments, store.fileBytes / 1e6].map(figure),
    ...[store.fileBytes / store.cells, store.fillS].map(figure),
    ...[served.listenMs, served.listenMaxMs].map(figure),
    known(served.listenCpuMs),
    figure(served.firstPageMs),
    known(served.startMegabytes),
    ...[served.bytes / 1000, served.p50Ms, served.p99Ms].map(figure),
    known(served.cpuMs),
    ratio(served.p50Ms, least.p50Ms),
    ratio(served.cpuMs, least.cpuMs),
    known(served.endMegabytes),
  ];
}

export function dayTable(day: DayResult): string[] {
  const names = ['tokens', 'commits', 'M cells', 'ms/commit', 'segments/token', 'blocks B/cell'];
  const { tokens, commits, cells, commitMs, segmentsPerToken } = day;
  return [
    'A day of commits of one snapshot of every token',
    ...aligned(
      [
        [...names, 'file B/cell', 'most B/cell', 'free blocks'],
        [
          ...[tokens, commits, cells / 1e6, commitMs, segmentsPerToken, day.blockBytes].map(figure),
          ...[day.fileBytes, day.mostBytes].map(figure),
          `${figure(100 * day.freeShare)}%`,
        ],
      ],
      [],
    ),
    '',
  ];
}
