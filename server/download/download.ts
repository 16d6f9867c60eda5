/** Downloads a window into a file, page by page, and resumes interrupted downloads. */
import { rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { isoOf } from '../../compute/time.js';
import { syncFile } from '../../storage/disk.js';
import { absent } from '../../storage/errors.js';
import { takeLock } from '../../storage/file-lock.js';
import { arrowWriter } from './arrow-file.js';
import {
  csvWriter,
  jsonWriter,
  ndjsonWriter,
  type PageWriter,
  type ReplayFormat,
} from './formats.js';
import type { RemotePage } from './page.js';
import { parquetWriter } from './parquet-file.js';
import { PartFile, partPaths, type PartPaths, removeParts } from './part-file.js';
import {
  difference,
  flagOf,
  NothingToWriteError,
  outdated,
  ReplayError,
  type DownloadRequest,
  type Rest,
} from './request.js';
import { addPage, type Totals } from './totals.js';

const WRITERS: Readonly<Record<ReplayFormat, PageWriter>> = {
  json: jsonWriter,
  ndjson: ndjsonWriter,
  csv: csvWriter,
  arrow: arrowWriter,
  parquet: parquetWriter,
};

/** The stored state after each page, from which a download can be resumed. */
export interface ReplayState {
  request: DownloadRequest;
  format: ReplayFormat;
  totals: Totals | null;
  /** The rest of the window; null before the first page and after the last. */
  rest: Rest | null;
  /** Whether the last page was fetched. */
  paged: boolean;
}

interface Download {
  request: DownloadRequest;
  format: ReplayFormat;
  out: string;
  /** Replaces an existing file. */
  force: boolean;
  /** Discards an interrupted download. */
  restart: boolean;
  /** The pages of the request, or of its rest, in order. */
  pages: (rest: Rest | null) => AsyncIterable<RemotePage>;
  /** Describes the token's stored history if the window is empty; '' if it is unknown. */
  coverage: (totals: Totals) => Promise<string>;
  onProgress: (state: ReplayState) => void;
}

export interface DownloadResult {
  totals: Totals;
  bytes: number;
  /** Pages fetched by interrupted downloads. */
  resumedPages: number;
}

/**
 * Writes the whole window to `out`, which appears when it is complete.
 * @throws ReplayError, also if the window has no snapshot, or none of its cells passes the filters; fetched pages are kept for the next
 *   download of the same request
 */
export async function download(options: Download): Promise<DownloadResult> {
  const { out, restart } = options;
  const paths = partPaths(out);
  await checkOutput(options);
  const unlock = await takeLock(paths.lock, {
    what: 'this file',
    command: 'fathom replay',
    Refusal: ReplayError,
  });
  try {
    if (restart) await removeParts(paths);
    const part = await openPart(options, paths);
    try {
      return await complete(options, paths, part);
    } finally {
      await part.close();
      // There is nothing to resume.
      const { totals, paged } = part.state;
      const noSnapshot = (totals?.snapshots ?? 0) === 0;
      if (noSnapshot || (paged && hasNoCell(options.request, totals))) await removeParts(paths);
    }
  } finally {
    await unlock();
  }
}

async function complete(
  options: Download,
  paths: PartPaths,
  part: PartFile<ReplayState>,
): Promise<DownloadResult> {
  const resumedPages = part.state.totals?.pages ?? 0;
  options.onProgress(part.state);
  const totals = await fetchPages(options, part);
  if (totals.snapshots === 0) throw await emptyWindow(options, totals);
  if (hasNoCell(options.request, totals)) throw noCell(options.request, totals);
  const bytes = await finish(options, paths, part, totals);
  return { totals, bytes, resumedPages };
}

async function emptyWindow({ coverage }: Download, totals: Totals): Promise<ReplayError> {
  const { token, window } = totals.head;
  const known = await coverage(totals);
  return new NothingToWriteError(
    `no snapshot of ${token} from ${isoOf(window.from)} to ${isoOf(window.to)}${known === '' ? '' : `; ${known}`}`,
  );
}

/** Parameters that exclude cells. */
const NARROWING = [
  'types',
  'onchain',
  'venues',
  'exclude_types',
  'exclude_venues',
  'min_pct',
  'max_pct',
];

function narrowingParameters({ parameters }: DownloadRequest): string[] {
  return NARROWING.filter((name) => parameters[name] !== undefined);
}

/** Whether the request's filters and band leave no cell of any page. */
function hasNoCell(request: DownloadRequest, totals: Totals | null): boolean {
  return totals?.cells === 0 && narrowingParameters(request).length > 0;
}

function noCell(request: DownloadRequest, { head, venuesNotFound, facets }: Totals): ReplayError {
  const keysOf = (list: readonly { key: string }[]) => list.map(({ key }) => key).join(', ');
  const { types = [], venues = [] } = facets ?? {};
  const noVenue = head.filter.venues?.every((venue) => venuesNotFound.includes(venue)) ?? false;
  const none = noVenue
    ? `--venues: no depth of ${venuesNotFound.join(', ')} on ${head.token} in the window`
    : `${narrowingParameters(request).map(flagOf).join(', ')}: no cell of ${head.token} in the window passes`;
  const there =
    venues.length === 0
      ? `no venue has any from ${head.min_pct} to ${head.max_pct} percent of the price`
      : `venues with depth: ${keysOf(venues)}${noVenue ? '' : `; types: ${keysOf(types)}`}`;
  return new NothingToWriteError(`${none}; ${there}`);
}

async function checkOutput({ out, force }: Download): Promise<void> {
  const directory = path.dirname(path.resolve(out));
  const parent = await stat(directory).catch(absent);
  if (parent?.isDirectory() !== true) throw new ReplayError(`--out: no directory ${directory}`);
  const existing = await stat(out).catch(absent);
  if (existing === null) return;
  if (!existing.isFile()) throw new ReplayError(`--out: ${out} is not a regular file`);
  if (!force) throw new ReplayError(`--out: ${out} already exists; --force replaces it`);
}

/** The part file of an interrupted download of the same request, or an empty one. */
async function openPart(
  { request, format, out }: Download,
  paths: PartPaths,
): Promise<PartFile<ReplayState>> {
  const left = await PartFile.left<ReplayState>(paths);
  if (left === null || left.state.totals === null) {
    const state: ReplayState = { request, format, totals: null, rest: null, paged: false };
    return PartFile.open(paths, { bytes: 0, state });
  }
  const other =
    left.state.format === format
      ? difference(left.state.request, request)
      : `format (was ${left.state.format}, is ${format})`;
  if (other === null) return PartFile.open(paths, left);
  throw new ReplayError(
    `${out}.part is of another request: ${other}; repeat that one to finish it, or use --restart`,
  );
}

async function fetchPages(options: Download, part: PartFile<ReplayState>): Promise<Totals> {
  const { format, onProgress } = options;
  const writer = WRITERS[format];
  const known = part.state.totals;
  if (part.state.paged && known !== null) return known;
  for await (const page of options.pages(part.state.rest)) {
    checkWindow(page, part.state.rest);
    const totals = addPage(part.state.totals, page);
    await part.append(writer.page(page, totals));
    const { next_from: from, window } = page;
    await part.commit({
      ...part.state,
      totals,
      rest: from === null ? null : { from, to: window.to },
      paged: from === null,
    });
    onProgress(part.state);
    if (from === null) return totals;
  }
  throw outdated('earlier pages are gone');
}

/** Checks that the page continues the window without a gap, and that the window will end. */
function checkWindow({ window, next_from: nextFrom }: RemotePage, rest: Rest | null): void {
  if (rest !== null && (window.from !== rest.from || window.to !== rest.to)) {
    throw outdated(
      `the server no longer serves ${rest.from} to ${rest.to}, only ${window.from} to ${window.to}`,
    );
  }
  if (nextFrom !== null && (nextFrom <= window.from || nextFrom >= window.to)) {
    throw new ReplayError(`the server continues from ${nextFrom}, outside the window`);
  }
}

/** Completes the file and renames it to `out`. @returns its size in bytes */
async function finish(
  { format, out }: Download,
  paths: PartPaths,
  part: PartFile<ReplayState>,
  totals: Totals,
): Promise<number> {
  const writer = WRITERS[format];
  if (writer.end !== undefined) await part.append([writer.end(totals)]);
  await part.sync();
  if (writer.convert === undefined) {
    await rename(paths.part, out);
  } else {
    await rm(paths.converted, { force: true });
    await writer.convert(totals, paths.part, paths.converted);
    await syncFile(paths.converted);
    await rename(paths.converted, out);
  }
  await removeParts(paths);
  return (await stat(out)).size;
}
