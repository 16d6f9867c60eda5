/** The flags of `npm run bench:ingest`. */
import path from 'node:path';
import { parseArgs } from 'node:util';
import { BenchUsageError } from '../flags.js';
import { INPUT_NAMES, type InputName } from './inputs.js';

export const USAGE = `npm run bench:ingest -- [--cells N] [--only FILE,FILE] [--runs N] [--smoke] [--json FILE]
  --cells     of the Parquet and Arrow files and of the nested snapshots; default 4000000
              (a quarter of it as CSV and as NDJSON of flat cells, as rows of holders; a twentieth as orders)
  --only      ${INPUT_NAMES.join(', ')}
  --runs      of the command, each into a new directory; default 3
  --smoke     small and once: shows that it works, not how fast
  --json FILE where the results go; default bench/results/ingest.json`;

export interface IngestOptions {
  names: readonly InputName[];
  cells: number;
  runs: number;
  smoke: boolean;
  jsonFile: string;
}

const MAX_CELLS = 1_000_000_000;
const MAX_RUNS = 100;

/** @throws BenchUsageError */
export function readIngestOptions(words: readonly string[]): IngestOptions {
  const { only, cells, runs, smoke, json } = parsed(words);
  return {
    names: only === undefined ? INPUT_NAMES : only.split(',').map(nameOf),
    cells: whole('--cells', cells ?? (smoke ? '20000' : '4000000'), MAX_CELLS),
    runs: whole('--runs', runs ?? (smoke ? '1' : '3'), MAX_RUNS),
    smoke,
    jsonFile: path.resolve(json),
  };
}

function parsed(words: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...words],
      options: {
        only: { type: 'string' },
        cells: { type: 'string' },
        runs: { type: 'string' },
        smoke: { type: 'boolean', default: false },
        json: { type: 'string', default: path.join('bench', 'results', 'ingest.json') },
      },
    });
    return values;
  } catch (error) {
    throw new BenchUsageError(error instanceof Error ? error.message : String(error));
  }
}

function whole(flag: string, text: string, most: number): number {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : NaN;
  if (value >= 1 && value <= most) return value;
  throw new BenchUsageError(`${flag}: expected a whole number from 1 to ${most}, not '${text}'`);
}

function nameOf(text: string): InputName {
  const name = INPUT_NAMES.find((known) => known === text.trim());
  if (name !== undefined) return name;
  throw new BenchUsageError(`--only: expected any of ${INPUT_NAMES.join(', ')}; was '${text}'`);
}
