/** A real disk that is too small: checkpoints are postponed, then commits refused, until there is room again. */
import { randomFillSync } from 'node:crypto';
import { appendFileSync, cpSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { Database } from '../../storage/duckdb/database.js';
import type { Shortage } from '../../storage/duckdb/disk-room.js';
import { DiskFullError } from '../../storage/errors.js';
import { WAL_FILE } from '../../storage/data-directory.js';
import { asIfKilled, fathom, serve, type Service } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import { commitRows, openStore, snapshot, storedSnapshots, tokenOf } from '../support/stores.js';
import { hasSmallDisks, SmallDisk } from '../support/small-disk.js';
import { eventually } from '../support/waiting.js';

const MIB = 2 ** 20;

describe.runIf(hasSmallDisks)('On a disk with little room', () => {
  let disk: SmallDisk;
  let database: Database;
  const opened: { close: () => Promise<void> }[] = [];
  let events: string[] = [];
  let shortages: Shortage[] = [];
  afterEach(async () => {
    for (const one of opened.splice(0)) await one.close();
    disk.remove();
    [events, shortages] = [[], []];
  });

  async function open(mib: number): Promise<NonNullable<Database['wal']['room']>> {
    disk = SmallDisk.make(mib) as SmallDisk;
    database = await Database.openFile(path.join(disk.path, 'small.duckdb'), {
      memoryLimitMiB: 128,
      threads: 1,
      onShortage: (what, shortage) => {
        events.push(`${what} ${shortage === null ? 'go on' : 'wait'}`);
        if (shortage !== null) shortages.push(shortage);
      },
    });
    opened.push(database);
    await database.run('CREATE TABLE filled (data BLOB)');
    return database.wal.room;
  }
  const fill = (mib: number) =>
    database.transaction(async (tx) => {
      for (let i = 0; i < mib; i++) {
        await tx.run('INSERT INTO filled VALUES (?)', [randomFillSync(new Uint8Array(MIB))]);
      }
    });

  it('a due checkpoint is postponed, which is logged once, until there is room', async () => {
    const room = await open(48);
    await fill(17);
    for (let i = 0; i < 3; i++) await database.wal.shorten();
    expect(events).toEqual(['checkpoints wait']);
    const [{ freeBytes, walBytes, neededBytes }] = shortages;
    expect(walBytes).toBeGreaterThan(17 * MIB);
    expect(neededBytes).toBeGreaterThan(4 * walBytes);
    expect(freeBytes).toBeLessThan(31 * MIB);
    expect(await room.figures()).toEqual({
      freeBytes,
      walBytes,
      totalBytes: 48 * MIB,
      checkpointsPostponed: 3,
      commitsRefused: 0,
    });
    await room.checkCommits();
    disk.resize(200);
    await database.wal.shorten();
    expect(events).toEqual(['checkpoints wait', 'checkpoints go on']);
    expect((await room.figures()).walBytes).toBe(0);
  });

  it('without a byte left, the store is intact and commits are refused before they are tried', async () => {
    disk = SmallDisk.make(40) as SmallDisk;
    const store = await openStore(path.join(disk.path, 'data'), {
      onShortage: (what) => events.push(what),
    });
    opened.push(store);
    const other = path.join(disk.path, 'other');
    expect(() => writeFileSync(other, new Uint8Array(64 * MIB))).toThrow('ENOSPC');
    await store.probe();
    await expect(store.room.checkCommits()).rejects.toThrow('commits are refused');
    expect([events, (await store.room.figures()).commitsRefused]).toEqual([['commits'], 0]);
    rmSync(other);
    await store.room.checkCommits();
  });

  it('without a byte left, a store that was closed is opened, read, copied and revoked in', async () => {
    disk = SmallDisk.make(24) as SmallDisk;
    const data = path.join(disk.path, 'data');
    const store = await openStore(data);
    await commitRows(store, [snapshot(1)]);
    const keys: { id: string; key: string }[] = [];
    for (let i = 0; i < 3; i++) keys.push(await store.createKey({ tier: 'premium' }));
    await store.close();
    expect(() => writeFileSync(path.join(disk.path, 'other'), new Uint8Array(64 * MIB))).toThrow(
      'ENOSPC',
    );
    const command = async (words: string[]): Promise<string> => {
      const { stdout, stderr, status } = await fathom([...words, '--data', data]);
      expect([words, status, stderr]).toEqual([words, 0, expect.any(String)]);
      return stdout;
    };
    await command(['check']);
    await command(['usage']);
    await command(['backup', '--out', path.join(temporaryDirectory(), 'copy')]);
    await command(['keys', 'revoke', keys[0].id]);
    expect(await command(['keys', 'list'])).toMatch(new RegExp(`${keys[0].id} .* revoked`));
    const replies = async (server: Service) => {
      const statuses: number[] = [];
      for (const { key } of keys) {
        const headers = { 'x-api-key': key };
        statuses.push((await fetch(`${server.url}/api/v1/tokens`, { headers })).status);
      }
      return statuses;
    };
    let server = await serve(data, ['--port', '0', '--threads', '1']);
    expect(await replies(server)).toEqual([401, 200, 200]);
    await command(['keys', 'revoke', keys[1].id]);
    await server.stop();
    server = await serve(data, ['--port', '0', '--threads', '1']);
    expect(await replies(server)).toEqual([401, 401, 200]);
    await server.stop();
    // What cannot be stored is refused.
    const words = ['keys', 'create', '--tier', 'premium', '--data', data];
    expect(await fathom(words)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('cannot grow: its disk is full') as string,
    });
  });

  it.each([
    ['part of an unfinished commit', Buffer.alloc(100, 7)],
    ['part of one that ends in zeros', Buffer.alloc(5000)],
  ])('without a byte left, a store whose WAL ends with %s is opened', async (_, torn) => {
    disk = SmallDisk.make(24) as SmallDisk;
    const whole = await openStore(path.join(temporaryDirectory(), 'data'));
    opened.push(whole);
    await commitRows(whole, [snapshot(1)]);
    const data = path.join(disk.path, 'data');
    // Opened once, so that every file is there.
    await (await openStore(data)).close();
    cpSync(asIfKilled(whole.directory), data, { recursive: true });
    appendFileSync(path.join(data, WAL_FILE), torn);
    expect(() => writeFileSync(path.join(disk.path, 'other'), new Uint8Array(64 * MIB))).toThrow(
      'ENOSPC',
    );
    const waiting: (string | null)[] = [];
    const store = await openStore(data, { onWaiting: (why) => waiting.push(why) });
    opened.push(store);
    disk.resize(64);
    await eventually('it is applied', () => store.applied.position === 1);
    if (waiting.length > 0)
      expect(waiting).toEqual([expect.stringContaining('disk is full'), null]);
    expect(await storedSnapshots(store, tokenOf(store))).toHaveLength(1);
  });

  it('refused commits are logged once, and commits are taken again once a file is removed', async () => {
    const room = await open(64);
    const other = path.join(disk.path, 'other');
    writeFileSync(other, new Uint8Array(56 * MIB));
    for (let i = 0; i < 2; i++) await expect(fill(10)).rejects.toThrow(DiskFullError);
    expect(events).toEqual(['commits wait']);
    await expect(room.checkCommits()).rejects.toThrow('commits are refused');
    rmSync(other);
    await room.checkCommits();
    expect(events).toEqual(['commits wait', 'commits go on']);
    expect((await room.figures()).commitsRefused).toBe(2);
    await fill(10);
  });
});
