/** `npm run bench:ingest`: the throughput of `fathom ingest`, by dataset and format. */
import { rm } from 'node:fs/promises';
import { temporaryFolder } from '../folder.js';
import { machineFacts, revision } from '../machine.js';
import { headingOf, runProgram, SMOKE_NOTE, reportProgress, writeResults } from '../program.js';
import { runIngest, type IngestRun } from './command.js';
import { makeInput } from './inputs.js';
import { USAGE, readIngestOptions, type IngestOptions } from './options.js';
import { ingestServing, SERVING_FOOTER, servingTable, type ServedIngest } from './serving.js';
import { FOOTER, rowOf, tableOf, type IngestRow } from './report.js';

async function main(words: readonly string[]): Promise<void> {
  const options = readIngestOptions(words);
  const machine = machineFacts();
  const { smoke, serving, jsonFile } = options;
  const rows = serving ? await measureServing(options) : await measure(options);
  await writeResults(jsonFile, { machine, revision: revision(), smoke, serving, rows });
  const [table, footer] = serving
    ? [servingTable(rows as ServedIngest[]), SERVING_FOOTER]
    : [tableOf(rows as IngestRow[]), FOOTER];
  const note = smoke ? [SMOKE_NOTE] : [];
  const lines = [headingOf(machine), '', ...table, '', ...note, footer];
  process.stdout.write(`${lines.join('\n')}\n`);
}

async function measure({ names, cells, runs }: IngestOptions): Promise<IngestRow[]> {
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
      rows.push(rowOf(input, done));
      await rm(input.file);
    }
  } finally {
    await folder.remove();
  }
  return rows;
}

async function measureServing(options: IngestOptions): Promise<ServedIngest[]> {
  const data = temporaryFolder();
  const files = temporaryFolder();
  try {
    return await ingestServing(options, { data: data.path, files: files.path }, reportProgress);
  } finally {
    await data.remove();
    await files.remove();
  }
}

await runProgram('bench:ingest', USAGE, main);
