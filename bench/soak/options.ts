/** The flags of `npm run soak`. */
import path from 'node:path';
import { DEFAULT_MEMORY_MIB, leastMemoryMib } from '../../server/memory.js';
import { readBenchFlags, wholeFlag } from '../flags.js';

export const USAGE = `npm run soak -- [--minutes N] [--memory-mib N] [--smoke] [--json FILE]
  --minutes   minutes of load; default 10
  --memory-mib N
              memory that the server is given, and should not exceed; default ${DEFAULT_MEMORY_MIB}
  --smoke     a few seconds: shows that it works, not that nothing grows
  --json FILE where the results go; default bench/results/soak.json`;

export interface SoakOptions {
  smoke: boolean;
  forMs: number;
  /** The server's --memory-mib. */
  memoryMib: number;
  sampleMs: number;
  /** Tokens with two pages of history each, and tokens that bots request and collectors update. */
  pageTokens: number;
  botTokens: number;
  jsonFile: string;
}

const MAX_MINUTES = 7 * 24 * 60;
const MAX_MEMORY_MIB = 2 ** 20;
const SMOKE_MS = 3_000;

/** @throws BenchUsageError */
export function readSoakOptions(words: readonly string[]): SoakOptions {
  const {
    minutes,
    'memory-mib': memory,
    smoke,
    json,
  } = readBenchFlags(words, {
    options: {
      minutes: { type: 'string', default: '10' },
      'memory-mib': { type: 'string', default: String(DEFAULT_MEMORY_MIB) },
      smoke: { type: 'boolean', default: false },
      json: { type: 'string', default: path.join('bench', 'results', 'soak.json') },
    },
  }).values;
  const forMs = 60_000 * wholeFlag('--minutes', minutes, 1, MAX_MINUTES);
  const memoryMib = wholeFlag('--memory-mib', memory, leastMemoryMib(1), MAX_MEMORY_MIB);
  const jsonFile = path.resolve(json);
  return smoke
    ? { smoke, jsonFile, memoryMib, forMs: SMOKE_MS, sampleMs: 100, pageTokens: 2, botTokens: 20 }
    : { smoke, jsonFile, memoryMib, forMs, sampleMs: 1_000, pageTokens: 100, botTokens: 500 };
}
