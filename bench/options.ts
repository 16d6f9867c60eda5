/** The bench's flags. */
import path from 'node:path';
import { namesFlag, readBenchFlags } from './flags.js';
import { LOADED_GROUPS } from './groups.js';

/** What is measured together, in order; a case's name begins with its group's. */
export const GROUPS = [...LOADED_GROUPS, 'http A'] as const;
export type Group = (typeof GROUPS)[number];

export const USAGE = `npm run bench -- [--smoke] [--only GROUP,GROUP] [--json FILE]
  --smoke     every case a few times: shows that it works, not how fast
  --only      groups: ${GROUPS.join(', ')}
  --json FILE where the results go; default bench/results/latest.json`;

export interface BenchOptions {
  smoke: boolean;
  groups: readonly Group[];
  jsonFile: string;
}

/** @throws BenchUsageError */
export function readOptions(words: readonly string[]): BenchOptions {
  const { smoke, only, json } = readBenchFlags(words, {
    options: {
      smoke: { type: 'boolean', default: false },
      only: { type: 'string' },
      json: { type: 'string', default: path.join('bench', 'results', 'latest.json') },
    },
  }).values;
  return { smoke, groups: namesFlag('--only', only, GROUPS), jsonFile: path.resolve(json) };
}
