/** What a reader of the README and of docs/clients.md would type. */
import { execFile, spawnSync } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { DuckDBInstance } from '@duckdb/node-api';
import { beforeAll, describe, expect, it } from 'vitest';
import { freePorts } from '../../bench/programs.js';
import { type Document, documentNamed } from './documents.js';
import { hasProgram } from '../support/programs.js';
import { temporaryDirectory } from '../support/folders.js';

const run = promisify(execFile);
const readme = documentNamed('README.md');
const api = documentNamed('docs/api.md');
const clients = documentNamed('docs/clients.md');

/** The port of the README's example. */
const PORT_IN_README = '8081';
/** Four of the book's snapshots, one a second. */
const [FROM, TO, SNAPSHOTS] = [1723161306, 1723161310, 4];

const blocksOf = (document: Document, language: string) =>
  document.blocks.filter(({ info }) => info === language).map(({ text }) => text);
const example = readme.blocks.filter(({ info }) => info === 'sh run').map(({ text }) => text);
/** What the README shows: the reply to curl, and what the programs print. */
const [reply, printed] = blocksOf(readme, 'text');

/** The first Python with all of these modules; null if there is none. */
function pythonWith(...modules: string[]): string | null {
  const has = (python: string) =>
    spawnSync(python, ['-c', `import ${modules.join(', ')}`]).status === 0;
  return ['python3', '/usr/bin/python3'].find(has) ?? null;
}
const hasJq = hasProgram('jq');
const [forPolars, forPandas, forClient] = [
  pythonWith('requests', 'pyarrow', 'polars'),
  pythonWith('requests', 'pandas'),
  pythonWith('httpx'),
];
/** Twelve seconds on idle cores, but tests share theirs. */
const SCRIPT_DEADLINE_MS = 170_000;
/** Replaces the output of an example whose tools are missing. */
const NOT_RUN = 'not run';
/** Separates the outputs of two examples. */
const NEXT = '--- next';

/** The examples of docs/clients.md, each with its requirements. */
function clientExamples(directory: string): string {
  const [jq, download] = blocksOf(clients, 'sh run');
  const [polars, pandas] = blocksOf(clients, 'python run');
  writeFileSync(path.join(directory, 'polars_example.py'), polars);
  writeFileSync(path.join(directory, 'pandas_example.py'), pandas);
  const python = (program: string | null, file: string) =>
    program === null ? `echo '${NOT_RUN}'` : `'${program}' ${file}`;
  const scripts = [
    hasJq ? jq : `echo '${NOT_RUN}'`,
    python(forPolars, 'polars_example.py'),
    python(forPandas, 'pandas_example.py'),
    download,
  ];
  return scripts.join(`\necho '${NEXT}'\n`);
}

/**
 * One script with everything that a reader would type: the README's commands, then the paging example of the API.
 * `./fathom` runs this build.
 */
async function typeEverything(directory: string): Promise<string[]> {
  const port = String((await freePorts(1))[0]);
  symlinkSync(path.resolve('fathom'), path.join(directory, 'fathom'));
  const paging = api.blocks.filter(({ info }) => info === 'js run').map(({ text }) => text);
  expect(paging).toHaveLength(1);
  writeFileSync(path.join(directory, 'paging.mjs'), paging[0]);
  symlinkSync(path.resolve('test'), path.join(directory, 'test'));
  const [start, ask, load] = example.map((block) => block.replaceAll(PORT_IN_README, port));
  const [python] = blocksOf(readme, 'python run');
  writeFileSync(path.join(directory, 'cost.py'), python);
  const [typescript] = blocksOf(readme, 'ts run');
  const client = pathToFileURL(path.resolve('dist/client/index.js')).href;
  writeFileSync(path.join(directory, 'cost.mjs'), typescript.replace('fathom/client', client));
  const script = `
trap 'kill $(jobs -p); wait' EXIT
${start}
curl -s --retry 100 --retry-connrefused --retry-delay 1 -o head $FATHOM_URL
echo '${NEXT}'
${ask}
echo
echo '${NEXT}'
${forClient === null ? `echo '${NOT_RUN}'` : `PYTHONPATH='${path.resolve('python/src')}' '${forClient}' cost.py`}
echo '${NEXT}'
'${process.execPath}' cost.mjs
echo '${NEXT}'
${load}
./fathom tokens --data books --csv
echo '${NEXT}'
export FROM=${FROM} TO=${TO}
'${process.execPath}' paging.mjs
echo '${NEXT}'
${clientExamples(directory)}
`;
  const { stdout } = await run('bash', ['-euc', script], {
    cwd: directory,
    env: { ...process.env, PATH: `${directory}:${process.env.PATH}` },
    timeout: SCRIPT_DEADLINE_MS,
  });
  return stdout.split(`${NEXT}\n`);
}

/** What the query of docs/clients.md finds in a file. */
async function askDuckDb(file: string) {
  const [sql] = blocksOf(clients, 'sql run');
  const instance = await DuckDBInstance.create();
  const connection = await instance.connect();
  const reader = await connection.runAndReadAll(sql.replace('depth.parquet', file));
  const rows = reader.getRowObjectsJson();
  connection.closeSync();
  instance.closeSync();
  return rows;
}

describe.runIf(hasProgram('curl') && hasProgram('bash'))("the README's example", () => {
  const directory = temporaryDirectory();
  let outputs: string[];
  let ofClients: string[];
  let days: Awaited<ReturnType<typeof askDuckDb>>;
  /** Mean support and resistance of the day. */
  let figures: number[];
  beforeAll(async () => {
    [, ...outputs] = await typeEverything(directory);
    ofClients = outputs.slice(5);
    days = await askDuckDb(path.join(directory, 'depth.parquet'));
    figures = [Number(days[0].support_usd), Number(days[0].resistance_usd)];
  }, SCRIPT_DEADLINE_MS + 10_000);

  it('prints the reply that it shows', () => {
    expect(JSON.parse(outputs[0])).toEqual(JSON.parse(reply));
    expect(outputs[0].trim()).toBe(reply.replaceAll('\n', ''));
  });

  it.skipIf(forClient === null)('prints what it shows in Python', () => {
    expect(outputs[1]).toBe(printed);
  });

  it('prints what it shows in TypeScript', () => {
    expect(outputs[2]).toBe(printed);
  });

  it("loads a reader's own book beside the running server", () => {
    expect(outputs[3]).toMatch(/^mainchain,So1+2,/m);
    expect(outputs[3]).toMatch(/^mainchain,\w+,BTC,Bitcoin,/m);
  });

  it('can be paged as documented by the API', () => {
    expect(outputs[4].trim()).toBe(`${SNAPSHOTS} snapshots`);
  });

  it('is downloaded as a file that DuckDB reads as in docs/clients.md', () => {
    expect(days).toHaveLength(1);
    expect(days[0]).toMatchObject({ source: 'Binance', day: '2024-08-08' });
    expect(Math.min(...figures)).toBeGreaterThan(0);
  });

  it.skipIf(!hasJq)('is a table with jq', () => {
    const rows = ofClients[0].trim().split('\n');
    const means = [2, 3].map((column) => {
      const sum = rows.reduce((total, row) => total + Number(row.split(',')[column]), 0);
      return sum / rows.length;
    });
    expect(rows).toHaveLength(SNAPSHOTS);
    for (const i of [0, 1]) expect(means[i]).toBeCloseTo(figures[i], 4);
  });

  it.skipIf(forPolars === null)('is a frame in Polars', () => isByDay(ofClients[1]));
  it.skipIf(forPandas === null)('is a frame in pandas', () => isByDay(ofClients[2]));

  /** One row of the market and the day, with DuckDB's figures. */
  function isByDay(csv: string): void {
    const [head, row, ...more] = csv.trim().split('\n');
    expect([head, more]).toEqual(['source,pair,day,support_usd,resistance_usd', []]);
    expect(row).toMatch(/^Binance,.+,2024-08-08,/);
    const means = row.split(',').slice(3).map(Number);
    for (const i of [0, 1]) expect(means[i]).toBeCloseTo(figures[i], 4);
  }
});
