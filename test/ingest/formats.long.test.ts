/** The same rows give the same results in every format that a collector may write. */
import { gzipSync } from 'node:zlib';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { beforeAll, describe, expect, it } from 'vitest';
import { fathom, newKey, serveHere, type Service } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import { duckdb, lines } from '../support/ingest.js';
import {
  CELL_FIELDS,
  cellsOfSnapshot,
  writeCellsArrow,
  writeSnapshotsArrow,
  writeTokensArrow,
  type CellRow,
  type Json,
  type SnapshotRow,
} from '../support/tables.js';

const { row: fixture, cells: expectedCells } = JSON.parse(
  readFileSync('test/fixtures/binning/snapshot.json', 'utf8'),
) as { row: SnapshotRow; cells: [string, number, number, number][] };
const NOW = fixture.t + 60;

/** One token for each form of the rows. */
const mint = (letter: string) => `${fixture.address.slice(0, -1)}${letter}`;

const directory = temporaryDirectory();
const data = path.join(directory, 'data');
const file = (name: string) => path.join(directory, name);
let server: Service;
let key: string;

/** Two raw snapshots, and a quarter-hourly one before them. */
function snapshots(letter: string): SnapshotRow[] {
  const row = { ...fixture, address: mint(letter) };
  const few = { ...row, t: row.t - 60, markets: row.markets.slice(0, 3) };
  return [{ ...few, t: few.t - 1800 - (few.t % 900), tier: '15m' }, few, row];
}

const flat = (letter: string): CellRow[] => {
  const market = { source: 'Kraken Ω, "spot"', exchange_type: 'CEX', pair: 'A/B' };
  return [0, 60, 120].flatMap((after) =>
    cellsOfSnapshot(mint(letter), fixture.t - 200 + after, 2.5, market, [
      [-60, 1234.56, 0],
      [-1, 10.005, 0.25],
      [0, 0, 99.99],
      [300, 5, 5],
    ]).concat(
      cellsOfSnapshot(
        mint(letter),
        fixture.t - 200 + after,
        2.5,
        {
          source: 'Orca',
          exchange_type: 'DEX',
          type: 'onchain_pool',
          market_address: 'pool-1',
        },
        [[3, 0, 1e7 / 3]],
      ),
    ),
  );
};

/** As docs/data.md lists them. */
const COVERAGE = ['full', 'depth_only', 'excluded'];

const tokenRow = (letter: string): Json => ({
  chain: 'mainchain',
  address: mint(letter),
  symbol: `S,"${letter}"`,
  name: null,
  icon: 'https://img.example/a.png',
  decimals: 9,
  asset: null,
  coverage: COVERAGE[TOKEN_FORMS.indexOf(letter) % 3],
  price_usd: 2.5,
  mcap: 1e15 / 3,
  liquidity_usd: null,
  last_refresh: 1_794_659_549,
});

/** A byte order mark, Windows line ends, blank lines, omitted nulls, no final newline. */
const untidy = (rows: readonly Json[]) =>
  '\ufeff\r\n' +
  rows
    .map((row) =>
      JSON.stringify(Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null))),
    )
    .join('\r\n  \t\r\n\r\n');

type Scalar = string | number | null | undefined;

const quoted = (value: Scalar) =>
  value === null || value === undefined ? '' : `"${String(value).replaceAll('"', '""')}"`;

/** Every field in quotes, Windows line ends, columns in another order and an unknown one. */
function quotedCsv(rows: readonly Json[], columns: readonly string[]): string {
  const names = ['unknown', ...[...columns].reverse()];
  const records = rows.map((row) => names.map((name) => quoted(row[name] as Scalar)).join(','));
  return [names.map((name) => quoted(name)).join(','), ...records].join('\r\n');
}

const bare = (value: Scalar) =>
  /[",]/.test(String(value ?? '')) ? quoted(value) : String(value ?? '');

/** Quotes only where needed; columns without any value omitted. */
function plainCsv(rows: readonly Json[], columns: readonly string[]): string {
  const names = columns.filter((name) => rows.some((row) => (row[name] ?? null) !== null));
  const records = rows.map((row) => names.map((name) => bare(row[name] as Scalar)).join(','));
  return `${[names.join(','), ...records].join('\n')}\n`;
}

/** Copies an NDJSON file into Parquet as DuckDB understands it. */
const toParquet = (from: string, to: string, select = '*') =>
  duckdb(`COPY (SELECT ${select} FROM read_json('${from}')) TO '${to}' (FORMAT parquet)`);

const SNAPSHOT_FORMS = ['a', 'b', 'c', 'd', 'e', 'f'];
const CELL_FORMS = ['g', 'h', 'i', 'j', 'k', 'm', 'n', 'o', 'p'];
const TOKEN_FORMS = ['q', 'r', 's', 't', 'u', 'v'];

async function writeSnapshots(): Promise<string[]> {
  writeFileSync(file('a.ndjson'), `${lines(snapshots('a'))}\n`);
  writeFileSync(file('b.jsonl'), untidy(snapshots('b')));
  writeFileSync(file('c.ndjson.gz'), gzipSync(lines(snapshots('c'))));
  writeFileSync(file('d.source.ndjson'), lines(snapshots('d')));
  await toParquet(file('d.source.ndjson'), file('d.parquet'));
  writeSnapshotsArrow(file('e.arrow'), snapshots('e'), { form: 'file', ticks: 'structs' });
  writeSnapshotsArrow(file('f.arrows'), snapshots('f'), { form: 'stream', ticks: 'texts' });
  return ['a.ndjson', 'b.jsonl', 'c.ndjson.gz', 'd.parquet', 'e.arrow', 'f.arrows'].map(file);
}

async function writeCells(): Promise<string[]> {
  writeFileSync(file('g.ndjson'), `${lines(flat('g'))}\n`);
  writeFileSync(file('h.jsonl.gz'), gzipSync(untidy(flat('h'))));
  writeFileSync(file('i.csv'), plainCsv(flat('i'), CELL_FIELDS));
  writeFileSync(file('j.csv.gz'), gzipSync(quotedCsv(flat('j'), CELL_FIELDS)));
  writeFileSync(file('k.source.ndjson'), lines(flat('k')));
  await toParquet(file('k.source.ndjson'), file('k.parquet'));
  writeFileSync(file('m.source.ndjson'), lines(flat('m')));
  const odd = `* REPLACE (t::INTEGER AS t, bin::TINYINT::SMALLINT AS bin, price_usd::DECIMAL(18, 4) AS price_usd,
    exchange_type::ENUM('CEX', 'DEX') AS exchange_type)`;
  await toParquet(file('m.source.ndjson'), file('m.parquet'), odd.replace('::TINYINT', ''));
  writeCellsArrow(file('n.arrow'), flat('n'), { form: 'file', dictionary: true, t: 'int32' });
  writeCellsArrow(file('o.arrows'), flat('o'), { form: 'stream', dictionary: false, t: 'int64' });
  writeCellsArrow(file('p.arrow'), flat('p'), {
    form: 'file',
    dictionary: true,
    t: 'double',
    compressed: true,
  });
  const names = 'g.ndjson h.jsonl.gz i.csv j.csv.gz k.parquet m.parquet n.arrow o.arrows p.arrow';
  return names.split(' ').map(file);
}

async function writeTokens(): Promise<string[]> {
  const columns = Object.keys(tokenRow('a'));
  writeFileSync(file('q.ndjson'), lines([tokenRow('q')]));
  writeFileSync(file('r.jsonl'), untidy([tokenRow('r')]));
  writeFileSync(file('s.csv'), plainCsv([tokenRow('s')], columns));
  writeFileSync(file('t.csv.gz'), gzipSync(quotedCsv([tokenRow('t')], columns)));
  writeFileSync(file('u.source.ndjson'), lines([tokenRow('u')]));
  await toParquet(file('u.source.ndjson'), file('u.parquet'));
  writeTokensArrow(file('v.arrow'), [tokenRow('v')]);
  return ['q.ndjson', 'r.jsonl', 's.csv', 't.csv.gz', 'u.parquet', 'v.arrow'].map(file);
}

async function ingestAll(dataset: string, files: string[]): Promise<Json[]> {
  const ended = await fathom(['ingest', dataset, ...files, '--data', data, '--json']);
  expect([ended.status, ended.stderr.slice(-2000)]).toEqual([0, expect.any(String)]);
  return (JSON.parse(ended.stdout) as { files: Json[] }).files;
}

let reports: Record<'tokens' | 'snapshots' | 'cells', Json[]>;

beforeAll(async () => {
  reports = {
    tokens: await ingestAll('tokens', await writeTokens()),
    snapshots: await ingestAll('snapshots', await writeSnapshots()),
    cells: await ingestAll('cells', await writeCells()),
  };
  key = await newKey(data);
  server = await serveHere(data, ['--as-of', String(NOW)]);
});

const WINDOW = `from=${NOW - 7200}&to=${NOW}&min_pct=-90&max_pct=1000`;

async function replay(letter: string, query = ''): Promise<string> {
  const response = await server.get(`/replay/${mint(letter)}?${WINDOW}${query}`, key);
  expect(response.status).toBe(200);
  return (await response.text()).replaceAll(mint(letter), mint('a'));
}

/** What a report states about a file's contents. */
const counted = ({ rows, snapshots: shots, cells, dropped_levels: dropped }: Json) => ({
  rows,
  shots,
  cells,
  dropped,
});

describe('nested snapshots of every kind of market', () => {
  it('are read in every format with the same counts', () => {
    expect(reports.snapshots.map(counted)).toEqual(
      SNAPSHOT_FORMS.map(() => counted(reports.snapshots[0])),
    );
    expect(counted(reports.snapshots[0])).toMatchObject({ rows: 3, shots: 3, dropped: 0 });
  });

  it('are served with the same bytes, whatever their format was', async () => {
    const [first, ...others] = await Promise.all(SNAPSHOT_FORMS.map((letter) => replay(letter)));
    expect(JSON.parse(first)).toMatchObject({ snapshot_count: 3 });
    for (const [i, other] of others.entries()) expect([i, other === first]).toEqual([i, true]);
  });

  it('have the cells of another implementation', async () => {
    const response = await server.get(`/replay/${mint('d')}?from=${fixture.t}&to=${NOW}`, key);
    const page = (await response.json()) as Json;
    const { bin, market_idx, support_usd, resistance_usd } = page.snapshots[0];
    const served = bin.map((b: number, i: number) => {
      const { source, address, pair } = page.markets[market_idx[i]];
      const name = address ?? pair;
      return [name === null ? source : `${source}/${name}`, b, support_usd[i], resistance_usd[i]];
    });
    const order = (cells: unknown[]) => cells.map((cell) => JSON.stringify(cell)).sort();
    expect(order(served)).toEqual(order(expectedCells));
  });
});

describe('flat cells', () => {
  it('are read in every format with the same counts', () => {
    expect(reports.cells.map(counted)).toEqual(
      CELL_FORMS.map(() => ({ rows: 15, shots: 3, cells: 12, dropped: 3 })),
    );
  });

  it('are served with the same bytes, whatever their format was', async () => {
    const [first, ...others] = await Promise.all(CELL_FORMS.map((letter) => replay(letter)));
    const page = JSON.parse(first) as Json;
    expect(page.snapshots.map(({ price_usd }: Json) => price_usd)).toEqual([2.5, 2.5, 2.5]);
    expect(page.snapshots[0]).toMatchObject({
      bin: [-60, -1, 0, 3],
      support_usd: [1234.56, 10.01, 0, 0],
      resistance_usd: [0, 0.25, 99.99, 3333333.33],
    });
    expect(page.markets.map(({ source }: Json) => source)).toEqual(['Kraken Ω, "spot"', 'Orca']);
    for (const [i, other] of others.entries()) expect([i, other === first]).toEqual([i, true]);
  });
});

it('tokens are stored the same from every format', async () => {
  await server.stop();
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  await connection.run(`ATTACH '${path.join(data, 'fathom.duckdb')}' AS store (READ_ONLY)`);
  const list = TOKEN_FORMS.map((letter) => `'${mint(letter)}'`).join(',');
  const reader = await connection.runAndReadAll(
    `SELECT chain, symbol, name, icon, decimals, asset, coverage, price_usd, mcap, liquidity_usd,
       last_refresh FROM store.tokens WHERE address IN (${list}) ORDER BY address`,
  );
  connection.closeSync();
  const wanted = TOKEN_FORMS.map((letter) =>
    Object.fromEntries(Object.entries(tokenRow(letter)).filter(([name]) => name !== 'address')),
  );
  expect(reader.getRowObjectsJson().map(plain)).toEqual(wanted.map(plain));
  expect(reports.tokens.map(({ rows }) => rows)).toEqual([1, 1, 1, 1, 1, 1]);
});

/** 64-bit numbers become texts. */
const plain = (row: object) =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [name, String(value)]));
