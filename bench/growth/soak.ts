/** A server's resident memory under everything at once: pages of many tokens, bots, a collector. */
import { botAddress } from '../data/bots.js';
import { START_S, EVERY_S, PAGE_A, benchAddress } from '../data/pages.js';
import { startBenchServer, type BenchServer } from '../http/server.js';
import { fillBots } from '../load/collector.js';
import { inProcess } from '../load/role.js';
import { fullSegmentStore } from './full-segments.js';
import { asOfS, type GrowthStore } from './growth-store.js';

export interface SoakEffort {
  smoke: boolean;
  /** Tokens with two pages of history each, and tokens that bots ask for and a collector brings. */
  soakTokens: number;
  soakBotTokens: number;
  soakMs: number;
}

/** Memory at a moment from the load's beginning on. */
interface Sample {
  ms: number;
  megabytes: number;
}

export interface SoakResult extends SoakEffort {
  cells: number;
  startMegabytes: number | null;
  samples: Sample[];
  pages: number;
  botRequests: number;
  /** Replies to bots that were not a 200. */
  botFailures: number;
  collectedSnapshots: number;
}

const SAMPLE_MS = 500;
/** The collector brings snapshots of times from this long before the service's now on. */
const COLLECTED_S = 6 * 3600;
const CLIENTS_A_VIEW = 3;
const BOTS_PER_SECOND = 500;
const BOT_CONNECTIONS = 8;
const SNAPSHOTS_PER_SECOND = 200;
/** Each takes another way: fragments of both codings, pages made anew. */
export const VIEWS = [
  { query: 'group=market', encoding: 'gzip' },
  { query: 'group=all', encoding: 'br' },
  { query: 'group=venue', encoding: 'gzip' },
] as const;
/** Windows of a token that are asked for; they shift by a stride that shares no factor with a page. */
const WINDOWS = 16;
const WINDOW_STRIDE = 131;

/** @throws Error where a reply is not the one expected, or a process fails */
export async function measureSoak(
  place: { directory: string; folder: string },
  effort: SoakEffort,
): Promise<SoakResult> {
  const store = await fullSegmentStore({
    ...{ name: 'soak', directory: place.directory, tokens: effort.soakTokens },
    ...{ snapshots: 2 * PAGE_A.snapshots, pageSnapshots: PAGE_A.snapshots },
  });
  const fromS = asOfS(store) - COLLECTED_S;
  await fillBots({ ...place, tokens: effort.soakBotTokens, fromS });
  const server = await startBenchServer(place.directory, asOfS(store), { smoke: effort.smoke });
  try {
    const startMegabytes = server.residentMegabytes();
    const sampling = sampler(server);
    const done = await underLoad(server, store, { ...place, fromS }, effort).finally(sampling.stop);
    return { ...effort, cells: store.cells, startMegabytes, samples: sampling.samples, ...done };
  } finally {
    await server.stop();
  }
}

async function underLoad(
  server: BenchServer,
  store: GrowthStore,
  place: { directory: string; folder: string; fromS: number },
  { soakBotTokens: tokens, soakMs: forMs }: SoakEffort,
) {
  const headers = { 'x-api-key': store.key };
  const pages = VIEWS.map(({ query, encoding }) =>
    inProcess('replay', {
      url: server.url,
      paths: pagePaths(store, query),
      headers: { ...headers, 'accept-encoding': encoding },
      ...{ clients: CLIENTS_A_VIEW, forMs },
    }),
  );
  const collector = inProcess('collect', {
    ...{ ...place, tokens, forMs },
    snapshotsPerSecond: Math.min(tokens, SNAPSHOTS_PER_SECOND),
  });
  const bots = inProcess('bots', {
    port: Number(new URL(server.url).port),
    paths: Array.from({ length: tokens }, (_, i) => `/api/v1/score/${botAddress(i)}`),
    ...{ headers, requestsPerSecond: BOTS_PER_SECOND, connections: BOT_CONNECTIONS },
    ...{ warmupMs: 0, forMs },
  });
  const [asked, collected, replayed] = await Promise.all([bots, collector, Promise.all(pages)]);
  return {
    pages: replayed.reduce((sum, one) => sum + one.pages, 0),
    botRequests: asked.requests,
    botFailures: asked.requests - (asked.statuses['200'] ?? 0),
    collectedSnapshots: collected.snapshots,
  };
}

/** Every token's windows in turn: none is asked for twice before all have been. */
export function pagePaths(
  { tokens, snapshots, pageSnapshots }: GrowthStore,
  query: string,
): string[] {
  return Array.from({ length: WINDOWS * tokens }, (_, n) => {
    const first = (Math.floor(n / tokens) * WINDOW_STRIDE) % (snapshots - pageSnapshots);
    const from = START_S + first * EVERY_S;
    const to = from + pageSnapshots * EVERY_S;
    return `/api/v1/replay/${benchAddress(n % tokens)}?${query}&from=${from}&to=${to}`;
  });
}

/** Looks at the server's memory until it is stopped. */
function sampler(server: BenchServer): { samples: Sample[]; stop: () => void } {
  const samples: Sample[] = [];
  const began = performance.now();
  const look = (): void => {
    const megabytes = server.residentMegabytes();
    if (megabytes !== null) samples.push({ ms: performance.now() - began, megabytes });
  };
  const timer = setInterval(look, SAMPLE_MS);
  return { samples, stop: () => clearInterval(timer) };
}

/** The greatest of the samples of `stretches` equal stretches of time. */
export function peaksOf(samples: readonly Sample[], stretches: number): number[] {
  const lastMs = samples.at(-1)?.ms ?? 0;
  const peaks = new Array<number>(stretches).fill(0);
  for (const { ms, megabytes } of samples) {
    const stretch = Math.min(stretches - 1, Math.floor((ms / lastMs) * stretches));
    peaks[stretch] = Math.max(peaks[stretch], megabytes);
  }
  return peaks;
}
