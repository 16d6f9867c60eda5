/** Fetches a window of depth by its plan, the newest page first, and then what is new. */
import type { FathomClient, ReplayPage, ReplayParameters } from '../../client/index.js';
import { type Column, columnsOf } from './columns.js';

/** Pages fetched side by side. */
const PAGES_AHEAD = 4;
/** Time between two polls: half an interval of the data, at most this. */
const MAX_POLL_MS = 120_000;

export type PageHead = Omit<ReplayPage, 'snapshots'>;

/** The times that are asked for, epoch seconds, the end excluded. */
export interface TimeWindow {
  from: number;
  to: number;
}

export interface Planned {
  window: TimeWindow;
  /** The pages to fetch, the oldest first. */
  pages: TimeWindow[];
  /** True where older pages are left out: more would not be held. */
  isCut: boolean;
}

/** A part of the window, whole: what is held of it gives way to these columns. */
export interface Part extends TimeWindow {
  columns: Column[];
  head: PageHead;
}

/** What is asked for: an address, with group=all for the picture. */
export interface Source {
  client: FathomClient;
  address: string;
  parameters: ReplayParameters;
}

/** @param maxSnapshots how many can be held */
export async function plan(
  source: Source,
  maxSnapshots: number,
  signal: AbortSignal,
): Promise<Planned> {
  const pages: { from: number; snapshots: number }[] = [];
  let window: TimeWindow | null = null;
  let rest: Partial<TimeWindow> = {};
  for (;;) {
    const { address, parameters } = source;
    const planned = await source.client.getReplayPlan(
      { address, ...parameters, ...rest },
      { signal },
    );
    window ??= { from: planned.window.from, to: planned.window.to };
    for (const { from, snapshot_count: snapshots } of planned.pages)
      pages.push({ from, snapshots });
    if (planned.next_from === null) break;
    rest = { from: planned.next_from, to: window.to };
  }
  let first = pages.length;
  for (let held = 0; first > 0; first--) {
    held += pages[first - 1].snapshots;
    if (held > maxSnapshots) break;
  }
  const { to } = window;
  const kept = pages
    .slice(first)
    .map(({ from }, i): TimeWindow => ({ from, to: pages[first + i + 1]?.from ?? to }));
  return {
    window: first === 0 ? window : { from: kept[0].from, to },
    pages: kept,
    isCut: first > 0,
  };
}

/** The pages, the newest first, as they come. */
export async function* fetchPages(
  source: Source,
  { pages }: Planned,
  signal: AbortSignal,
): AsyncGenerator<Part> {
  const newestFirst = pages.toReversed();
  const begun: Promise<Part>[] = [];
  for (let i = 0; i < newestFirst.length; i++) {
    while (begun.length < Math.min(i + PAGES_AHEAD, newestFirst.length)) {
      const part = fetchPart(source, newestFirst[begun.length], signal);
      // It may fail before its turn comes.
      part.catch(() => undefined);
      begun.push(part);
    }
    yield await begun[i];
  }
}

/** Everything from a time on until now, on as many pages as it takes. */
export async function fetchSince(source: Source, from: number, signal: AbortSignal): Promise<Part> {
  return fetchPart(source, { from, to: null }, signal);
}

async function fetchPart(
  { client, address, parameters }: Source,
  { from, to }: { from: number; to: number | null },
  signal: AbortSignal,
): Promise<Part> {
  const asked = { ...parameters, from, to: to ?? 'now' };
  const columns: Column[] = [];
  let head: PageHead | undefined;
  for await (const page of client.replayArrow(address, asked, { signal, ahead: 1 })) {
    columns.push(...columnsOf(page));
    head ??= page;
  }
  if (head === undefined) throw new Error('the server sent no page');
  return { from, to: to ?? head.window.to, columns, head };
}

/** How long to wait for the next poll. @param leastMs what the key's plan asks for */
export function pollMs(intervalS: number, leastMs: number): number {
  return Math.min(MAX_POLL_MS, Math.max(leastMs, intervalS * 500));
}
