import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { Database } from '../../storage/duckdb/database.js';
import { fathomProcess } from '../support/cli.js';
import { run } from '../support/processes.js';
import {
  freshDirectory,
  MINT,
  bundleOf,
  commitRows,
  noiseRows,
  openStore,
  snapshot,
  storedSnapshots,
  tokenOf,
} from '../support/stores.js';

const directory = freshDirectory();

const rows = noiseRows(1000);
const MORE_LEVELS_THAN_MEMORY_HOLDS = 530_000;

async function stored(): Promise<unknown> {
  const store = await openStore(directory.path);
  const snapshots = await storedSnapshots(store, tokenOf(store));
  await store.close();
  return snapshots;
}

// Where a file-size limit can be set, writes fail as on a full disk without filling one.
describe('On a full disk', () => {
  it('a commit says so, changes nothing, and goes through once there is room', async () => {
    const store = await openStore(directory.path);
    await commitRows(store, [snapshot(1)]);
    const bundle = await bundleOf(store, rows);
    await store.close();
    const before = await stored();
    const words = [path.resolve('test/support/commit-bundle.mjs'), directory.path, bundle.name];
    const full = await run(process.execPath, words, { fileKiB: 1024 });
    expect(full.stdout).toMatch(/^failed InputError: .*data.log cannot grow: its disk is full/m);
    // The process that met the full disk keeps reading.
    expect(full.stdout).toContain('holds 1\n');
    expect(full.status).toBe(0);
    expect(await stored()).toEqual(before);
    const roomy = await run(process.execPath, words);
    expect(roomy.stdout).toContain('holds 1001\n');
  });

  it('an ingest says so in one line, and leaves nothing behind', async () => {
    const store = await openStore(directory.path);
    await commitRows(store, [snapshot(1)]);
    await store.close();
    const file = path.join(directory.path, 'rows.ndjson');
    writeFileSync(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    const before = await stored();
    const words = ['ingest', 'snapshots', file, '--data', directory.path];
    const full = await fathomProcess(words, { fileKiB: 700 });
    expect(full).toMatchObject({ status: 1, stdout: '' });
    expect(full.stderr).toMatch(/^.*cannot grow: its disk is full.*\n$/);
    expect(readdirSync(path.join(directory.path, 'staging'))).toEqual([]);
    expect(await stored()).toEqual(before);
  });

  it('levels that do not fit in memory are refused in one line', async () => {
    const row = `1,mainchain,${MINT},A,CEX,bid,100,2\n`;
    const file = path.join(path.dirname(directory.path), 'levels.csv');
    const head = 't,chain,address,source,exchange_type,side,price,size\n';
    writeFileSync(file, head + row.repeat(MORE_LEVELS_THAN_MEMORY_HOLDS));
    const words = ['ingest', 'levels', file, '--data', directory.path];
    const full = await fathomProcess(words, { fileKiB: 20_000 });
    expect([full.status, full.stdout, full.stderr]).toEqual([
      1,
      '',
      expect.stringMatching(/^.*cannot grow: its disk is full.*\n$/),
    ]);
    expect(existsSync(directory.path)).toBe(false);
  });

  it('a command that would make a store leaves none behind', async () => {
    for (const kibibytes of [0, 8]) {
      const data = path.join(directory.path, 'made', 'data');
      const words = ['keys', 'create', '--tier', 'premium', '--data', data];
      const full = await fathomProcess(words, { fileKiB: kibibytes });
      expect([full.status, full.stdout]).toEqual([1, '']);
      expect(full.stderr).toMatch(/^.*fathom\.lock cannot grow: its disk is full.*\n$/);
      expect(existsSync(directory.path)).toBe(false);
    }
  });

  it('a checkpoint that fails loses nothing: the database is reopened', async () => {
    const file = path.join(path.dirname(directory.path), 'full.duckdb');
    const script = path.resolve('test/support/fill-database.mjs');
    const { stdout, stderr, status } = await run(process.execPath, [script, file], {
      fileKiB: 20_000,
    });
    expect(stderr).toBe('');
    // Nobody else learns why.
    expect(stdout).toMatch(/^fault: .+\nInputError DiskFullError\n/);
    expect(stdout.split('fault: ')).toHaveLength(2);
    expect(stdout).toMatch(/full\.duckdb\.wal could not be written into the database, and stays: /);
    const [, committed, read, distinct] = /committed (\d+), read (\d+) (\d+)/.exec(stdout) ?? [];
    expect([read, distinct]).toEqual([committed, committed]);
    expect(stdout).toContain(`written, read ${Number(committed) + 1}\n`);
    expect(status).toBe(0);
    const database = await Database.openFile(file, { memoryLimitMiB: 128, threads: 1 });
    expect(await database.rows('SELECT count(*) FROM filled')).toEqual([[Number(committed) + 1]]);
    await database.close();
  });
});
