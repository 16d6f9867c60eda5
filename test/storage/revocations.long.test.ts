/** Revoking a key while the store is busy or cannot be written, or its process is killed. */
import { cpSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { rewriteSegments } from '../../compute/segment/rewrite.js';
import { connectToServer, listenForCommands } from '../../storage/control.js';
import { LOG_FOLDER } from '../../storage/data-directory.js';
import { UnwrittenError } from '../../storage/errors.js';
import { run } from '../support/processes.js';
import { hasSmallDisks, SmallDisk } from '../support/small-disk.js';
import { eventually } from '../support/waiting.js';
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

const logFolder = () => path.join(directory.path, LOG_FOLDER);

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
    // Once the table has it, the log is no longer needed.
    rmSync(logFolder(), { recursive: true });
    expect(await liveIn(copied(), [key])).toEqual([false]);
  });

  it('holds on a full disk after kill -9', async () => {
    const words = [path.resolve('test/support/revoke-on-full-disk.mjs'), directory.path];
    const { stdout, status } = await run(process.execPath, words, { fileKiB: 1024 ** 2 });
    const [, id, key, made] =
      /^key (\S+) (\S+)\nfull DiskFullError after (\d+)\nrevoked\n$/.exec(stdout) ?? [];
    expect([id, status]).toEqual([expect.stringMatching(/^key_/), null]);
    const store = await openStore(directory.path);
    expect(store.keys.verify(key)).toBeNull();
    // The one that met the full disk was withdrawn.
    expect(store.keys.count).toBe(Number(made));
    expect(store.keys.list().filter(({ revokedAtS }) => revokedAtS !== null)).toHaveLength(1);
    await store.close();
  });

  it('that cannot be written holds in memory, is reported as such, and is written later', async () => {
    const store = await openStore(directory.path);
    const { id, key } = await store.createKey(REQUEST);
    const away = `${logFolder()}-away`;
    renameSync(logFolder(), away);
    writeFileSync(logFolder(), 'no folder');
    const refused = store.revokeKey(id);
    await expect(refused).rejects.toBeInstanceOf(UnwrittenError);
    await expect(refused).rejects.toThrow(/^the revocation of key_\w+ could not be written: /);
    expect(store.keys.verify(key)).toBeNull();
    expect(await liveIn(copied(), [key])).toEqual([true]);
    rmSync(logFolder());
    renameSync(away, logFolder());
    await eventually('it is written', async () => !(await liveIn(copied(), [key]))[0]);
    await expect(store.revokeKey(id)).rejects.toThrow('is revoked already');
    await store.close();
  });

  it('again, if it could not be written, writes it', async () => {
    const store = await openStore(directory.path);
    const { id, key } = await store.createKey(REQUEST);
    const away = `${logFolder()}-away`;
    renameSync(logFolder(), away);
    writeFileSync(logFolder(), 'no folder');
    await expect(store.revokeKey(id)).rejects.toBeInstanceOf(UnwrittenError);
    rmSync(logFolder());
    renameSync(away, logFolder());
    expect(await store.revokeKey(id)).toMatchObject({ id, revokedAtS: expect.any(Number) });
    expect(await liveIn(copied(), [key])).toEqual([false]);
    await store.close();
  });

  it.runIf(hasSmallDisks)('needs no room for the first sixteen on a full disk', async () => {
    const disk = SmallDisk.make(24) as SmallDisk;
    const data = path.join(disk.path, 'data');
    const store = await openStore(data);
    try {
      const issued = [];
      for (let i = 0; i < 18; i++) issued.push(await store.createKey(REQUEST));
      expect(() =>
        writeFileSync(path.join(disk.path, 'other'), new Uint8Array(64 * 2 ** 20)),
      ).toThrow('ENOSPC');
      const ended = await Promise.allSettled(issued.map(({ id }) => store.revokeKey(id)));
      expect(ended.map(({ status }) => status)).toEqual([
        ...Array<string>(16).fill('fulfilled'),
        'rejected',
        'rejected',
      ]);
      expect(issued.some(({ key }) => store.keys.verify(key) !== null)).toBe(false);
      const copy = new DataDirectory();
      cpSync(data, copy.path, { recursive: true });
      const texts = issued.map(({ key }) => key);
      expect(await liveIn(copy, texts)).toEqual(texts.map((_, i) => i >= 16));
      // The others follow once there is room.
      disk.resize(64);
      await eventually('they are written', async () => {
        const later = new DataDirectory();
        cpSync(data, later.path, { recursive: true });
        return !(await liveIn(later, texts)).includes(true);
      });
    } finally {
      await store.close();
      disk.remove();
    }
  });
});
