/** `fathom delete` and `fathom prune`, beside a server that shows what is left. */
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import type { Ended } from '../support/processes.js';
import { fathom, newKey, serveHere, type Service, withStoreOf } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import { ingest } from '../support/ingest.js';
import { binance, commitRows, MINT, orca, OTHER_MINT, snapshot } from '../support/stores.js';
import type { Json } from '../support/tables.js';
import { becomes } from '../support/waiting.js';

const T = 1_794_000_000;
const TOKEN = `mainchain:${MINT}`;

const data = temporaryDirectory();
let server: Service;
let key: string;

beforeAll(async () => {
  key = await newKey(data);
  await withStoreOf(data, (store) =>
    commitRows(store, [
      ...[0, 60, 120, 180].map((s) => snapshot(T + s, [orca(), binance()])),
      snapshot(T, [orca()], { address: OTHER_MINT }),
    ]),
  );
  server = await serveHere(data, ['--as-of', String(T + 7200), '--stale-after', '7d']);
});

const remove = (...words: string[]): Promise<Ended> => fathom(['delete', '--data', data, ...words]);
const documentOf = ({ stdout }: Ended): Json => JSON.parse(stdout) as Json;

interface Page {
  tag: string | null;
  /** `t` after T, and the number of cells. */
  snapshots: [number, number][];
}

const window = `from=${T}&to=${T + 600}`;
async function page(): Promise<Page> {
  const response = await server.get(`/replay/${MINT}?${window}`, key);
  const { snapshots } = (await response.json()) as Json;
  return {
    tag: response.headers.get('etag'),
    snapshots: snapshots.map(({ t, bin }: Json) => [t - T, bin.length]),
  };
}
const reply = async (path: string): Promise<Json> =>
  (await (await server.get(path, key)).json()) as Json;
const depth = () => reply(`/market-depth?token_address=${MINT}&exchange_type=CEX`);
const score = () => reply(`/score/${MINT}`);

/** Answers the command's question as on a terminal; null closes the terminal. */
async function answering(answer: string | null, words: string[], command = remove): Promise<Ended> {
  const terminal = Object.assign(new PassThrough(), { isTTY: true });
  const stdin = vi.spyOn(process, 'stdin', 'get').mockReturnValue(terminal as never);
  terminal.end(answer ?? '');
  try {
    return await command(...words);
  } finally {
    stdin.mockRestore();
  }
}

describe('fathom delete', () => {
  it('counts in a dry run, and deletes nothing', async () => {
    const before = await page();
    expect(before.snapshots).toEqual([
      [0, 2],
      [60, 2],
      [120, 2],
      [180, 2],
    ]);
    const ended = await remove('--token', TOKEN, '--from', String(T + 180), '--dry-run', '--json');
    expect(ended.status).toBe(0);
    expect(ended.stderr).toBe('dry run: would delete 1 snapshot (2 cells)\n');
    expect(documentOf(ended)).toEqual({
      token: TOKEN,
      tier: null,
      markets: null,
      holders: false,
      from: T + 180,
      to: null,
      deleted: { snapshots: 1, changed_snapshots: 0, cells: 2 },
      dry_run: true,
    });
    expect(await page()).toEqual(before);
  });

  it('asks on a terminal, and accepts only yes', async () => {
    const words = ['--token', TOKEN, '--to', String(T + 60)];
    for (const answer of ['n\n', '\n', null]) {
      const ended = await answering(answer, words);
      expect(ended.status).toBe(1);
      expect(ended.stderr).toMatch(/nothing was deleted\n$/);
    }
    expect((await page()).snapshots).toHaveLength(4);
    const ended = await answering('y\n', words);
    expect(ended.stderr).toMatch(/ deleted 1 snapshot \(2 cells\)\n$/);
    expect(ended.status).toBe(0);
    expect((await page()).snapshots.map(([s]) => s)).toEqual([60, 120, 180]);
  });

  it('of a market is followed by pages, their tags, depth and score', async () => {
    const before = await page();
    const etag = before.tag ?? '';
    expect(etag).not.toBe('');
    expect((await depth()).depth_data).toHaveLength(1);
    const market = ['--market', 'binance/A/USDT', '--from', String(T + 120), '--yes'];
    const ended = await remove('--token', TOKEN, ...market, '--json');
    expect(documentOf(ended)).toMatchObject({
      markets: ['binance/A/USDT'],
      deleted: { snapshots: 0, changed_snapshots: 2, cells: 2 },
    });
    const after = await page();
    expect(after.snapshots).toEqual([
      [60, 2],
      [120, 1],
      [180, 1],
    ]);
    expect(after.tag).not.toBe(etag);
    const again = await fetch(`${server.url}/api/v1/replay/${MINT}?${window}`, {
      headers: { 'x-api-key': key, 'if-none-match': etag },
    });
    expect(again.status).toBe(200);
    await becomes(async () => (await depth()).depth_data, []);
    await becomes(async () => (await score()).service_current_price, 2);
  });

  it('of a tier, or of holders, leaves the rest', async () => {
    const day = 86_400;
    const rows = [0, 1, 2].map((i) => ({
      token_address: MINT,
      t: T + i * day,
      owner: 'o',
      balance: 1,
    }));
    const file = path.join(temporaryDirectory(), 'holders.ndjson');
    writeFileSync(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    expect((await fathom(['ingest', 'holders', file, '--data', data])).status).toBe(0);
    const before = await page();
    for (const tier of ['15m', '1h']) {
      const ended = await remove('--token', TOKEN, '--tier', tier, '--yes');
      expect([ended.status, ended.stderr]).toEqual([
        1,
        expect.stringMatching(/^nothing to delete/),
      ]);
    }
    const words = ['--token', TOKEN, '--holders', '--from', String(T + day)];
    expect((await remove(...words, '--market', 'orca/pool-1')).status).toBe(2);
    const ended = await remove(...words, '--yes', '--json');
    expect([ended.status, ended.stderr]).toEqual([0, 'deleted 2 holder snapshots\n']);
    expect(documentOf(ended)).toMatchObject({ holders: true, deleted: { snapshots: 2, cells: 0 } });
    expect(await page()).toEqual(before);
    expect((await remove(...words, '--yes')).stderr).toMatch(
      /^nothing to delete: .* has no holder snapshot in the window; it has 1 from .*Z to .*Z\n$/,
    );
    expect((await remove('--token', TOKEN, '--holders', '--yes')).stderr).toBe(
      'deleted 1 holder snapshot\n',
    );
    expect((await remove('--token', TOKEN, '--holders', '--yes')).stderr).toMatch(
      /it has none at all/,
    );
  });

  it('of everything left also removes the score, but no other tokens', async () => {
    expect((await remove('--token', TOKEN, '--yes')).stderr).toBe(
      'deleted 3 snapshots (4 cells)\n',
    );
    expect((await page()).snapshots).toEqual([]);
    const without = { service_score: null, status: 'price_unavailable' };
    const shown = async () => {
      const { service_score, status } = await score();
      return { service_score, status };
    };
    await becomes(shown, without);
    const other = await server.get(`/replay/${OTHER_MINT}?${window}`, key);
    expect(((await other.json()) as Json).snapshots).toHaveLength(1);
    const nothing = await remove('--token', TOKEN, '--yes', '--json');
    expect(nothing.status).toBe(1);
    expect(documentOf(nothing).error).toMatch(/^nothing to delete: .* it has none at all$/);
  });

  it.each([
    [[], 2, /^fathom: --token: expected TOKEN$/m],
    [['--token', `evmchain:${MINT}`], 2, /--token: expected an address of evmchain/],
    [['--token', TOKEN], 2, /--yes: needed without a terminal/],
    [['--token', TOKEN, '--from', String(T), '--to', String(T), '--yes'], 2, /--from: expected/],
    [['--token', TOKEN, '--from', 'soon', '--yes'], 2, /--from: /],
    [
      ['--token', TOKEN, '--market', 'Kraken', '--yes'],
      1,
      /has no market Kraken; expected one of Orca\/pool-1, Binance/,
    ],
    [
      ['--token', `evmchain:0x${'a'.repeat(40)}`, '--yes'],
      1,
      /the store does not know evmchain:0xa/,
    ],
  ] as [string[], number, RegExp][])('%j fails with its reason', async (words, status, message) => {
    const ended = await remove(...words);
    expect(ended.stderr).toMatch(message);
    expect(ended.status).toBe(status);
  });

  it('creates no store', async () => {
    const words = ['--token', TOKEN, '--yes', '--data', `${data}/none`];
    const ended = await fathom(['delete', ...words]);
    expect(ended.status).toBe(1);
    expect(ended.stderr).toContain(`${data}/none holds no store; is --data right?`);
    expect(existsSync(`${data}/none`)).toBe(false);
  });
});

describe('fathom prune', () => {
  const prune = (...words: string[]): Promise<Ended> => fathom(['prune', '--data', data, ...words]);

  beforeAll(async () => {
    const rows = [
      ...[0, 60, 120].map((s) => snapshot(T + s)),
      snapshot(T, [orca()], { tier: '1h' }),
    ];
    const file = `${data}/prune.ndjson`;
    const others = rows.slice(0, 2).map((row) => ({ ...row, address: OTHER_MINT }));
    writeFileSync(file, [...rows, ...others].map((row) => JSON.stringify(row)).join('\n'));
    await ingest(data, 'snapshots', [file]);
  });

  it('counts in a dry run, over all tokens or of one', async () => {
    const before = ['--before', String(T + 61), '--dry-run'];
    expect((await prune(...before)).stderr).toBe('dry run: would delete 5 snapshots (5 cells)\n');
    expect(documentOf(await prune(...before, '--tier', '1h', '--token', TOKEN, '--json'))).toEqual({
      before: T + 61,
      tier: '1h',
      token: TOKEN,
      deleted: { snapshots: 1, cells: 1 },
      dry_run: true,
    });
  });

  it('asks, deletes only before the time, and says so if nothing is left', async () => {
    const denied = await answering('n\n', ['--before', String(T + 61), '--tier', 'raw'], prune);
    expect(denied.stderr).toMatch(/Delete 4 snapshots \(4 cells\)\? .* nothing was deleted\n$/s);
    const ended = await prune('--before', String(T + 61), '--tier', 'raw', '--yes', '--json');
    expect(documentOf(ended)).toMatchObject({
      tier: 'raw',
      token: null,
      deleted: { snapshots: 4 },
    });
    // The 1h snapshot is hidden by the remaining raw one.
    expect((await page()).snapshots).toEqual([[120, 1]]);
    // Having nothing left to do is not a fault.
    const again = await prune('--before', String(T + 61), '--tier', 'raw', '--yes');
    expect(again.status).toBe(0);
    expect(again.stderr).toContain('deleted 0 snapshots');
  });

  it.each([
    [[], 2, /^fathom: --before: expected TIME$/m],
    [['--before', 'soon', '--yes'], 2, /--before: expected epoch seconds/],
    [['--before', '-1d', '--tier', '5m', '--yes'], 2, /--tier: expected one of raw, 15m, 1h/],
    [['--before', '-1d'], 2, /--yes: needed without a terminal/],
    [
      ['--before', 'now', '--token', `evmchain:0x${'a'.repeat(40)}`, '--yes'],
      1,
      /the store does not know evmchain:0xa/,
    ],
  ] as [string[], number, RegExp][])('%j fails with its reason', async (words, status, message) => {
    const ended = await prune(...words);
    expect(ended.stderr).toMatch(message);
    expect(ended.status).toBe(status);
  });
});
