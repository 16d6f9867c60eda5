/** A node skips an entry only if every node refuses it. After its own failures it retries, or stops. */
import { readFileSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import { hasNats } from '../../bench/nats.js';
import { PoolUnavailableError } from '../../compute/scheduler.js';
import { rewriteSegments } from '../../compute/segment/rewrite.js';
import { backupStore } from '../../storage/backup.js';
import { bundleFile } from '../../storage/bundle.js';
import { DuckDBError } from '../../storage/duckdb/duckdb-error.js';
import {
  DamagedDataError,
  DiskFullError,
  InputError,
  StoreUnavailableError,
} from '../../storage/errors.js';
import { Applier, StoppedError } from '../../storage/log/applier.js';
import { packEntry } from '../../storage/log/entry.js';
import type { LogMessage } from '../../storage/log/log-reader.js';
import { eventually, PATIENCE_MS } from '../support/waiting.js';
import {
  bundleOf,
  commitDelete,
  commitRows,
  commitTokens,
  damageBlock,
  DataDirectory,
  EVM_TOKEN,
  MINT,
  noisyRows,
  openStore,
  orca,
  OTHER_MINT,
  snapshot,
  type SnapshotRow,
  storedSnapshots,
  tokenOf,
} from '../support/stores.js';
import { expectSame, LogNodes, seen, T0 } from './log-nodes.js';

describe.skipIf(!hasNats)('A node whose data is damaged', () => {
  const ours = new LogNodes();
  const { open } = ours;

  it('stops before an entry that needs the damaged data, and says why', async () => {
    const [a, b] = await ours.oneDamaged();
    const before = await seen(b.store, MINT).catch(() => null);
    const { position } = b.node;
    await commitRows(a.commands, [snapshot(T0 + 5)]);
    await commitTokens(a.commands, [{ address: OTHER_MINT, symbol: 'LATER' }]);
    await b.until(() => b.stopped !== null || b.node.position > position);
    expect(b.stopped).toMatch(
      /^entry \d+ meets damaged data of this node, which others can apply: begin with a backup of another node \(.*Corrupt database file/,
    );
    await expect(b.node.checkFollowing()).rejects.toThrow(/meets damaged data/);
    expect(b.node.position).toBe(position);
    expect(b.store.depth.token('mainchain', OTHER_MINT)).toBeNull();
    expect(a.node.position).toBe(position + 2);
    expect(before).toBeNull();
  });

  it('follows the log as long as no entry needs the damaged data', async () => {
    const [a, b] = await ours.oneDamaged();
    await b.log.connected(PATIENCE_MS);
    await commitRows(a.commands, [snapshot(T0 + 60, [orca()], { address: OTHER_MINT })]);
    await expect(commitDelete(b.commands, { address: EVM_TOKEN })).rejects.toThrow(/does not know/);
    await expectSame(a, b, [OTHER_MINT]);
  });

  it('that every node has goes, once a single server has deleted it', async () => {
    const directory = new DataDirectory();
    // So many that the damaged block holds nothing but parts of blocks.
    const rows = [1, 2, 3, 4, 5, 6].map((i) => noisyRows(T0 + 1000 * i));
    let store = await openStore(directory.path);
    for (const part of rows) await commitRows(store, part);
    const before = await storedSnapshots(store, tokenOf(store));
    await store.close();
    await damageBlock(directory.path);
    const a = await open('a', directory);
    await a.reached(1);
    const copy = new DataDirectory();
    await backupStore({
      directory: directory.path,
      out: copy.path,
      useStore: (body) => body(a.commands),
    });
    const b = await open('b', copy);
    await expect(commitRows(a.commands, [snapshot(T0 + 1005)])).rejects.toThrow(
      /meets damaged data/,
    );
    await eventually('both stop', () => a.stopped !== null && b.stopped !== null);
    expect(a.stopped).toMatch(/the stored raw snapshots of mainchain:.* from .* to .* are damaged/);
    expect(a.stopped).not.toContain('fathom delete');
    await Promise.all([a, b].map((node) => node.close()));

    // The way back of docs/cluster.md: one node becomes a single server, deletes what is named, and gets it back.
    store = await openStore(directory.path);
    await store.leaveLog();
    for (let refused: Error | null = null; ; refused = null) {
      await commitRows(store, rows.flat()).catch((error: Error) => (refused = error));
      if (refused === null) break;
      const span = / --from (\S+) --to (\S+)$/.exec((refused as Error).message) ?? [];
      const [fromS, toS] = span.slice(1).map((text) => Date.parse(text) / 1000);
      await commitDelete(store, { address: MINT, tier: 'raw', fromS, toS });
    }
    expect(await storedSnapshots(store, tokenOf(store))).toEqual(before);
    await store.close();
  });
});

describe('A failure of a single node', () => {
  const failures: [string, () => Error][] = [
    ['a full disk', () => new DiskFullError('fathom.duckdb')],
    ['a file that cannot grow', () => Object.assign(new Error('write'), { code: 'ENOSPC' })],
    ['a database that is reopened', () => new StoreUnavailableError('the database is closed')],
    ['memory', () => new DuckDBError(new Error('Out of Memory Error: failed to allocate'))],
    ['a thread', () => new PoolUnavailableError('task lost')],
    ['whatever a command is told in words', () => new InputError('the pepper cannot be read')],
  ];

  it('stops the node if its store accepts no more changes', async () => {
    const directory = new DataDirectory();
    const store = await openStore(directory.path);
    const reject = vi.fn();
    const publisher = { awaits: () => false, resolve: () => undefined, reject };
    const log = { state: () => Promise.resolve({ id: 'log' }) };
    const applier = new Applier({ store, name: 'a', log, publisher } as never);
    const { secret: pepper } = store.keys;
    const origin = packEntry({ kind: 'origin', node: 'a', pepper, hasData: false, settings: {} });
    await applier.apply([{ position: 1, id: 'origin', timeMs: 0, data: origin }]);
    vi.spyOn(store['parts'].database.wal, 'shorten').mockRejectedValue(
      new DamagedDataError('full'),
    );
    const cutoffs = { raw: 0, '15m': 0, '1h': 0 };
    const token = { chain: 'mainchain', address: MINT } as const;
    const data = packEntry({ kind: 'retirement', token, cutoffs, made: [] });
    await expect(applier.apply([{ position: 2, id: '2', timeMs: 0, data }])).rejects.toThrow(
      new StoppedError(
        'entry 2 meets damaged data of this node, which others can apply: begin with a backup of another node (full)',
      ),
    );
    expect([store.mark?.position, reject.mock.calls]).toEqual([1, []]);
    await store.close();
  });

  it.each(failures)('makes the node retry without skipping an entry: %s', async (_, failure) => {
    const directory = new DataDirectory();
    let failing: Error | null = null;
    const store = await openStore(directory.path, {
      rewrite: (input) =>
        failing === null ? Promise.resolve(rewriteSegments(input)) : Promise.reject(failing),
    });
    const publisher = { awaits: () => false, resolve: () => undefined, reject: vi.fn() };
    const log = { state: () => Promise.resolve({ id: 'log' }) };
    const applier = new Applier({ store, name: 'a', log, publisher } as never);
    let position = 0;
    const entry = async (rows: readonly SnapshotRow[]): Promise<LogMessage> => {
      const bundle = await bundleOf(store, rows);
      const bytes = readFileSync(bundleFile(store.directory, bundle.name));
      await bundle.discard();
      const data = packEntry({ kind: 'bundle', bundle: bytes });
      return { position: ++position, id: `${position}`, timeMs: 0, data };
    };
    const { secret: pepper } = store.keys;
    const origin = packEntry({ kind: 'origin', node: 'a', pepper, hasData: false, settings: {} });
    await applier.apply([{ position: ++position, id: 'origin', timeMs: 0, data: origin }]);
    await applier.apply([await entry([snapshot(T0), snapshot(T0 + 60)])]);
    const messages = [await entry([snapshot(T0 + 30)]), await entry([snapshot(T0 + 90)])];
    failing = failure();
    for (let i = 0; i < 3; i++) {
      await applier
        .apply(messages)
        .catch((error: Error) => expect([error, error.cause]).toContain(failing));
      expect(store.mark?.position).toBe(2);
    }
    failing = null;
    for (let done = 0; done < messages.length;) done += await applier.apply(messages.slice(done));
    expect(publisher.reject).not.toHaveBeenCalled();
    expect(await storedSnapshots(store, tokenOf(store))).toHaveLength(4);
    await store.close();
  });
});
