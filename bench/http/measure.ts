/** Measures one row of the table on a running server. */
import { setTimeout as sleep } from 'node:timers/promises';
import { digestOf } from '../digest.js';
import { BenchFailure } from '../errors.js';
import { unpacked } from '../kernels/page.js';
import {
  getOnce,
  load,
  type LoadResult,
  metricOf,
  pagesFromFragments,
  type Target,
} from './client.js';
import { COLLECTED_S } from './collector.js';
import { type BotsReport, type Latencies, latenciesOf } from './generator.js';
import type { LoopDelay } from './loop-probe.js';
import { inProcess } from './role.js';
import type { HttpRow } from './rows.js';
import type { BenchServer } from './server.js';
import { botTokens, type HttpStore } from './stores.js';

export interface HttpEffort {
  smoke: boolean;
  /** How long a row is measured; clients warm the server up before, for a share of this. */
  forMs: number;
  /** Of bots at a rate. */
  requestsPerSecond: number;
  snapshotsPerSecond: number;
  /** The core on which bots run alone; by default they share all cores. */
  botsCore?: number;
}

/** A server of a store. */
export interface Serving {
  store: HttpStore;
  server: BenchServer;
  /** Epoch seconds from which the next collector may continue. */
  collectFromS: number;
}

export interface RowFigures {
  replies: number;
  repliesPerSecond: number;
  latencies: Latencies;
  /** Hash of the first reply's text; null for bots. */
  hash: string | null;
  bytesPerReply: number | null;
  /** CPU time of all the server's threads per reply, and per second; null without /proc. */
  cpuMs: number | null;
  cpuMsPerSecond: number | null;
  /** The server's event loop while the row was measured. */
  loop: LoopDelay;
  /** How late the bots' own ticks were. */
  lateP99Ms: number | null;
  /** Of the load besides the bots. */
  pagesPerSecond: number | null;
  snapshotsPerSecond: number | null;
}

export const WARM_UP_SHARE = 0.2;
const WARM_DEADLINE_MS = 60_000;
/** Different pages that must come from fragments, and pages of each token that load its blocks into memory. */
const WARM_PAGES = 256;
const BLOCK_PAGES = 16;
/** Collectors leave this much time between their data. */
const COLLECT_GAP_S = 10;
/** Different paths of other load. */
const BESIDE_PATHS = 9216;
/** Files are complete when their number has not changed for this long. */
const QUIET_MS = 3000;
const FILL_DEADLINE_MS = 600_000;

export function measureRow(row: HttpRow, on: Serving, effort: HttpEffort): Promise<RowFigures> {
  return row.bots === undefined ? measureClients(row, on, effort) : measureBots(row, on, effort);
}

async function measureClients(
  row: HttpRow,
  { store, server }: Serving,
  effort: HttpEffort,
): Promise<RowFigures> {
  const { coding = 'gzip', clients, turns = 1, requests = Infinity } = row;
  const target: Target = {
    url: server.url,
    pathOf: (n) => row.path(n, store),
    headers: { 'x-api-key': store.key, 'accept-encoding': coding },
    status: 200,
  };
  const forMs = row.forMs ?? effort.forMs;
  await prepare(row, target, store, effort.smoke);
  const firstHash = row.isAsFound === true ? null : await hashOf(target, coding);
  let next = 0;
  const run = async (ms: number): Promise<LoadResult> => {
    const from = next;
    const made = await load(
      { ...target, pathOf: (n) => row.path(from + n, store) },
      clients,
      ms,
      requests,
    );
    next += made.sortedMs.length;
    return made;
  };
  if (row.isAsFound !== true) await run(WARM_UP_SHARE * forMs);
  let best: RowFigures | null = null;
  for (let turn = 0; turn < turns; turn++) {
    const { result, ...spent } = await watched(server, () => run(forMs));
    const { sortedMs, elapsedMs, bytes } = result;
    const figures = figuresOf(sortedMs.length, elapsedMs, latenciesOf(sortedMs), spent);
    const found = { ...figures, bytesPerReply: bytes / sortedMs.length };
    if (best === null || (found.cpuMs ?? 0) < (best.cpuMs ?? 0)) best = found;
  }
  const hash = await hashOf(target, coding);
  if (firstHash !== null && firstHash !== hash) {
    throw new BenchFailure(`${row.name}: gave ${firstHash}, then ${hash}`);
  }
  return { ...(best as RowFigures), hash };
}

/** Of the first request's text: it is the same for all codings of a page. */
async function hashOf(target: Target, coding: string): Promise<string> {
  const { body, encoding } = await getOnce(target, 0);
  if (encoding !== coding && encoding !== 'identity') {
    throw new BenchFailure(`asked for ${coding}, got ${encoding}`);
  }
  return digestOf([unpacked(body, encoding)]);
}

async function prepare(
  { ready }: HttpRow,
  target: Target,
  { tokens }: HttpStore,
  smoke: boolean,
): Promise<void> {
  if (ready === 'blocks') {
    for (let n = 0; n < tokens * (smoke ? 2 : BLOCK_PAGES); n++) await getOnce(target, n);
  }
  if (ready !== 'fragments') return;
  const wanted = smoke ? 4 : WARM_PAGES;
  const deadline = performance.now() + WARM_DEADLINE_MS;
  for (let warm = 0; warm < wanted;) {
    if (performance.now() > deadline) throw new BenchFailure('pages do not come from fragments');
    const before = await pagesFromFragments(target.url);
    for (let n = 0; n < wanted; n++) await getOnce(target, n);
    warm = (await pagesFromFragments(target.url)) - before;
  }
}

async function measureBots(
  row: HttpRow,
  serving: Serving,
  effort: HttpEffort,
): Promise<RowFigures> {
  const { store, server } = serving;
  const { beside, bots, clients } = row;
  const { forMs, smoke, requestsPerSecond, snapshotsPerSecond } = effort;
  const warmupMs = WARM_UP_SHARE * forMs;
  const besideMs = warmupMs + forMs;
  const path = beside?.path;
  const replay =
    path === undefined
      ? null
      : inProcess('replay', {
          url: server.url,
          paths: Array.from({ length: smoke ? 16 : BESIDE_PATHS }, (_, n) => path(n, store)),
          headers: { 'x-api-key': store.key, 'accept-encoding': 'gzip' },
          clients: beside?.clients ?? 8,
          forMs: besideMs,
        });
  const { directory, folder } = store;
  const collector =
    beside?.isCollecting !== true
      ? null
      : inProcess('collect', {
          directory,
          folder,
          tokens: botTokens(smoke),
          snapshotsPerSecond,
          fromS: serving.collectFromS,
          forMs: besideMs,
        });
  const order = {
    port: Number(new URL(server.url).port),
    paths: Array.from({ length: 2 * botTokens(smoke) }, (_, n) => row.path(n, store)),
    headers: { 'x-api-key': store.key },
    connections: clients,
    ...(bots === 'at a rate' ? { requestsPerSecond } : { requestsPerSecond: null, depth: bots }),
    warmupMs,
    forMs,
  };
  const running = inProcess('bots', order, effort.botsCore);
  await sleep(warmupMs);
  const { result, ...spent } = await watched<BotsReport>(server, () => running);
  serving.collectFromS += Math.ceil(besideMs / 1000) + COLLECT_GAP_S;
  const { requests, elapsedMs, latencies, statuses, lateP99Ms } = result;
  const failed = Object.keys(statuses).filter((status) => status !== '200');
  if (failed.length > 0) throw new BenchFailure(`${row.name}: replies were ${failed.join(', ')}`);
  const collected = await collector;
  return {
    ...figuresOf(requests, elapsedMs, latencies, spent),
    lateP99Ms,
    pagesPerSecond: (await replay)?.pagesPerSecond ?? null,
    snapshotsPerSecond: collected && (1000 * collected.snapshots) / collected.elapsedMs,
  };
}

/** What some work cost a server. */
interface Spent {
  cpuMs: number | null;
  tookMs: number;
  loop: LoopDelay;
}

/** Runs `work`, and reads what it cost the server. */
async function watched<T>(server: BenchServer, work: () => Promise<T>) {
  const spent = watch(server);
  const result = await work();
  return { result, ...(await spent()) };
}

/** @returns a function that reads what the work since then has cost the server */
export function watch(server: BenchServer): () => Promise<Spent> {
  server.resetLoopDelay();
  const beganMs = performance.now();
  const before = server.cpuMs();
  return async () => {
    const after = server.cpuMs();
    const cpuMs = before === null || after === null ? null : after - before;
    return { cpuMs, tookMs: performance.now() - beganMs, loop: await server.loopDelay() };
  };
}

export function figuresOf(
  replies: number,
  elapsedMs: number,
  latencies: Latencies,
  { cpuMs, tookMs, loop }: Spent,
): RowFigures {
  return {
    replies,
    repliesPerSecond: (1000 * replies) / elapsedMs,
    latencies,
    hash: null,
    bytesPerReply: null,
    cpuMs: cpuMs && cpuMs / replies,
    cpuMsPerSecond: cpuMs && (1000 * cpuMs) / tookMs,
    loop,
    lateP99Ms: null,
    pagesPerSecond: null,
    snapshotsPerSecond: null,
  };
}

/** Where collectors of a store begin. */
export const collectFromS = ({ nowS }: HttpStore): number => nowS - COLLECTED_S;

/** What the fragments of a store took. */
export interface FilledFragments {
  files: number;
  bytes: number;
  elapsedMs: number;
  cpuMs: number;
}

/** Waits until no more fragments are made. */
export async function fragmentFilesMade(
  server: BenchServer,
  smoke: boolean,
): Promise<FilledFragments> {
  const beganMs = performance.now();
  const beganCpuMs = server.cpuMs() ?? NaN;
  let filled = { files: -1, elapsedMs: 0, cpuMs: NaN };
  while (performance.now() - beganMs - filled.elapsedMs < (smoke ? QUIET_MS / 6 : QUIET_MS)) {
    const files = await metricOf(server.url, 'fathom_fragments_disk_files');
    const elapsedMs = performance.now() - beganMs;
    if (files !== filled.files) {
      filled = { files, elapsedMs, cpuMs: (server.cpuMs() ?? NaN) - beganCpuMs };
    }
    if (elapsedMs > FILL_DEADLINE_MS) throw new BenchFailure('fragments are not complete');
    await sleep(200);
  }
  return { ...filled, bytes: await metricOf(server.url, 'fathom_fragments_disk_bytes') };
}
