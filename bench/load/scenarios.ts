/** Bots alone, and bots beside other load that should not disturb them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { botAddress } from '../data/bots.js';
import { pageWindow, pathOf } from '../cases/request.js';
import { PAGE_A } from '../data/pages.js';
import type { BenchServer } from '../http/server.js';
import type { CollectReport } from './collector.js';
import { LONG_TOKEN } from './fill.js';
import type { LoadReport } from './generator.js';
import type { LoopDelay } from './loop-probe.js';
import type { ReplayReport } from './replayer.js';
import { inProcess } from './role.js';

export interface ScenarioOptions {
  requestsPerSecond: number;
  connections: number;
  /** Connections of bots that send as fast as they are answered. */
  floodConnections: number;
  replayClients: number;
  snapshotsPerSecond: number;
  warmupMs: number;
  forMs: number;
  /** The core on which the bots run alone; by default they share all cores. */
  botsCore?: number;
}

export interface LoadedServer {
  server: BenchServer;
  key: string;
  directory: string;
  folder: string;
  /** Tokens with full pages, and tokens that bots request. */
  pageTokens: number;
  botTokens: number;
  /** Epoch seconds from which the next collector may continue. */
  collectFromS: number;
}

export interface ScenarioResult {
  name: string;
  bots: LoadReport;
  loop: LoopDelay;
  replay: ReplayReport | null;
  ingest: CollectReport | null;
}

/** The load besides the bots. */
interface Beside {
  /** What heavy clients request; null if there are none. */
  paths: ((loaded: LoadedServer) => string[]) | null;
  /** Number of heavy clients; default: from the options. */
  clients?: number;
  ingest: boolean;
}

const LONG_HISTORY = { clients: 2, ingest: false };
const venuePages = ({ pageTokens }: LoadedServer) => replayPaths(pageTokens, 'group=venue');
const defaultPages = ({ pageTokens }: LoadedServer) => replayPaths(pageTokens, 'group=market');

export const SCENARIOS = {
  'bots alone': { paths: null, ingest: false },
  'bots, cold pages': { paths: venuePages, ingest: false },
  'bots, default pages': { paths: defaultPages, ingest: false },
  'bots, ingest': { paths: null, ingest: true },
  'bots, cold pages, ingest': { paths: venuePages, ingest: true },
  'bots, plans': {
    ...LONG_HISTORY,
    paths: () => [`/api/v1/replay/${LONG_TOKEN}/plan?from=-365d`],
  },
  'bots, filtered plans': {
    ...LONG_HISTORY,
    paths: () => [`/api/v1/replay/${LONG_TOKEN}/plan?from=-365d&types=onchain_pool`],
  },
  'bots, coverage': { ...LONG_HISTORY, paths: () => [`/api/v1/coverage/${LONG_TOKEN}`] },
} as const satisfies Record<string, Beside>;
export type ScenarioName = keyof typeof SCENARIOS;

const COLD_WINDOWS = 288;
/** Seconds between the data of two scenarios' collectors. */
const COLLECT_GAP_S = 10;
const REPLAY_HEADERS = { 'accept-encoding': 'gzip' };

/** Runs one scenario. Other load begins before the measurement of the bots, and ends after it. */
export async function runScenario(
  name: ScenarioName,
  loaded: LoadedServer,
  options: ScenarioOptions,
): Promise<ScenarioResult> {
  const { paths, clients = options.replayClients, ingest }: Beside = SCENARIOS[name];
  const { server, key, botTokens } = loaded;
  const { warmupMs, forMs } = options;
  const besideMs = warmupMs + forMs;
  const replay =
    paths === null
      ? null
      : inProcess('replay', {
          url: server.url,
          paths: paths(loaded),
          headers: { 'x-api-key': key, ...REPLAY_HEADERS },
          clients,
          forMs: besideMs,
        });
  const collector = ingest
    ? inProcess('collect', {
        directory: loaded.directory,
        folder: loaded.folder,
        tokens: botTokens,
        snapshotsPerSecond: options.snapshotsPerSecond,
        fromS: loaded.collectFromS,
        forMs: besideMs,
      })
    : null;
  const order = {
    port: Number(new URL(server.url).port),
    paths: botPaths(botTokens),
    headers: { 'x-api-key': key },
    requestsPerSecond: options.requestsPerSecond,
    connections: options.connections,
    warmupMs,
    forMs,
  };
  const bots = inProcess('bots', order, options.botsCore);
  await sleep(warmupMs);
  server.resetLoopDelay();
  const report = await bots;
  const loop = await server.loopDelay();
  loaded.collectFromS += Math.ceil(besideMs / 1000) + COLLECT_GAP_S;
  return { name, bots: report, loop, replay: await replay, ingest: await collector };
}

/** The paths that bots request. */
export function botPaths(tokens: number): string[] {
  return Array.from({ length: tokens }, (_, i) => [
    `/api/v1/score/${botAddress(i)}`,
    `/api/v1/market-depth?token_address=${botAddress(i)}`,
  ]).flat();
}

function replayPaths(tokens: number, query: string): string[] {
  return Array.from({ length: COLD_WINDOWS * tokens }, (_, n) =>
    pathOf(pageWindow(n, tokens, PAGE_A.snapshots), query),
  );
}
