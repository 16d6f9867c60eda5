/** Whatever happens to DuckDB's WAL, and to the database as long as the log is whole: acknowledged changes are kept. */
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { seededRandom } from '../../bench/random.js';
import { checkStore } from '../../storage/check/check.js';
import { DATABASE_FILE, LOG_FOLDER, WAL_FILE } from '../../storage/data-directory.js';
import { DiskFullError, InputError } from '../../storage/errors.js';
import type { Store } from '../../storage/store.js';
import {
  commitRows,
  DataDirectory,
  openStore,
  snapshot,
  storedSnapshots,
  tokenOf,
} from '../support/stores.js';
import { WAL_TAMPERS } from '../support/wal-tampers.js';

const stores: Store[] = [];
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
});

/** Of a store that follows a cluster's log. */
const NODE_MARK = { logId: 'cluster', position: 7, entryId: 'e', timeMs: 0, isOwn: false };

async function opened(directory: string, notices: string[] = []): Promise<Store> {
  const store = await openStore(directory, { onNotice: (text) => notices.push(text) });
  stores.push(store);
  return store;
}

/** The directory as a process would leave it if killed now. */
function killed(directory: string): string {
  const copy = new DataDirectory().path;
  cpSync(directory, copy, { recursive: true, filter: (name) => !name.endsWith('.sock') });
  return copy;
}

const walOf = (directory: string): string => path.join(directory, WAL_FILE);
const logOf = (directory: string): string => path.join(directory, LOG_FOLDER);
const times = async (store: Store): Promise<number[]> =>
  (await storedSnapshots(store, tokenOf(store))).map(({ t }) => t);

/** A store with three commits of which the first is in the file, a revoked key, and an older WAL. */
async function prepared() {
  const directory = new DataDirectory().path;
  const store = await opened(directory);
  await commitRows(store, [snapshot(100)]);
  await store['parts'].database.checkpoint();
  const { id, key } = await store.createKey({ tier: 'premium' });
  await commitRows(store, [snapshot(200)]);
  const older = readFileSync(walOf(directory));
  await commitRows(store, [snapshot(300)]);
  await store.revokeKey(id);
  await store['writer']?.settled();
  return { directory, store, older, key };
}

async function isWhole(directory: string, key: string, expected: number[]): Promise<void> {
  const store = await opened(directory);
  expect(await times(store)).toEqual(expected);
  expect([store.keys.verify(key), store.keys.count]).toEqual([null, 1]);
  await commitRows(store, [snapshot(900)]);
  expect(await times(store)).toEqual([...expected, 900]);
  const position = store.applied.position;
  stores.splice(stores.indexOf(store), 1);
  await store.close();
  expect((await checkStore(directory)).damages).toEqual([]);
  const again = await opened(directory);
  expect([await times(again), again.applied.position]).toEqual([[...expected, 900], position]);
}

describe.each(Object.entries(WAL_TAMPERS))('A WAL that is %s', (_, tamper) => {
  it('after a kill costs nothing', async () => {
    const { directory, older, key } = await prepared();
    for (let seed = 0; seed < 4; seed++) {
      const copy = killed(directory);
      tamper(walOf(copy), seededRandom(seed), older);
      await isWhole(copy, key, [100, 200, 300]);
    }
  });

  it('while the store is open costs nothing, before and after further commits', async () => {
    const { directory, store, older, key } = await prepared();
    tamper(walOf(directory), seededRandom(1), older);
    await isWhole(killed(directory), key, [100, 200, 300]);
    await commitRows(store, [snapshot(400)]);
    await isWhole(killed(directory), key, [100, 200, 300, 400]);
    await store['parts'].database.checkpoint();
    await isWhole(killed(directory), key, [100, 200, 300, 400]);
    await commitRows(store, [snapshot(500)]);
    await isWhole(killed(directory), key, [100, 200, 300, 400, 500]);
    stores.splice(stores.indexOf(store), 1);
    await store.close();
    await isWhole(directory, key, [100, 200, 300, 400, 500]);
  });
});

it('A store that joins a cluster keeps its log until its file has all of it', async () => {
  const { directory, store } = await prepared();
  const entryId = 'origin';
  await store.applied.pass({ logId: 'cluster', position: 1, entryId, timeMs: 0, isOwn: false });
  // The first opening as a node, and a kill.
  const node = await opened(killed(directory));
  expect([node.mark?.logId, existsSync(logOf(node.directory))]).toEqual(['cluster', false]);
  const copy = killed(node.directory);
  if (existsSync(walOf(copy))) rmSync(walOf(copy));
  expect(await times(await opened(copy))).toEqual([100, 200, 300]);
});

it('A store in no cluster has nothing to leave, and keeps its log', async () => {
  const { directory, store, key } = await prepared();
  const names = readdirSync(logOf(directory));
  const { commitHistory } = store.depth;
  expect(await store.leaveLog()).toBeNull();
  expect([readdirSync(logOf(directory)), store.depth.commitHistory]).toEqual([
    names,
    commitHistory,
  ]);
  const copy = killed(directory);
  rmSync(walOf(copy));
  await isWhole(copy, key, [100, 200, 300]);
});

it('A store that left its cluster keeps what it commits then', async () => {
  const { store } = await prepared();
  await store.applied.pass(NODE_MARK);
  expect(await store.leaveLog()).toMatchObject({ position: 7 });
  const left = await opened(killed(store.directory));
  await commitRows(left, [snapshot(400)]);
  const copy = killed(left.directory);
  rmSync(walOf(copy));
  expect(await times(await opened(copy))).toEqual([100, 200, 300, 400]);
});

it('A store leaves its cluster on a full disk too, and then commits once there is room', async () => {
  const { store } = await prepared();
  await store.applied.pass(NODE_MARK);
  const { database } = store['parts'];
  const checkpoint = vi.spyOn(database, 'checkpoint');
  const full = new DiskFullError(store.directory);
  checkpoint.mockRejectedValueOnce(full);
  await expect(store.leaveLog()).rejects.toThrow('its disk is full');
  expect(store.mark).toEqual(NODE_MARK);
  // What can fail comes before the settings are forgotten.
  const write = vi.spyOn(database, 'transaction').mockRejectedValueOnce(full);
  await expect(store.leaveLog()).rejects.toThrow('its disk is full');
  expect(store.mark).toEqual(NODE_MARK);
  write.mockRestore();
  const leave = store.applied.leave.bind(store.applied);
  vi.spyOn(store.applied, 'leave').mockImplementation((from) => {
    checkpoint.mockRejectedValue(full);
    return leave(from);
  });
  expect(await store.leaveLog()).toMatchObject({ position: 7, settings: {} });
  // The WAL alone has the departure: without it, the store is a node's again, whose start removes other logs.
  await expect(commitRows(store, [snapshot(400)])).rejects.toThrow('its disk is full');
  expect(existsSync(logOf(store.directory))).toBe(false);
  checkpoint.mockRestore();
  await commitRows(store, [snapshot(400)]);
  const copy = killed(store.directory);
  rmSync(walOf(copy));
  expect(await times(await opened(copy))).toEqual([100, 200, 300, 400]);
});

it('A revocation waits for no commit, also right after its store has left a cluster', async () => {
  const { store } = await prepared();
  const { id } = await store.createKey({ tier: 'premium' });
  await store.applied.pass(NODE_MARK);
  expect(await store.leaveLog()).toMatchObject({ position: 7 });
  const write = vi.spyOn(store['parts'].database.wal, 'writeIfRoom');
  const apply = store.applied.applyBundle.bind(store.applied);
  const writes: number[] = [];
  vi.spyOn(store.applied, 'applyBundle').mockImplementationOnce(async (...given) => {
    writes.push(write.mock.calls.length);
    await store.revokeKey(id);
    writes.push(write.mock.calls.length);
    return apply(...given);
  });
  await commitRows(store, [snapshot(400)]);
  expect(writes).toEqual([1, 1]);
  expect(await times(store)).toEqual([100, 200, 300, 400]);
});

it('A WAL that is cut or flipped at any byte costs nothing', async () => {
  const { directory, key } = await prepared();
  const wal = readFileSync(walOf(directory));
  // Each start takes some 50 ms.
  const step = Math.ceil(wal.length / 150);
  for (let at = 0; at < wal.length; at += step) {
    for (const harm of ['cut', 'flipped']) {
      const copy = killed(directory);
      const bytes = Buffer.from(harm === 'cut' ? wal.subarray(0, at) : wal);
      if (harm === 'flipped') bytes[at] ^= 1 << (at % 8);
      writeFileSync(walOf(copy), bytes);
      const store = await opened(copy);
      expect([harm, at, await times(store)]).toEqual([harm, at, [100, 200, 300]]);
      expect(store.keys.verify(key)).toBeNull();
      stores.splice(stores.indexOf(store), 1);
      await store.close();
      rmSync(copy, { recursive: true });
    }
  }
}, 300_000);

describe('A database that is older than its log', () => {
  it('has everything applied again, if the log reaches back to it', async () => {
    const { directory, key } = await prepared();
    const before = killed(directory);
    rmSync(walOf(before));
    expect(existsSync(walOf(directory))).toBe(true);
    const copy = killed(directory);
    cpSync(path.join(before, DATABASE_FILE), path.join(copy, DATABASE_FILE));
    await isWhole(copy, key, [100, 200, 300]);
  });

  it('is refused with what is missing, if the log does not', async () => {
    const { directory, store } = await prepared();
    const before = readFileSync(path.join(directory, DATABASE_FILE));
    await commitRows(store, [snapshot(400)]);
    await store['parts'].database.checkpoint();
    await commitRows(store, [snapshot(500)]);
    const copy = killed(directory);
    writeFileSync(path.join(copy, DATABASE_FILE), before);
    // The checkpoint lets go of entries in the background: with or without the sixth.
    const names = readdirSync(logOf(copy));
    const refused = openStore(copy);
    await expect(refused).rejects.toBeInstanceOf(InputError);
    await expect(refused).rejects.toThrow(
      /log: entries 2 to [56] are missing, with what was stored after \S+Z and before \S+Z: put back/,
    );
    expect(readdirSync(logOf(copy))).toEqual(names);
  });
});

describe('A log', () => {
  /** A killed store whose database lacks entries 2 to 5: its WAL is gone. */
  async function withoutWal() {
    const { directory, key } = await prepared();
    const copy = killed(directory);
    rmSync(walOf(copy));
    const entry = (position: number): string =>
      path.join(logOf(copy), `${String(position).padStart(16, '0')}.entry`);
    return { copy, key, entry };
  }

  it('with a damaged entry is refused, whatever byte it is', async () => {
    const { copy, key, entry } = await withoutWal();
    const whole = readFileSync(entry(3));
    for (const at of [0, 50, whole.length - 400, whole.length - 200, whole.length - 1]) {
      const bytes = Buffer.from(whole);
      bytes[at] ^= 1;
      writeFileSync(entry(3), bytes);
      const why = `${entry(3)} is damaged, and the database may lack what it holds`;
      await expect(openStore(copy)).rejects.toThrow(why);
      expect((await checkStore(copy)).damages).toMatchObject([
        { what: expect.stringContaining(why) },
      ]);
    }
    writeFileSync(entry(3), whole.subarray(0, 100));
    await expect(openStore(copy)).rejects.toThrow('is damaged');
    writeFileSync(entry(3), whole);
    await isWhole(copy, key, [100, 200, 300]);
  });

  it('with a damaged entry that the store has applied is no reason to refuse the others', async () => {
    const { copy, key, entry } = await withoutWal();
    const bytes = readFileSync(entry(1));
    bytes[50] ^= 1;
    writeFileSync(entry(1), bytes);
    await expect(checkStore(copy)).rejects.toThrow('start the server');
    const store = await opened(copy);
    expect(await times(store)).toEqual([100, 200, 300]);
    expect(store.keys.verify(key)).toBeNull();
  });

  it('with a gap is refused', async () => {
    const { copy, key, entry } = await withoutWal();
    const whole = readFileSync(entry(3));
    rmSync(entry(3));
    const why = 'entry 3 is missing, with what was stored after';
    await expect(openStore(copy)).rejects.toThrow(why);
    expect((await checkStore(copy)).damages).toMatchObject([
      { what: expect.stringContaining(why) },
    ]);
    writeFileSync(entry(3), readFileSync(entry(4)));
    await expect(openStore(copy)).rejects.toThrow(`${entry(3)} is a copy of entry 4`);
    writeFileSync(entry(3), whole);
    await isWhole(copy, key, [100, 200, 300]);
  });

  it('of another copy of the store is refused', async () => {
    const { directory, store } = await prepared();
    const other = killed(directory);
    const copied = await opened(other);
    await commitRows(store, [snapshot(400)]);
    await commitRows(copied, [snapshot(401)]);
    await commitRows(copied, [snapshot(402)]);
    const mixed = killed(directory);
    rmSync(logOf(mixed), { recursive: true });
    cpSync(logOf(other), logOf(mixed), { recursive: true });
    await expect(openStore(mixed)).rejects.toThrow('log does not belong to the database beside it');
    rmSync(logOf(mixed), { recursive: true });
    expect(await times(await opened(mixed))).toEqual([100, 200, 300, 400]);
  });

  it('that is gone costs nothing if the WAL is there; without a readable WAL, the start is refused', async () => {
    const { directory, key } = await prepared();
    const copy = killed(directory);
    rmSync(logOf(copy), { recursive: true });
    await isWhole(copy, key, [100, 200, 300]);
    const refused = killed(directory);
    rmSync(logOf(refused), { recursive: true });
    const wal = readFileSync(walOf(refused));
    const damaged = Buffer.from(wal);
    damaged[Math.floor(wal.length / 2)] ^= 1;
    writeFileSync(walOf(refused), damaged);
    await expect(openStore(refused)).rejects.toThrow(
      /cannot be read by DuckDB .* are gone: put either back/,
    );
    expect(readFileSync(walOf(refused)).equals(damaged)).toBe(true);
    writeFileSync(walOf(refused), wal);
    await isWhole(refused, key, [100, 200, 300]);
  });

  it('without a store is no store: no new one is made', async () => {
    const { directory } = await prepared();
    const copy = killed(directory);
    rmSync(path.join(copy, DATABASE_FILE));
    rmSync(walOf(copy));
    await expect(openStore(copy)).rejects.toThrow('held a store whose database is gone');
  });
});
