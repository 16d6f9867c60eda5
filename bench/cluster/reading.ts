/** Pages and bots, alternately on a single machine and on a node of a cluster with the same data. */
import { cpSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { median } from '../case.js';
import { asOfS } from '../cases/http.js';
import { PAGE_A } from '../data/pages.js';
import { temporaryFolder } from '../folder.js';
import { type BenchServer, startBenchServer } from '../http/server.js';
import { COLLECTED_S } from '../load/collector.js';
import { fillForLoad } from '../load/fill.js';
import { type LoadedServer, runScenario, type ScenarioName } from '../load/scenarios.js';
import { BenchFailure } from '../errors.js';
import { reportProgress } from '../program.js';
import { aligned, figure } from '../report.js';
import { NatsServers } from './nats.js';
import type { ClusterOptions } from './options.js';

const READY_DEADLINE_MS = 60_000;

const PLACES = ['single', 'node'] as const;
type Place = (typeof PLACES)[number];

/** Medians of the rounds; null if the load has no such figure, or without /proc. */
interface Figures {
  p50Ms: number;
  p99Ms: number;
  pagesPerSecond: number | null;
  /** CPU time of all the server's threads per second of load. */
  cpuMsPerSecond: number | null;
}

export interface ReadingResult {
  scenario: ScenarioName;
  single: Figures;
  node: Figures;
}

export async function measureReading(options: ClusterOptions): Promise<ReadingResult[]> {
  const { rounds, scenarios, pageTokens, botTokens, load } = options;
  const folder = temporaryFolder('fathom-bench-reading-');
  const nowS = asOfS(PAGE_A);
  const filledS = nowS - COLLECTED_S;
  const directoryOf = (place: Place): string => path.join(folder.path, place);
  const servers = await NatsServers.start(options.smoke ? 1 : 3);
  const started: BenchServer[] = [];
  try {
    reportProgress('filling');
    const place = { directory: directoryOf('single'), folder: folder.path };
    const key = await fillForLoad(place, options, filledS);
    cpSync(directoryOf('single'), directoryOf('node'), { recursive: true });
    const start = async (of: Place, flags: readonly string[]): Promise<LoadedServer> => {
      const directory = directoryOf(of);
      const server = await startBenchServer(directory, nowS, {
        probeLoop: true,
        smoke: options.smoke,
        flags,
      });
      started.push(server);
      const files = { directory, folder: folder.path };
      return { ...files, server, key, pageTokens, botTokens, collectFromS: filledS };
    };
    const loaded = {
      single: await start('single', []),
      node: await start('node', ['--cluster', servers.urls.join(','), '--node', 'a']),
    };
    for (const { url } of started) await untilReady(url);
    const runs = new Map<string, Figures[]>();
    for (let round = 0; round < rounds; round++) {
      for (const name of scenarios) {
        for (const of of round % 2 === 0 ? PLACES : PLACES.toReversed()) {
          reportProgress(`round ${round + 1}: ${name}, ${of}`);
          const measured = await measure(name, loaded[of], load);
          runs.set(`${name} ${of}`, [...(runs.get(`${name} ${of}`) ?? []), measured]);
        }
      }
    }
    const medians = (name: ScenarioName, of: Place): Figures =>
      mediansOf(runs.get(`${name} ${of}`) ?? []);
    return scenarios.map((scenario) => ({
      scenario,
      single: medians(scenario, 'single'),
      node: medians(scenario, 'node'),
    }));
  } finally {
    for (const server of started) await server.stop();
    await servers.close();
    await folder.remove();
  }
}

async function measure(
  name: ScenarioName,
  loaded: LoadedServer,
  load: ClusterOptions['load'],
): Promise<Figures> {
  const beganMs = performance.now();
  const cpuMs = loaded.server.cpuMs();
  const { bots, replay } = await runScenario(name, loaded, load);
  const endCpuMs = loaded.server.cpuMs();
  const seconds = (performance.now() - beganMs) / 1000;
  const failed = Object.keys(bots.statuses).filter((status) => status !== '200');
  if (failed.length > 0) throw new BenchFailure(`${name}: replies were ${failed.join(', ')}`);
  return {
    p50Ms: bots.latencies.p50Ms,
    p99Ms: bots.latencies.p99Ms,
    pagesPerSecond: replay?.pagesPerSecond ?? null,
    cpuMsPerSecond: cpuMs === null || endCpuMs === null ? null : (endCpuMs - cpuMs) / seconds,
  };
}

function mediansOf(all: readonly Figures[]): Figures {
  const medianOf = (figure: (one: Figures) => number | null): number | null => {
    const values = all.map(figure).filter((value) => value !== null);
    return values.length === 0 ? null : median(values);
  };
  return {
    p50Ms: median(all.map(({ p50Ms }) => p50Ms)),
    p99Ms: median(all.map(({ p99Ms }) => p99Ms)),
    pagesPerSecond: medianOf((one) => one.pagesPerSecond),
    cpuMsPerSecond: medianOf((one) => one.cpuMsPerSecond),
  };
}

/** Two lines per scenario. */
export function readingLines(results: readonly ReadingResult[]): string[] {
  const columns = ['scenario', 'on', 'p50 ms', 'p99 ms', 'pages/s', 'CPU ms/s'];
  const rows = results.flatMap((result) =>
    PLACES.map((of) => {
      const { p50Ms, p99Ms, pagesPerSecond, cpuMsPerSecond } = result[of];
      const figures = [p50Ms, p99Ms, pagesPerSecond, cpuMsPerSecond];
      return [result.scenario, of, ...figures.map((one) => (one === null ? '' : figure(one)))];
    }),
  );
  return aligned([columns, ...rows], ['scenario', 'on']);
}

async function untilReady(url: string): Promise<void> {
  const deadlineMs = performance.now() + READY_DEADLINE_MS;
  for (;;) {
    const reply = await fetch(`${url}/readyz`);
    const text = await reply.text();
    if (reply.ok) return;
    if (performance.now() > deadlineMs) throw new BenchFailure(`a server is not ready: ${text}`);
    await sleep(100);
  }
}
