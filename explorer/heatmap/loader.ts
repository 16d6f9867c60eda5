/** Fetches a window of depth by its plan, newest page first, and then new snapshots. */
import type { FathomClient, ReplayParameters } from '../../client/index.js';
import { type Column, columnsOf } from './columns.js';

/** Pages fetched side by side. */
const PAGES_AHEAD = 4;
/** Polls come every half interval of the data, and at least this often. */
const MAX_POLL_MS = 120_000;

/** Epoch seconds, the end excluded. */
export interface TimeWindow {
  from: number;
  to: number;
}

export interface Planned {
  window: TimeWindow;
  /** The pages to fetch, the oldest first. */
  pages: TimeWindow[];
  /** True where older pages are left out because memory has no room for them. */
  isCut: boolean;
}

/** A part of the window with all its snapshots: they replace what is held of it. */
export interface Part extends TimeWindow {
  columns: Column[];
}

/** Where depth comes from. */
export interface Source {
  client: FathomClient;
  address: string;
  /** With group=all: the picture needs sums alone. */
  parameters: ReplayParameters;
}

/** Plans a window. @param maxSnapshots how many memory has room for */
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

/** Fetches pages, newest first. */
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
      // It may fail before its turn.
      part.catch(() => undefined);
      begun.push(part);
    }
    yield await begun[i];
  }
}

/** Fetches everything from a time until now. */
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
  let end = to;
  for await (const page of client.replayArrow(address, asked, { signal, ahead: 1 })) {
    columns.push(...columnsOf(page));
    end ??= page.window.to;
  }
  if (end === null) throw new Error('the server sent no page');
  return { from, to: end, columns };
}

/** How long to wait for the next poll. @param minMs the least time that the key's plan allows */
export function pollMs(intervalS: number, minMs: number): number {
  return Math.min(MAX_POLL_MS, Math.max(minMs, intervalS * 500));
}
