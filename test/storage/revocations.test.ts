/** Revoking a key while the store is busy or cannot be written, or its process is killed. */
import { cpSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { rewriteSegments } from '../../compute/segment/rewrite.js';
import { connectToServer, listenForCommands } from '../../storage/control.js';
import { UnwrittenError } from '../../storage/errors.js';
import type { Store } from '../../storage/store.js';
import { run } from '../support/processes.js';
import {
  DataDirectory,
  freshDirectory,
  bundleOf,
  commitRows,
  openStore,
  snapshot,
} from '../support/stores.js';

const REQUEST = { tier: 'premium' } as const;

const directory = freshDirectory();

const journal = () => path.join(directory.path, 'fathom.revoked');

/** Makes writes to the table fail, or work again. */
async function renameTable(store: Store, from: string, to: string): Promise<void> {
  const { database } = store['parts'];
  await database.run(`ALTER TABLE ${from} RENAME TO ${to}`);
}

/** A copy of the directory, as after kill -9. */
function copied(): DataDirectory {
  const copy = new DataDirectory();
  const isFile = (name: string) => !name.endsWith('.sock');
  cpSync(directory.path, copy.path, { recursive: true, filter: isFile });
  return copy;
}

/** Which keys are live when a directory is opened. */
async function liveIn({ path: folder }: DataDirectory, keys: readonly string[]) {
  const store = await openStore(folder);
  const live = keys.map((key) => store.keys.verify(key) !== null);
  await store.close();
  return live;
}

describe('Revoking a key', () => {
  it('takes effect and is durable during a long commit', async () => {
    let goOn = (): void => undefined;
    const held = new Promise<void>((resolve) => (goOn = resolve));
    let begin = (): void => undefined;
    const rewriting = new Promise<void>((resolve) => (begin = resolve));
    const store = await openStore(directory.path, {
      rewrite: async (input) => {
        begin();
        await held;
        return rewriteSegments(input);
      },
    });
    const control = await listenForCommands(directory.path, store, () => undefined);
    const remote = await connectToServer(directory.path);
    const { id, key } = await store.createKey(REQUEST);
    await commitRows(store, [snapshot(1)]);
    const bundle = await bundleOf(store, [snapshot(1, [])]);
    const committing = store.commit(bundle.name);
    await rewriting;
    // Tasks that wait for the commit do not get in the way.
    const creating = store.createKey(REQUEST);
    const revoking = remote?.revokeKey(id);
    // The commit is held up all the time.
    while (store.keys.verify(key) !== null) await nextTurn();
    expect(await revoking).toMatchObject({ id, revokedAtS: expect.any(Number) });
    expect(await liveIn(copied(), [key])).toEqual([false]);
    await expect(remote?.revokeKey(id)).rejects.toThrow(`the key ${id} is revoked already`);
    goOn();
    await committing;
    await creating;
    remote?.close();
    await control.close();
    await store.close();
    // Once the table has it, the file is no longer needed.
    rmSync(journal());
    expect(await liveIn(copied(), [key])).toEqual([false]);
  });

  it('holds on a full disk after kill -9', async () => {
    const words = [path.resolve('test/support/revoke-on-full-disk.mjs'), directory.path];
    const { stdout, status } = await run(process.execPath, words, { fileKiB: 32 });
    const [, id, key] = /^key (\S+) (\S+)\nfull DiskFullError\nrevoked\n$/.exec(stdout) ?? [];
    expect([id, status]).toEqual([expect.stringMatching(/^key_/), null]);
    const store = await openStore(directory.path);
    expect(store.keys.verify(key)).toBeNull();
    expect(store.keys.list().filter(({ revokedAtS }) => revokedAtS !== null)).toHaveLength(1);
    await store.close();
  });

  it('that cannot be written holds in memory, is reported as such, and is written later', async () => {
    const errors: unknown[] = [];
    const store = await openStore(directory.path, { onBackgroundError: (e) => errors.push(e) });
    const { id, key } = await store.createKey(REQUEST);
    await renameTable(store, 'keys', 'away');
    rmSync(journal());
    mkdirSync(journal());
    const refused = store.revokeKey(id);
    await expect(refused).rejects.toBeInstanceOf(UnwrittenError);
    await expect(refused).rejects.toThrow(/^the revocation of key_\w+ could not be written: /);
    expect(store.keys.verify(key)).toBeNull();
    rmSync(journal(), { recursive: true });
    // Once more, and this time it can be written.
    expect(await store.revokeKey(id)).toMatchObject({ id, revokedAtS: expect.any(Number) });
    await expect(store.revokeKey(id)).rejects.toThrow('is revoked already');
    await renameTable(store, 'away', 'keys');
    await store.close();
    expect(await liveIn(copied(), [key])).toEqual([false]);
  });

  it('needs the table only if it lacks more revocations than the file has lines', async () => {
    const store = await openStore(directory.path, { onBackgroundError: () => undefined });
    const issued = [];
    for (let i = 0; i < 66; i++) issued.push(await store.createKey(REQUEST));
    const { size } = statSync(journal());
    await renameTable(store, 'keys', 'away');
    const ended = await Promise.allSettled(issued.map(({ id }) => store.revokeKey(id)));
    expect(ended.filter(({ status }) => status === 'fulfilled')).toHaveLength(64);
    expect(issued.some(({ key }) => store.keys.verify(key) !== null)).toBe(false);
    await renameTable(store, 'away', 'keys');
    await expect(store.revokeKey(issued[65].id)).resolves.toMatchObject({ id: issued[65].id });
    expect(statSync(journal()).size).toBe(size);
    await store.close();
    const again = await openStore(directory.path);
    expect(issued.some(({ key }) => again.keys.verify(key) !== null)).toBe(false);
    await again.close();
  });

  it('is lost only with its own line if the file is damaged', async () => {
    // While the table is away, writing the revocations into it fails.
    const store = await openStore(directory.path, { onBackgroundError: () => undefined });
    const [one, other] = [await store.createKey(REQUEST), await store.createKey(REQUEST)];
    const copy = copied();
    await renameTable(store, 'keys', 'away');
    await store.revokeKey(one.id);
    await store.revokeKey(other.id);
    const text = readFileSync(journal());
    await renameTable(store, 'away', 'keys');
    await store.close();
    text[30] ^= 1;
    writeFileSync(path.join(copy.path, 'fathom.revoked'), text);
    expect(await liveIn(copy, [one.key, other.key])).toEqual([true, false]);
  });
});
