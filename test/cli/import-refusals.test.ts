/** What a failed `fathom import` reports, and that it leaves nothing behind. */
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { fathom } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import type { Json } from '../support/tables.js';

const TOKEN = 'mainchain:So11111111111111111111111111111111111111112';
const HEADER = 'exchange,symbol,timestamp,local_timestamp,is_snapshot,side,price,amount';
const T_US = 1_700_000_000_500_000;

const directory = temporaryDirectory();

/** Imports rows of a Tardis file. */
function importRows(rows: string[], words: string[]) {
  const file = path.join(directory, 'book.csv');
  writeFileSync(file, [HEADER, ...rows].join('\n'));
  return fathom(['import', 'tardis-incremental-l2', file, '--token', TOKEN, ...words]);
}

const row = (symbol: string, side: string, price: number) =>
  `binance,${symbol},${T_US},${T_US},true,${side},${price},1`;
const book = (symbol: string) => [row(symbol, 'bid', 99), row(symbol, 'ask', 101)];
const cause =
  'nothing to import: the book is whole for 0 s (2023-11-14T22:13:20.500Z to 2023-11-14T22:13:20.500Z), ' +
  'which holds no multiple of the 60 s between snapshots: give a shorter --every';

describe('an import without rows', () => {
  it('fails with its cause and its report, and leaves no store behind', async () => {
    const made = path.join(directory, 'made');
    const ended = await importRows(book('X'), ['--data', path.join(made, 'data'), '--json']);
    expect([ended.status, ended.stderr]).toEqual([1, `${cause}\n`]);
    const report = JSON.parse(ended.stdout) as Json;
    expect(report).toMatchObject({
      format: 'tardis-incremental-l2',
      messages: 1,
      rows: 0,
      left_out: { count: 0, first: [] },
      error: cause,
    });
    expect(existsSync(made)).toBe(false);
  });

  it('creates no file', async () => {
    const out = path.join(directory, 'rows.ndjson');
    const ended = await importRows(book('X'), ['--out', out]);
    expect([ended.status, ended.stdout, ended.stderr]).toEqual([1, '', `${cause}\n`]);
    expect(readdirSync(directory)).toEqual(['book.csv']);
  });
});

describe('--out', () => {
  const later = book('X').map((line) => line.replaceAll(String(T_US), String(T_US + 3_000_000)));
  const whole = [...book('X'), ...later];
  const rowsOf = (text: string) => text.trim().split('\n').length;

  it('follows a link', async () => {
    const target = path.join(directory, 'target.ndjson');
    const link = path.join(directory, 'link.ndjson');
    writeFileSync(target, 'earlier');
    symlinkSync(target, link);
    const ended = await importRows(whole, ['--every', '1s', '--out', link]);
    expect([ended.status, ended.stderr]).toEqual([0, expect.stringContaining('wrote 3 rows to')]);
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(rowsOf(readFileSync(target, 'utf8'))).toBe(3);
    for (const made of [link, target]) rmSync(made);
  });

  it('writes into a pipe, which stays one', async () => {
    const pipe = path.join(directory, 'pipe');
    expect(spawnSync('mkfifo', [pipe]).status).toBe(0);
    const read = readFile(pipe, 'utf8');
    const ended = await importRows(whole, ['--every', '1s', '--out', pipe]);
    expect(ended.status).toBe(0);
    expect(rowsOf(await read)).toBe(3);
    expect(lstatSync(pipe).isFIFO()).toBe(true);
    rmSync(pipe);
  });
});

describe('a refused import', () => {
  it('says the fault after rows that it has begun to write, and leaves no file', async () => {
    const later = `binance,X,${T_US + 9_000_000},${T_US + 9_000_000},false,bid,,1`;
    const out = path.join(directory, 'rows.ndjson');
    const next = book('X').map((line) => line.replaceAll(String(T_US), String(T_US + 6_000_000)));
    const rows = [...book('X'), ...next, later];
    const ended = await importRows(rows, ['--every', '1s', '--out', out]);
    const fault = "book.csv:6: price: expected a number above 0, found ''";
    expect([ended.status, ended.stderr]).toEqual([1, `${path.join(directory, fault)}\n`]);
    expect(readdirSync(directory)).toEqual(['book.csv']);
  });

  it('never overwrites a file that it reads, and names a missing folder', async () => {
    const file = path.join(directory, 'book.csv');
    for (const out of [file, path.join(directory, '.', 'linked.csv')]) {
      if (out !== file) symlinkSync(file, out);
      const ended = await importRows(book('X'), ['--every', '1s', '--out', out]);
      expect([ended.status, ended.stderr.split('\n')[0]]).toEqual([
        2,
        `fathom: --out: ${out} is one of the files to read`,
      ]);
      expect(readFileSync(file, 'utf8')).toBe([HEADER, ...book('X')].join('\n'));
      if (out !== file) rmSync(out);
    }
    const nowhere = path.join(directory, 'nowhere');
    const ended = await importRows(book('X'), ['--out', path.join(nowhere, 'rows.ndjson')]);
    expect([ended.status, ended.stderr.split('\n')[0]]).toEqual([
      2,
      `fathom: --out: ${nowhere} is not a folder`,
    ]);
  });

  it('names the flag that would allow it, without a page of usage', async () => {
    const data = path.join(directory, 'data');
    const ended = await importRows([...book('X'), ...book('Y')], ['--data', data]);
    expect(ended.status).toBe(1);
    expect(ended.stderr).toBe(
      `${directory}/book.csv:4: the files hold several symbols (one import is one market): X, Y: choose one with --symbol\n`,
    );
    expect(existsSync(data)).toBe(false);
  });
});
