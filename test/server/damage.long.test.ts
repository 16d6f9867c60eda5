/** A server whose store has damaged blocks: only what needs them fails. */
import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { DATABASE_FILE } from '../../storage/data-directory.js';
import { isoOf } from '../../compute/time.js';
import { fathom, newKey, serveHere, withStoreOf, type Service } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import type { Ended } from '../support/processes.js';
import { checkReply, type Json } from '../support/conformance.js';
import { commitFlat, dcaRow, HOUR, limitRow, poolHourRow, poolRow } from '../support/flat.js';
import { commitHolders } from '../support/holders.js';
import {
  commitRows,
  commitTokens,
  flipped,
  MINT,
  orca,
  OTHER_MINT,
  segmentIds,
  snapshot,
  tamper,
} from '../support/stores.js';
import { becomes } from '../support/waiting.js';

const NOW_S = HOUR + 1800;
/** Its newest segment is damaged, of MINT an older one, of OTHER_MINT none. */
const NEWEST = 'JUPyiwrYJFskUPiHa7hkeR8VUtAeFoSYbKedZNsDvCN';
/** Its segment's entry is damaged. */
const ENTRY = 'EKpQGSJtjMFqKZ9KQanSqYXRcF8fBopzLHYxdM65zcjm';
const TOKENS = [MINT, OTHER_MINT, NEWEST, ENTRY];

const data = path.join(temporaryDirectory(), 'data');
let key: string;
let server: Service;

const at = (i: number) => HOUR - 6000 + 6 * i;
const held = (balance: number) =>
  new Map([
    ['one', balance],
    ['two', 1],
  ] as const);

/** Time of a snapshot of MINT in another tier, among those of its damaged segment. */
const BETWEEN = at(70) + 1;
/** What every page of a token said before anything was damaged. */
const before = new Map<string, unknown>();

const start = (): Promise<Service> =>
  serveHere(data, ['--as-of', String(NOW_S), '--stale-after', '1d'], {
    FATHOM_PLANS: JSON.stringify({
      enterprise: { rates: { 'whale-get': { requests: 'unlimited' } } },
    }),
  });

async function bodies(from: Service, mint: string): Promise<unknown> {
  const found = Object.values(pagesOf(mint)).map(async (target) =>
    (await from.get(target, key)).json(),
  );
  return Promise.all(found);
}

beforeAll(async () => {
  await withStoreOf(data, async (store) => {
    await commitTokens(
      store,
      TOKENS.map((address) => ({
        address,
        symbol: address.slice(0, 3),
        coverage: 'full' as const,
      })),
    );
    // Segments more than half full are not joined.
    for (const address of TOKENS) {
      for (const first of [0, 200]) {
        const times = Array.from({ length: 150 }, (_, i) => at(first + i));
        await commitRows(
          store,
          times.map((t) => snapshot(t, [orca()], { address })),
        );
      }
    }
    await commitRows(store, [snapshot(BETWEEN, [orca()], { tier: '15m' })]);
    await commitHolders(
      store,
      [MINT, OTHER_MINT].map((mint) => [
        mint,
        new Map([0, 1, 2, 3].map((i) => [HOUR - 3600 * i, held(i + 1)] as const)),
      ]),
    );
    await commitFlat(
      store,
      'dca_orders',
      TOKENS.map((token_address, i) => dcaRow({ dca_address: `dca-${i}`, token_address })),
    );
    await commitFlat(
      store,
      'limit_orders',
      TOKENS.map((token_address, i) =>
        limitRow({ chain: 'mainchain', order_address: `order-${i}`, token_address, usd_price: 2 }),
      ),
    );
    await commitFlat(store, 'dlmm_pools', [poolRow({ pubkey: 'pool-1' })]);
    await commitFlat(store, 'dlmm_hours', [poolHourRow({ pubkey: 'pool-1', hour: HOUR })]);
    await store.settled();
  });
  key = await newKey(data);
  server = await start();
  for (const mint of [MINT, NEWEST]) before.set(mint, await bodies(server, mint));
  await server.stop();
  // They would answer for damaged blocks.
  rmSync(path.join(data, 'fragments'), { recursive: true });
  const ids = await withStoreOf(data, async (store) => ({
    old: (await segmentIds(store, MINT))[0],
    newest: (await segmentIds(store, NEWEST))[1],
    entry: (await segmentIds(store, ENTRY))[0],
  }));
  await tamper(
    path.join(data, DATABASE_FILE),
    `UPDATE segments SET ${flipped} WHERE segment_id IN (${ids.old}, ${ids.newest})`,
    `UPDATE segments SET times = ''::BLOB WHERE segment_id = ${ids.entry}`,
    `UPDATE holder_block_parts SET ${flipped} WHERE block_id = (SELECT min(block_id) FROM holder_blocks JOIN holder_tokens USING (holder_id) WHERE token_address = '${MINT}')`,
  );
  server = await start();
});

async function answerTo(target: string): Promise<[number, string | undefined]> {
  const response = await server.get(target, key);
  await checkReply('GET', `${server.url}/api/v1${target}`, response);
  const body = (await response.json()) as Json;
  return [response.status, body.error_code as string | undefined];
}

const OK = [200, undefined];
const DAMAGED = [500, 'damaged_data'];
const pagesOf = (mint: string) => ({
  score: `/score/${mint}`,
  depth: `/market-depth?token_address=${mint}`,
  dca: `/dca-orders?token_address=${mint}`,
  limit: `/limit-orders?token_address=${mint}`,
  all: `/replay/${mint}?from=${HOUR - 7000}&to=${NOW_S}`,
  late: `/replay/${mint}?from=${HOUR - 4900}&to=${NOW_S}`,
  dlmm: `/dlmm/${mint}`,
  whales: `/whale-activity?token_address=${mint}`,
});

async function statuses(mint: string): Promise<Record<string, unknown>> {
  const found = Object.entries(pagesOf(mint)).map(async ([name, target]) => [
    name,
    await answerTo(target),
  ]);
  return Object.fromEntries(await Promise.all(found)) as Record<string, unknown>;
}

const all = (mint: string, damaged: readonly string[]) =>
  Object.fromEntries(
    Object.keys(pagesOf(mint)).map((name) => [name, damaged.includes(name) ? DAMAGED : OK]),
  );

const BOARDS = ['/top-scores', '/dca-pressure', '/dlmm-pools', '/lp-cheat-sheet'];

describe('Damaged blocks', () => {
  it('fail the pages that need them', async () => {
    expect(await statuses(OTHER_MINT)).toEqual(all(OTHER_MINT, []));
    expect(await statuses(MINT)).toEqual(all(MINT, ['all', 'whales']));
    const ofNewest = ['score', 'depth', 'dca', 'limit', 'all', 'late'];
    expect(await statuses(NEWEST)).toEqual(all(NEWEST, ofNewest));
    expect(await statuses(ENTRY)).toEqual(all(ENTRY, ofNewest));
  });

  it('fail nothing else: not boards, operators’ requests or other pages, however often', async () => {
    for (const target of BOARDS)
      expect([target, ...(await answerTo(target))]).toEqual([target, ...OK]);
    const scores = (await (await server.get('/top-scores', key)).json()) as Json;
    expect(scores.tokens.map(({ address }: Json) => address as string).sort()).toEqual(
      [MINT, OTHER_MINT].sort(),
    );
    const readiness = async () =>
      ((await (await fetch(`${server.url}/readyz`)).json()) as Json).status as string;
    await becomes(readiness, 'ready');
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    expect(Number(/^fathom_damaged_data_total (\d+)$/m.exec(metrics)?.[1])).toBeGreaterThan(3);
    expect(server.logged()).toContain('is damaged: its checksum does not match');
    // Nothing is retried in vain.
    const errors = () => server.logged().split('"level":"error"').length;
    const before = errors();
    for (const target of BOARDS)
      expect([target, ...(await answerTo(target))]).toEqual([target, ...OK]);
    expect(errors()).toBe(before);
  });

  const NAMED = /^the stored .* are damaged: .*: fathom (delete .*)$/;
  /** What a refused command says, and the command that it names. */
  function named({ status, stderr, stdout }: Ended, token: string): string[] {
    expect([status, stdout]).toEqual([1, '']);
    const lines = stderr.trim().split('\n');
    expect(lines).toEqual([expect.stringMatching(NAMED)]);
    const [, command] = NAMED.exec(lines[0]) ?? [];
    expect(command).toContain(`delete --data ${data} --token mainchain:${token} `);
    return command.split(' ');
  }
  const fileOf = (rows: readonly object[]): string => {
    const file = path.join(temporaryDirectory(), 'rows.ndjson');
    writeFileSync(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    return file;
  };
  const ingest = (dataset: string, rows: readonly object[], ...flags: string[]) =>
    fathom(['ingest', dataset, fileOf(rows), '--data', data, ...flags]);
  const rowsOf = (mint: string, rows: readonly number[]) =>
    rows.map((i) => snapshot(at(i), [orca()], { address: mint }));
  const first = Array.from({ length: 150 }, (_, i) => i);
  const newest = first.map((i) => 200 + i);

  it('refuse what needs them, and are gone once the named command has run; loading them again restores all', async () => {
    for (const refused of [
      await ingest('snapshots', rowsOf(MINT, [20])),
      await ingest('snapshots', [snapshot(at(20) + 1)], '--dry-run'),
      await ingest('snapshots', rowsOf(MINT, [20]), '--merge'),
      await fathom([
        'delete',
        '--token',
        `mainchain:${MINT}`,
        '--market',
        'orca/pool-1',
        '--yes',
        '--data',
        data,
      ]),
      await fathom([
        'delete',
        '--token',
        `mainchain:${MINT}`,
        '--to',
        String(at(20)),
        '--yes',
        '--data',
        data,
      ]),
      await fathom([
        'prune',
        '--token',
        `mainchain:${MINT}`,
        '--before',
        String(at(20)),
        '--yes',
        '--data',
        data,
      ]),
    ]) {
      const span = ['--from', isoOf(at(0)), '--to', isoOf(at(149) + 1)];
      expect(named(refused, MINT).slice(5)).toEqual(['--tier', 'raw', ...span]);
    }
    expect(await statuses(MINT)).toEqual(all(MINT, ['all', 'whales']));
    const words = named(await ingest('snapshots', rowsOf(MINT, first)), MINT);
    const deleted = await fathom([...words, '--yes', '--json']);
    expect(JSON.parse(deleted.stdout)).toMatchObject({
      tier: 'raw',
      deleted: { snapshots: 150, changed_snapshots: 0 },
    });
    expect(await statuses(MINT)).toEqual(all(MINT, ['whales']));
    // Of another tier, within the span.
    const others = ['delete', '--token', `mainchain:${MINT}`, '--tier', '15m', '--data', data];
    expect((await fathom([...others, '--dry-run'])).stderr).toMatch(/would delete 1 snapshot /);
    expect((await ingest('snapshots', rowsOf(MINT, first))).status).toBe(0);

    // A collector goes on beside a damaged newest segment.
    expect((await ingest('snapshots', rowsOf(NEWEST, [400]))).status).toBe(0);
    await becomes(() => answerTo(pagesOf(NEWEST).score), OK as [number, undefined]);
    const ofNewest = named(await ingest('snapshots', rowsOf(NEWEST, newest)), NEWEST);
    expect((await fathom([...ofNewest, '--yes'])).status).toBe(0);
    expect((await ingest('snapshots', rowsOf(NEWEST, newest))).status).toBe(0);
    expect(await statuses(NEWEST)).toEqual(all(NEWEST, []));
    const after = ['--from', String(at(400)), '--tier', 'raw', '--yes', '--data', data];
    expect((await fathom(['delete', '--token', `mainchain:${NEWEST}`, ...after])).status).toBe(0);

    const owners = [0, 1, 2, 3].flatMap((i) =>
      [...held(i + 1)].map(([owner, balance]) => ({
        t: HOUR - 3600 * i,
        token_address: MINT,
        owner,
        balance,
      })),
    );
    const ofHolders = named(await ingest('holders', owners), MINT);
    expect(ofHolders.slice(5, 6)).toEqual(['--holders']);
    const told = await fathom([...ofHolders, '--yes']);
    expect([told.status, told.stderr]).toEqual([0, 'deleted 4 holder snapshots\n']);
    expect((await ingest('holders', owners)).status).toBe(0);

    for (const mint of [MINT, NEWEST]) {
      const now = await bodies(server, mint);
      expect(now).toEqual(before.get(mint));
    }
    expect(server.logged()).toMatch(/"level":"error".*are damaged: segment \d+ is damaged/);
  });

  it('of an entry are left to a backup', async () => {
    const refused = await ingest('snapshots', rowsOf(ENTRY, [400]));
    expect([refused.status, refused.stderr]).toEqual([
      1,
      expect.stringMatching(
        /^segment \d+ is damaged: its entry lists no snapshots; nothing was stored: restore a backup\n$/,
      ),
    ]);
  });

  it('are refused beside no server, too', async () => {
    await server.stop();
    await tamper(
      path.join(data, DATABASE_FILE),
      `DELETE FROM segments WHERE octet_length(times) = 0`,
      `UPDATE segments SET ${flipped}`,
    );
    const words = named(await ingest('snapshots', rowsOf(OTHER_MINT, [20])), OTHER_MINT);
    expect(await fathom([...words, '--yes'])).toMatchObject({
      status: 0,
      stderr: 'deleted 150 snapshots (150 cells)\n',
    });
    expect((await ingest('snapshots', rowsOf(OTHER_MINT, first))).status).toBe(0);
  });
});
