/** What the explorer exports: files that DuckDB reads, and programs that run. */
import { execFile, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { DuckDBInstance } from '@duckdb/node-api';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fathomClient } from '../../client/index.js';
import { columnsOfRows, type FileColumn } from '../../explorer/export/columns.js';
import { csvOf } from '../../explorer/export/csv.js';
import { columnsOfHistory, columnsOfMaps } from '../../explorer/export/history.js';
import { parquetOf } from '../../explorer/export/parquet.js';
import { pythonText, typescriptText } from '../../explorer/export/snippets.js';
import type { ApiRequest } from '../../explorer/state/requests.js';
import { clientTypes } from '../support/client-types.js';
import { fathom } from '../support/cli.js';
import { MemoryDepth } from '../support/memory-depth.js';
import { KEY, MINT, NOW_S, heldService, steadyStore } from '../support/service.js';
import { temporaryDirectory } from '../support/folders.js';

const run = promisify(execFile);
/** The Python with the package; `npm run test:python` makes it. */
const PYTHON = path.resolve('python/.venv/bin/python');
const hasPython = spawnSync(PYTHON, ['-c', 'import fathom_client, polars']).status === 0;
if (!hasPython) console.warn('Programs in Python are not run: npm run test:python installs it');

const directory = temporaryDirectory();
const depth = new MemoryDepth().add('mainchain', MINT, steadyStore(300, 40));
const service = await heldService({ depth });

/** What DuckDB answers. */
async function select(query: string): Promise<Record<string, unknown>[]> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  const result = await connection.runAndReadAll(query);
  connection.closeSync();
  instance.closeSync();
  return result.getRowObjects();
}

/** The rows that DuckDB reads from a file. */
async function rowsIn(blob: Blob, format: 'csv' | 'parquet'): Promise<Record<string, unknown>[]> {
  const file = path.join(directory, `read.${format}`);
  writeFileSync(file, Buffer.from(await blob.arrayBuffer()));
  // Empty text and no text are the same in CSV.
  const source =
    format === 'csv' ? `read_csv('${file}', all_varchar = true)` : `read_parquet('${file}')`;
  return select(`SELECT * FROM ${source}`);
}

/** The types of a file's columns, in order. */
async function typesOf(file: string): Promise<Record<string, unknown>> {
  const columns = await select(`DESCRIBE SELECT * FROM '${file}'`);
  return Object.fromEntries(
    columns.map(({ column_name: name, column_type: type }) => [name, type]),
  );
}

const texts = fc.constantFrom('a', 'b c', '"q"', 'x,y', 'two\nlines', 'ü', '=1');
const tables = fc.array(
  fc.record({
    n: fc.option(fc.double({ noNaN: true, noDefaultInfinity: true })),
    s: fc.option(texts),
    b: fc.boolean(),
    inner: fc.record({ n: fc.integer() }),
    list: fc.array(fc.integer(), { maxLength: 2 }),
  }),
  { minLength: 1, maxLength: 8 },
);

const withoutMinus = (row: object & { n?: unknown }) => ({ ...row, n: row.n === 0 ? 0 : row.n });

describe('a file of rows', () => {
  it('has their numbers, texts and gaps, as Parquet and as CSV', async () => {
    await fc.assert(
      fc.asyncProperty(tables, async (rows) => {
        const flat = rows.map(({ inner, list, ...rest }) => ({
          ...rest,
          'inner.n': inner.n,
          list: JSON.stringify(list),
        }));
        const columns = columnsOfRows(rows);
        const parquet = await rowsIn(parquetOf(columns), 'parquet');
        // A column of whole numbers has no -0; one of other numbers has.
        expect(parquet.map(withoutMinus)).toEqual(flat.map(withoutMinus));
        const csv = await rowsIn(csvOf(columns), 'csv');
        expect(csv).toEqual(
          flat.map((row) =>
            Object.fromEntries(
              Object.entries(row).map(([name, one]) => [name, one === null ? null : String(one)]),
            ),
          ),
        );
      }),
      { numRuns: 12 },
    );
  });

  it('has a gap if a row lacks a field', () => {
    expect(columnsOfRows([{ a: 1 }, { b: 'x' }, { a: 2 }])).toEqual([
      { name: 'a', values: [1, null, 2] },
      { name: 'b', values: [null, 'x', null] },
    ]);
  });
});

describe('a file of a window', () => {
  const asked = { from: NOW_S - 3600, to: 'now' };
  const columnsBy = async (group: 'market' | 'venue' | 'all'): Promise<FileColumn[]> =>
    columnsOfHistory(fathomClient({ url: service.server.url, key: KEY }), MINT, {
      ...asked,
      group,
    });
  const fileOf = async (name: string, blob: Blob): Promise<string> => {
    const file = path.join(directory, name);
    writeFileSync(file, Buffer.from(await blob.arrayBuffer()));
    return file;
  };

  it.each(['market', 'venue', 'all'] as const)(
    'is that of fathom replay, by %s, as Parquet and as CSV',
    async (group) => {
      const columns = await columnsBy(group);
      const wanted = path.join(directory, `wanted-${group}.parquet`);
      const window = ['--from', String(asked.from), '--to', String(NOW_S), '--group', group];
      await fathom(['replay', MINT, '--url', service.server.url, ...window, '--out', wanted], {
        FATHOM_KEY: KEY,
      });
      const exported = await fileOf(`cells-${group}.parquet`, parquetOf(columns));
      const typed = await fileOf(`cells-${group}.csv`, csvOf(columns));
      const types = await typesOf(wanted);
      expect(await typesOf(exported)).toEqual({ ...types, bin: 'BIGINT' });
      const names = Object.keys(types).join();
      const rows = `SELECT ${names} FROM '${wanted}'`;
      expect((await select(rows)).length).toBeGreaterThan(100);
      for (const file of [exported, typed]) {
        expect(await select(`(SELECT ${names} FROM '${file}') EXCEPT ALL (${rows})`)).toEqual([]);
        expect(await select(`(${rows}) EXCEPT ALL (SELECT ${names} FROM '${file}')`)).toEqual([]);
      }
    },
  );

  it.each([
    ['parquet', parquetOf],
    ['csv', csvOf],
  ] as const)('is a dataset that fathom ingest cells reads, as %s', async (format, write) => {
    const file = await fileOf(`again.${format}`, write(await columnsBy('market')));
    const store = path.join(directory, `store-${format}`);
    const { stdout } = await fathom(['ingest', 'cells', file, '--data', store, '--json']);
    const { files } = JSON.parse(stdout) as { files: object[] };
    expect(files).toMatchObject([{ snapshots: 60, warnings: [] }]);
  });
});

it('a file of maps has the cells of each under its name', async () => {
  const client = fathomClient({ url: service.server.url, key: KEY });
  const times = { from: NOW_S - 3600, to: 'now' };
  const maps = [
    { label: 'All', address: MINT, parameters: times },
    { label: 'Pools', address: MINT, parameters: { ...times, types: ['onchain_pool' as const] } },
  ];
  const columns = await columnsOfMaps(client, maps);
  const read = await rowsIn(parquetOf(columns), 'parquet');
  for (const { label, address, parameters } of maps) {
    const own = await columnsOfHistory(client, address, { ...parameters, group: 'all' });
    const rows = await rowsIn(parquetOf(own), 'parquet');
    expect(rows.length).toBeGreaterThan(100);
    expect(read.filter(({ map }) => map === label)).toEqual(
      rows.map((row) => ({ map: label, ...row })),
    );
  }
});

describe('a program of a request', () => {
  const requests: ApiRequest[] = [
    { method: 'GET', path: '/top-scores', query: { chain: 'all', details: 'true' } },
    {
      method: 'GET',
      path: `/replay/${MINT}`,
      query: { from: String(NOW_S - 7200), to: 'now', group: 'venue', types: 'onchain_pool' },
    },
    {
      method: 'GET',
      path: `/depth-series/${MINT}`,
      query: { from: String(NOW_S - 7200), to: String(NOW_S + 60), step: '1m', pct: '2' },
    },
    {
      method: 'POST',
      path: '/whale-activity',
      query: {},
      body: { token_addresses: [MINT] },
    },
  ];

  const programs = [...requests.map((one) => [one]), requests];
  it.each(programs.map((asked) => ({ asked, names: asked.map(({ path }) => path).join() })))(
    'sends it: $names',
    async ({ asked }) => {
      const { url } = service.server;
      const env = { ...process.env, FATHOM_KEY: KEY };
      const file = path.join(directory, 'program.mjs');
      const client = pathToFileURL(path.resolve('dist/client/index.js')).href;
      writeFileSync(file, typescriptText(url, asked).replace('@fathom/client', client));
      const ran = await run(process.execPath, [file], { env });
      expect(ran.stdout.length).toBeGreaterThan(10);
      if (!hasPython) return;
      const text = pythonText(url, asked);
      const { stdout: printed } = await run(PYTHON, ['-c', text], { env });
      // A frame of the cells of history, and the document of each other reply.
      const isHistory = ({ path: asked }: ApiRequest) => asked.startsWith('/replay');
      const counting = fathomClient({ url, key: KEY });
      const sizes: string[] = [];
      for (const { query } of asked.filter(isHistory)) {
        let cells = 0;
        for await (const page of counting.replay(MINT, {
          ...query,
          group: 'venue',
          types: ['onchain_pool'],
        }))
          cells += page.row_count;
        sizes.push(`shape: (${cells.toLocaleString('en').replaceAll(',', '_')}, 9)`);
      }
      expect(printed.match(/^shape: .*$/gm) ?? []).toEqual(sizes);
      const others = printed.match(/^(TopScores|DepthSeries|WhaleActivityBatch)\(/gm) ?? [];
      expect(others).toHaveLength(asked.length - sizes.length);
    },
  );

  it('has the types of the client', async () => {
    const file = path.join(directory, 'typed.mts');
    const client = path.join(await clientTypes(), 'index.js');
    writeFileSync(file, typescriptText('http://h', requests).replace('@fathom/client', client));
    const compiler = path.resolve('node_modules/.bin/tsc');
    const flags =
      '--ignoreConfig --noEmit --strict --target es2023 --module nodenext --types node --typeRoots';
    const types = path.resolve('node_modules/@types');
    const found = await run(compiler, [...flags.split(' '), types, file]).then(
      ({ stdout }) => stdout,
      (error: { stdout: string; stderr: string }) => error.stdout + error.stderr,
    );
    expect(found).toBe('');
  });

  it('writes values in the syntax of its language', () => {
    const query = { query: "it's \\", limit: '5' };
    const asked: ApiRequest = { method: 'GET', path: '/tokens', query };
    expect(typescriptText('http://h', [asked])).toContain(
      String.raw`fathom.getTokens({ query: 'it\'s \\', limit: 5 })`,
    );
    expect(pythonText('http://h', [asked])).toContain(
      String.raw`fathom.tokens(query="it's \\", limit=5)`,
    );
    const pools = { method: 'GET' as const, path: '/dlmm-pools', query: { minTvl: '10' } };
    expect(pythonText('http://h', [pools])).toBe(
      [
        'import os',
        'from fathom_client import Client',
        '',
        'fathom = Client("http://h", os.environ["FATHOM_KEY"])',
        'print(fathom.dlmm_pools(min_tvl=10))',
        '',
      ].join('\n'),
    );
  });
});
