/** A large file, in a measured process, and large snapshots. */
import { truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { readJsonObject } from '../../storage/import/json-documents.js';
import { SymbolAddresses } from '../../storage/ingest/symbol-addresses.js';
import { fathomProcess } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import { duckdb, faultsOf, ingest, lines, MINT } from '../support/ingest.js';
import { wideCells, writeCellsArrow } from '../support/tables.js';

const T = 1_794_000_000;
const directory = temporaryDirectory();
const file = (name: string) => path.join(directory, name);

describe('a snapshot', () => {
  it('may be larger than a chunk', async () => {
    const rows = [
      ...wideCells(MINT, T, 2),
      ...wideCells(MINT, T + 1, 230),
      ...wideCells(MINT, T + 2, 2),
    ];
    writeFileSync(file('wide.ndjson'), lines(rows));
    writeCellsArrow(file('wide.arrow'), rows, { form: 'file', dictionary: false, t: 'int32' });
    for (const name of ['wide.ndjson', 'wide.arrow']) {
      const [report] = await ingest(file(`data-${name}`), 'cells', [file(name)]);
      expect(report).toMatchObject({ snapshots: 3, cells: rows.length });
    }
  });

  it('is refused if it exceeds the limits of a snapshot', async () => {
    writeFileSync(file('full.ndjson'), lines(wideCells(MINT, T, 690)));
    expect(await faultsOf(file('data-full'), 'cells', file('full.ndjson'))).toEqual([
      `${file('full.ndjson')}:1: bin: a snapshot holds at most 100000 cells`,
    ]);
  });
});

describe('nested rows of Parquet, of which 2,048 are read at once', () => {
  const write = (name: string, market: string): Promise<unknown> =>
    duckdb(
      `COPY (SELECT 'mainchain' AS chain, '${MINT}' AS address, ${T} + t AS t, 1.0 AS price_usd,
         [{'source': 'Kraken', 'exchange_type': 'CEX', ${market}}] AS markets
       FROM range(2048) r(t)) TO '${name}' (FORMAT parquet)`,
    );

  it('may be books of 1,000 levels', async () => {
    const side = (sign: number): string =>
      `list_transform(range(500), lambda i: [round(1 + ${sign} * (i + 1) * 0.0001, 4), (t % 97 + i)::DOUBLE])`;
    await write(file('books.parquet'), `'book': {'bids': ${side(-1)}, 'asks': ${side(1)}}`);
    const [report] = await ingest(file('data-books'), 'snapshots', [file('books.parquet')]);
    expect(report).toMatchObject({ rows: 2048, snapshots: 2048 });
  });

  it('are refused with what to do if they take too much memory', async () => {
    await write(file('texts.parquet'), `'pair': repeat('x', 700000), 'cells': [[0, 1.5, 2]]`);
    await expect(ingest(file('data-texts'), 'snapshots', [file('texts.parquet')])).rejects.toThrow(
      `${file('texts.parquet')}: 1024 MiB are too little to read it: write it with fewer rows in each row group, or as NDJSON`,
    );
  });
});

describe('a large file', () => {
  /** Peak memory of the command, in MiB. */
  const MAX_RSS_MIB = 700;

  it('is read with bounded memory', async () => {
    const many = 750_000;
    const name = file('many.ndjson');
    await duckdb(
      `COPY (SELECT 'mainchain' AS chain, '${MINT}' AS address, ${T} + (i // 500) AS t, 2.0 AS price_usd,
         'Venue ' || ((i % 500) // 100) AS source, 'DEX' AS exchange_type, 'A/B' AS pair,
         i % 100 - 50 AS bin, 10 + i % 977 AS support_usd, i % 13 AS resistance_usd
       FROM range(${many}) r(i)) TO '${name}' (FORMAT json)`,
    );
    const hook = file('peak.mjs');
    writeFileSync(
      hook,
      // A thread for each core: the bound is for two.
      `import os from 'node:os';
import { syncBuiltinESMExports } from 'node:module';
os.availableParallelism = () => 2;
syncBuiltinESMExports();
process.on('exit', () => process.stderr.write('peak ' + process.resourceUsage().maxRSS + '\\n'));`,
    );
    const ended = await fathomProcess(['ingest', 'cells', name, '--data', file('many'), '--json'], {
      env: { NODE_OPTIONS: `--import ${hook}` },
    });
    expect(ended.status).toBe(0);
    expect(JSON.parse(ended.stdout)).toMatchObject({ files: [{ cells: many, snapshots: 1500 }] });
    const peak = Number(/peak (\d+)/.exec(ended.stderr)?.[1]) / 1024;
    expect(peak).toBeGreaterThan(50);
    expect(peak).toBeLessThan(MAX_RSS_MIB);
  });
});

it('a file names at most a million symbols', async () => {
  const symbols = new SymbolAddresses('s', '', () => Promise.resolve([]));
  const named = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, i) => ({ line: 1, row: { s: `s${from + i}` } }));
  await symbols.learn(named(0, 600_000));
  await symbols.learn(named(500_000, 1_000_000));
  await expect(symbols.learn(named(999_999, 1_000_001))).rejects.toThrow(
    '--token-column s: a file has at most 1000000 symbols',
  );
});

it('a token list that is too large to be parsed is refused by its size', async () => {
  const list = file('list.json');
  writeFileSync(list, '{');
  truncateSync(list, 256 * 2 ** 20);
  // It is read, and the zeros after its bracket are not JSON.
  await expect(readJsonObject(list)).rejects.toThrow('expected a JSON document');
  truncateSync(list, 256 * 2 ** 20 + 1);
  await expect(readJsonObject(list)).rejects.toThrow(`${list}: the file is larger than 256 MiB`);
});
