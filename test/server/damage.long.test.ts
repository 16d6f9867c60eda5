/** A server whose store has damaged blocks: only what needs them fails. */
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { DATABASE_FILE } from '../../storage/data-directory.js';
import type { JoinMode } from '../../compute/segment/merge.js';
import { connectToServer } from '../../storage/control.js';
import type { Store } from '../../storage/store.js';
import { newKey, serveHere, withStoreOf, type Service } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import { checkReply, type Json } from '../support/conformance.js';
import { commitFlat, dcaRow, HOUR, limitRow, poolHourRow, poolRow } from '../support/flat.js';
import { commitHolders } from '../support/holders.js';
import {
  commitDelete,
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
  server = await serveHere(data, ['--as-of', String(NOW_S), '--stale-after', '1d'], {
    FATHOM_PLANS: JSON.stringify({
      enterprise: { rates: { 'whale-get': { requests: 'unlimited' } } },
    }),
  });
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

  it('do not hinder an ingest over them, which restores its snapshots', async () => {
    const remote = await connectToServer(data);
    if (remote === null) throw new Error('nobody listens');
    const store = Object.assign(remote, { directory: data }) as unknown as Store;
    const commit = (mint: string, times: readonly number[], mode: JoinMode = 'replace') =>
      commitRows(
        store,
        times.map((t) => snapshot(t, [orca()], { address: mint })),
        { mode },
      );
    const lost = Array.from({ length: 150 }, (_, i) => at(i));
    const page = (from: number, to: number) => answerTo(`/replay/${MINT}?from=${from}&to=${to}`);
    // Between lost snapshots, which stay lost.
    await commit(MINT, [lost[10] + 1, lost[90] + 1]);
    expect(await page(lost[10] + 1, lost[11])).toEqual(OK);
    expect(await page(lost[10], lost[11])).toEqual(DAMAGED);
    expect(await page(lost[90] + 1, lost[91])).toEqual(OK);
    await expect(commit(MINT, [lost[20]], 'merge')).rejects.toThrow(
      /^the stored snapshot of .* is damaged: nothing can be merged into it/,
    );
    const window = { address: MINT, fromS: lost[30], toS: lost[40] };
    await expect(commitDelete(store, { ...window, markets: ['Orca/pool-1'] })).rejects.toThrow(
      'is damaged: it can only be deleted as a whole',
    );
    expect((await commitDelete(store, window)).deleted.snapshots).toBe(10);
    expect(await page(lost[30], lost[40])).toEqual(OK);
    expect(await page(lost[29], lost[30])).toEqual(DAMAGED);
    expect(await page(lost[40], lost[41])).toEqual(DAMAGED);
    await commit(MINT, lost);
    expect(await answerTo(pagesOf(MINT).all)).toEqual(OK);
    await commit(
      NEWEST,
      Array.from({ length: 150 }, (_, i) => at(200 + i)),
    );
    await becomes(() => answerTo(pagesOf(NEWEST).score), OK as [number, undefined]);
    expect(await statuses(NEWEST)).toEqual(all(NEWEST, []));
    await commitHolders(store, [[MINT, new Map([[HOUR + 900, held(9)]])]]);
    expect(await answerTo(pagesOf(MINT).whales)).toEqual(OK);
    remote.close();
  });
});
