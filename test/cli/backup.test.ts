/** `fathom backup`, while a server ingests more. */
import { existsSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { backupStore } from '../../storage/backup.js';
import type { Ended } from '../support/processes.js';
import { fathom, newKey, serveHere, type Service, withStoreOf } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import {
  commitRows,
  MINT,
  openStore,
  snapshot,
  storedSnapshots,
  tokenOf,
} from '../support/stores.js';
import type { Json } from '../support/tables.js';

const T = 1_794_000_000;
const root = temporaryDirectory();
const data = path.join(root, 'data');
let server: Service;
let key: string;

beforeAll(async () => {
  key = await newKey(data);
  await withStoreOf(data, (store) => commitRows(store, [snapshot(T), snapshot(T + 60)]));
  server = await serveHere(data, ['--as-of', String(T + 7200), '--stale-after', '7d']);
});

const backup = (...words: string[]): Promise<Ended> => fathom(['backup', '--data', data, ...words]);
const times = (directory: string): Promise<number[]> =>
  withStoreOf(directory, async (store) =>
    (await storedSnapshots(store, tokenOf(store))).map(({ t }) => t - T),
  );
const mode = (file: string): string => (statSync(file).mode & 0o777).toString(8);

describe('fathom backup', () => {
  it('copies a served store with its keys, readable only for the owner', async () => {
    const out = path.join(root, 'new', 'copy');
    const ended = await backup('--out', out, '--json');
    expect(ended.stderr).toMatch(
      /^copied [\d.]+ MiB to .*copy in [\d.]+ s, as of position \d+ of the log\n$/,
    );
    const names = ['fathom.duckdb', 'pepper'];
    expect(readdirSync(out).sort()).toEqual(names);
    const bytes = names.reduce((sum, name) => sum + statSync(path.join(out, name)).size, 0);
    expect(JSON.parse(ended.stdout)).toMatchObject({ out, bytes, not_copied: null });
    expect(readdirSync(path.join(root, 'new'))).toEqual(['copy']);
    expect(mode(out)).toBe('700');
    for (const name of readdirSync(out)) expect(mode(path.join(out, name))).toBe('600');
    const copy = await serveHere(out, ['--as-of', String(T + 7200), '--stale-after', '7d']);
    const query = `/replay/${MINT}?from=${T}&to=${T + 600}`;
    const page = async (from: Service): Promise<Json> =>
      (await (await from.get(query, key)).json()) as Json;
    expect((await page(copy)).snapshots).toHaveLength(2);
    expect(await page(copy)).toEqual(await page(server));
    await copy.stop();
  });

  it('clears what an interrupted one has left, and accepts an empty directory', async () => {
    const out = path.join(root, 'empty');
    mkdirSync(out);
    mkdirSync(path.join(out, 'lost+found'));
    writeFileSync(path.join(out, 'fathom.duckdb.partial'), 'half of it');
    writeFileSync(path.join(out, 'pepper.new'), 'half of it');
    await expect(times(out)).rejects.toThrow('holds a backup that was not completed');
    expect((await backup('--out', out)).status).toBe(0);
    expect(existsSync(path.join(out, 'fathom.duckdb.partial'))).toBe(false);
    expect(await times(out)).toEqual([0, 60]);
  });

  it('changes nothing outside its directory, which may be a link', async () => {
    const beside = path.join(root, 'linked.partial');
    mkdirSync(path.join(root, 'disk'));
    symlinkSync('disk', path.join(root, 'linked'));
    mkdirSync(beside);
    writeFileSync(path.join(beside, 'mine'), 'mine');
    expect((await backup('--out', path.join(root, 'linked'))).status).toBe(0);
    expect(await times(path.join(root, 'disk'))).toEqual([0, 60]);
    expect(readdirSync(beside)).toEqual(['mine']);
  });

  it.each([
    [['--out', data], /^out: expected a directory outside of /],
    [['--out', path.join(data, 'below')], /^out: expected a directory outside of /],
    [
      ['--out', root],
      /^out: .* is not empty: expected an empty directory, or one that does not exist$/m,
    ],
    [['--out', path.join(data, 'pepper', 'x')], /^out: expected a directory outside/],
    [['--out', __filename], /^out: .* is a file, or lies below one$/m],
    [['--out', path.join(root, 'x'), '--data', root], /holds no store; is --data right/],
  ] as [string[], RegExp][])(
    '%j fails with its reason, and leaves nothing',
    async (words, message) => {
      const before = readdirSync(root);
      const place = words.includes('--data') ? [] : ['--data', data];
      const ended = await fathom(['backup', ...place, ...words]);
      expect(ended.stderr).toMatch(message);
      expect(ended.status).toBe(1);
      expect(readdirSync(root)).toEqual(before);
    },
  );
});

describe('A backup of a store that changes in the meantime', () => {
  it('shows one moment; checkpoints wait for it, and a broken attempt is repeated', async () => {
    const directory = path.join(root, 'busy');
    const out = path.join(root, 'busy-copy');
    const store = await openStore(directory);
    const { database } = store['parts'];
    await commitRows(store, [snapshot(T)]);
    let attempts = 0;
    let added = 0;
    await backupStore({
      directory,
      out,
      useStore: async (body) => {
        const released = new AbortController();
        attempts++;
        try {
          return await body({
            archiveStatus: () => store.archiveStatus(),
            holdFile: async () => {
              await store.holdFile(released.signal);
              // Data after the moment of the backup.
              await commitRows(store, [snapshot(T + 60 * ++added)]);
              await database.wal.shorten();
            },
          } as never);
        } finally {
          released.abort();
        }
      },
      onProgress: async (share) => {
        // Another checkpoint in the middle of the first attempt.
        if (attempts === 1 && share === 0) await database.checkpoint();
      },
    });
    expect(attempts).toBe(2);
    await store.close();
    expect(await times(directory)).toEqual([0, 60, 120]);
    expect(await times(out)).toEqual([0, 60]);
    const historyOf = (of: string) =>
      withStoreOf(of, (opened) => Promise.resolve(opened.depth.commitHistory));
    // Until it commits, a copy is the store at an earlier position; its own commits are of another log.
    expect(await historyOf(out)).toBe(await historyOf(directory));
    const copy = await openStore(out);
    await commitRows(copy, [snapshot(T + 600)]);
    await copy.close();
    expect(await historyOf(out)).not.toBe(await historyOf(directory));
  });

  it('leaves nothing if it fails', async () => {
    const out = path.join(root, 'failed', 'copy');
    const failing = backupStore({
      directory: data,
      out,
      useStore: () => Promise.reject(new Error('the server went away before it answered')),
    });
    await expect(failing).rejects.toThrow('the server went away');
    expect(existsSync(path.dirname(out))).toBe(false);
  });
});
