/** `npm run bench:ingest`: what `fathom ingest` does a second, by dataset and format. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { temporaryFolder } from '../folder.js';
import { machineFacts, revision } from '../machine.js';
import { BenchUsageError } from '../flags.js';
import { runIngest, type IngestRun } from './command.js';
import { makeInput } from './inputs.js';
import { USAGE, readIngestOptions, type IngestOptions } from './options.js';
import { FOOTER, rowOf, tableOf, type IngestRow } from './report.js';

const FAILED = 1;
const WRONG_USAGE = 2;
const BROKEN_OFF = 130;

const tell = (text: string): void => void process.stderr.write(`${text}\n`);

async function main(words: readonly string[]): Promise<void> {
  const options = readIngestOptions(words);
  const machine = machineFacts();
  const rows = await measure(options);
  const document = { machine, revision: revision(), smoke: options.smoke, rows };
  await mkdir(path.dirname(options.jsonFile), { recursive: true });
  await writeFile(options.jsonFile, `${JSON.stringify(document, null, 2)}\n`);
  const { node, cores, cpuModel, loadAverage } = machine;
  const lines = [
    `Node ${node}, ${cores} cores, ${cpuModel}, load ${loadAverage} before`,
    '',
    ...tableOf(rows),
    '',
    ...(options.smoke ? ['Smoke run: too small to be a measurement.'] : []),
    FOOTER,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

async function measure({ names, cells, runs }: IngestOptions): Promise<IngestRow[]> {
  const folder = await temporaryFolder();
  const rows: IngestRow[] = [];
  try {
    for (const name of names) {
      tell(`${name}: writing the file`);
      const input = await makeInput(name, cells, folder.path);
      const done: IngestRun[] = [];
      for (let i = 1; i <= runs; i++) {
        tell(`${name}: run ${i} of ${runs}`);
        done.push(await runIngest(input));
      }
      rows.push(rowOf(input, done));
      await rm(input.file);
    }
  } finally {
    await folder.remove();
  }
  return rows;
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => process.exit(BROKEN_OFF));
}
try {
  await main(process.argv.slice(2));
} catch (error) {
  const isUsage = error instanceof BenchUsageError;
  const text = error instanceof Error ? (isUsage ? error.message : error.stack) : String(error);
  process.stderr.write(`bench:ingest: ${text}\n${isUsage ? `${USAGE}\n` : ''}`);
  process.exitCode = isUsage ? WRONG_USAGE : FAILED;
}
