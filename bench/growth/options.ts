/** The flags of `npm run bench:growth`. */
import path from 'node:path';
import { parseArgs } from 'node:util';
import { BenchUsageError } from '../options.js';

const PARTS = ['cells', 'segments', 'day'] as const;
export type GrowthPart = (typeof PARTS)[number];

export const USAGE = `npm run bench:growth -- [--only PART,PART] [--cells N] [--tokens N] [--segments N] [--smoke] [--json FILE]
  --only      ${PARTS.join(', ')}
  --cells     of the largest store of full segments; default 100000000
  --tokens    that the largest stores hold; default 1000
  --segments  of the largest store of tiny segments; default 1000000
  --smoke     small and short: shows that it works, not how fast
  --json FILE where the results go; default bench/results/growth.json`;

export interface GrowthOptions {
  parts: readonly GrowthPart[];
  smoke: boolean;
  cells: number;
  tokens: number;
  segments: number;
  /** What the smaller stores hold of the largest, smallest first. */
  cellShares: readonly number[];
  segmentShares: readonly number[];
  /** Starts of each server, and pages asked of each store. */
  starts: number;
  pages: number;
  warmups: number;
  /** The day of a collector: its tokens, and its commits of one snapshot of each. */
  dayTokens: number;
  dayCommits: number;
  jsonFile: string;
}

const MAX_CELLS = 10_000_000_000;
const MAX_TOKENS = 1_000_000;
const MAX_SEGMENTS = 100_000_000;
/** Snapshots of a day, one every two minutes. */
const DAY_COMMITS = 720;

/** @throws BenchUsageError */
export function readGrowthOptions(words: readonly string[]): GrowthOptions {
  const { only, cells, tokens, segments, smoke, json } = parsed(words);
  const sizes = {
    parts: only === undefined ? PARTS : only.split(',').map(partOf),
    smoke,
    jsonFile: path.resolve(json),
    tokens: whole('--tokens', tokens ?? (smoke ? '4' : '1000'), MAX_TOKENS),
    cells: whole('--cells', cells ?? (smoke ? '40000' : '100000000'), MAX_CELLS),
    segments: whole('--segments', segments ?? (smoke ? '400' : '1000000'), MAX_SEGMENTS),
  };
  return smoke
    ? { ...sizes, ...SMOKE }
    : {
        ...sizes,
        cellShares: [1 / 1000, 1 / 100, 1 / 10, 1],
        segmentShares: [1 / 100, 1 / 10, 1],
        ...{ starts: 3, pages: 200, warmups: 30, dayTokens: 40, dayCommits: DAY_COMMITS },
      };
}

const SMOKE = {
  cellShares: [1 / 4, 1],
  segmentShares: [1 / 4, 1],
  ...{ starts: 1, pages: 4, warmups: 1, dayTokens: 2, dayCommits: 20 },
};

function parsed(words: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...words],
      options: {
        only: { type: 'string' },
        cells: { type: 'string' },
        tokens: { type: 'string' },
        segments: { type: 'string' },
        smoke: { type: 'boolean', default: false },
        json: { type: 'string', default: path.join('bench', 'results', 'growth.json') },
      },
    });
    return values;
  } catch (error) {
    throw new BenchUsageError(error instanceof Error ? error.message : String(error));
  }
}

function whole(flag: string, text: string, most: number): number {
  const value = /^\d{1,11}$/.test(text) ? Number(text) : NaN;
  if (value >= 1 && value <= most) return value;
  throw new BenchUsageError(`${flag}: expected a whole number from 1 to ${most}, not '${text}'`);
}

function partOf(text: string): GrowthPart {
  const part = PARTS.find((known) => known === text.trim());
  if (part !== undefined) return part;
  throw new BenchUsageError(`--only: expected any of ${PARTS.join(', ')}; was '${text}'`);
}
