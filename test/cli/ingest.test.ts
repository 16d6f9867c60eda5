/** What `fathom ingest` prints, and its exit status. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { command } from '../../server/cli/commands/ingest.js';
import { UsageError } from '../../storage/errors.js';
import { digestOf, fathom, fathomProcess, newKey, serveHere } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import type { Ended } from '../support/processes.js';
import type { Json } from '../support/tables.js';
import { becomes } from '../support/waiting.js';

const MINT = 'So11111111111111111111111111111111111111112';
const T = 1_794_000_000;

const directory = temporaryDirectory();
const data = path.join(directory, 'data');

const row = (t: number, price: unknown = 2) =>
  `${JSON.stringify({
    chain: 'mainchain',
    address: MINT,
    t,
    price_usd: price,
    markets: [
      {
        source: 'Kraken',
        exchange_type: 'CEX',
        cells: [
          [0, 5, 0],
          [300, 1, 1],
        ],
      },
    ],
  })}\n`;

function file(name: string, contents: string): string {
  const place = path.join(directory, name);
  writeFileSync(place, contents);
  return place;
}
const good = file('good.ndjson', row(T) + row(T + 60));
const better = file('better.ndjson', row(T + 120));
const bad = file('bad.ndjson', row(T + 180) + row(T + 240, 'two') + row(T + 300, null));

/** The single JSON document that a command prints. */
function documentOf({ stdout }: Ended): Json {
  expect(stdout.endsWith('}\n')).toBe(true);
  expect(stdout.trim().split('\n')).toHaveLength(1);
  return JSON.parse(stdout) as Json;
}

/** Nothing unreadable for people: no stack, no object. */
function expectWords({ stderr }: Ended): void {
  expect(stderr).not.toMatch(/^\s+at /m);
  expect(stderr).not.toMatch(/node:internal|\[object|undefined|UnhandledPromise/);
}

describe('several files', () => {
  let ended: Ended;
  beforeAll(async () => {
    ended = await fathom([
      'ingest',
      'snapshots',
      good,
      better,
      bad,
      good,
      '--data',
      data,
      '--json',
    ]);
  });

  it('are committed one by one until one is refused', () => {
    expect(ended.status).toBe(1);
    const faults = [
      `${bad}:2: price_usd: must be a number > 0: it is "two"`,
      `${bad}:3: price_usd: must be a number > 0: it is null`,
    ];
    expect(documentOf(ended)).toEqual({
      dataset: 'snapshots',
      files: [
        {
          file: good,
          rows: 2,
          snapshots: 2,
          cells: 2,
          dropped_levels: 2,
          warnings: [],
          ...fresh,
          ...timed,
        },
        {
          file: better,
          rows: 1,
          snapshots: 1,
          cells: 1,
          dropped_levels: 1,
          warnings: [],
          ...fresh,
          ...timed,
        },
      ],
      error: [...faults, `${bad}: nothing was stored: 2 faults`].join('\n'),
      faults,
      fault_count: 2,
      reading_stopped: false,
    });
  });

  it('are reported on stderr, with faults unchanged', () => {
    const lines = ended.stderr.trim().split('\n');
    expect(lines).toHaveLength(5);
    expect(lines[0]).toMatch(
      /good\.ndjson: 2 rows, 2 snapshots, 2 cells \([\d,]+ cells\/s\), 2 levels outside the ladder in \d+\.\d s$/,
    );
    expect(lines.slice(2)).toEqual([
      `${bad}:2: price_usd: must be a number > 0: it is "two"`,
      `${bad}:3: price_usd: must be a number > 0: it is null`,
      `${bad}: nothing was stored: 2 faults`,
    ]);
  });

  it('leave only the earlier ones in the store', async () => {
    const key = await newKey(data);
    const server = await serveHere(data, ['--as-of', String(T + 600)]);
    const times = async () => {
      const response = await server.get(`/replay/${MINT}?group=all`, key);
      return ((await response.json()) as Json).snapshots.map(({ t }: Json) => t - T);
    };
    expect(await times()).toEqual([0, 60, 120]);
    // The server keeps the store open now, and shows the result of a command within a second.
    const later = file('later.ndjson', row(T + 400) + row(T + 60));
    const words = ['ingest', 'snapshots', later, '--data', data, '--json'];
    // The server counts calls in the log beside it.
    const database = path.join(data, 'fathom.duckdb');
    const before = digestOf(database);
    const rehearsed = await fathom([...words, '--dry-run']);
    expect(rehearsed.stderr).toMatch(/^dry run, nothing stored: .*later\.ndjson: 2 rows, /);
    expect(documentOf(rehearsed)).toMatchObject({
      files: [{ snapshots: 2, replaced: { snapshots: 1, cells_before: 1, cells_after: 1 } }],
      dry_run: true,
    });
    expect((await fathom(['ingest', 'snapshots', bad, '--data', data, '--dry-run'])).status).toBe(
      1,
    );
    expect(digestOf(database)).toBe(before);
    expect(await times()).toEqual([0, 60, 120]);
    const [done, refused] = [
      await fathomProcess(['ingest', 'snapshots', '-', '--format', 'ndjson', '--data', data], {
        input: readFileSync(later),
      }),
      await fathom(['ingest', 'snapshots', bad, '--data', data]),
    ];
    expect([done.status, done.stdout, refused.status, refused.stdout]).toEqual([0, '', 1, '']);
    expect(refused.stderr).toBe(`${documentOf(ended).error}\n`);
    await becomes(times, [0, 60, 120, 400]);
    await server.stop();
  });
});

it('the report of holders counts their snapshots, which have no cells', async () => {
  const holder = { token_address: MINT, t: T, owner: MINT, balance: 1 };
  const holders = file('holders.ndjson', `${JSON.stringify(holder)}\n`);
  const words = ['ingest', 'holders', holders, '--data', path.join(directory, 'holders')];
  const { status, stderr } = await fathom([...words, '--dry-run']);
  expect(status).toBe(0);
  expect(stderr).toMatch(/holders\.ndjson: 1 row, 1 snapshot in \d+\.\d s$/m);
});

const fresh = { replaced: { snapshots: 0, cells_before: 0, cells_after: 0 } };
const timed = { seconds: expect.any(Number), cells_per_second: expect.any(Number) };

describe('wrong usage', () => {
  const wrong: [string[], RegExp][] = [
    [[], /^DATASET: expected one of tokens, /],
    [['snapshots'], /^FILE: expected at least one$/],
    [['prices', good], /^DATASET: expected one of tokens, .*, not prices$/],
    [['snapshot', good], /^DATASET: .*, not snapshot; did you mean snapshots\?$/],
    [['snapshots', good, '--format', 'xml'], /^--format: expected one of .*, not xml$/],
    [['snapshots', '-'], /^--format: standard input needs it, one of ndjson, csv, /],
    [['snapshots', '-', '-', '--format', 'ndjson'], /^-: standard input can be read once$/],
    [['snapshots', 'x.csv'], /^x\.csv: snapshots are nested and cannot be read from CSV/],
    [['cells', 'x.txt'], /^x\.txt: the ending names no format/],
    [['cells', 'x.parquet.gz'], /^x\.parquet\.gz: the ending names no format/],
    [['snapshots', 'x.ndjson', '--format', 'csv'], /nested and cannot be read from CSV/],
  ];

  it.each(wrong)('%j is reported', async (words, expected) => {
    const error = await command
      .run([...words, '--data', path.join(directory, 'untouched')])
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(UsageError);
    expect((error as Error).message).toMatch(expected);
  });

  it('exits with status 2, and with --json as JSON', async () => {
    const untouched = path.join(directory, 'untouched');
    const ended = await fathom([
      'ingest',
      'tokens',
      good,
      '--merge',
      '--json',
      '--data',
      untouched,
    ]);
    expect(ended.status).toBe(2);
    const error = '--merge applies to snapshots, cells and levels, not to tokens';
    expect(documentOf(ended)).toEqual({ error });
    expect(ended.stderr).toBe(`fathom: ${error}\nSee fathom help ingest\n`);
    expectWords(ended);
    expect(existsSync(untouched)).toBe(false);
  });
});

describe('a path that is not a data directory', () => {
  it('is reported plainly, before the file is read', async () => {
    const ended = await fathom(['ingest', 'snapshots', better, '--data', good, '--json']);
    expect(ended.status).toBe(1);
    expect(documentOf(ended)).toMatchObject({ dataset: 'snapshots', files: [] });
    expect(ended.stderr).toBe(`${good}: expected a directory, found a file\n`);
    const below = command.run(['snapshots', better, '--data', path.join(good, 'below')]);
    await expect(below).rejects.toMatchObject({
      cause: { message: `${path.join(good, 'below')}: its parent is a file` },
    });
  });
});
