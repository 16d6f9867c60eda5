/** The flags of `npm run bench:http`. */
import os from 'node:os';
import path from 'node:path';
import { ENGINE_NAMES, type EngineName } from '../../server/http/engine.js';
import { BenchUsageError } from '../errors.js';
import { namesFlag, readBenchFlags, wholeFlag } from '../flags.js';
import { FLOODS, type FloodName } from './flood-scenarios.js';
import { SCENARIOS, type ScenarioName, type ScenarioOptions } from './scenarios.js';

/** Open-loop scenarios, and floods, in the order in which they run. */
type RunName = ScenarioName | FloodName;
const NAMES = Object.keys({ ...SCENARIOS, ...FLOODS }) as RunName[];

export const USAGE = `npm run bench:http -- [--only NAME;NAME] [--rate N] [--seconds N] [--http-engine NAME]
  [--bots-core N] [--smoke] [--json FILE]
  --only      scenarios, between semicolons: ${NAMES.join('; ')}
  --rate      the bots' requests a second; default 2000
  --seconds   seconds of each scenario; default 10
  --http-engine NAME
              the server's HTTP engine: uws (default) or node
  --bots-core the bots run alone on this core, everything else on the other cores (Linux, taskset)
  --smoke     small and short: shows that it works, not how fast
  --json FILE where the results go; default bench/results/http.json`;

export interface HttpBenchOptions {
  scenarios: readonly RunName[];
  smoke: boolean;
  pageTokens: number;
  botTokens: number;
  /** Snapshots of the token whose plans and coverage are requested. */
  longSnapshots: number;
  httpEngine: EngineName;
  load: ScenarioOptions;
  jsonFile: string;
}

const MAX_RATE = 100_000;
const MAX_SECONDS = 600;

/** @throws BenchUsageError */
function botsCoreFlag(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const cores = os.availableParallelism();
  if (cores < 2)
    throw new BenchUsageError('--bots-core: expected a machine with two cores or more');
  return wholeFlag('--bots-core', text, 0, cores - 1);
}

/** @throws BenchUsageError */
export function readHttpOptions(words: readonly string[]): HttpBenchOptions {
  const {
    only,
    rate,
    seconds,
    smoke,
    json,
    'http-engine': engine,
    'bots-core': core,
  } = readBenchFlags(words, {
    options: {
      only: { type: 'string' },
      rate: { type: 'string', default: '2000' },
      seconds: { type: 'string', default: '10' },
      'http-engine': { type: 'string', default: 'uws' },
      'bots-core': { type: 'string' },
      smoke: { type: 'boolean', default: false },
      json: { type: 'string', default: path.join('bench', 'results', 'http.json') },
    },
  }).values;
  const httpEngine = ENGINE_NAMES.find((name) => name === engine);
  if (httpEngine === undefined) {
    throw new BenchUsageError(`--http-engine: expected uws or node, not '${engine}'`);
  }
  const requestsPerSecond = wholeFlag('--rate', rate, 1, MAX_RATE);
  const forMs = 1000 * wholeFlag('--seconds', seconds, 1, MAX_SECONDS);
  // Pipelined, 30 connections have 480 requests at once. A turn of the server answers 500; it cuts clients that then
  // pipeline more.
  const clients = { connections: 16, floodConnections: 30, replayClients: 8 };
  const load = {
    requestsPerSecond,
    ...clients,
    snapshotsPerSecond: 200,
    botsCore: botsCoreFlag(core),
  };
  return {
    scenarios: namesFlag('--only', only, NAMES, ';'),
    smoke,
    pageTokens: smoke ? 2 : 32,
    botTokens: smoke ? 20 : 1000,
    longSnapshots: smoke ? 3000 : 300_000,
    httpEngine,
    load: smoke
      ? { ...load, requestsPerSecond: 200, snapshotsPerSecond: 20, warmupMs: 100, forMs: 300 }
      : { ...load, warmupMs: 2000, forMs },
    jsonFile: path.resolve(json),
  };
}
