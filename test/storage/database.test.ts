import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fork } from 'node:child_process';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Database } from '../../storage/duckdb/database.js';
import { DatabaseDamagedError, DatabaseLockedError } from '../../storage/duckdb/opening.js';
import { run } from '../support/processes.js';

const options = { memoryLimitMiB: 128, threads: 1 };
let directory: string;
let file: string;

beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'fathom-db-'));
  file = path.join(directory, "it's.duckdb");
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

describe('Database', () => {
  it('keeps committed rows and rolls back a failed transaction', async () => {
    let database = await Database.openFile(file, options);
    await database.run(
      'CREATE TABLE things (id BIGINT PRIMARY KEY, name VARCHAR, data BLOB, x DOUBLE)',
    );
    await database.run('INSERT INTO things VALUES (?, ?, ?, ?)', [
      2 ** 53 - 1,
      'one',
      new Uint8Array([0, 255]),
      0.5,
    ]);
    await expect(
      database.transaction(async (tx) => {
        await tx.run("INSERT INTO things VALUES (2, 'two', NULL, 1)");
        throw new Error('stop');
      }),
    ).rejects.toThrow('stop');
    await database.transaction(async (tx) => {
      await tx.run("INSERT INTO things VALUES (3, 'three', NULL, NULL)");
      expect(await tx.rows('SELECT count(*) FROM things')).toEqual([[2]]);
    });
    await database.close();
    database = await Database.openFile(file, options);
    expect(await database.rows('SELECT * FROM things ORDER BY id')).toEqual([
      [3, 'three', null, null],
      [2 ** 53 - 1, 'one', new Uint8Array([0, 255]), 0.5],
    ]);
    await database.close();
  });

  it('lets others have the event loop while it appends', async () => {
    const database = await Database.openFile(file, options);
    await database.run(
      'CREATE TABLE things (id UINTEGER, name VARCHAR, data BLOB, is_new BOOLEAN)',
    );
    const rows = Array.from({ length: 20_000 }, (_, i) => [
      i,
      i % 3 === 0 ? null : `thing ${i}`,
      new Uint8Array([i % 256, i >> 8]),
      i % 2 === 0,
    ]);
    let turns = 0;
    const turning = setInterval(() => turns++, 0);
    await database.transaction((tx) => tx.append('things', rows));
    clearInterval(turning);
    expect(turns).toBeGreaterThan(20);
    expect(await database.rows('SELECT * FROM things ORDER BY rowid')).toEqual(rows);
    await database.close();
  });

  it('keeps nothing of rows whose appending failed, not even once they are collected', async () => {
    const script = path.resolve('test/support/failed-append.mjs');
    const { stdout, stderr } = await run(process.execPath, ['--expose-gc', script, file]);
    expect([stdout, stderr]).toEqual(['failed\nrows: 0\n', '']);
  });

  it('runs more callers than it has connections, one statement each at a time', async () => {
    const database = await Database.openFile(file, options);
    const sums = await Promise.all(
      Array.from({ length: 40 }, (_, i) => database.rows('SELECT sum(range) FROM range(?)', [i])),
    );
    expect(sums.map((rows) => rows[0][0])).toEqual(
      Array.from({ length: 40 }, (_, i) => (i === 0 ? null : (i * (i - 1)) / 2)),
    );
    await database.close();
    await expect(database.rows('SELECT 1')).rejects.toThrow('closed');
  });

  it('cannot read files or change its settings once it is open', async () => {
    const database = await Database.openFile(file, options);
    await expect(database.rows("SELECT * FROM read_csv('/etc/hostname')")).rejects.toThrow();
    await expect(database.run('SET enable_external_access = true')).rejects.toThrow();
    await database.close();
  });

  it('says that another process has the file, and that a file is no database', async () => {
    const database = await Database.openFile(file, options);
    const script = path.join(directory, 'open.mjs');
    writeFileSync(
      script,
      `import { createRequire } from 'node:module';
       const { DuckDBInstance } = createRequire(${JSON.stringify(path.resolve('package.json'))})('@duckdb/node-api');
       DuckDBInstance.create(${JSON.stringify(path.join(directory, 'other.duckdb'))}).then(() => process.send('open'));
       setInterval(() => {}, 1000);`,
    );
    const child = fork(script);
    await new Promise((resolve) => child.once('message', resolve));
    await expect(
      Database.openFile(path.join(directory, 'other.duckdb'), options),
    ).rejects.toBeInstanceOf(DatabaseLockedError);
    child.kill('SIGKILL');
    await database.close();
    const text = path.join(directory, 'text.duckdb');
    writeFileSync(text, 'no database at all, but long enough to be read as a header'.repeat(400));
    await expect(Database.openFile(text, options)).rejects.toBeInstanceOf(DatabaseDamagedError);
  });

  it('streams a result larger than one vector', async () => {
    const database = await Database.openMemory(options);
    let rows = 0;
    for await (const chunk of database.streamChunks('SELECT range FROM range(10000)')) {
      expect(chunk.values(0)).toHaveLength(chunk.rowCount);
      const item = chunk.reader(0);
      for (let row = 0; row < chunk.rowCount; row++) expect(item(row)).toBe(BigInt(rows++));
    }
    expect(rows).toBe(10_000);
    const nested = database.streamChunks("SELECT {'a': [1::BIGINT, 2], 'b': NULL::DOUBLE} AS s");
    const { value: chunk } = await nested.next();
    expect(chunk?.rowCount).toBe(1);
    expect(chunk?.values(0)).toEqual([{ a: [1n, 2n], b: null }]);
    await nested.return(undefined);
    await database.close();
  });
});
