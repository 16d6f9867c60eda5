/** The flags of `npm run bench:ingest`. */
import path from 'node:path';
import { namesFlag, readBenchFlags, wholeFlag } from '../flags.js';
import { INPUT_NAMES, type InputName } from './inputs.js';

export const USAGE = `npm run bench:ingest -- [--cells N] [--only FILE,FILE] [--runs N] [--serving] [--smoke] [--json FILE]
  --cells     cells of the Parquet and Arrow files and of the nested snapshots; default 4000000
              (a quarter as many cells as CSV and as NDJSON of flat cells, and rows of holders; a fortieth as many rows of orders, tokens, pools and hours)
  --only      files: ${INPUT_NAMES.join(', ')}
  --runs      runs of the command, each into a new directory; default 3
  --serving   ingests into one running server, one file after the other, and measures how long its event loop is blocked
  --smoke     small and once: shows that it works, not how fast
  --json FILE where the results go; default bench/results/ingest.json`;

export interface IngestOptions {
  names: readonly InputName[];
  cells: number;
  runs: number;
  serving: boolean;
  smoke: boolean;
  jsonFile: string;
}

const MAX_CELLS = 1_000_000_000;
const MAX_RUNS = 100;

/** @throws BenchUsageError */
export function readIngestOptions(words: readonly string[]): IngestOptions {
  const { only, cells, runs, serving, smoke, json } = readBenchFlags(words, {
    options: {
      only: { type: 'string' },
      cells: { type: 'string' },
      runs: { type: 'string' },
      serving: { type: 'boolean', default: false },
      smoke: { type: 'boolean', default: false },
      json: { type: 'string', default: path.join('bench', 'results', 'ingest.json') },
    },
  }).values;
  return {
    names: namesFlag('--only', only, INPUT_NAMES),
    cells: wholeFlag('--cells', cells ?? (smoke ? '20000' : '4000000'), 1, MAX_CELLS),
    runs: wholeFlag('--runs', runs ?? (smoke ? '1' : '3'), 1, MAX_RUNS),
    serving,
    smoke,
    jsonFile: path.resolve(json),
  };
}
