/** Random operations on a store with an archive, and the plain map of what it then holds. */
import { renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { expect } from 'vitest';
import { TIERS } from '../../compute/market.js';
import { DAY_S } from '../../compute/time.js';
import type { DueDay } from '../../storage/archive/archiver.js';
import { lastTime } from '../../storage/depth/directory.js';
import type { ArchivePlace } from '../../storage/archive/open-objects.js';
import { backupStore } from '../../storage/backup.js';
import type { Store } from '../../storage/store.js';
import { temporaryDirectory } from '../support/folders.js';
import {
  archiveIn,
  type Cell,
  commitDelete,
  commitRows,
  directoryOf,
  openStore,
  retryWhileJoined,
  storedSnapshots,
  tokenOf,
} from '../support/stores.js';
import { type Deletion, deletion, NOW, rowsOf, TOKENS, type Upload, upload } from './days.js';

const END = 2 ** 32 - 1;
const operation = fc.oneof(
  { weight: 5, arbitrary: upload },
  { weight: 2, arbitrary: deletion },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('archive' as const), order: fc.nat() }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        'restore' as const,
        'collect' as const,
        'reopen' as const,
        'backup' as const,
        'settle' as const,
        'unmounted' as const,
      ),
    }),
  },
);
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

/** Cells by market (0: orca, 1: binance), by `address tier t`. */
type Model = Map<string, Map<number, readonly Cell[]>>;

class Walk {
  readonly model: Model = new Map();
  private data = path.join(temporaryDirectory(), 'data');
  readonly objects = temporaryDirectory();
  private store!: Store;
  private nowS = NOW;

  /** @param bucket null: the objects are in a folder, which the walk also takes away */
  constructor(
    private readonly cacheBytes: number,
    private readonly bucket: ArchivePlace | null = null,
  ) {}

  async open(): Promise<void> {
    const { cacheBytes, bucket } = this;
    const archive = archiveIn(this.objects, () => this.nowS);
    if (bucket !== null) archive.place = bucket;
    this.store = await openStore(this.data, { archive, archiveCacheBytes: cacheBytes });
  }

  async end(): Promise<void> {
    await this.store.close();
    rmSync(this.data, { recursive: true, force: true });
    rmSync(this.objects, { recursive: true, force: true });
  }

  async take(done: Operation): Promise<void> {
    const { store } = this;
    switch (done.kind) {
      case 'replace':
      case 'merge':
        return this.commit(done);
      case 'delete':
        return this.delete(done);
      case 'archive':
        await this.archiveAll(done.order);
        return this.expectArchived();
      case 'restore':
        for (const window of await store.archivedWindows(null, 0, END)) {
          expect(await store.restoreArchived(window)).toBeGreaterThan(0);
        }
        expect(await store.archivedWindows(null, 0, END)).toEqual([]);
        return;
      case 'collect':
        // The store may be a copy of the owner.
        while ((await this.atEnd(() => store.collectObjects(Infinity, true))) > 0);
        expect((await store.archiveStatus()).unused).toBe(0);
        return;
      case 'settle':
        return store.settled();
      case 'reopen':
        await store.close();
        return this.open();
      case 'backup':
        return this.goOnFromBackup();
      case 'unmounted':
        return this.expectRefusals();
    }
  }

  /** Long after every object was written. */
  private async atEnd<T>(body: () => Promise<T>): Promise<T> {
    this.nowS = END;
    return body().finally(() => (this.nowS = NOW));
  }

  /** Archives the days that are due in any order, as the nodes of a cluster do. */
  private async archiveAll(order: number): Promise<void> {
    const { archiver } = this.store;
    if (archiver === null) throw new Error('the store has no archiver');
    const place = ({ tokenId, tier: own, dayS }: DueDay): number =>
      crc32(`${order} ${tokenId} ${own} ${dayS}`);
    const due = await archiver.due();
    for (const day of due.sort((a, b) => place(a) - place(b))) {
      expect(await archiver.archive(day, (made) => this.store.archive(made))).toBeGreaterThan(0);
    }
    expect(await archiver.due()).toEqual([]);
  }

  private async commit(sent: Upload): Promise<void> {
    const { kind: mode, market } = sent;
    await commitRows(this.store, rowsOf(sent), { mode });
    for (const { address, t, tier: own, cells: held } of sent.rows) {
      const name = `${address} ${own} ${t}`;
      const before = mode === 'merge' ? (this.model.get(name) ?? []) : [];
      this.model.set(name, new Map([...before, [market, held]]));
    }
  }

  private async delete({ address, fromS, lengthS }: Deletion): Promise<void> {
    const doomed = [...this.model.keys()].filter((name) => {
      const [own, , t] = name.split(' ');
      return own === address && Number(t) >= fromS && Number(t) < fromS + lengthS;
    });
    const deleting = commitDelete(this.store, { address, fromS, toS: fromS + lengthS });
    if (doomed.length === 0) {
      await expect(deleting).rejects.toThrow();
      return;
    }
    expect((await deleting).deleted.snapshots).toBe(doomed.length);
    for (const name of doomed) this.model.delete(name);
  }

  /** Nothing is due, and only the day of each token's last snapshot is in the store. */
  private async expectArchived(): Promise<void> {
    for (const tokenId of this.store.depth.tokenIds()) {
      const directory = await directoryOf(this.store, tokenId);
      const local = TIERS.flatMap((name) => directory[name].filter((ref) => !ref.isArchived));
      const days = local.flatMap(({ times }) => [...times].map((t) => Math.floor(t / DAY_S)));
      const last = Math.floor(lastTime(directory) / DAY_S);
      expect(days.filter((day) => day !== last)).toEqual([]);
    }
  }

  /** A backup takes the store's place, and its objects. */
  private async goOnFromBackup(): Promise<void> {
    const { store, data } = this;
    const out = path.join(temporaryDirectory(), 'data');
    await backupStore({ directory: data, useStore: (body) => body(store), out });
    await store.close();
    rmSync(data, { recursive: true });
    this.data = out;
    await this.open();
  }

  /** While the objects are out of reach, nothing is archived, and nothing is wrong. */
  private async expectRefusals(): Promise<void> {
    if (this.bucket !== null) return;
    const away = `${this.objects}-away`;
    renameSync(this.objects, away);
    const due = await this.store.archiver?.due();
    if (due?.length !== 0) {
      await expect(this.store.archiveNext(false)).rejects.toThrow('cannot');
      expect(await this.store.archiver?.due()).toEqual(due);
    }
    renameSync(away, this.objects);
  }

  async expectContent(): Promise<void> {
    for (const tokenId of this.store.depth.tokenIds()) {
      const directory = await directoryOf(this.store, tokenId);
      for (const name of TIERS) {
        const times = directory[name].flatMap((ref) => [...ref.times]);
        expect(times).toEqual([...times].sort((a, b) => a - b));
      }
    }
    for (const address of TOKENS) {
      const expected = [...this.model].filter(([name]) => name.startsWith(`${address} `));
      if (expected.length === 0 && this.store.depth.token('mainchain', address) === null) continue;
      const stored = await storedSnapshots(this.store, tokenOf(this.store, address));
      const amounts = stored.map(({ tier: own, t, cells: held }) => [
        `${address} ${own} ${t}`,
        held.map(([, bin, support, resistance]) => [bin, support, resistance].join()).sort(),
      ]);
      const wanted = expected.map(([name, markets]) => [
        name,
        [...markets.values()]
          .flat()
          .map(([bin, support, resistance]) =>
            [bin, Math.round(support * 100), Math.round(resistance * 100)].join(),
          )
          .sort(),
      ]);
      expect(new Map(amounts as never)).toEqual(new Map(wanted as never));
    }
  }
}

/** Walks `runs` times. @param bucketOf the archive of each walk; null: a folder of its own */
export async function walkOver(
  runs: number,
  bucketOf: (() => ArchivePlace) | null = null,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(
      fc.array(operation, { minLength: 3, maxLength: 14 }),
      fc.constantFrom(0, 2 ** 14, 2 ** 30),
      async (operations, cacheBytes) => {
        const walk = new Walk(cacheBytes, bucketOf?.() ?? null);
        await walk.open();
        try {
          for (const one of operations) {
            await walk.take(one);
            await retryWhileJoined(() => walk.expectContent());
          }
          for (const kind of ['archive', 'collect', 'reopen', 'settle', 'restore'] as const) {
            await walk.take(kind === 'archive' ? { kind, order: 0 } : { kind });
            await retryWhileJoined(() => walk.expectContent());
          }
        } finally {
          await walk.end();
        }
      },
    ),
    { numRuns: runs, endOnFailure: true },
  );
}
