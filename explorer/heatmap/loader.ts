/** Fetches a window of depth by its plan, newest page first, and then new snapshots. */
import type { AddressClient } from '../../client/address-client.js';
import type { ReplayParameters, Time } from '../../client/index.js';
import { type Column, columnsOf } from './columns.js';
import { coarser, stepName, type TimeWindow } from './detail.js';

/** Pages fetched in parallel. */
const PAGES_AHEAD = 4;
/** Most snapshots of a page of sums. */
const PAGE_SNAPSHOTS = 288;
/** Polls happen every half interval of the data, and at least this often. */
const MAX_POLL_MS = 120_000;

export interface Planned {
  window: TimeWindow;
  stepS: number;
  /** The pages to fetch, oldest first. */
  pages: TimeWindow[];
  /** Number of snapshots in all pages. */
  snapshots: number;
}

/** A part of the window with all its snapshots, which replace what is loaded of it. */
export interface Part extends TimeWindow {
  columns: Column[];
}

/** The source of depth. */
export interface Source {
  client: AddressClient;
  address: string;
  /** With group=all: the picture only needs sums. */
  parameters: ReplayParameters;
}

/**
 * Plans a window by the pages of the default view, which the server knows without reading them. If snapshots have many
 * cells, a page of sums holds the snapshots of several such pages.
 *
 * @param stepS seconds; a longer step is used if the window has too many snapshots
 * @param maxSnapshots most snapshots, except with the API's longest step
 */
export async function plan(
  source: Source,
  window: { from: Time; to: Time },
  stepS: number,
  maxSnapshots: number,
  signal: AbortSignal,
): Promise<Planned> {
  const longerS = coarser(stepS);
  const most = longerS === stepS ? Infinity : maxSnapshots;
  const pages: { from: number; snapshots: number }[] = [];
  let snapshots = 0;
  let times: TimeWindow | null = null;
  let rest: { from: Time; to: Time } = window;
  for (;;) {
    const query = { address: source.address, ...rest, step: stepName(stepS) };
    const planned = await source.client.getReplayPlan(query, { signal });
    times ??= { from: planned.window.from, to: planned.window.to };
    for (const { from, snapshot_count: count } of planned.pages) {
      const last = pages.at(-1);
      if (last !== undefined && last.snapshots + count <= PAGE_SNAPSHOTS) last.snapshots += count;
      else pages.push({ from, snapshots: count });
    }
    snapshots += planned.snapshot_count;
    if (snapshots > most) return plan(source, window, longerS, maxSnapshots, signal);
    if (planned.next_from === null) break;
    rest = { from: planned.next_from, to: times.to };
  }
  const { to } = times;
  const windows = pages.map(({ from }, i): TimeWindow => ({ from, to: pages[i + 1]?.from ?? to }));
  // The time before the first page belongs to it: it is known to be empty.
  if (windows.length > 0) windows[0].from = Math.min(windows[0].from, times.from);
  return { window: times, stepS, pages: windows, snapshots };
}

/** Fetches pages, newest first. @param ahead how many are fetched in parallel */
export async function* fetchPages(
  source: Source,
  { pages, stepS, window }: Planned,
  signal: AbortSignal,
  ahead = PAGES_AHEAD,
): AsyncGenerator<Part> {
  const newestFirst = pages.toReversed();
  const begun: Promise<Part>[] = [];
  for (let i = 0; i < newestFirst.length; i++) {
    while (begun.length < Math.min(i + ahead, newestFirst.length)) {
      const part = fetchPart(source, newestFirst[begun.length], window.to, stepS, signal);
      // It may fail before its turn.
      part.catch(() => undefined);
      begun.push(part);
    }
    yield await begun[i];
  }
}

/** Fetches everything from a time until now. */
export async function fetchSince(
  source: Source,
  from: number,
  stepS: number,
  signal: AbortSignal,
): Promise<Part> {
  return fetchPart(source, { from, to: null }, 'now', stepS, signal);
}

/** @param windowTo the end of the window, which determines the snapshots that a step keeps */
async function fetchPart(
  { client, address, parameters }: Source,
  { from, to }: { from: number; to: number | null },
  windowTo: Time,
  stepS: number,
  signal: AbortSignal,
): Promise<Part> {
  const query = { ...parameters, from, to: windowTo, step: stepName(stepS) };
  const columns: Column[] = [];
  let end = to;
  for await (const page of client.replayArrow(address, query, { signal, ahead: 1 })) {
    columns.push(...columnsOf(page, stepS));
    end ??= page.window.to;
    if (to !== null && (page.next_from ?? to) >= to) break;
  }
  if (end === null) throw new Error('the server sent no page');
  // If data has changed since the plan, a page may reach beyond its part.
  return { from, to: end, columns: columns.filter(({ t }) => to === null || t < to) };
}

/** How long to wait before the next poll. @param minMs the least time that the key's plan allows */
export function pollMs(intervalS: number, minMs: number): number {
  return Math.min(MAX_POLL_MS, Math.max(minMs, intervalS * 500));
}
