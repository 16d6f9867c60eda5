/** `npm run bench:ingest`: the throughput of `fathom ingest`, by dataset and format; and what it does to servers. */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { median } from '../case.js';
import { BenchUsageError } from '../errors.js';
import { namesFlag, readBenchFlags, wholeFlag } from '../flags.js';
import { temporaryFolder } from '../folder.js';
import { machineFacts, revision } from '../machine.js';
import { hasNats } from '../nats.js';
import { headingOf, reportProgress, runProgram, SMOKE_NOTE, writeResults } from '../program.js';
import { aligned, figure } from '../report.js';
import { type IngestRun, runIngest } from './command.js';
import { COMMITS_FOOTER, commitsTable, measureCommits } from './commits.js';
import { INPUT_NAMES, type InputName, makeInput } from './inputs.js';
import { ingestServing, SERVING_FOOTER, servingTable } from './serving.js';

const USAGE = `npm run bench:ingest -- [--cells N] [--only FILE,FILE] [--runs N] [--serving | --nats] [--smoke] [--json FILE]
  --cells     cells of the Parquet and Arrow files and of the nested snapshots; default 4000000
              (a quarter as many of flat cells as CSV and as NDJSON, and rows of holders; a fortieth as many rows of
              orders, tokens, pools and hours)
  --only      files: ${INPUT_NAMES.join(', ')}
  --runs      runs of the command, each into a new directory; default 3
  --serving   ingests into one running server, one file after the other, and measures how long its event loop is blocked
  --nats      ingests a collector's small files alternately into a single server and a node of a cluster, then starts
              another node (needs nats-server)
  --smoke     small and once: shows that it works, not how fast
  --json FILE where the results go; default bench/results/ingest.json`;

const MAX_CELLS = 1_000_000_000;
const MAX_RUNS = 100;

interface IngestOptions {
  names: readonly InputName[];
  cells: number;
  runs: number;
  smoke: boolean;
}

/** Medians of one file's runs; the peak is the greatest. */
interface IngestRow extends IngestRun {
  name: string;
  rows: number;
}

async function main(words: readonly string[]): Promise<void> {
  const { only, cells, runs, serving, nats, smoke, json } = readBenchFlags(words, {
    options: {
      only: { type: 'string' },
      cells: { type: 'string' },
      runs: { type: 'string' },
      serving: { type: 'boolean', default: false },
      nats: { type: 'boolean', default: false },
      smoke: { type: 'boolean', default: false },
      json: { type: 'string', default: path.join('bench', 'results', 'ingest.json') },
    },
  }).values;
  const options = {
    names: namesFlag('--only', only, INPUT_NAMES),
    cells: wholeFlag('--cells', cells ?? (smoke ? '20000' : '4000000'), 1, MAX_CELLS),
    runs: wholeFlag('--runs', runs ?? (smoke ? '1' : '3'), 1, MAX_RUNS),
    smoke,
  };
  if (serving && nats) throw new BenchUsageError('--serving or --nats, not both');
  if (nats && !hasNats) throw new BenchUsageError('--nats: there is no nats-server on PATH');
  const machine = machineFacts();
  const how = nats ? 'nats' : serving ? 'serving' : 'alone';
  const { rows, table, footer } = await MEASURES[how](options);
  const document = { machine, revision: revision(), smoke, how, rows };
  await writeResults(path.resolve(json), document);
  const note = smoke ? [SMOKE_NOTE] : [];
  const lines = [headingOf(machine), '', ...table, '', ...note, footer];
  process.stdout.write(`${lines.join('\n')}\n`);
}

interface Measured {
  rows: readonly object[];
  table: string[];
  footer: string;
}

const MEASURES: Record<
  'alone' | 'serving' | 'nats',
  (options: IngestOptions) => Promise<Measured>
> = {
  async alone(options) {
    const rows = await measureCommand(options);
    return { rows, table: tableOf(rows), footer: FOOTER };
  },
  async serving(options) {
    const data = temporaryFolder();
    const files = temporaryFolder();
    try {
      const folders = { data: data.path, files: files.path };
      const rows = await ingestServing(options, folders, reportProgress);
      return { rows, table: servingTable(rows), footer: SERVING_FOOTER };
    } finally {
      await data.remove();
      await files.remove();
    }
  },
  async nats({ smoke }) {
    const rows = [await measureCommits(1, smoke)];
    if (!smoke) rows.push(await measureCommits(3, smoke));
    return { rows, table: commitsTable(rows), footer: COMMITS_FOOTER };
  },
};

async function measureCommand({ names, cells, runs }: IngestOptions): Promise<IngestRow[]> {
  const folder = temporaryFolder();
  const rows: IngestRow[] = [];
  try {
    for (const name of names) {
      reportProgress(`${name}: writing the file`);
      const input = await makeInput(name, cells, folder.path);
      const done: IngestRun[] = [];
      for (let i = 1; i <= runs; i++) {
        reportProgress(`${name}: run ${i} of ${runs}`);
        done.push(await runIngest(input));
      }
      rows.push({ name, rows: input.rows, ...mediansOf(done) });
      await rm(input.file);
    }
  } finally {
    await folder.remove();
  }
  return rows;
}

function mediansOf(runs: readonly IngestRun[]): IngestRun {
  const of = (name: keyof IngestRun): number => median(runs.map((run) => run[name]));
  return {
    wallS: of('wallS'),
    ownS: of('ownS'),
    cpuS: of('cpuS'),
    peakMegabytes: Math.max(...runs.map(({ peakMegabytes }) => peakMegabytes)),
    cells: of('cells'),
    inputBytes: of('inputBytes'),
    storedBytes: of('storedBytes'),
  };
}

const COLUMNS = (
  'file,M rows,MB,wall s,own s,rows/s,cells/s,MB/s,rows/s own,MB/s own,cpu s,cpu us/row,peak MB,' +
  'stored B/cell'
).split(',');
const FOOTER =
  "wall: from the start of the command's process to its end, into a new directory, and the rates that follow. " +
  'own: the time that the command itself reports, without start and end of the process, and the rates that ' +
  'follow. cpu: all threads, start included, which hardly depends on what else runs. Input files are in the ' +
  "system's cache. stored: the closed database file, with its catalogue.";

function tableOf(all: readonly IngestRow[]): string[] {
  const cellsOf = ({ name, rows, cells, wallS, ownS, cpuS, ...row }: IngestRow): string[] => {
    const megabytes = row.inputBytes / 1e6;
    const ifCells = (value: number): string => (cells === 0 ? '' : figure(value));
    return [
      name,
      ...[rows / 1e6, megabytes, wallS, ownS, rows / wallS].map(figure),
      ifCells(cells / wallS),
      ...[megabytes / wallS, rows / ownS, megabytes / ownS, cpuS].map(figure),
      ...[(1e6 * cpuS) / rows, row.peakMegabytes].map(figure),
      ifCells(row.storedBytes / cells),
    ];
  };
  return aligned([COLUMNS, ...all.map(cellsOf)], ['file']);
}

await runProgram('bench:ingest', USAGE, main);
