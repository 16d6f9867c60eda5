import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { tableFromIPC, type Table } from 'apache-arrow';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Dataset } from '../../storage/ingest/datasets.js';
import { temporaryDirectory } from '../support/folders.js';
import { ingest } from '../support/ingest.js';
import type { RemotePage } from '../../server/download/page.js';
import { MemoryDatabase } from '../../storage/duckdb/memory-database.js';
import { expectSame } from '../support/same.js';
import {
  AS_OF,
  BARE_MINT,
  EVERY_S,
  FIRST_T,
  LAST_T,
  LEG,
  MINT,
  OLD_MINT,
  OLD_T,
  WHOLE,
  csvRows,
  expectedRows,
  replayHere,
  startMarket,
  type Market,
} from './replay-client-support.js';

/** About the last two pages. */
const LATE = ['--from', String(AS_OF - 40_000), '--to', String(AS_OF)];

type Rows = (string | number | null)[][];

const CELL_NAMES =
  'chain address t tier price_usd source exchange_type type market_address pair bin support_usd resistance_usd';

/** Columns that Arrow and Parquet have in addition. */
const COLUMNAR_NAMES = `${CELL_NAMES} timestamp price`;

/** Rows of CSV in the form of Arrow and Parquet. */
function columnar(rows: Rows, names: readonly string[]): Rows {
  const at = (name: string) => names.indexOf(name);
  return rows.map((row) => {
    const [t, priceUsd, bin] = ['t', 'price_usd', 'bin'].map((name) => row[at(name)] as number);
    return [...row, t * 1000, priceUsd * 1.01 ** bin];
  });
}

const UNKNOWN_MINT = 'Unknown111111111111111111111111111111111111';
const iso = (t: number) => new Date(t * 1000).toISOString().replace('.000Z', 'Z');

let market: Market;
let directory: string;

beforeAll(async () => {
  market = await startMarket();
  directory = temporaryDirectory();
});

/** Runs the command, which must succeed. */
async function replayTo(name: string, words: readonly string[], address = MINT) {
  const out = path.join(directory, name);
  const env = { FATHOM_KEY: market.key, FATHOM_URL: market.server.url };
  const { error, document } = await replayHere([address, '--out', out, ...words], env);
  expect(error).toBeNull();
  return { out, document: document as Record<string, unknown> };
}

/** All pages of a query by plain requests. */
async function directPages(
  query: string,
  [, since] = WHOLE,
  address = MINT,
): Promise<RemotePage[]> {
  const pages: RemotePage[] = [];
  let from: number | null = Number(since);
  while (from !== null) {
    const reply = await market.server.get(
      `/replay/${address}?from=${from}&to=${AS_OF}&${query}`,
      market.key,
    );
    expect(reply.status).toBe(200);
    const page = (await reply.json()) as RemotePage;
    pages.push(page);
    from = page.next_from;
  }
  return pages;
}

async function parquetRows(file: string): Promise<{ names: string[]; rows: Rows }> {
  const database = await MemoryDatabase.open({ memoryLimitMiB: 256, threads: 1 });
  try {
    const described = await database.rows(`DESCRIBE SELECT * FROM read_parquet('${file}')`);
    const names = described.map(([name]) => name as string);
    const schema = `SELECT logical_type FROM parquet_schema('${file}') WHERE name = 'timestamp'`;
    const [[type]] = await database.rows(schema);
    expect(type).toMatch(/^TimestampType\(isAdjustedToUTC=1, unit=TimeUnit\(MILLIS=M/);
    expect(await dictionariesOf(file, database)).toEqual(
      described.filter(([, type]) => type === 'VARCHAR').map(([name]) => name),
    );
    const select = `SELECT * REPLACE (epoch_ms(timestamp) AS timestamp) FROM read_parquet('${file}')`;
    return { names, rows: (await database.rows(select)) as Rows };
  } finally {
    database.close();
  }
}

/** Names of the columns that readers of Arrow tables should read as dictionaries of texts. */
async function dictionariesOf(file: string, database: MemoryDatabase): Promise<string[]> {
  const read = `SELECT decode(value) FROM parquet_kv_metadata('${file}') WHERE decode(key) = 'ARROW:schema'`;
  const [[schema]] = await database.rows(read);
  const { fields } = tableFromIPC(Buffer.from(String(schema), 'base64')).schema;
  return fields
    .filter(({ type }) => String(type) === 'Dictionary<Int32, Utf8>')
    .map(({ name }) => name);
}

function arrowRows(file: string): { names: string[]; rows: Rows; table: Table } {
  const table = tableFromIPC(readFileSync(file));
  const names = table.schema.fields.map(({ name }) => name);
  const columns = names.map((name) => [...(table.getChild(name) as Iterable<string | number>)]);
  const rows = Array.from({ length: table.numRows }, (_, i) => columns.map((column) => column[i]));
  return { names, rows, table };
}

/** A page's cells as rows, for groupings other than market. */
function rowsOfPage(page: RemotePage): Rows {
  return page.snapshots.flatMap(({ t, tier, price_usd, group_idx, ...cells }) =>
    cells.bin.map((bin, i) => {
      const group = group_idx && page.groups[group_idx[i]];
      const about = group === undefined ? [] : [group.key, group.label, group.type];
      const cell = [bin, cells.support_usd[i], cells.resistance_usd[i]];
      return [page.chain, page.resolved_token ?? page.token, t, tier, price_usd, ...about, ...cell];
    }),
  );
}

describe('every format holds the cells that were ingested', () => {
  it('CSV', async () => {
    const { out, document } = await replayTo('cells.csv', WHOLE);
    const { names, rows } = csvRows(out);
    expect(names.join(' ')).toBe(CELL_NAMES);
    expectSame(rows, expectedRows(market.rows));
    expect(document).toMatchObject({
      out,
      format: 'csv',
      bytes: readFileSync(out).length,
      token: MINT,
      chain: 'mainchain',
      from: Number(WHOLE[1]),
      to: AS_OF,
      served_from: Number(WHOLE[1]),
      served_to: LAST_T,
      snapshots: market.rows.length,
      cells: rows.length,
      resumed_pages: 0,
    });
    expect(document.pages).toBeGreaterThan(3);
  });

  it('Parquet', async () => {
    const { out } = await replayTo("it's [a] *.parquet", WHOLE);
    const copy = path.join(directory, 'plain.parquet');
    writeFileSync(copy, readFileSync(out));
    const { names, rows } = await parquetRows(copy);
    expect(names.join(' ')).toBe(COLUMNAR_NAMES);
    expectSame(rows, columnar(expectedRows(market.rows), names));
  });

  it('Arrow', async () => {
    const { out } = await replayTo('cells.arrow', WHOLE);
    const { names, rows, table } = arrowRows(out);
    expect(names.join(' ')).toBe(COLUMNAR_NAMES);
    expectSame(rows, columnar(expectedRows(market.rows), names));
    expect(String(table.schema.fields.find(({ name }) => name === 'timestamp')?.type)).toBe(
      'Timestamp<MILLISECOND, UTC>',
    );
    expect(table.schema.fields.filter(({ nullable }) => nullable).map(({ name }) => name)).toEqual([
      'market_address',
      'pair',
    ]);
  });

  it('NDJSON, as rows of the dataset snapshots', async () => {
    const { out } = await replayTo('cells.jsonl', WHOLE);
    const lines = readFileSync(out, 'utf8').trimEnd().split('\n');
    const inBand = ({ cells }: { cells: number[][] }) =>
      cells.filter(([bin]) => bin >= -69 && bin <= 69);
    const expected = market.rows.map((row) => ({
      ...row,
      markets: row.markets
        .map((m) => ({ ...m, cells: inBand(m) }))
        .filter(({ cells }) => cells.length > 0),
    }));
    expectSame(
      lines.map((line) => JSON.parse(line)),
      expected,
    );
  });

  it('JSON, as one reply without the limits of a page', async () => {
    const { out, document } = await replayTo('cells.json', WHOLE);
    const whole = JSON.parse(readFileSync(out, 'utf8')) as Required<RemotePage>;
    const pages = await directPages('');
    const [first] = pages;
    const longest = pages.reduce((a, b) => (b.markets.length > a.markets.length ? b : a));
    expect(whole).toEqual({
      ...first,
      window: { ...first.window, served_to: LAST_T },
      next_from: null,
      snapshot_count: market.rows.length,
      row_count: document.cells,
      markets: longest.markets,
      facets: whole.facets,
      snapshots: pages.flatMap(({ snapshots }) => snapshots),
    });
    expect(first.markets.length).toBeLessThan(longest.markets.length);
    const sum = (rows: { usd: number }[]) => rows.reduce((total, { usd }) => total + usd, 0);
    const depth = expectedRows(market.rows).reduce(
      (total, row) => total + Math.round(((row.at(-1) as number) + (row.at(-2) as number)) * 100),
      0,
    );
    expect(whole.facets.frames).toBe(market.rows.length);
    expect(sum(whole.facets.venues)).toBeCloseTo(depth / 100 / market.rows.length, 6);
    expect(sum(whole.facets.types)).toBeCloseTo(depth / 100 / market.rows.length, 6);
  });
});

it.each<[Dataset, string]>([
  ['snapshots', 'again.ndjson'],
  ['cells', 'again.csv'],
  ['cells', 'again.parquet'],
  ['cells', 'again.arrow'],
])('what is replayed can be ingested as %s from %s', async (dataset, name) => {
  const { out, document } = await replayTo(name, LATE);
  const data = path.join(temporaryDirectory(), 'store');
  expect(await ingest(data, dataset, [out])).toMatchObject([{ cells: document.cells }]);
});

describe('groupings and filters are the server’s', () => {
  it.each([
    ['group=venue', ['--group', 'venue']],
    ['group=type', ['--group', 'type']],
    ['group=type&onchain=true', ['--group', 'type', '--onchain']],
    ['group=all', ['--group', 'all']],
    [
      'group=all&types=cex_perp,onchain_pool',
      ['--group', 'all', '--types', 'cex_perp,onchain_pool'],
    ],
    ['group=all&step=1h', ['--group', 'all', '--step', '1h']],
    ['group=venue&venues=orca,nowhere', ['--group', 'venue', '--venues', 'orca,nowhere']],
    ['group=type&exclude_venues=orca', ['--group', 'type', '--exclude-venues', 'orca']],
    ['group=venue&exclude_types=cex_perp', ['--group', 'venue', '--exclude-types', 'cex_perp']],
    ['group=type&min_pct=-90&max_pct=5', ['--group', 'type', '--min-pct', '-90', '--max-pct', '5']],
  ])('%s', async (query, words) => {
    const name = query.replaceAll(/\W/g, '_');
    const pages = await directPages(query, LATE);
    const expected = pages.flatMap(rowsOfPage);
    const csv = await replayTo(`${name}.csv`, [...LATE, ...words]);
    const { names, rows } = csvRows(csv.out);
    expectSame(rows, expected);
    // The columns depend only on the grouping, not on filters.
    if (/^group=\w+$/.test(query)) {
      const parquet = await replayTo(`${name}.parquet`, [...LATE, ...words]);
      expectSame((await parquetRows(parquet.out)).rows, columnar(expected, names));
      const arrow = await replayTo(`${name}.arrow`, [...LATE, ...words]);
      expectSame(arrowRows(arrow.out).rows, columnar(expected, names));
    }
    const missing = pages.reduce(
      (names, { filter }) => names.filter((name) => filter.venues_not_found.includes(name)),
      pages[0].filter.venues_not_found,
    );
    expect(csv.document.venues_not_found).toEqual(missing);
  });

  it('answers for a leg with its mint', async () => {
    const { out, document } = await replayTo('leg.csv', [...LATE, '--group', 'all'], LEG);
    const pages = await directPages('group=all', LATE, LEG);
    expect(document).toMatchObject({ token: LEG, resolved_token: MINT, chain: 'mainchain' });
    expectSame(csvRows(out).rows, pages.flatMap(rowsOfPage));
  });

  it('covers the last 24 hours by default', async () => {
    const { document } = await replayTo('day.csv', ['--group', 'all']);
    expect(document).toMatchObject({
      from: AS_OF - 86_400,
      to: AS_OF,
      snapshots: 86_400 / EVERY_S,
    });
  });

  const EMPTY = ['--from', '1780000000', '--to', '1780000060'];
  const window = 'from 2026-05-28T20:26:40Z to 2026-05-28T20:27:40Z';
  const there = `there are snapshots from ${iso(FIRST_T)} to ${iso(LAST_T)}`;
  const old = `there are snapshots from ${iso(OLD_T)} to ${iso(OLD_T)}`;
  const none = 'the server has no depth of this token';
  it.each([
    ['an empty window, with what there is', MINT, EMPTY, `${MINT} ${window}; ${there}`],
    ['one of a leg', LEG, EMPTY, `${LEG} ${window}; ${there}`],
    ['a token without depth', BARE_MINT, EMPTY, `${BARE_MINT} ${window}; ${none}`],
    ['a token with snapshots too old', OLD_MINT, EMPTY, `${OLD_MINT} ${window}; ${old}`],
    ['an unknown token', UNKNOWN_MINT, EMPTY, `${UNKNOWN_MINT} ${window}; ${none}`],
    [
      'venues of which none has depth, and names those that have',
      MINT,
      [...LATE, '--venues', 'Nowhere,binanse'],
      /^--venues: no depth of nowhere, binanse on \w+ in the window; venues with depth: .*orca/,
    ],
    [
      '--types that leave no cell',
      MINT,
      [...LATE, '--types', 'cex_perp', '--venues', 'orca'],
      /^--types, --venues: no cell of \w+ in the window passes; venues with depth: .*orca.*; types: .*onchain_pool/,
    ],
    [
      'a band that leaves no cell',
      MINT,
      [...LATE, '--min-pct', '700', '--max-pct', '701', '--group', 'all'],
      /^--min-pct, --max-pct: no cell .*; no venue has any from 700 to 701 percent of the price$/,
    ],
  ])('refuses %s, and leaves no file', async (_, address, words, reason) => {
    for (const format of ['json', 'ndjson', 'csv', 'arrow', 'parquet']) {
      const out = path.join(temporaryDirectory(), `refused.${format}`);
      const env = { FATHOM_KEY: market.key, FATHOM_URL: market.server.url };
      const { error, document } = await replayHere([address, '--out', out, ...words], env);
      if (typeof reason === 'string') expect(error?.message).toBe(`no snapshot of ${reason}`);
      else expect(error?.message).toMatch(reason);
      expect(document).toBeNull();
      expect(readdirSync(path.dirname(out))).toEqual([]);
    }
  });
});
