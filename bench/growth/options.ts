/** The flags of `npm run bench:growth`. */
import path from 'node:path';
import { namesFlag, readBenchFlags, wholeFlag } from '../flags.js';

const PARTS = ['cells', 'segments', 'day'] as const;
type GrowthPart = (typeof PARTS)[number];

export const USAGE = `npm run bench:growth -- [--only PART,PART] [--cells N] [--tokens N] [--segments N] [--day-tokens N] [--smoke] [--json FILE]
  --only      parts: ${PARTS.join(', ')}
  --cells     cells of the largest store of full segments; default 100000000
  --tokens    tokens of the largest stores; default 1000
  --segments  segments of the largest store of tiny segments; default 1000000
  --day-tokens N
              tokens that the day's collector follows; default 40
  --smoke     small and short: shows that it works, not how fast
  --json FILE where the results go; default bench/results/growth.json`;

export interface GrowthOptions {
  parts: readonly GrowthPart[];
  smoke: boolean;
  cells: number;
  tokens: number;
  segments: number;
  /** Sizes of the stores as shares of the largest, smallest first. */
  cellShares: readonly number[];
  segmentShares: readonly number[];
  /** Starts of each server, and pages requested from each store. */
  starts: number;
  pages: number;
  warmups: number;
  /** A collector's day: its tokens, and its commits of one snapshot of each token. */
  dayTokens: number;
  dayCommits: number;
  jsonFile: string;
}

/** The day's histories are held in memory. */
const MOST = {
  cells: 10_000_000_000,
  tokens: 1_000_000,
  segments: 100_000_000,
  'day-tokens': 1000,
};
/** Snapshots of a day, one every two minutes. */
const DAY_COMMITS = 720;

/** @throws BenchUsageError */
export function readGrowthOptions(words: readonly string[]): GrowthOptions {
  const { values } = readBenchFlags(words, {
    options: {
      only: { type: 'string' },
      cells: { type: 'string' },
      tokens: { type: 'string' },
      segments: { type: 'string' },
      'day-tokens': { type: 'string' },
      smoke: { type: 'boolean', default: false },
      json: { type: 'string', default: path.join('bench', 'results', 'growth.json') },
    },
  });
  const { smoke } = values;
  const whole = (name: keyof typeof MOST, usual: number) =>
    wholeFlag(`--${name}`, values[name] ?? String(usual), 1, MOST[name]);
  const sizes = {
    parts: namesFlag('--only', values.only, PARTS),
    smoke,
    jsonFile: path.resolve(values.json),
    tokens: whole('tokens', smoke ? 4 : 1000),
    cells: whole('cells', smoke ? 40_000 : 100_000_000),
    segments: whole('segments', smoke ? 400 : 1_000_000),
    dayTokens: whole('day-tokens', smoke ? 2 : 40),
  };
  return smoke
    ? { ...sizes, ...SMOKE }
    : {
        ...sizes,
        cellShares: [1 / 1000, 1 / 100, 1 / 10, 1],
        segmentShares: [1 / 100, 1 / 10, 1],
        starts: 3,
        pages: 200,
        warmups: 30,
        dayCommits: DAY_COMMITS,
      };
}

const SMOKE = {
  cellShares: [1 / 4, 1],
  segmentShares: [1],
  starts: 1,
  pages: 4,
  warmups: 1,
  dayCommits: 20,
};
