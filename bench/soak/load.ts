/** All loads at once: pages, bots, boards, every dataset, slow readers and key changes. */
import { setMaxListeners } from 'node:events';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { withStore } from '../../storage/access.js';
import { pageWindow, pathOf } from '../cases/request.js';
import { asOfS as lastS, type GrowthStore } from '../growth/growth-store.js';
import type { BenchServer } from '../http/server.js';
import { COLLECTED_S } from '../load/collector.js';
import { requestText } from '../load/generator.js';
import { inProcess } from '../load/role.js';
import { botPaths } from '../load/scenarios.js';

interface SoakLoad {
  server: BenchServer;
  store: GrowthStore;
  directory: string;
  /** The folder for files to ingest. */
  folder: string;
  botTokens: number;
  forMs: number;
}

export interface SoakWork {
  pages: number;
  botRequests: number;
  /** How many replies to bots were not a 200. */
  botFailures: number;
  commits: number;
  /** Connections of slow readers, and how many of them the server closed. */
  slowReaders: number;
  cutReaders: number;
  keyChanges: number;
}

const CLIENTS_PER_VIEW = 2;
/** One per way to make a page: fragments of both groupings, and the pool. */
const VIEWS = [
  { query: 'group=market', encoding: 'gzip' },
  { query: 'group=all', encoding: 'gzip' },
  { query: 'group=venue', encoding: 'gzip' },
] as const;
/** How many windows of each token are requested. */
const WINDOWS = 16;
const BOTS = { requestsPerSecond: 300, connections: 8, warmupMs: 0 };
const SNAPSHOTS_PER_SECOND = 100;
/** After this many commits the collector's times start over, which bounds the store's size. */
const REPEAT_AFTER = 60;
const BOARDS = ['/top-scores', '/dca-pressure', '/dlmm-pools', '/lp-cheat-sheet'];
/** A board is requested as often as this many tokens together. */
const TOKENS_PER_BOARD = 10;
const SLOW_READERS = 40;
const SLOW_READ_MS = 1_000;
const KEY_CHANGE_MS = 5_000;

/** @throws Error if a process of the load fails */
export async function underLoad(load: SoakLoad): Promise<SoakWork> {
  const { server, store, directory, folder, botTokens, forMs } = load;
  const headers = { 'x-api-key': store.key };
  const ending = new AbortController();
  const slow = slowReaders(server.url, pagePaths(store, VIEWS[0].query), headers, ending.signal);
  const keys = changeKeys(directory, ending.signal);
  try {
    const pages = VIEWS.map(({ query, encoding }) =>
      inProcess('replay', {
        url: server.url,
        paths: pagePaths(store, query),
        headers: { ...headers, 'accept-encoding': encoding },
        clients: CLIENTS_PER_VIEW,
        retriesBusy: true,
        forMs,
      }),
    );
    const collector = inProcess('collect', {
      directory,
      folder,
      forMs,
      tokens: botTokens,
      fromS: lastS(store) - COLLECTED_S,
      repeatAfter: REPEAT_AFTER,
      everyDataset: true,
      snapshotsPerSecond: Math.min(botTokens, SNAPSHOTS_PER_SECOND),
    });
    const bots = inProcess('bots', {
      port: Number(new URL(server.url).port),
      headers,
      forMs,
      ...BOTS,
      paths: pathsOfBots(botTokens),
    });
    const [calls, collected, replayed] = await Promise.all([bots, collector, Promise.all(pages)]);
    ending.abort();
    return {
      pages: replayed.reduce((sum, one) => sum + one.pages, 0),
      botRequests: calls.requests,
      botFailures: calls.requests - (calls.statuses['200'] ?? 0),
      commits: collected.commits,
      ...slow,
      keyChanges: await keys,
    };
  } finally {
    ending.abort();
  }
}

function pagePaths({ tokens, pageSnapshots }: GrowthStore, query: string): string[] {
  return Array.from({ length: WINDOWS * tokens }, (_, n) =>
    pathOf(pageWindow(n, tokens, pageSnapshots), query),
  );
}

function pathsOfBots(tokens: number): string[] {
  const boards = BOARDS.map((path) => `/api/v1${path}`);
  const repeats = Math.ceil(tokens / TOKENS_PER_BOARD / BOARDS.length);
  return [...botPaths(tokens), ...Array.from({ length: repeats }, () => boards).flat()];
}

/** Opens connections that read one byte per second, and reopens those that the server closes. */
function slowReaders(
  url: string,
  paths: readonly string[],
  headers: Record<string, string>,
  signal: AbortSignal,
) {
  const counts = { slowReaders: 0, cutReaders: 0 };
  setMaxListeners(0, signal);
  const open = (n: number): void => {
    const socket = net.connect(Number(new URL(url).port), '127.0.0.1');
    counts.slowReaders++;
    // Every second one has no key.
    const request =
      n % 2 === 0
        ? requestText(paths[n % paths.length], headers)
        : requestText('/api/v1/openapi.json', {});
    socket.write(request);
    socket.pause();
    const reading = setInterval(() => void socket.read(1), SLOW_READ_MS);
    socket.on('error', () => undefined);
    socket.once('close', () => {
      clearInterval(reading);
      if (signal.aborted) return;
      counts.cutReaders++;
      setTimeout(() => signal.aborted || open(n), SLOW_READ_MS);
    });
    signal.addEventListener('abort', () => socket.destroy(), { once: true });
  };
  for (let n = 0; n < SLOW_READERS; n++) open(n);
  return counts;
}

/** Makes, rotates and revokes keys until the signal is aborted. @returns the number of changes */
async function changeKeys(directory: string, signal: AbortSignal): Promise<number> {
  let changes = 0;
  const rewrite = () => Promise.reject(new Error('nothing is committed here'));
  const limits = { requestsPerMinute: null, monthlyQuota: null };
  while (!signal.aborted) {
    await withStore(directory, { rewrite }, async (store) => {
      const { id } = await store.createKey({ tier: 'premium', name: 'soak', ...limits });
      await store.rotateKey(id);
      await store.revokeKey(id);
    });
    changes += 3;
    await sleep(KEY_CHANGE_MS, undefined, { signal }).catch(() => undefined);
  }
  return changes;
}
