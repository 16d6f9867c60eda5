/** `fathom replay` of several tokens: a file each, in one folder. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { REPLAY_FORMATS } from '../../server/download/formats.js';
import { downloadSeveral } from '../../server/download/several.js';
import { fathom, newKey, serveHere, type Service, withStoreOf } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import type { Ended } from '../support/processes.js';
import { answer, type Proxy, startProxy } from '../support/replay-proxy.js';
import { commitRows, commitTokens, MINT, orca, OTHER_MINT, snapshot } from '../support/stores.js';
import type { Json } from '../support/tables.js';

const T = 1_794_000_000;
const AS_OF = T + 80_000;
const EVM = `0x${'e'.repeat(40)}`;
const EMPTY = '9n4nbM75f5Ui33ZbPYXn59EwSgE8CGsHtAeTH5YFeJ9E';
/** Three pages. */
const TIMES = Array.from({ length: 700 }, (_, i) => T + i * 60);

let service: Service;
let proxy: Proxy;
let key: string;
let out: string;

beforeAll(async () => {
  const data = temporaryDirectory();
  key = await newKey(data);
  await withStoreOf(data, async (store) => {
    await commitTokens(store, [
      { address: MINT, symbol: 'ONE' },
      { address: OTHER_MINT, symbol: 'TWO' },
      { chain: 'evmchain', address: EVM, symbol: 'THREE' },
      { address: EMPTY, symbol: 'NONE' },
    ]);
    for (const address of [MINT, OTHER_MINT]) {
      await commitRows(
        store,
        TIMES.map((t) => snapshot(t, [orca([[0, (t % 997) + 1, 2]])], { address })),
      );
    }
    await commitRows(store, [snapshot(T + 30, [orca()], { chain: 'evmchain', address: EVM })]);
  });
  service = await serveHere(data, ['--as-of', String(AS_OF)]);
});
beforeEach(async () => {
  proxy = await startProxy(service.url);
  out = path.join(temporaryDirectory(), 'depth');
});
afterEach(() => proxy.close());

const run = (...words: string[]): Promise<Ended> =>
  fathom(['replay', ...words, '--url', proxy.url], { FATHOM_KEY: key });
const several = (...words: string[]): Promise<Ended> =>
  run('ONE', 'TWO', 'THREE', '--out', out, '--format', 'csv', ...words);
const files = (): string[] => readdirSync(out).sort();
const pathOf = (address: string, format = 'csv'): string => path.join(out, `${address}.${format}`);
const WHOLE = [EVM, MINT, OTHER_MINT].map((address) => `${address}.csv`).sort();
/** Fails requests for pages of a token. */
const failing = (address: string, from = 1) => {
  let pages = 0;
  proxy.script = () => {
    const isPage = proxy.requests.at(-1)?.startsWith(`/api/v1/replay/${address}?`) ?? false;
    if (!isPage || ++pages < from) return null;
    return answer(500, { error: 'no', error_code: 'damaged_data' });
  };
};

it.each(REPLAY_FORMATS)('writes what one token alone gives, as %s', async (format) => {
  const ended = await run('ONE', 'THREE', MINT, '--out', out, '--format', format, '--json');
  expect([ended.status, files()]).toEqual([0, [`${EVM}.${format}`, `${MINT}.${format}`].sort()]);
  const charged = proxy.requests.length;
  expect(ended.stderr).toContain(`${out}: 2 files; ${charged} requests\n`);
  const document = JSON.parse(ended.stdout) as Json;
  expect(document).toMatchObject({
    out,
    format,
    requests: charged,
    tokens: [
      { token: MINT, chain: 'mainchain', snapshots: 700, cells: 700, pages: 3 },
      { token: EVM, chain: 'evmchain', out: pathOf(EVM, format), snapshots: 1 },
    ],
  });
  for (const address of [MINT, EVM]) {
    const alone = path.join(temporaryDirectory(), `alone.${format}`);
    expect((await run(address, '--out', alone)).status).toBe(0);
    expect(readFileSync(pathOf(address, format)).equals(readFileSync(alone))).toBe(true);
  }
});

it('writes a folder that reads as one table', async () => {
  await run('ONE', 'TWO', 'THREE', '--out', `${out}.parquet`);
  const connection = await (await DuckDBInstance.create()).connect();
  const read = await connection.runAndReadAll(
    `SELECT chain, address, count(*)::INT, sum(support_usd) FROM '${out}.parquet/*.parquet' GROUP BY ALL ORDER BY 2`,
  );
  const support = TIMES.reduce((sum, t) => sum + (t % 997) + 1, 0);
  expect(read.getRowsJson()).toEqual([
    ['evmchain', EVM, 1, 5],
    ['mainchain', OTHER_MINT, 700, support],
    ['mainchain', MINT, 700, support],
  ]);
  connection.closeSync();
});

it('continues with the token at which it ended, in the window of the first', async () => {
  failing(OTHER_MINT, 2);
  const ended = await several('--json', '--from', '-1d');
  expect(ended.stderr).toMatch(
    /^fathom: TWO: .* answered 500: no; 1 page is kept; the same command resumes/m,
  );
  expect((JSON.parse(ended.stdout) as Json).error).toMatch(/^fathom: TWO: /);
  expect([ended.status, files()]).toEqual([
    1,
    [
      `${MINT}.csv`,
      `${OTHER_MINT}.csv.part`,
      `${OTHER_MINT}.csv.part.state`,
      '_replay.json',
    ].sort(),
  ]);
  const first = readFileSync(pathOf(MINT), 'utf8');
  proxy.script = () => null;
  const before = proxy.requests.length;
  const again = await several('--json', '--from', '-1d');
  expect(again.stderr).toContain(`${out}: 3 files (1 from an earlier run); `);
  expect([again.status, files()]).toEqual([0, WHOLE]);
  const [one, two, three] = (JSON.parse(again.stdout) as Json).tokens as Json[];
  expect(one).toEqual({ token: MINT, out: pathOf(MINT) });
  expect(two).toMatchObject({ token: OTHER_MINT, resumed_pages: 1, pages: 3, snapshots: 700 });
  expect(readFileSync(pathOf(MINT), 'utf8')).toBe(first);
  const rows = (address: string) =>
    readFileSync(pathOf(address), 'utf8').replaceAll(address, '').split('\n').slice(1);
  expect(rows(OTHER_MINT)).toEqual(rows(MINT));
  const windowOf = ({ from, to }: Json) => [from, to] as unknown[];
  expect(windowOf(three)).toEqual(windowOf(two));
  const pages = proxy.requests.slice(before).filter((one) => one.includes('/replay/'));
  expect(pages.some((one) => one.includes(MINT))).toBe(false);
  for (const page of pages) expect(page).toContain(`to=${AS_OF}`);
});

it('writes the others if a token has no data, and names it', async () => {
  const ended = await run('ONE', 'NONE', 'THREE', '--out', out, '--format', 'csv', '--json');
  expect(ended.stderr).toContain(`${out}: 2 files (1 token without data); `);
  const message = new RegExp(
    `^NONE: no snapshot of ${EMPTY} from .*; the server has no depth`,
    'm',
  );
  expect(ended.stderr).toMatch(message);
  expect([ended.status, files()]).toEqual([1, [`${MINT}.csv`, `${EVM}.csv`].sort()]);
  const { error, tokens } = JSON.parse(ended.stdout) as Json;
  expect(error).toMatch(message);
  expect((tokens as Json[])[1]).toEqual({ token: EMPTY, error: expect.stringMatching(message) });
});

it('refuses what another request has begun, and discards it with --restart', async () => {
  failing(EVM);
  expect((await several()).status).toBe(1);
  proxy.script = () => null;
  const other = await several('--group', 'all');
  expect([other.status, other.stderr]).toEqual([
    1,
    expect.stringContaining(
      `${out} has an interrupted run of another request: group (was not given, is all); repeat that one to finish it, or use --restart`,
    ),
  ]);
  const restarted = await several('--group', 'all', '--restart');
  expect([restarted.status, files()]).toEqual([0, WHOLE]);
  expect(readFileSync(pathOf(MINT), 'utf8')).not.toContain('Orca');
});

it('replaces no file, and leaves nothing behind that would refuse the next request', async () => {
  expect((await several()).status).toBe(0);
  const taken = await several('--group', 'all');
  expect(taken.stderr).toContain('.csv already exists; --force replaces it');
  expect([taken.status, files()]).toEqual([1, WHOLE]);
  expect((await several('--group', 'all', '--force')).status).toBe(0);
  expect([readFileSync(pathOf(EVM), 'utf8').includes('Orca'), files()]).toEqual([false, WHOLE]);
  const fresh = path.join(temporaryDirectory(), 'x');
  const wrong = await run('ONE', 'TWO', '--out', fresh, '--format', 'csv', '--from', 'soon');
  expect([wrong.status, readdirSync(fresh)]).toEqual([2, []]);
  const unknown = await run('ONE', 'FOUR', '--out', `${fresh}y`, '--format', 'csv');
  expect(unknown.stderr).toContain("TOKEN: no token has the symbol 'FOUR'");
  expect([unknown.status, existsSync(`${fresh}y`)]).toEqual([1, false]);
  const file = path.join(temporaryDirectory(), 'file.csv');
  writeFileSync(file, 'mine');
  const onFile = await run('ONE', 'TWO', '--out', file);
  expect(onFile.stderr).toContain(`--out: several tokens need a folder; ${file} is none`);
  expect([onFile.status, readFileSync(file, 'utf8')]).toEqual([1, 'mine']);
  const nowhere = await run('ONE', 'TWO', '--out', `${file}/x/y`, '--format', 'csv');
  expect(nowhere.status).toBe(1);
});

it.each([
  ['../esc/AAA', 'mainchain'],
  [EVM, 'mainchain'],
  [MINT, 'solana'],
  [null, 'mainchain'],
])('writes nowhere by %s on %s, which a server calls a token', async (address, chain) => {
  mkdirSync(path.join(out, '../esc'));
  const token = { chain, address, symbol: 'AAA', name: null, service_score: 1 };
  proxy.script = () =>
    proxy.requests.at(-1)?.startsWith('/api/v1/tokens?query=AAA') === true
      ? answer(200, { tokens: [token], next_cursor: null })
      : null;
  const ended = await run('AAA', 'TWO', '--out', out, '--format', 'ndjson');
  expect(ended.stderr).toBe(
    `fathom: ${proxy.url} did not answer with tokens and their addresses\n`,
  );
  expect([ended.status, proxy.requests.length]).toEqual([1, 1]);
  expect([existsSync(out), readdirSync(path.join(out, '../esc'))]).toEqual([false, []]);
});

it('makes no file name of what is no address', async () => {
  const asked: string[] = [];
  const request = {
    addresses: [MINT, '../esc/AAA'],
    format: 'csv' as const,
    url: proxy.url,
    parameters: {},
    out,
    force: false,
    restart: false,
    downloadOne: ({ address }: { address: string }) => {
      asked.push(address);
      return Promise.reject(new Error('nothing is downloaded'));
    },
  };
  await expect(downloadSeveral(request)).rejects.toThrow("expected an address, not '../esc/AAA'");
  expect([asked, existsSync(out)]).toEqual([[], false]);
});

it('refuses a damaged record of an interrupted run', async () => {
  failing(EVM);
  expect((await several()).status).toBe(1);
  proxy.script = () => null;
  writeFileSync(path.join(out, '_replay.json'), '{"version":1,"requ');
  const ended = await several();
  expect(ended.stderr).toContain('_replay.json is damaged, or of another version; use --restart');
  const restarted = await several('--restart', '--force');
  expect([ended.status, restarted.status, files()]).toEqual([1, 0, WHOLE]);
});
