/** Servers over stores of different sizes: how they start, and what a page costs on each, in turns. */
import { median, percentile } from '../case.js';
import { getOnce, type Target } from '../http/client.js';
import { startBenchServer, type BenchServer } from '../http/server.js';
import { asOfS, pagePath, type GrowthStore } from '../data/growth-store.js';

export interface ServeEffort {
  starts: number;
  pages: number;
  warmups: number;
  smoke: boolean;
}

/** The figures of one store's server. */
export interface ServeResult {
  /** From the process' start until it listens: the median of the starts, and the greatest. */
  listenMs: number;
  listenMaxMs: number;
  /** Processor time of all its threads until it listens, the median. */
  listenCpuMs: number | null;
  /** From the process' start to the end of the first page, the median. */
  firstPageMs: number;
  startMegabytes: number | null;
  endMegabytes: number | null;
  p50Ms: number;
  p99Ms: number;
  cpuMs: number | null;
  pages: number;
  bytes: number;
}

/** After some pages, servers would hold all cells of a small store, but not those of a large one. */
const COLD_FLAGS = ['--blocks-memory-mib', '0'];

interface Running {
  store: GrowthStore;
  server: BenchServer;
  target: Target;
  starts: Omit<ServeResult, 'endMegabytes' | 'p50Ms' | 'p99Ms' | 'cpuMs' | 'pages' | 'bytes'>;
  times: number[];
  bytes: number;
}

/**
 * Starts a server for each store, then requests a page from each in turn, so that whatever slows the machine slows all of
 * them.
 * @throws Error if a page does not have the content of its window, or a server fails
 */
export async function measureServers(
  stores: readonly GrowthStore[],
  effort: ServeEffort,
): Promise<ServeResult[]> {
  const running: Running[] = [];
  try {
    for (const store of stores) running.push(await start(store, effort));
    for (let n = 0; n < effort.warmups; n++) for (const one of running) await ask(one, n);
    for (const one of running) Object.assign(one, { times: [], bytes: 0 });
    const before = running.map(({ server }) => server.cpuMs());
    for (let n = 0; n < effort.pages; n++) {
      for (const one of running) await ask(one, effort.warmups + n);
    }
    return running.map((one, i) => resultOf(one, before[i], effort.pages));
  } finally {
    for (const { server } of running) await server.stop();
  }
}

/** Starts the server `starts` times, and keeps the last one running. */
async function start(store: GrowthStore, { starts, smoke }: ServeEffort): Promise<Running> {
  const listen: number[] = [];
  const first: number[] = [];
  const cpu: number[] = [];
  for (;;) {
    const began = performance.now();
    const server = await startBenchServer(store.directory, asOfS(store), {
      smoke,
      flags: COLD_FLAGS,
    });
    try {
      listen.push(performance.now() - began);
      const cpuMs = server.cpuMs();
      if (cpuMs !== null) cpu.push(cpuMs);
      const target: Target = {
        url: server.url,
        pathOf: (n) => pagePath(store, n),
        headers: { 'x-api-key': store.key, 'accept-encoding': 'gzip' },
        status: 200,
      };
      await getOnce(target, 0);
      first.push(performance.now() - began);
      if (listen.length === starts) {
        const startMegabytes = server.residentMegabytes();
        const started = {
          listenMs: median(listen),
          listenMaxMs: Math.max(...listen),
          listenCpuMs: cpu.length === 0 ? null : median(cpu),
          firstPageMs: median(first),
          startMegabytes,
        };
        return { store, server, target, starts: started, times: [], bytes: 0 };
      }
    } catch (error) {
      await server.stop();
      throw error;
    }
    await server.stop();
  }
}

async function ask(one: Running, n: number): Promise<void> {
  const before = performance.now();
  const { body } = await getOnce(one.target, n);
  one.times.push(performance.now() - before);
  one.bytes += body.length;
}

function resultOf(one: Running, cpuBefore: number | null, pages: number): ServeResult {
  const sorted = Float64Array.from(one.times).sort();
  const cpuAfter = one.server.cpuMs();
  return {
    ...one.starts,
    endMegabytes: one.server.residentMegabytes(),
    p50Ms: percentile(sorted, 0.5),
    p99Ms: percentile(sorted, 0.99),
    cpuMs: cpuBefore === null || cpuAfter === null ? null : (cpuAfter - cpuBefore) / pages,
    pages,
    bytes: one.bytes / pages,
  };
}
