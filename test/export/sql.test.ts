import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { MEASURED_ROWS, tableFormat } from '../../server/cli/query-formats.js';
import { AS_OF, FIRST_T, MINT, startMarket, type Market } from '../cli/replay-client-support.js';
import { fathom, fathomProcess } from '../support/cli.js';
import type { Json } from '../support/conformance.js';
import { documentNamed, shellLines } from '../docs/documents.js';
import { temporaryDirectory } from '../support/folders.js';
import { rowsOf } from './exports.js';

let market: Market;
let out: string;
beforeAll(async () => {
  market = await startMarket();
  out = path.join(temporaryDirectory(), 'export');
  const words = ['export', '--data', market.data, '--out', out, '--dataset', 'cells'];
  expect(await fathom(words)).toMatchObject({ status: 0 });
});

const asked = (sql: string, ...flags: string[]) => fathom(['sql', sql, '--export', out, ...flags]);
const answer = async (sql: string, ...flags: string[]) => {
  const { status, stdout, stderr } = await asked(sql, ...flags);
  expect({ status, stderr }).toMatchObject({ status: 0 });
  return stdout;
};
const refusal = async (sql: string, ...flags: string[]) => {
  const { status, stdout, stderr } = await asked(sql, ...flags);
  expect(status).toBe(1);
  expect(stdout).toBe('');
  return stderr;
};

describe('fathom sql', () => {
  it('answers in every format', async () => {
    const sql = `SELECT 'a,"b"' AS x, 1.5 AS y, NULL AS z, [1, 2] AS l, true AS b, 'nan'::DOUBLE AS n, '' AS e`;
    expect(await answer(sql, '--format', 'csv')).toBe(
      'x,y,z,l,b,n,e\n"a,""b""",1.5,,"[1,2]",true,nan,""\n',
    );
    expect(JSON.parse(await answer(sql, '--format', 'json'))).toEqual([
      { x: 'a,"b"', y: 1.5, z: null, l: [1, 2], b: true, n: null, e: '' },
    ]);
    expect(await answer('SELECT 1 AS one, 2 AS one WHERE false', '--format', 'json')).toBe('[]\n');
    expect(await answer(sql)).toBe(
      [
        'x        y     z  l      b       n  e',
        '-----  ---  ----  -----  ----  ---  -',
        'a,"b"  1.5  NULL  [1,2]  true  nan',
        '',
      ].join('\n'),
    );
  });

  it('is valid JSON with numbers that JSON lacks, at any depth', async () => {
    const sql = `SELECT [1.5, 'nan'::DOUBLE] AS l, {'NaN': 'Infinity, "NaN', 'x': ['-inf'::FLOAT, 'inf'::DOUBLE]} AS s`;
    expect(JSON.parse(await answer(sql, '--format', 'json'))).toEqual([
      { l: [1.5, null], s: { NaN: 'Infinity, "NaN', x: [null, null] } },
    ]);
  });

  it('takes comments and semicolons at the end, and leaves those in texts', async () => {
    for (const [sql, x] of [
      ['SELECT 1 AS x; -- end', 1],
      ['SELECT 2 AS x /* a */ ; ; /* b\n; */ -- c', 2],
      ["SELECT 'a; -- b' AS x", 'a; -- b'],
      ["SELECT E'it\\'s; -- b' AS x; -- c", "it's; -- b"],
      ['SELECT $$a; /* b$$ AS x -- */', 'a; /* b'],
      ['/* -- */ SELECT 3 AS "x" -- it\'s', 3],
      ['-- a = b\n--c\nSELECT 4 AS x', 4],
      ['--x\n(SELECT 5 AS x)', 5],
      ['(SELECT 6 AS x)', 6],
      ['WITH y AS (SELECT 7 AS x) FROM y', 7],
      ['FROM (VALUES (8)) AS y(x)', 8],
    ] as const) {
      expect(JSON.parse(await answer(sql, '--format', 'json'))).toEqual([{ x }]);
    }
  });

  it('tells a query that begins with a comment from flags, wherever it stands', async () => {
    const ended = { status: 0, stdout: 'x\n1\n' };
    const sql = '-- --format json\nSELECT 1 AS x';
    const format = ['--format', 'csv'];
    expect(await fathom(['sql', ...format, sql, '--export', out])).toMatchObject(ended);
    expect(await fathom(['sql', ...format, '--export', out, '--', sql])).toMatchObject(ended);
    expect(await fathom(['sql', '--expor\nt', ...format, sql, '--export', out])).toMatchObject({
      status: 2,
    });
  });

  it('knows a dataset without files as one that the export lacks', async () => {
    mkdirSync(path.join(out, 'dca_orders'));
    expect(await answer('SELECT 1 AS x', '--format', 'csv')).toBe('x\n1\n');
    expect(await refusal('FROM dca_orders')).toContain('has no dca_orders');
    const here = ['--data', market.data, '--token', MINT];
    const { stderr } = await fathom(['sql', 'FROM dca_orders', ...here]);
    expect(stderr).toBe('SQL: there are no dca_orders of these tokens in this window\n');
  });

  it('shows the cells of the export, sorted as asked, with times in UTC', async () => {
    const sql = `SELECT t, bin, support_usd FROM cells WHERE address = '${MINT}' ORDER BY t DESC, source, bin`;
    const rows = JSON.parse(await answer(sql, '--format', 'json')) as Record<string, number>[];
    const expected = await rowsOf(
      out,
      'cells',
      't, bin, support_usd',
      MINT,
      'ORDER BY t DESC, source, bin',
    );
    expect(rows.map(({ t, bin, support_usd }) => [t, bin, support_usd])).toEqual(expected);
    const times = await answer(`SELECT min(timestamp) AS first FROM cells`, '--format', 'csv');
    expect(times).toMatch(/^first\n\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\+00\n$/);
  });

  it('answers the queries of docs/export.md as the server does', async () => {
    const document = documentNamed('docs/export.md');
    const steps = path.join(temporaryDirectory(), 'export');
    const words = ['--token', `mainchain:${MINT}`, '--step', '1h'];
    const ended = await fathom(['export', '--data', market.data, '--out', steps, ...words]);
    expect(ended).toMatchObject({ status: 0 });
    const ask = async (sql: string) => {
      const { stdout, stderr } = await fathom(['sql', sql, '--export', steps, '--format', 'json']);
      expect(stderr).toBe('');
      return JSON.parse(stdout) as Json[];
    };
    const window = `from=${FIRST_T}&to=${AS_OF}&step=1h`;

    const recipe = document.blocks.find(({ text }) => text.includes('LEFT JOIN cells'))!;
    const points = await ask(recipe.text);
    const series = (await (
      await market.server.get(`/depth-series/${MINT}?${window}&pct=2`, market.key)
    ).json()) as Json;
    const shown = points.filter(({ t }) => (series.t as number[]).includes(t as number));
    expect(shown.length).toBeGreaterThan(2);
    expect(shown.map(({ t }) => t)).toEqual(series.t);
    expect(shown.map(({ snapshot_t }) => snapshot_t)).toEqual(series.snapshot_t);
    for (const side of ['support_usd', 'resistance_usd']) {
      const sums = series[side][0] as number[];
      expect(Math.max(...sums)).toBeGreaterThan(0);
      shown.forEach((point, i) => expect(point[side]).toBeCloseTo(sums[i], 2));
    }

    const line = shellLines(document).find((one) => one.startsWith('fathom sql'))!;
    const bySource = await ask(/"(.*)"/.exec(line)![1]);
    const { snapshots, markets } = (await (
      await market.server.get(`/replay/${MINT}?${window}`, market.key)
    ).json()) as Json;
    const expected: Record<string, number> = {};
    for (const { bin, market_idx, support_usd } of snapshots as Json[]) {
      (bin as number[]).forEach((one, i) => {
        const { source, type } = markets[market_idx[i]] as Record<string, string>;
        if (one !== -2 || type === 'cex_perp') return;
        expected[source] = (expected[source] ?? 0) + (support_usd[i] as number);
      });
    }
    expect(Object.keys(expected).length).toBeGreaterThan(0);
    expect(bySource.map(({ source, usd }) => [source, usd]).sort()).toEqual(
      Object.entries(expected)
        .map(([source, usd]) => [source, Math.round(usd / (snapshots as Json[]).length)])
        .sort(),
    );
  });

  it('writes Parquet', async () => {
    const sql = 'SELECT t, bin FROM cells LIMIT 7';
    const ended = await fathomProcess(['sql', sql, '--export', out, '--format', 'parquet']);
    expect(ended.status).toBe(0);
    expect(ended.stdout.startsWith('PAR1')).toBe(true);
    expect(ended.stdout.endsWith('PAR1')).toBe(true);
  });

  it('names the place of a fault', async () => {
    expect(await refusal('SELECT bins FROM cells')).toMatch(
      /^SQL: Binder Error: Referenced column "bins" not found[^]*LINE 1: SELECT bins FROM cells\n {15}\^/,
    );
    expect(await refusal('SELEC 1')).toContain(
      'SQL: Parser Error: syntax error at or near "SELEC"',
    );
    expect(await refusal(' ; -- nothing')).toBe('SQL: expected a query\n');
    expect(await refusal(`SELECT 'x'::INTEGER FROM cells`)).toContain('SQL: Conversion Error');
    expect(await refusal('FROM snapshots')).toBe(
      `SQL: ${out} has no snapshots: fathom export --out ${out} --dataset snapshots adds those that the store has\n`,
    );
  });

  it('only reads, and only the export', async () => {
    const secret = path.join(temporaryDirectory(), 'secret.csv');
    writeFileSync(secret, 'a\n1\n');
    const before = readdirSync(out, { recursive: true }).sort();
    for (const sql of [
      `COPY cells TO '${path.join(out, 'mine.csv')}'`,
      `/* x */ copy (SELECT 1) TO '${path.join(out, 'mine.csv')}'`,
      'CREATE TABLE x (a INTEGER)',
      'SET threads = 1',
      'SELECT 1; SELECT 2',
      `ATTACH '${path.join(market.data, 'fathom.duckdb')}' AS store`,
      'DROP VIEW cells',
    ]) {
      expect(await refusal(sql)).toContain('an export is only read');
    }
    const config = `storage = 'file', storage_config = {'path': '${out}'}`;
    const [{ x: serialized }] = JSON.parse(
      await answer(
        `SELECT json_serialize_sql('FROM enable_logging(${config.replaceAll("'", "''")})')::VARCHAR AS x`,
        '--format',
        'json',
      ),
    ) as [{ x: string }];
    for (const sql of [
      `FROM enable_logging(${config})`,
      `WITH a AS (FROM "ENABLE_logging" /* x */ (${config})) SELECT 1 FROM cells, a`,
      `SUMMARIZE FROM system.main.enable_logging(${config})`,
      `FROM query('FROM enable_' || 'logging(${config.replaceAll("'", "''")})')`,
      `FROM json_execute_serialized_sql('${serialized.replaceAll("'", "''")}')`,
      `SELECT (SELECT count(*) FROM checkpoint())`,
      `SELECT write_log('x')`,
    ]) {
      expect(await refusal(sql)).toContain('() is not allowed: an export is only read');
    }
    for (const file of [secret, path.join(market.data, 'fathom.duckdb'), '/etc/passwd']) {
      expect(await refusal(`SELECT * FROM read_blob('${file}')`)).toContain('Cannot access file');
    }
    expect(readdirSync(out, { recursive: true }).sort()).toEqual(before);
  });

  it('exports what the query needs of tokens and a window, and removes it', async () => {
    const here = ['--data', market.data, '--token', MINT, '--to', String(AS_OF)];
    const leftovers = () => readdirSync(tmpdir()).filter((name) => name.startsWith('fathom-sql-'));
    const before = leftovers();
    const count = async (...flags: string[]) => {
      const sql = 'SELECT count(*) AS n FROM snapshots';
      const ended = await fathom(['sql', sql, ...here, ...flags, '--format', 'json']);
      expect(ended).toMatchObject({ status: 0 });
      return JSON.parse(ended.stdout) as unknown;
    };
    const between = (fromS: number) =>
      market.rows.filter(({ t }) => t >= fromS && t < AS_OF).length;
    expect(await count('--from', String(FIRST_T))).toEqual([{ n: between(FIRST_T) }]);
    expect(await count()).toEqual([{ n: between(AS_OF - 86_400) }]);
    expect(leftovers()).toEqual(before);
  });

  it('refuses flags that contradict each other', async () => {
    const both = await fathom(['sql', 'FROM cells', '--export', out, '--token', MINT]);
    expect(both).toMatchObject({ status: 2 });
    expect(both.stderr).toContain('--export: expected without --token');
    expect((await fathom(['sql', 'FROM cells'])).stderr).toContain('or at least one --token');
    const other = temporaryDirectory();
    expect((await fathom(['sql', 'SELECT 1', '--export', other])).stderr).toBe(
      `--export: ${other} holds no export: expected a folder that fathom export wrote\n`,
    );
  });
});

describe('A table', () => {
  const columns = ['name', 'usd', 'note'].map((name, i) => {
    return { name, type: i === 1 ? 'DOUBLE' : 'VARCHAR' };
  });
  const rows = [
    ['Meteora DLMM and a long name', '12.5', 'a\u001b[2J'],
    ['x', null, 'a note that is also long'],
  ];
  const tableOf = (width: number | undefined) => {
    const format = tableFormat(columns, rows, width);
    return (format.begin() + format.rows(rows) + format.end()).split('\n').slice(0, -1);
  };

  it('fits into a terminal of any width', () => {
    for (let width = 1; width <= 100; width++) {
      const lines = tableOf(width).filter((line) => !line.startsWith('(too narrow'));
      if (width >= 6) for (const line of lines) expect(line.length).toBeLessThanOrEqual(width);
    }
    expect(tableOf(40)).toEqual([
      'name               usd  note',
      '----------------  ----  ----------------',
      'Meteora DLMM an…  12.5  a·[2J',
      'x                 NULL  a note that is …',
    ]);
    expect(tableOf(10).at(-1)).toBe(
      '(too narrow for usd, note: select fewer columns, or use --format csv)',
    );
  });

  it('cuts nothing elsewhere', () => {
    expect(tableOf(undefined)[3]).toBe(
      'x                             NULL  a note that is also long',
    );
    expect(MEASURED_ROWS).toBeGreaterThan(1);
  });
});
