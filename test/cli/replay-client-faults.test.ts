import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { ReplayError } from '../../server/download/request.js';
import { UsageError } from '../../storage/errors.js';
import { temporaryDirectory } from '../support/folders.js';
import {
  csvRows,
  type Market,
  MINT,
  replayHere,
  runReplay,
  startMarket,
} from './replay-client-support.js';

let market: Market;
let directory: string;

beforeAll(async () => {
  market = await startMarket();
  directory = temporaryDirectory();
});

/** The error of the command, which `fathom` converts to its exit status and a line on stderr. */
async function failure(words: readonly string[], env: Record<string, string> = {}): Promise<Error> {
  const all = { FATHOM_KEY: market.key, FATHOM_URL: market.server.url, ...env };
  const { error } = await replayHere(words, all);
  return error ?? new Error('it did not fail');
}

const file = (): string => path.join(directory, 'never.csv');

describe('wrong usage', () => {
  const OUT = ['--out', 'never.csv'];

  it.each([
    ['no token', [], /^TOKEN: expected at least one$/],
    ['no symbol', ['mainchain:', ...OUT], /^TOKEN: expected an address, CHAIN:ADDRESS, a symbol/],
    ['several tokens without a format', [MINT, MINT, '--out', 'x'], /^--format: expected one of/],
    ['no file', [MINT], /^--out: expected FILE/],
    ['stdout', [MINT, '--out', '-'], /^--out: expected the name of a file/],
    ['no format', [MINT, '--out', 'x.txt'], /^--format: expected one of json, ndjson, csv/],
    [
      'a bad group',
      [MINT, ...OUT, '--group', 'pool'],
      /^--group: expected one of market, .*, not pool/,
    ],
    ['a bad format', [MINT, ...OUT, '--format', 'xls'], /^--format: .*, not xls$/],
    ['a bad URL', [MINT, ...OUT, '--url', 'ftp://x'], /^--url: expected an http/],
    ['no URL', [MINT, ...OUT, '--url', ''], /^--url: expected a value, not an empty/],
    ['a URL with a query', [MINT, ...OUT, '--url', 'http://x/?a'], /^--url: expected a URL/],
    ['a URL with a password', [MINT, ...OUT, '--url', 'http://a:b@x'], /^--url: expected a URL/],
  ])('%s', async (_, words, message) => {
    const error = await failure(words);
    expect(error).toBeInstanceOf(UsageError);
    expect(error.message).toMatch(message);
  });

  it.each([
    [{ FATHOM_KEY: '' }, /^FATHOM_KEY: expected the API key in this variable/],
    [{ FATHOM_KEY: 'two words' }, /^FATHOM_KEY: expected an API key/],
    [{ FATHOM_URL: 'here' }, /^FATHOM_URL: expected an http/],
  ])('%j', async (env, message) => {
    const error = await failure([MINT, ...OUT], env);
    expect(error).toBeInstanceOf(UsageError);
    expect(error.message).toMatch(message);
  });

  it('ends the command with 2 and its usage', async () => {
    const ended = await runReplay({ key: ' ' }, market.server.url, ['--out', file()]);
    expect(ended.stderr).toMatch(/FATHOM_KEY: expected .*\nSee fathom help replay\n$/);
    expect(ended).toMatchObject({ status: 2, stdout: '' });
  });
});

it.each([
  ['a bad type', ['--types', 'pool'], /^--types: expected any of/],
  [
    'both of a pair',
    ['--venues', 'a', '--exclude-venues', 'b'],
    /^--exclude-venues: cannot be combined with --venues$/,
  ],
  [
    'types twice',
    ['--onchain', '--exclude-types', 'cex_perp'],
    /^--exclude-types: cannot be combined with --types or --onchain$/,
  ],
  ['other types', ['--onchain', '--types', 'cex_perp'], /^--onchain: true means --types=onchain_/],
  [
    'times the wrong way round',
    ['--from', '-1h', '--to', '-2h'],
    /^--from: expected a time before --to \(/,
  ],
  ['an empty time', ['--from', ''], /^--from: expected a value/],
  ['milliseconds', ['--to', '1790000000000'], /^--to: .*not milliseconds/],
  [
    'a band upside down',
    ['--min-pct', '-5', '--max-pct', '-10'],
    /^--min-pct: expected less than --max-pct \(-10 percent\); was -5$/,
  ],
])('a value that the server refuses is wrong usage of its flag %s', async (_, words, message) => {
  const error = await failure([MINT, '--out', file(), ...words]);
  expect(error).toBeInstanceOf(UsageError);
  expect(error.message).toMatch(message);
  expect(readdirSync(directory).filter((name) => name.startsWith('never'))).toEqual([]);
});

describe('a refusal of the server is reported in its words', () => {
  it.each([
    ['a wrong key', [], { FATHOM_KEY: 'fathom_wrong' }, /answered 401: .*key/],
    ['a window long gone', ['--to', '1500000000'], {}, /answered 400: (from|to): /],
    ['a path of no server', ['--url', 'URL/deep/'], {}, /answered 404/],
  ])('%s', async (_, words, env, message) => {
    const given = words.map((word) => word.replace('URL', market.server.url));
    const error = await failure([MINT, '--out', file(), ...given], env);
    expect(error).toBeInstanceOf(ReplayError);
    expect(error.message).toMatch(message);
    // Nothing prevents the next request, which may be another one.
    expect(readdirSync(directory).filter((name) => name.startsWith('never'))).toEqual([]);
  });

  it('ends the command with 1 and one line', async () => {
    const ended = await runReplay({ key: 'wrong' }, market.server.url, ['--out', file()]);
    expect(ended.stderr).toMatch(/^fathom: http:\S+ answered 401: [^\n]*\n$/);
    expect(ended).toMatchObject({ status: 1, stdout: '' });
  });
});

describe('OUT', () => {
  it('must be a place for a file', async () => {
    const folder = path.join(directory, 'folder.csv');
    mkdirSync(folder);
    const nowhere = path.join(directory, 'no', 'x.csv');
    const words = (out: string) => [MINT, '--out', out, '--force'];
    expect((await failure(words(folder))).message).toMatch(/is not a regular file/);
    expect((await failure(words(nowhere))).message).toMatch(/--out: no directory/);
    expect(existsSync(path.dirname(nowhere))).toBe(false);
  });

  it('is left alone if it exists, unless --force replaces it', async () => {
    const there = path.join(directory, 'there.csv');
    writeFileSync(there, 'mine');
    const refused = await failure([MINT, '--out', there]);
    expect(refused.message).toMatch(/already exists; --force/);
    expect(readFileSync(there, 'utf8')).toBe('mine');
    const words = ['--out', there, '--group', 'all', '--force'];
    expect(await runReplay(market, `${market.server.url}/`, words)).toMatchObject({ status: 0 });
    expect(csvRows(there).rows.length).toBeGreaterThan(0);
  });
});
