/** The flags of `npm run bench:cluster`. */
import path from 'node:path';
import { readBenchFlags, wholeFlag } from '../flags.js';

export const USAGE = `npm run bench:cluster -- [--commits N] [--tokens N] [--json FILE]
  --commits   of a collector, one snapshot of each token in each; default 200
  --tokens    that it follows; default 20
  --json FILE where the results go; default bench/results/cluster.json`;

export interface ClusterOptions {
  commits: number;
  tokens: number;
  jsonFile: string;
}

/** @throws BenchUsageError */
export function readClusterOptions(words: readonly string[]): ClusterOptions {
  const { values } = readBenchFlags(words, {
    options: {
      commits: { type: 'string', default: '200' },
      tokens: { type: 'string', default: '20' },
      json: { type: 'string', default: path.join('bench', 'results', 'cluster.json') },
    },
  });
  return {
    commits: wholeFlag('--commits', values.commits, 1, 1_000_000),
    tokens: wholeFlag('--tokens', values.tokens, 1, 10_000),
    jsonFile: path.resolve(values.json),
  };
}
