/** Changes of archived days whose objects are gone for a while, or for good: on the nodes of a cluster, and alone. */
import { readdirSync, renameSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { hasNats } from '../../bench/nats.js';
import { DAY_S } from '../../compute/time.js';
import type { Store } from '../../storage/store.js';
import { expectSame, LogNodes, type Node } from '../cluster/log-nodes.js';
import { temporaryDirectory } from '../support/folders.js';
import {
  archiveIn,
  binance,
  bundleOf,
  commitDelete,
  commitRows,
  DataDirectory,
  MINT,
  openStore,
  orca,
  OTHER_MINT,
  retryWhileJoined,
  snapshot,
  type SnapshotRow,
  storedSnapshots,
  tokenOf,
} from '../support/stores.js';
import { T0, TOKENS } from './days.js';

const DAYS = 3;
const NOW = T0 + DAYS * DAY_S + 7200;

/** Snapshots of two tokens every half hour, the last ones today. */
function history(): SnapshotRow[] {
  const times = Array.from({ length: 2 * 24 * DAYS + 3 }, (_, i) => T0 + i * 1800);
  return TOKENS.flatMap((address) =>
    times.map((t, i) => snapshot(t, [orca([[i % 9, i + 1, 2]])], { address })),
  );
}

/** A late snapshot in the first day. */
const late = (address: string, t = T0 + 900): SnapshotRow[] => [
  snapshot(t, [binance([[3, 1, 99]])], { address }),
];

/** Takes an object of a token's day out of the archive. @returns what puts it back */
function hide(objects: string, address: string, date: string): () => void {
  const folder = path.join(objects, 'segments', 'mainchain', address, 'raw');
  const names = readdirSync(folder).filter((name) => name.startsWith(date));
  for (const name of names) renameSync(path.join(folder, name), path.join(objects, name));
  return () => {
    for (const name of names) renameSync(path.join(objects, name), path.join(folder, name));
  };
}

const FIRST_DAY = new Date(T0 * 1000).toISOString().slice(0, 10);
const FIRST_WINDOW = { fromS: T0, toS: T0 + DAY_S } as const;

const archiveOf = (objects: string) => archiveIn(objects, () => NOW);

async function archiveAll(store: Store): Promise<void> {
  while ((await store.archiveNext(false)) !== null);
}

const storedOf = (store: Store, address: string) =>
  retryWhileJoined(() => storedSnapshots(store, tokenOf(store, address)));

describe.skipIf(!hasNats)('Three nodes of a cluster', () => {
  const ours = new LogNodes();

  async function three(objects: string): Promise<[Node, Node, Node]> {
    const archive = archiveOf(objects);
    const open = (name: string) => ours.open(name, new DataDirectory(), undefined, {}, archive);
    const nodes: [Node, Node, Node] = [await open('a'), await open('b'), await open('c')];
    for (const node of nodes) await node.reached(1);
    await commitRows(nodes[0].commands, history());
    await archiveAll(nodes[0].commands);
    for (const node of nodes) await node.reached(nodes[0].node.position);
    return nodes;
  }

  it('go on without a lost object, and change its day alike once it is back, or deleted', async () => {
    const objects = temporaryDirectory();
    const [a, b, c] = await three(objects);
    const { position } = a.node;
    const putBack = hide(objects, MINT, FIRST_DAY);

    const changes: (() => Promise<unknown>)[] = [
      () => commitRows(b.commands, late(MINT), { mode: 'merge' }),
      () => commitRows(c.commands, late(MINT, T0 + 1800)),
      () => commitDelete(a.commands, { address: MINT, fromS: T0 + 100, toS: T0 + 7200 }),
      () =>
        b.commands.restoreArchived({
          token: { chain: 'mainchain', address: MINT },
          tier: 'raw',
          ...FIRST_WINDOW,
        }),
    ];
    for (const change of changes) {
      await expect(change()).rejects.toThrow(/ENOENT.*fathom delete .*--tier raw --from 2026-11-0/);
    }
    // Nothing of these is in the log, which takes other changes of archived days.
    expect(a.node.position).toBe(position);
    await commitRows(c.commands, late(OTHER_MINT), { mode: 'merge' });
    expect(c.node.position).toBeGreaterThan(position);
    for (const node of [a, b]) await expectSame(c, node, [OTHER_MINT]);
    expect((await storedOf(a.store, OTHER_MINT)).find(({ t }) => t === T0 + 900)).toBeDefined();

    putBack();
    await commitRows(b.commands, late(MINT), { mode: 'merge' });
    for (const node of [a, c]) await expectSame(b, node, TOKENS);
    expect((await storedOf(c.store, MINT)).find(({ t }) => t === T0 + 900)?.cells).toEqual([
      [1, 3, 100, 9900],
    ]);

    await archiveAll(c.commands);
    for (const node of [a, b]) await node.reached(c.node.position);
    hide(objects, MINT, FIRST_DAY);
    await expect(commitRows(a.commands, late(MINT, T0 + 960))).rejects.toThrow('fathom delete');
    await commitDelete(a.commands, { address: MINT, tier: 'raw', ...FIRST_WINDOW });
    await commitRows(b.commands, late(MINT));
    for (const node of [a, c]) await expectSame(b, node, TOKENS);
    expect((await storedOf(c.store, MINT))[0].t).toBe(T0 + 900);
  });

  it('take a change again whose day another node archives before its turn', async () => {
    const objects = temporaryDirectory();
    const archive = archiveOf(objects);
    const open = (name: string) => ours.open(name, new DataDirectory(), undefined, {}, archive);
    const [a, b] = [await open('a'), await open('b')];
    for (const node of [a, b]) await node.reached(1);
    await commitRows(a.commands, history());
    await b.reached(a.node.position);
    // Node b falls behind: its writer is busy while node a archives.
    let free = (): void => undefined;
    const busy = b.store['parts'].commits.exclusive(
      () => new Promise<void>((resolve) => (free = resolve)),
    );
    await archiveAll(a.commands);
    const before = a.node.position;
    const bundle = await bundleOf(b.commands, late(MINT), { mode: 'merge' });
    const committing = b.commands.commit(bundle.name);
    await a.reached(before + 1);
    free();
    await busy;
    expect((await committing).segments).toBe(1);
    await bundle.discard();
    await expectSame(a, b, TOKENS);
    // The change, what brought its segments back, and the change again.
    expect(a.node.position).toBe(before + 3);
    expect((await storedOf(a.store, MINT)).find(({ t }) => t === T0 + 900)).toBeDefined();
  });
});

describe('Retention of archived days', () => {
  it('leaves what it does without an archive', async () => {
    const stores: Store[] = [];
    for (const archive of [null, archiveOf(temporaryDirectory())]) {
      const store = await openStore(new DataDirectory().path, { archive });
      stores.push(store);
      await commitRows(store, history());
      if (archive !== null) await archiveAll(store);
      const token = { chain: 'mainchain', address: MINT } as const;
      const cut = T0 + DAY_S + 12_345;
      for (const raw of [cut, cut + DAY_S]) {
        const cutoffs = { raw, '15m': cut - 40_000, '1h': cut - 60_000 };
        while ((await store.retire(token, cutoffs, ['15m', '1h'])) !== null);
        if (archive !== null) await archiveAll(store);
      }
    }
    const [plain, archived] = await Promise.all(stores.map((store) => storedOf(store, MINT)));
    expect(plain.filter(({ tier }) => tier === 'raw').length).toBeLessThan(60);
    expect(new Set(plain.map(({ tier }) => tier))).toEqual(new Set(['raw', '15m', '1h']));
    expect(archived).toEqual(plain);
    for (const store of stores) await store.close();
  });
});
