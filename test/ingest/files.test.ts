/** Files that cannot be read, or not in the requested way. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { InputError } from '../../storage/errors.js';
import type { Dataset, FileFormat } from '../../storage/ingest/datasets.js';
import {
  cells,
  csv,
  faultsOf,
  ingest,
  lines,
  MINT,
  readJson,
  Scratch,
  snapshot,
  storedSnapshots,
} from '../support/ingest.js';
import { writeCellsArrow } from '../support/tables.js';

const T = 1_794_000_000;

const scratch = Scratch.held();
const { data, directory } = scratch;
const file = scratch.file.bind(scratch);
const parquet = scratch.parquet.bind(scratch);
const messagesOf = scratch.faultsOf.bind(scratch);

let before: unknown;

beforeAll(async () => {
  await ingest(data, 'snapshots', [file('.ndjson', lines([snapshot(T - 600)]))]);
  before = await storedSnapshots(data, 'mainchain', MINT);
});
afterAll(async () => {
  // None of the refused files has left anything behind.
  expect(await storedSnapshots(data, 'mainchain', MINT)).toEqual(before);
});

describe('files', () => {
  it('that are missing, not files, or empty', async () => {
    const none = path.join(directory, 'none.parquet');
    for (const name of [none, path.join(directory, 'none.ndjson'), `${none}/x.arrow`]) {
      expect(await faultsOf(data, 'cells', name)).toEqual([`${name}: no such file`]);
    }
    for (const ending of ['.csv', '.parquet', '.arrow', '.ndjson']) {
      const folder = path.join(directory, `folder${ending}`);
      mkdirSync(folder);
      expect(await faultsOf(data, 'cells', folder)).toEqual([
        `${folder}: expected a file, found a directory`,
      ]);
    }
    expect(await messagesOf('cells', file('.csv', ''))).toEqual([
      '1: expected a header, found nothing',
    ]);
    expect(await messagesOf('cells', file('.csv.gz', ''))).toEqual([
      ' gzip: the file is cut short',
    ]);
    expect((await messagesOf('cells', file('.parquet', '')))[0]).toMatch(
      /^ not a readable Parquet file \(.+\)$/,
    );
    expect((await messagesOf('cells', file('.arrow', '')))[0]).toMatch(
      /^ not a readable Arrow file \(.+\)$/,
    );
    // A file without rows is valid if nothing else is required.
    expect(await ingest(data, 'cells', [file('.ndjson', '\n')])).toMatchObject([{ rows: 0 }]);
  });

  it('that are cut short are refused wherever they are cut', async () => {
    const rows = Array.from({ length: 400 }, (_, i) => cells(T + i)).flat();
    const source = file('.ndjson', lines(rows));
    const gz = gzipSync(readFileSync(source));
    const columnar = readFileSync(await parquet(`SELECT * FROM ${readJson(source)}`));
    const arrow = path.join(directory, 'whole.arrow');
    writeCellsArrow(arrow, rows, { form: 'file', dictionary: true, t: 'int32' });
    const stream = path.join(directory, 'whole.arrows');
    writeCellsArrow(stream, rows, { form: 'stream', dictionary: true, t: 'int32' });
    const whole: [string, Uint8Array, RegExp][] = [
      ['.ndjson.gz', gz, /^ gzip: the file is cut short$/],
      ['.parquet', columnar, /^ not a readable Parquet file \(.+\)$/],
      ['.arrow', readFileSync(arrow), /^ not a readable Arrow file \(.+\)$/],
      ['.arrows', readFileSync(stream), /^ not a readable Arrow file \(.+\)$/],
    ];
    for (const [ending, bytes, expected] of whole) {
      for (const share of [0.01, 0.3, 0.6, 0.9, 0.99]) {
        const name = file(ending, bytes.subarray(0, Math.floor(bytes.length * share)));
        const faults = await messagesOf('cells', name);
        expect([ending, share, faults.length]).toEqual([ending, share, 1]);
        expect(faults[0]).toMatch(expected);
      }
    }
  });

  it('that are Arrow streams must end like one', async () => {
    const stream = path.join(directory, 'ended.arrows');
    writeCellsArrow(stream, cells(T), { form: 'stream', dictionary: true, t: 'int32' });
    const name = file('.arrows', readFileSync(stream).subarray(0, -8));
    expect(await messagesOf('cells', name)).toEqual([
      ' not a readable Arrow file (it is cut short)',
    ]);
  });

  it('that are damaged or of another kind are refused', async () => {
    const text = lines(cells(T));
    const gz = gzipSync(text);
    gz[gz.length - 6] ^= 0xff;
    expect(await messagesOf('cells', file('.ndjson.gz', gz))).toEqual([
      ' gzip: the file is damaged',
    ]);
    expect((await messagesOf('cells', file('.parquet', text)))[0]).toMatch(
      /^ not a readable Parquet file/,
    );
    expect((await messagesOf('cells', file('.arrow', text)))[0]).toMatch(
      /^ not a readable Arrow file/,
    );
    expect(await messagesOf('cells', file('.arrow', `ARROW1\0\0${'x'.repeat(1000)}`))).toEqual([
      ' not a readable Arrow file (it is damaged)',
    ]);
    const arrow = path.join(directory, 'other.arrow');
    writeCellsArrow(arrow, cells(T), { form: 'file', dictionary: true, t: 'int32' });
    expect((await messagesOf('cells', arrow, { format: 'parquet' }))[0]).toMatch(
      /^ not a readable Parquet file/,
    );
  });

  it('that are Arrow are refused if their index names another message, or a batch more rows than it has', async () => {
    const arrow = path.join(directory, 'index.arrow');
    writeCellsArrow(arrow, cells(T), { form: 'file', dictionary: true, t: 'int32' });
    const whole = readFileSync(arrow);
    const aligned = Array.from({ length: (whole.length >> 3) - 1 }, (_, i) => 8 * i);
    const places = aligned.filter((at) => whole.readInt32LE(at) === -1);
    const [batch, dictionary] = [places.at(-2) ?? 0, places[1]];
    const footer = whole.length - 10 - whole.readInt32LE(whole.length - 10);
    const damaged = (from: number, to: number, was: number, is: number): Buffer => {
      const bytes = Buffer.from(whole);
      for (let at = from; at < to; at += 4) {
        if (whole.readBigInt64LE(at) === BigInt(was)) bytes.writeBigInt64LE(BigInt(is), at);
      }
      expect(bytes.equals(whole)).toBe(false);
      return bytes;
    };
    for (const bytes of [
      damaged(footer, whole.length - 18, batch, dictionary),
      damaged(batch, batch + 8 + whole.readInt32LE(batch + 4), 3, 100_000_000),
    ]) {
      expect((await messagesOf('cells', file('.arrow', bytes)))[0]).toMatch(
        /^ not a readable Arrow file/,
      );
    }
  });

  it('with wildcards or folders like columns in their names are exactly those files', async () => {
    const folder = path.join(directory, 'chain=evmchain');
    mkdirSync(folder);
    const source = file('.ndjson', lines(cells(T + 5000)));
    const plain = await parquet(`SELECT * FROM ${readJson(source)}`);
    const target = path.join(directory, 'wild');
    for (const name of [path.join(folder, 'a.parquet'), `${directory}/[ab]*?.parquet`]) {
      writeFileSync(name, readFileSync(plain));
      const [report] = await ingest(target, 'cells', [name]);
      expect(report).toMatchObject({ rows: 3, snapshots: 1, cells: 3 });
    }
    expect(await storedSnapshots(target, 'mainchain', MINT)).toHaveLength(1);
    const missing = `${directory}/[ab]*.parquet`;
    expect(await faultsOf(target, 'cells', missing)).toEqual([`${missing}: no such file`]);
  });

  it('that are refused leave no store behind, nor folders created for one', async () => {
    const legs = [MINT, 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'].map((address) => ({
      chain: 'mainchain',
      address,
      asset: 'one',
    }));
    const refused: [Dataset, string, { merge?: boolean }][] = [
      ['snapshots', file('.ndjson', lines([{ ...snapshot(T), price_usd: 0 }])), {}],
      // A merge first requests prices from the store.
      ['snapshots', file('.ndjson', lines([{ ...snapshot(T), price_usd: 0 }])), { merge: true }],
      ['tokens', file('.csv', 'chain\nmainchain\n'), {}],
      // The store refuses this one when it is committed.
      ['tokens', file('.ndjson', lines(legs)), {}],
    ];
    const parent = path.join(directory, 'parent');
    const there = path.join(directory, 'there');
    mkdirSync(there);
    for (const [dataset, name, options] of refused) {
      for (const target of [path.join(parent, 'made', 'data'), there]) {
        await expect(ingest(target, dataset, [name], options)).rejects.toThrow(InputError);
        expect([existsSync(parent), readdirSync(there)]).toEqual([false, []]);
      }
    }
    await ingest(there, 'tokens', [file('.ndjson', lines(legs.slice(1)))]);
    await expect(ingest(there, 'tokens', [file('.ndjson', lines(legs))])).rejects.toThrow('two');
    expect(readdirSync(there)).toContain('fathom.duckdb');
  });

  it('may be pipes, unless they must be read twice', async () => {
    const target = path.join(directory, 'piped');
    const pipe = path.join(directory, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const format = { format: 'ndjson' } as const;
    const merged = { ...format, merge: true };
    expect(await faultsOf(target, 'cells', pipe, merged)).toEqual([
      `${pipe}: --merge reads a file twice, which this one does not allow`,
    ]);
    const [reports] = await Promise.all([
      ingest(target, 'cells', [pipe], format),
      writeFile(pipe, lines(cells(T))),
    ]);
    expect(reports).toMatchObject([{ rows: 3, cells: 3 }]);
  });

  it('may be standard input, in every format, even if it is read twice', async () => {
    const rows = cells(T);
    const whole = lines(rows);
    const arrow = path.join(directory, 'piped.arrow');
    writeCellsArrow(arrow, rows, { form: 'file', dictionary: true, t: 'int32' });
    const inputs: [FileFormat, Uint8Array, boolean?][] = [
      ['ndjson', Buffer.from(whole)],
      ['ndjson', Buffer.from(whole), true],
      ['ndjson', gzipSync(whole)],
      ['csv', Buffer.from(csv(rows))],
      ['parquet', readFileSync(await parquet(`FROM ${readJson(file('.ndjson', whole))}`))],
      ['arrow', readFileSync(arrow)],
    ];
    const stdin = vi.spyOn(process, 'stdin', 'get');
    for (const [i, [format, bytes, merge = false]] of inputs.entries()) {
      const target = path.join(directory, `stdin-${i}`);
      stdin.mockReturnValue(Readable.from([bytes.subarray(0, 7), bytes.subarray(7)]) as never);
      const reports = await ingest(target, 'cells', ['-'], { format, merge });
      expect([format, reports]).toMatchObject([format, [{ file: '-', rows: 3, cells: 3 }]]);
      expect(await storedSnapshots(target, 'mainchain', MINT)).toMatchObject([{ t: T }]);
      expect(readdirSync(path.join(target, 'staging'))).toEqual([]);
    }
    const faulty = Buffer.from(lines([{ ...rows[0], price_usd: 0 }]));
    stdin.mockReturnValue(Readable.from([faulty]) as never);
    const faults = await faultsOf(data, 'cells', '-', { format: 'ndjson' });
    expect(faults).toEqual(['-:1: price_usd: must be a number > 0: it is 0']);
    stdin.mockReturnValue(Readable.from([faulty]) as never);
    const target = path.join(directory, 'stdin-refused');
    await expect(ingest(target, 'cells', ['-'], { format: 'ndjson' })).rejects.toThrow(InputError);
    expect(existsSync(target)).toBe(false);
    stdin.mockReturnValue(Readable.from([gzipSync(whole).subarray(0, 20)]) as never);
    expect(await faultsOf(data, 'cells', '-', { format: 'ndjson' })).toEqual([
      '-: gzip: the file is cut short',
    ]);
    stdin.mockRestore();
  });

  it('are read as --format says, whatever their ending', async () => {
    const target = path.join(directory, 'overridden');
    const rows = lines(cells(T));
    const name = file('.txt', rows);
    expect(await ingest(target, 'cells', [name], { format: 'ndjson' })).toMatchObject([
      { cells: 3 },
    ]);
    const named = file('.parquet', csv(cells(T)));
    expect(await ingest(target, 'cells', [named], { format: 'csv' })).toMatchObject([{ cells: 3 }]);
  });
});
