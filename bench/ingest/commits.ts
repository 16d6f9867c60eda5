/** A collector's small files, ingested alternately into a single server and a node of a cluster. */
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { percentile } from '../case.js';
import { temporaryFolder } from '../folder.js';
import { Collector, fillBots, withCollectorPool } from '../http/collector.js';
import { metricOf } from '../http/client.js';
import { type BenchServer, startBenchServer } from '../http/server.js';
import { START_S } from '../data/pages.js';
import { NatsServers } from '../nats.js';
import { reportProgress } from '../program.js';
import { aligned, figure } from '../report.js';
import { openStore } from '../store.js';

const TOKENS = 20;
const COMMITS = 100;

interface Times {
  p50Ms: number;
  p99Ms: number;
}

interface CommitsResult {
  /** Of JetStream. */
  servers: number;
  single: Times;
  node: Times;
  /** For another node that starts when everything is in the log; from its start on. */
  caughtUpS: number;
  entriesPerSecond: number;
}

/** @param servers of JetStream */
export async function measureCommits(servers: 1 | 3, smoke: boolean): Promise<CommitsResult> {
  reportProgress(`commits, servers of JetStream: ${servers}`);
  const folder = temporaryFolder();
  const log = await NatsServers.start(servers);
  const running: BenchServer[] = [];
  const serve = async (name: string, isNode: boolean): Promise<string> => {
    const directory = path.join(folder.path, name);
    await (await openStore(directory)).close();
    const flags = isNode ? ['--cluster', log.urls.join(','), '--node', name] : [];
    running.push(await startBenchServer(directory, START_S + 86_400, { smoke, flags }));
    return directory;
  };
  try {
    const places = [await serve('single', false), await serve('a', true)];
    const [tokens, commits] = smoke ? [2, 4] : [TOKENS, COMMITS];
    const times: [number[], number[]] = [[], []];
    for (const directory of places) {
      await fillBots({ directory, folder: folder.path, tokens, fromS: START_S });
    }
    await withCollectorPool(async (pool) => {
      const collectors = places.map((directory) => new Collector(directory, folder.path, pool));
      for (let c = 0; c < commits; c++) {
        for (const [p, collector] of collectors.entries()) {
          const began = performance.now();
          await collector.round(tokens, START_S + 1 + c);
          times[p].push(performance.now() - began);
        }
      }
    });
    const began = performance.now();
    await serve('b', true);
    const [, node, late] = running;
    const end = await metricOf(node.url, POSITION);
    while ((await metricOf(late.url, POSITION)) < end) await sleep(5);
    const caughtUpS = (performance.now() - began) / 1000;
    const [single, ofNode] = times.map(timesOf);
    return { servers, single, node: ofNode, caughtUpS, entriesPerSecond: end / caughtUpS };
  } finally {
    for (const server of running) await server.stop();
    await log.close();
    await folder.remove();
  }
}

const POSITION = 'fathom_log_position';

function timesOf(all: readonly number[]): Times {
  const sorted = Float64Array.from(all).sort();
  return { p50Ms: percentile(sorted, 0.5), p99Ms: percentile(sorted, 0.99) };
}

export const COMMITS_FOOTER =
  `Files of a snapshot of each of ${TOKENS} tokens, from reading the file to the acknowledgement. caught up: from the ` +
  'start of another node until it has applied the whole log. Clients, nodes and JetStream share the cores.';

export function commitsTable(results: readonly CommitsResult[]): string[] {
  const columns = [
    'JetStream servers',
    'single p50 ms',
    'p99',
    'node p50 ms',
    'p99',
    'caught up s',
  ];
  const rows = results.map(({ servers, single, node, caughtUpS, entriesPerSecond }) =>
    [servers, single.p50Ms, single.p99Ms, node.p50Ms, node.p99Ms, caughtUpS, entriesPerSecond].map(
      figure,
    ),
  );
  return aligned([[...columns, 'entries/s'], ...rows], []);
}
