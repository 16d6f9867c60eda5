/** The flags of `npm run bench:cluster`. */
import path from 'node:path';
import { readBenchFlags, wholeFlag } from '../flags.js';
import { SCENARIOS, type ScenarioName, type ScenarioOptions } from '../load/scenarios.js';

export const USAGE = `npm run bench:cluster -- [--commits N] [--tokens N] [--rounds N] [--seconds N] [--smoke] [--json FILE]
  --commits   commits of a collector, each with one snapshot of every token; default 200
  --tokens    tokens that it follows; default 20
  --rounds    rounds of pages and bots on a single machine and a node in turn; default 3
  --seconds   seconds of each kind of load in a round; default 8
  --smoke     small and short: shows that it works, not how fast
  --json FILE where the results go; default bench/results/cluster.json`;

export interface ClusterOptions {
  commits: number;
  tokens: number;
  /** Numbers of JetStream servers, with one run of commits each. */
  servers: readonly (1 | 3)[];
  rounds: number;
  scenarios: readonly ScenarioName[];
  pageTokens: number;
  botTokens: number;
  load: ScenarioOptions;
  smoke: boolean;
  jsonFile: string;
}

/** @throws BenchUsageError */
export function readClusterOptions(words: readonly string[]): ClusterOptions {
  const { values } = readBenchFlags(words, {
    options: {
      commits: { type: 'string' },
      tokens: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string', default: '8' },
      smoke: { type: 'boolean', default: false },
      json: { type: 'string', default: path.join('bench', 'results', 'cluster.json') },
    },
  });
  const { smoke } = values;
  const forMs = 1000 * wholeFlag('--seconds', values.seconds, 1, 600);
  const clients = { connections: 16, floodConnections: 64, replayClients: 8 };
  const names = Object.keys(SCENARIOS) as ScenarioName[];
  return {
    commits: wholeFlag('--commits', values.commits ?? (smoke ? '3' : '200'), 1, 1_000_000),
    tokens: wholeFlag('--tokens', values.tokens ?? (smoke ? '2' : '20'), 1, 10_000),
    servers: smoke ? [1] : [1, 3],
    rounds: wholeFlag('--rounds', values.rounds ?? (smoke ? '1' : '3'), 1, 100),
    scenarios: smoke ? ['bots, default pages'] : names,
    pageTokens: smoke ? 1 : 32,
    botTokens: smoke ? 5 : 1000,
    load: smoke
      ? { ...clients, requestsPerSecond: 100, snapshotsPerSecond: 20, warmupMs: 50, forMs: 200 }
      : { ...clients, requestsPerSecond: 2000, snapshotsPerSecond: 200, warmupMs: 2000, forMs },
    smoke,
    jsonFile: path.resolve(values.json),
  };
}
