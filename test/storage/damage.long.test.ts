import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { isDamage } from '../../compute/damage.js';
import type { Tier } from '../../compute/market.js';
import { BUNDLE_VERSION } from '../../storage/bundle.js';
import { RetentionWorker } from '../../storage/retention.js';
import type { Store } from '../../storage/store.js';
import { InputError, StoreBusyError } from '../../storage/errors.js';
import { SCHEMA_VERSION } from '../../storage/schema.js';
import { DATABASE_FILE } from '../../storage/data-directory.js';
import { fathom } from '../support/cli.js';
import { commitHolders, type Held, held, storedHolders } from '../support/holders.js';
import {
  DataDirectory,
  MINT,
  OTHER_MINT,
  bundleOf,
  commitDelete,
  commitFrames,
  commitRows,
  damageBlock,
  flipped,
  noisyRows,
  openStore,
  orca,
  segmentIds,
  snapshot,
  storedSnapshots,
  tamper,
  tokenOf,
  type SnapshotRow,
} from '../support/stores.js';
import { becomes, eventually } from '../support/waiting.js';

let directory: DataDirectory;
let file: string;
beforeEach(() => {
  directory = new DataDirectory();
  mkdirSync(directory.path);
  file = path.join(directory.path, DATABASE_FILE);
});

async function storeWith(...times: number[]): Promise<void> {
  const store = await openStore(directory.path);
  await commitRows(
    store,
    times.map((t) => snapshot(t)),
  );
  await store.close();
}

const KEY = { chain: 'mainchain', address: MINT, tier: 'raw' } as const;
const ALL_TIME = { fromS: 0, toS: 1e9, nowS: 1e9, maxSnapshots: 1e6 };

async function expectNotOpened(message: RegExp): Promise<void> {
  const opened = openStore(directory.path);
  await expect(opened).rejects.toBeInstanceOf(InputError);
  await expect(opened).rejects.toThrow(message);
}

describe('A damaged segment', () => {
  const damage = `UPDATE segments SET ${flipped}`;

  /** What background work has reported. */
  const notices: string[] = [];
  const open = () =>
    openStore(directory.path, {
      onBackgroundError: (error) => notices.push((error as Error).message),
    });
  const all = async (store: Store) => storedSnapshots(store, tokenOf(store));

  /** Deletes what a refusal names. */
  async function deleteNamed(store: Store, refused: Error): Promise<number> {
    const words = /: (fathom delete .*)$/.exec(refused.message)?.[1].split(' ') ?? [];
    const flag = (name: string) => words[words.indexOf(`--${name}`) + 1];
    expect(flag('token')).toBe(`mainchain:${MINT}`);
    const [fromS, toS] = [flag('from'), flag('to')].map((text) => Date.parse(text) / 1000);
    const tier = flag('tier') as Tier;
    return (await commitDelete(store, { address: MINT, tier, fromS, toS })).deleted.snapshots;
  }

  it('is an error for readers, never wrong numbers, and refuses what needs it until it is deleted', async () => {
    await storeWith(1, 2, 3);
    let store = await open();
    await commitRows(store, [snapshot(2, [orca([[0, 1, 1]])], { tier: '15m' })]);
    await commitRows(store, [snapshot(10)]);
    const before = await all(store);
    const [id, ...others] = await segmentIds(store);
    await store.close();
    await tamper(file, `${damage} WHERE segment_id = ${id}`);
    store = await open();
    const message = `segment ${id} is damaged: its checksum does not match`;
    await expect(store.depth.readSegments([id])).rejects.toThrow(message);
    const refused: Error[] = [];
    for (const change of [
      () => commitRows(store, [snapshot(2, [orca([])])]),
      () => commitRows(store, [snapshot(2, [orca([])]), snapshot(20)], { rehearse: true }),
      () => commitRows(store, [snapshot(2)], { mode: 'merge' }),
      () => commitDelete(store, { address: MINT, fromS: 2 }),
      () => commitDelete(store, { address: MINT, markets: ['orca/pool-1'] }),
      () => store.retire({ chain: 'mainchain', address: MINT }, { raw: 3, '15m': 0, '1h': 0 }, []),
    ]) {
      await change().catch((error: Error) => refused.push(error));
    }
    expect(new Set(refused.map((error) => error.message))).toEqual(
      new Set([
        `the stored raw snapshots of mainchain:${MINT} from 1970-01-01T00:00:01Z to 1970-01-01T00:00:03Z are damaged: ${message}; this change needs them, so nothing was stored: delete them, then load them again: fathom delete --data ${directory.path} --token mainchain:${MINT} --tier raw --from 1970-01-01T00:00:01Z --to 1970-01-01T00:00:04Z`,
      ]),
    );
    expect(refused).toHaveLength(6);
    expect(refused.every(isDamage)).toBe(true);
    // Nothing of them is in the store, nor in its log.
    expect(await segmentIds(store)).toEqual([id, ...others]);
    await store.close();
    store = await open();
    expect(await segmentIds(store)).toEqual([id, ...others]);
    expect(await deleteNamed(store, refused[0])).toBe(3);
    expect(await segmentIds(store)).toEqual(others);
    await commitRows(store, [snapshot(1), snapshot(2), snapshot(3)]);
    expect(await all(store)).toEqual(before);
    expect(notices).toEqual([]);
    await store.close();
  });

  it('is named alone, not what the refused change has made of its neighbour', async () => {
    const span = (from: number, to: number): SnapshotRow[] =>
      Array.from({ length: to - from + 1 }, (_, i) => snapshot(from + i));
    let store = await open();
    await commitRows(store, span(200, 400));
    await commitRows(store, span(401, 688));
    const [, id] = await segmentIds(store);
    await store.close();
    await tamper(file, `${damage} WHERE segment_id = ${id}`);
    store = await open();
    // Its first segment ends in the healthy one, which is rewritten; the second begins there, and ends in the damaged one.
    const change = () => commitRows(store, span(1, 576));
    const refused = await change().then(String, (error: Error) => error);
    expect(String(refused)).toContain(
      'from 1970-01-01T00:06:41Z to 1970-01-01T00:11:28Z are damaged: ',
    );
    expect(await deleteNamed(store, refused as Error)).toBe(288);
    await change();
    expect((await all(store)).length).toBe(576);
    await store.close();
  });

  it('hinders neither changes beside it, nor retention that deletes all of it', async () => {
    let store = await open();
    await commitRows(store, [snapshot(10)]);
    await commitRows(store, [snapshot(20), snapshot(30), snapshot(40)]);
    await commitRows(store, [snapshot(1000)]);
    const [, id] = await segmentIds(store);
    await store.close();
    await tamper(file, `${damage} WHERE segment_id = ${id}`);
    store = await open();
    await commitRows(store, [snapshot(15), snapshot(950)]);
    await commitDelete(store, { address: MINT, fromS: 0, toS: 20 });
    expect([...(await store.snapshotTimes(KEY))]).toEqual([20, 30, 40, 950, 1000]);
    const token = { chain: 'mainchain', address: MINT } as const;
    const until = (raw: number) => ({ raw, '15m': 0, '1h': 0 });
    await expect(store.retire(token, until(960), ['15m'])).rejects.toThrow(/from .*:20Z to .*:40Z/);
    expect(await store.retire(token, until(900), [])).toMatchObject({ snapshots: 3 });
    expect([...(await store.snapshotTimes(KEY))]).toEqual([950, 1000]);
    await store.close();
  });

  it('stops the retention of its token alone, which goes on once it is deleted', async () => {
    let store = await open();
    await commitRows(store, [snapshot(10), snapshot(900)]);
    await commitRows(store, [snapshot(1000)]);
    await commitRows(
      store,
      [snapshot(10), snapshot(1000)].map((row) => ({ ...row, address: OTHER_MINT })),
    );
    const [id] = await segmentIds(store);
    await store.close();
    await tamper(file, `${damage} WHERE segment_id = ${id}`);
    store = await open();
    const refused: Error[] = [];
    const worker = new RetentionWorker({
      retention: { raw: 500, '15m': 500, '1h': 500 },
      nowS: () => 1000,
      newestT: () => 1000,
      store,
      allowedToS: () => Promise.resolve(1000),
      restShare: 0,
      everyMs: 1,
      onRemoved: () => undefined,
      onWaiting: () => undefined,
      onResume: () => undefined,
      onError: (error, token) => {
        refused.push(
          token?.address === MINT ? (error as Error) : new Error(`${token?.address}: ${error}`),
        );
      },
    });
    const times = async (address: string) => [...(await store.snapshotTimes({ ...KEY, address }))];
    await becomes(() => times(OTHER_MINT), [1000]);
    await eventually('it is tried again', () => refused.length > 1);
    expect(await times(MINT)).toEqual([10, 900, 1000]);
    await deleteNamed(store, refused[0]);
    await commitRows(store, [snapshot(10), snapshot(900)]);
    await becomes(() => times(MINT), [900, 1000]);
    await worker.close();
    await store.close();
  });

  it('does not keep its neighbours from being joined, and is reported once', async () => {
    let store = await open();
    for (let t = 1; t <= 7; t++) await commitRows(store, [snapshot(10 * t)]);
    const ids = await segmentIds(store);
    await store.close();
    await tamper(file, `${damage} WHERE segment_id = ${ids[3]}`);
    store = await open();
    notices.length = 0;
    for (let t = 8; t <= 13; t++) await commitRows(store, [snapshot(10 * t)]);
    await store.settled();
    const left = await segmentIds(store);
    expect(left).toContain(ids[3]);
    expect(left.length).toBeLessThan(7);
    expect(notices).toHaveLength(1);
    expect(notices[0]).toContain(`segment ${ids[3]} is damaged: its checksum does not match`);
    expect([...(await store.snapshotTimes(KEY))]).toHaveLength(13);
    await store.close();
  });

  it('has the same effects if DuckDB reports the damage, for a block of its file', async () => {
    let store = await open();
    const rows = new Map<string, SnapshotRow[]>();
    // So many that the damaged block holds nothing but parts of blocks.
    for (const address of [MINT, OTHER_MINT]) {
      const parts = [1, 1000, 2000].map((first) => noisyRows(first, address));
      for (const part of parts) await commitRows(store, part);
      rows.set(address, parts.flat());
    }
    const before = await all(store);
    await store.close();
    const id = await damageBlock(directory.path);
    store = await open();
    await expect(store.depth.readSegments([id])).rejects.toSatisfy(isDamage);
    expect(
      (await store.depth.plan({ tokenId: tokenOf(store), ...ALL_TIME })).snapshots,
    ).toHaveLength(600);
    // The rest of the file is readable and grows; DuckDB reads 2,048 parts at once.
    await commitRows(store, [snapshot(5000)]);
    expect(await store.depth.readSegments((await segmentIds(store)).slice(-1))).toHaveLength(1);
    await store.close();
    // Each refusal names a segment that DuckDB cannot read: some may be whole, beside the damaged block.
    store = await open();
    for (let refused: Error | null = null; ; refused = null) {
      await commitRows(store, rows.get(MINT)!).catch((error: Error) => (refused = error));
      if (refused === null) break;
      expect((refused as Error).message).toMatch(/Corrupt database file/);
      expect(await deleteNamed(store, refused)).toBeGreaterThan(0);
    }
    await commitDelete(store, { address: MINT, fromS: 5000 });
    expect(await all(store)).toEqual(before);
    // The damaged block is not needed any more.
    await store.close();
    store = await open();
    expect(await all(store)).toEqual(before);
    await store.close();
  });

  it('drops what the log has and no store can apply, and says so', async () => {
    await storeWith(1, 2, 3);
    // As after the loss of a WAL: the log has an entry that the database lacks.
    const whole = readFileSync(file);
    let store = await open();
    await commitRows(store, [snapshot(2, [orca([])])]);
    const wal = `${file}.wal`;
    const log = path.join(directory.path, 'log');
    const kept = readdirSync(log).map(
      (name) => [name, readFileSync(path.join(log, name))] as const,
    );
    await store.close();
    writeFileSync(file, whole);
    rmSync(wal, { force: true });
    for (const [name, bytes] of kept) writeFileSync(path.join(log, name), bytes);
    await tamper(file, damage);
    notices.length = 0;
    store = await open();
    expect(notices).toHaveLength(1);
    expect(notices[0]).toMatch(
      /^entry \d+ of the log, of 20.*Z, is dropped: load again what it held \(the stored raw snapshots of .* are damaged: .*fathom delete /,
    );
    await store.close();
  });
});

describe('A bundle', () => {
  it('that was cut short anywhere is not committed', async () => {
    const store = await openStore(directory.path);
    await commitRows(store, [snapshot(1)]);
    const bundle = await bundleOf(store, [snapshot(2), snapshot(3)]);
    const staged = path.join(directory.path, 'staging', bundle.name);
    const whole = readFileSync(staged);
    const before = await storedSnapshots(store, tokenOf(store));
    for (const bytes of [0, 3, 40, whole.length / 2, whole.length - 20, whole.length - 1]) {
      writeFileSync(staged, whole);
      truncateSync(staged, Math.floor(bytes));
      await expect(store.commit(bundle.name)).rejects.toThrow('the bundle was cut short');
      expect(await storedSnapshots(store, tokenOf(store))).toEqual(before);
    }
    const garbage = Buffer.from(whole);
    garbage.writeUInt32BE(0xffff_ffff, 0);
    writeFileSync(staged, garbage);
    await expect(store.commit(bundle.name)).rejects.toThrow('a frame states 4294967295 bytes');
    writeFileSync(staged, whole);
    await store.commit(bundle.name);
    expect(await storedSnapshots(store, tokenOf(store))).toHaveLength(3);
    await store.close();
  });

  it('is found only by its name in the staging folder', async () => {
    const store = await openStore(directory.path);
    for (const name of ['../fathom.duckdb', '/etc/passwd', '', 'x.bundle']) {
      await expect(store.commit(name)).rejects.toThrow('not the name of a bundle');
    }
    await store.close();
  });
});

describe('A store is not opened, and the message says why,', () => {
  it('if its database is a text file', async () => {
    writeFileSync(file, 'chain,address,t\n'.repeat(2000));
    await expectNotOpened(/^.*fathom\.duckdb cannot be opened: .*not a valid DuckDB database file/);
    const { status, stderr, stdout } = await fathom(['keys', 'list', '--data', directory.path]);
    expect([status, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^.*fathom\.duckdb cannot be opened: .*\n$/);
    expect(readFileSync(file, 'utf8')).toMatch(/^chain,address,t\n/);
  });

  it('if its database is a file of SQLite; nothing is changed but the lock', async () => {
    writeFileSync(file, `SQLite format 3\0${'\0'.repeat(8192)}`);
    chmodSync(file, 0o644);
    chmodSync(directory.path, 0o755);
    await expectNotOpened(/^.*fathom\.duckdb cannot be opened: .*not a valid DuckDB database file/);
    expect(readdirSync(directory.path).sort()).toEqual([DATABASE_FILE, 'fathom.lock']);
    expect([directory.path, file].map((name) => statSync(name).mode & 0o777)).toEqual([
      0o755, 0o644,
    ]);
  });

  it('if its database was cut short', async () => {
    await storeWith(1);
    truncateSync(file, Math.floor(statSync(file).size / 3));
    await expectNotOpened(/^.*fathom\.duckdb cannot be opened: /);
  });

  it('if a newer version wrote it, or an earlier build', async () => {
    await storeWith(1);
    const newer = SCHEMA_VERSION + 3;
    await tamper(file, `UPDATE meta SET value = '${newer}' WHERE key = 'schema'`);
    await expectNotOpened(
      new RegExp(
        `was written by a newer version of Fathom \\(schema ${newer}, this version knows ${SCHEMA_VERSION}\\): upgrade`,
      ),
    );
    await tamper(file, `UPDATE meta SET value = '1' WHERE key = 'schema'`);
    await expectNotOpened(
      /was written by an earlier build of Fathom \(schema 1, this one knows \d+\): keep it, and load/,
    );
    await tamper(file, `UPDATE meta SET value = 'three' WHERE key = 'schema'`);
    await expectNotOpened(/is damaged: its schema version is three$/);
    await tamper(file, `UPDATE meta SET key = 'schema_version', value = '13' WHERE key = 'schema'`);
    await expectNotOpened(
      /was written by a build before the first version of Fathom: keep it, and/,
    );
    await tamper(
      file,
      `UPDATE meta SET key = 'schema', value = '${SCHEMA_VERSION}' WHERE key = 'schema_version'`,
    );
    const store = await openStore(directory.path);
    expect((await store.summary()).cells).toBe(1);
    await store.close();
  });

  it('if the database belongs to another program', async () => {
    await tamper(file, 'CREATE TABLE orders (id INTEGER)');
    await expectNotOpened(/^.*fathom\.duckdb is a database, but not a Fathom store$/);
  });

  it('while this process already has it open, under any name', async () => {
    const store = await openStore(directory.path);
    const other = path.join(directory.path, '..', path.basename(directory.path));
    await expect(openStore(other)).rejects.toBeInstanceOf(StoreBusyError);
    await store.close();
    await (await openStore(other)).close();
  });
});

it('A store whose last counts cannot be written is closed nevertheless', async () => {
  const store = await openStore(directory.path);
  await commitRows(store, [snapshot(1)]);
  vi.spyOn(store.usage, 'close').mockRejectedValue(new Error('the disk is full'));
  await expect(store.close()).rejects.toThrow('the disk is full');
  const again = await openStore(directory.path);
  expect(await storedSnapshots(again, tokenOf(again))).toHaveLength(1);
  await again.close();
});

describe('Whatever the umask, and whoever made the directory', () => {
  it('the directory and its files are accessible only to their owner', async () => {
    const before = process.umask(0o000);
    try {
      chmodSync(directory.path, 0o755);
      let store = await openStore(directory.path);
      await store.createKey({ tier: 'premium' });
      await commitRows(store, [snapshot(1)]);
      const modes = () =>
        readdirSync(directory.path).map((name) => {
          const found = statSync(path.join(directory.path, name));
          return [name, found.mode & 0o777, found.isDirectory()];
        });
      for (const [name, mode, isDirectory] of modes()) {
        expect([name, mode]).toEqual([name, isDirectory === true ? 0o700 : 0o600]);
      }
      expect(modes().map(([name]) => name)).toContain(`${DATABASE_FILE}.wal`);
      expect(statSync(directory.path).mode & 0o777).toBe(0o700);
      await store.close();
      // As other programs may leave them.
      chmodSync(directory.path, 0o755);
      chmodSync(file, 0o644);
      store = await openStore(directory.path);
      expect(statSync(file).mode & 0o777).toBe(0o600);
      expect(statSync(directory.path).mode & 0o777).toBe(0o700);
      await store.close();
      // Others may need a directory that holds more, such as /tmp.
      writeFileSync(path.join(directory.path, 'notes.txt'), '');
      chmodSync(directory.path, 0o1777);
      store = await openStore(directory.path);
      expect(statSync(directory.path).mode & 0o7777).toBe(0o1777);
      expect(statSync(file).mode & 0o777).toBe(0o600);
      await store.close();
    } finally {
      process.umask(before);
    }
  });
});

describe('The pepper', () => {
  const pepper = () => path.join(directory.path, 'pepper');

  it('is made with mode 0600, and keys live as long as it stays', async () => {
    let store = await openStore(directory.path);
    const { key } = await store.createKey({ tier: 'premium' });
    await store.close();
    expect(statSync(pepper()).mode & 0o777).toBe(0o600);
    store = await openStore(directory.path);
    expect(store.keys.verify(key)?.tier).toBe('premium');
    await store.close();
  });

  it('or the log without the database means a lost store: no new one is made', async () => {
    await storeWith(1);
    const database = path.join(directory.path, 'fathom.duckdb');
    const kept = readFileSync(database);
    rmSync(database);
    await expectNotOpened(
      /whose database is gone: pepper is there, fathom\.duckdb is not\. Put the database back/,
    );
    expect(readdirSync(directory.path)).not.toContain('fathom.duckdb');
    for (const name of ['pepper', 'log'])
      rmSync(path.join(directory.path, name), { recursive: true });
    writeFileSync(`${database}.wal`, '');
    await expectNotOpened(/whose database is gone: fathom\.duckdb\.wal is there/);
    rmSync(`${database}.wal`);
    writeFileSync(database, kept);
    await (await openStore(directory.path)).close();
  });

  it('may not be missing or damaged once there are keys', async () => {
    const store = await openStore(directory.path);
    const { key } = await store.createKey({ tier: 'premium' });
    await store.close();
    const kept = readFileSync(pepper());
    rmSync(pepper());
    await expectNotOpened(/pepper is missing: .*restore it from a backup$/);
    writeFileSync(pepper(), kept.subarray(1));
    await expectNotOpened(/pepper is damaged: /);
    rmSync(pepper());
    mkdirSync(pepper());
    await expectNotOpened(/pepper cannot be read \(EISDIR\)$/);
    rmSync(pepper(), { recursive: true });
    writeFileSync(pepper(), kept);
    const again = await openStore(directory.path);
    expect(again.keys.verify(key)).not.toBeNull();
    await again.close();
  });

  it("may not be another store's once there are keys, unless the store took it over before", async () => {
    await storeWith(1);
    const [own, others] = [readFileSync(pepper()), Buffer.alloc(32, 7)];
    writeFileSync(pepper(), others);
    let store = await openStore(directory.path);
    await store.createKey({ tier: 'premium' });
    await store.close();
    writeFileSync(pepper(), own);
    await expectNotOpened(
      /pepper is another store's: without this store's pepper none of its keys/,
    );
    const { stderr } = await fathom(['check', '--data', directory.path]);
    expect(stderr).toMatch(/^keys: pepper is another store's$/m);
    writeFileSync(pepper(), others);
    store = await openStore(directory.path);
    await store.keys.adoptSecret(own);
    await store.close();
    await (await openStore(directory.path)).close();
    expect((await fathom(['check', '--data', directory.path])).status).toBe(0);
  });

  it('is made again if it was cut short before any key needed it', async () => {
    await storeWith(1);
    writeFileSync(pepper(), 'short');
    const store = await openStore(directory.path);
    const { key } = await store.createKey({ tier: 'premium' });
    expect(store.keys.verify(key)).not.toBeNull();
    await store.close();
  });
});

it('Keys that are rotated and revoked at the same time end revoked', async () => {
  const store = await openStore(directory.path);
  for (let i = 0; i < 5; i++) {
    const { id, key } = await store.createKey({ tier: 'premium' });
    const rotating = store.rotateKey(id);
    // Before its new text is written, or during: nobody gets a text that does not work.
    if (i > 1) await new Promise((resolve) => setImmediate(resolve));
    const [rotated, revoked] = await Promise.allSettled([rotating, store.revokeKey(id)]);
    expect([rotated.status, revoked.status]).toEqual(['rejected', 'fulfilled']);
    expect(store.keys.verify(key)).toBeNull();
    await expect(store.rotateKey(id)).rejects.toThrow(`the key ${id} is revoked already`);
  }
  await store.close();
});

it('A key whose text cannot be written is not issued, and a rotated one keeps its old text', async () => {
  const store = await openStore(directory.path);
  const { id, key } = await store.createKey({ tier: 'premium' });
  const { database } = store['parts'];
  await database.run('ALTER TABLE keys RENAME TO away');
  await expect(store.createKey({ tier: 'premium' })).rejects.toThrow('keys');
  await expect(store.rotateKey(id)).rejects.toThrow('keys');
  expect(store.keys.list().map((each) => each.id)).toEqual([id]);
  expect(store.keys.verify(key)).not.toBeNull();
  await database.run('ALTER TABLE away RENAME TO keys');
  await store.close();
});

describe('Damaged holders', () => {
  const DAY = 86_400;
  const history = new Map([0, 1, 2, 3].map((day) => [day * DAY, held(40, day)]));
  const added: [string, Map<number, Held>] = [MINT, new Map([[4 * DAY, held(40, 4)]])];
  let store: Store;

  const remove = (fromS: number, toS: number, address = MINT) =>
    commitFrames(store, [
      { kind: 'header', version: BUNDLE_VERSION, file: 'delete', mode: 'replace' },
      { kind: 'delete-holders', chain: 'mainchain', address, fromS, toS },
    ]);
  const command = (from: string, to: string) =>
    `fathom delete --data ${directory.path} --token mainchain:${MINT} --holders --from ${from} --to ${to}`;

  beforeEach(async () => {
    store = await openStore(directory.path);
    await commitHolders(store, [
      [MINT, history],
      [OTHER_MINT, history],
    ]);
    await store.close();
  });

  it.each([
    ['blocks', `UPDATE holder_block_parts SET ${flipped}`, 'its checksum does not match'],
    ['names', `UPDATE holder_owners SET ${flipped}`, 'a checksum does not match'],
    ['lost parts', `DELETE FROM holder_block_parts`, 'it is truncated'],
  ])('are refused with their span, and deleted without being read: %s', async (_, sql, why) => {
    const ids = `SELECT holder_id FROM holder_tokens WHERE token_address = '${MINT}'`;
    const blocks = `block_id IN (SELECT block_id FROM holder_blocks WHERE holder_id IN (${ids}))`;
    const where = sql.includes('owners') ? `holder_id IN (${ids})` : blocks;
    await tamper(file, `${sql} WHERE ${where}`);
    store = await openStore(directory.path);
    await expect(storedHolders(store.holders, MINT)).rejects.toThrow();
    for (const change of [
      () => commitHolders(store, [added]),
      () => commitHolders(store, [added], { rehearse: true }),
      () => remove(0, DAY),
    ]) {
      const refused: Error = await change().then(
        () => new Error('it was not refused'),
        (error: Error) => error,
      );
      expect(refused).toSatisfy(isDamage);
      expect(refused.message).toContain(why);
      expect(
        refused.message.endsWith(command('1970-01-01T00:00:00Z', '1970-01-04T00:00:01Z')),
      ).toBe(true);
    }
    expect((await remove(0, 3 * DAY + 1)).deleted.snapshots).toBe(4);
    expect(await storedHolders(store.holders, MINT)).toEqual(new Map());
    expect(await storedHolders(store.holders, OTHER_MINT)).toEqual(history);
    await commitHolders(store, [[MINT, history]]);
    await commitHolders(store, [added]);
    expect(await storedHolders(store.holders, MINT)).toEqual(new Map([...history, ...added[1]]));
    await store.close();
    store = await openStore(directory.path);
    expect(await storedHolders(store.holders, MINT)).toEqual(new Map([...history, ...added[1]]));
    await store.close();
    expect((await fathom(['check', '--data', directory.path])).status).toBe(0);
  });
});
