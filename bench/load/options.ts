/** The flags of `npm run bench:http`. */
import path from 'node:path';
import { parseArgs } from 'node:util';
import { BenchUsageError } from '../options.js';
import { SCENARIOS, type ScenarioName, type ScenarioOptions } from './scenarios.js';

const NAMES = Object.keys(SCENARIOS) as ScenarioName[];

export const USAGE = `npm run bench:http -- [--only NAME;NAME] [--rate N] [--seconds N] [--smoke] [--json FILE]
  --only      scenarios, between semicolons: ${NAMES.join('; ')}
  --rate      the bots' requests a second; default 2000
  --seconds   that each scenario is measured for; default 10
  --smoke     small and short: shows that it works, not how fast
  --json FILE where the results go; default bench/results/http.json`;

export interface HttpBenchOptions {
  scenarios: readonly ScenarioName[];
  smoke: boolean;
  pageTokens: number;
  botTokens: number;
  load: ScenarioOptions;
  jsonFile: string;
}

const MAX_RATE = 100_000;
const MAX_SECONDS = 600;

/** @throws BenchUsageError */
export function readHttpOptions(words: readonly string[]): HttpBenchOptions {
  const { only, rate, seconds, smoke, json } = parsed(words);
  const requestsPerSecond = whole('--rate', rate, MAX_RATE);
  const forMs = 1000 * whole('--seconds', seconds, MAX_SECONDS);
  const load = { requestsPerSecond, connections: 16, replayClients: 8, snapshotsPerSecond: 200 };
  return {
    scenarios: only === undefined ? NAMES : only.split(';').map(scenarioOf),
    smoke,
    pageTokens: smoke ? 2 : 32,
    botTokens: smoke ? 20 : 1000,
    load: smoke
      ? { ...load, requestsPerSecond: 200, snapshotsPerSecond: 20, warmupMs: 200, forMs: 500 }
      : { ...load, warmupMs: 2000, forMs },
    jsonFile: path.resolve(json),
  };
}

function parsed(words: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...words],
      options: {
        only: { type: 'string' },
        rate: { type: 'string', default: '2000' },
        seconds: { type: 'string', default: '10' },
        smoke: { type: 'boolean', default: false },
        json: { type: 'string', default: path.join('bench', 'results', 'http.json') },
      },
    });
    return values;
  } catch (error) {
    throw new BenchUsageError(error instanceof Error ? error.message : String(error));
  }
}

function whole(flag: string, text: string, most: number): number {
  const value = /^\d{1,7}$/.test(text) ? Number(text) : NaN;
  if (value >= 1 && value <= most) return value;
  throw new BenchUsageError(`${flag}: expected a whole number from 1 to ${most}, not '${text}'`);
}

function scenarioOf(text: string): ScenarioName {
  const name = NAMES.find((known) => known === text.trim());
  if (name !== undefined) return name;
  throw new BenchUsageError(`--only: expected any of ${NAMES.join('; ')}; was '${text}'`);
}
