/** The bench's flags. */
import path from 'node:path';
import { parseArgs } from 'node:util';
import { LOADED_GROUPS } from './groups.js';

/** What is measured together, in this order; a case's name begins with its group's. */
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

/** Wrong flags. */
export class BenchUsageError extends Error {}

/** @throws BenchUsageError */
export function readOptions(words: readonly string[]): BenchOptions {
  const { smoke, only, json } = parsed(words);
  return {
    smoke,
    groups: only === undefined ? GROUPS : only.split(',').map(groupOf),
    jsonFile: path.resolve(json),
  };
}

function parsed(words: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...words],
      options: {
        smoke: { type: 'boolean', default: false },
        only: { type: 'string' },
        json: { type: 'string', default: path.join('bench', 'results', 'latest.json') },
      },
    });
    return values;
  } catch (error) {
    throw new BenchUsageError(error instanceof Error ? error.message : String(error));
  }
}

function groupOf(text: string): Group {
  const group = GROUPS.find((name) => name === text.trim());
  if (group !== undefined) return group;
  throw new BenchUsageError(`--only: expected any of ${GROUPS.join(', ')}; was '${text}'`);
}
