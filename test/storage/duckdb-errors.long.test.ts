/** DuckDB's failures keep their meaning, and no user's text is mistaken for one. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, it, vi } from 'vitest';
import { isDamage } from '../../compute/damage.js';
import { DuckDBError } from '../../storage/duckdb/duckdb-error.js';
import { Database } from '../../storage/duckdb/database.js';
import { MemoryDatabase } from '../../storage/duckdb/memory-database.js';
import { RefusalError } from '../../storage/errors.js';
import { parquetRows } from '../../storage/ingest/parquet.js';
import { temporaryDirectory } from '../support/folders.js';
import {
  commitDelete,
  commitRows,
  DataDirectory,
  MINT,
  openStore,
  orca,
  snapshot,
  storedSnapshots,
  tokenOf,
} from '../support/stores.js';

const options = { memoryLimitMiB: 128, threads: 1 };
const folder = temporaryDirectory();

/** What a user may write and DuckDB or the system say, too. */
const TEXTS = [
  'has been invalidated',
  'FATAL Error: x',
  'IO Error: Checkpoint failed for database "store". The database has been invalidated',
  'TransactionContext Error: x: No space left on device',
  'quota exceeded',
  'Corrupt database file: computed checksum',
  'segment 1 is damaged: its checksum does not match',
  'WAL',
];

describe('A user’s text', () => {
  it('does not turn a refusal that quotes it into a failure of the database', async () => {
    const directory = new DataDirectory();
    const onFault = vi.fn();
    const store = await openStore(directory.path, { onFault });
    await commitRows(store, [snapshot(1)]);
    for (const text of TEXTS) {
      const deleted = commitDelete(store, { address: MINT, markets: [text] });
      await expect(deleted).rejects.toSatisfy(
        (error) => (error as object).constructor === RefusalError && String(error).includes(text),
      );
      const other = snapshot(2, [{ ...orca(), exchange_type: 'CEX' }]);
      for (const file of [`${text}.csv`, text]) {
        await expect(commitRows(store, [other], { file })).rejects.toSatisfy(
          (error) => error instanceof RefusalError && error.message.startsWith(file),
        );
      }
      // It keeps serving at once.
      expect(await storedSnapshots(store, tokenOf(store))).toHaveLength(1);
    }
    expect(onFault).not.toHaveBeenCalled();
    await store.close();
  });

  it('does not turn an error in which DuckDB quotes it into one', async () => {
    const onFault = vi.fn();
    const file = path.join(folder, 'quotes.duckdb');
    const database = await Database.openFile(file, { ...options, onFault });
    await database.run('CREATE TABLE names (name VARCHAR PRIMARY KEY)');
    for (const text of TEXTS) {
      const quoting = [
        () => database.rows(`SELECT ?::INTEGER`, [text]),
        () => database.rows(`SELECT error(?)`, [text]),
        () => database.rows(`SELECT "${text.replaceAll('"', '""')}" FROM names`),
        () => database.run('INSERT INTO names VALUES (?), (?)', [text, text]),
        () => database.transaction((tx) => tx.append('names', [[text], [text]])),
      ];
      for (const quote of quoting) {
        const error = await quote().catch((caught: unknown) => caught);
        expect(error).toBeInstanceOf(DuckDBError);
        expect((error as Error).message).toContain(text.slice(0, 10));
        const { isFatal, isDiskFull, isLock, isBlockDamage } = error as DuckDBError;
        expect([isFatal, isDiskFull, isLock, isBlockDamage]).toEqual(Array(4).fill(false));
      }
      const parquet = path.join(folder, `${text.replaceAll('/', ' ')}.parquet`);
      writeFileSync(parquet, 'no Parquet at all');
      const read = parquetRows(parquet, [{ name: 'a', kind: 'text', isRequired: true }] as never);
      await expect(read.next()).rejects.toThrow(/not a readable Parquet file/);
    }
    expect(onFault).not.toHaveBeenCalled();
    await database.close();
  });

  it('may be the name of the data directory', async () => {
    for (const text of [...TEXTS, '": No space left on device', "it's: WAL"]) {
      const directory = path.join(folder, text);
      mkdirSync(directory);
      const file = path.join(directory, 'store.duckdb');
      writeFileSync(file, 'no database '.repeat(2000));
      await expect(Database.openFile(file, options)).rejects.toThrow(
        /^.*store\.duckdb cannot be opened: .*not a valid DuckDB database file!$/,
      );
      rmSync(directory, { recursive: true });
    }
  });
});

describe('An error of DuckDB', () => {
  const errorOf = (message: string) => new DuckDBError(new Error(message));
  const CHECKPOINT =
    'IO Error: Checkpoint failed for database "store". The database has been invalidated. Original error: ';

  it('is classified by DuckDB’s own words', () => {
    const full = (end: string) => `Could not write file "/a "b": c": ${end}`;
    for (const end of ['No space left on device', 'File too large', 'Disk quota exceeded']) {
      expect(errorOf(`IO Error: ${full(end)}`).isDiskFull).toBe(true);
      expect(errorOf(`TransactionContext Error: Failed to commit: ${full(end)}`)).toMatchObject({
        isDiskFull: true,
        isFatal: false,
      });
      expect(errorOf(CHECKPOINT + full(end))).toMatchObject({ isDiskFull: true, isFatal: true });
    }
    expect(errorOf('FATAL Error: fsync failed!')).toMatchObject({
      isFatal: true,
      isDiskFull: false,
    });
    const again = 'IO Error: Database "store" has been invalidated because checkpointing failed.';
    expect(errorOf(again).isFatal).toBe(true);
    const corrupt = 'Corrupt database file: computed checksum 1 does not match stored checksum 2';
    expect(errorOf(`IO Error: ${corrupt}`)).toMatchObject({ isBlockDamage: true, isFatal: false });
    expect(errorOf(CHECKPOINT + corrupt)).toMatchObject({ isBlockDamage: true, isFatal: true });
    const log = 'Failure while replaying WAL file "/WAL/x": Corrupt WAL file: entry at byte 3';
    expect(errorOf(`IO Error: ${log}`)).toMatchObject({ isWalError: true, isLock: false });
    const lock = 'Could not set lock on file "/x": Conflicting lock is held in /WAL/node (PID 1).';
    expect(errorOf(`IO Error: ${lock}`)).toMatchObject({ isWalError: false, isLock: true });
    expect(errorOf('IO Error: Cannot open file "/WAL/x": Permission denied').isWalError).toBe(
      false,
    );
  });
});

describe('A result that DuckDB aborts', () => {
  it('is an error, not a shorter result', async () => {
    const database = await MemoryDatabase.open(options);
    const failing =
      "SELECT CASE WHEN range < 900000 THEN range ELSE error('no more') END AS n FROM range(1000000)";
    let rows = 0;
    const read = async (): Promise<void> => {
      for await (const chunk of database.stream(failing)) rows += chunk.rowCount;
    };
    await expect(read()).rejects.toThrow('no more');
    expect(rows).toBeGreaterThan(0);
    expect(await database.rows('SELECT 1')).toEqual([[1]]);
    database.close();
  });

  it('is an error if a Parquet file is damaged after its beginning', async () => {
    const file = path.join(folder, 'cut.parquet');
    const instance = await DuckDBInstance.create(':memory:');
    const connection = await instance.connect();
    await connection.run(
      `COPY (SELECT md5(range::VARCHAR) AS name, range AS n FROM range(150000))
       TO '${file}' (FORMAT parquet, ROW_GROUP_SIZE 10000, COMPRESSION snappy)`,
    );
    connection.closeSync();
    instance.closeSync();
    const bytes = readFileSync(file);
    bytes.fill(0xff, Math.floor(bytes.length * 0.9), Math.floor(bytes.length * 0.9) + 4000);
    writeFileSync(file, bytes);
    const columns = [
      { name: 'name', kind: 'text', required: true },
      { name: 'n', kind: 'number', required: true },
    ];
    let rows = 0;
    const read = async (): Promise<void> => {
      for await (const part of parquetRows(file, columns as never)) rows += part.length;
    };
    await expect(read()).rejects.toThrow(/cut\.parquet: not a readable Parquet file/);
    expect(rows).toBeGreaterThan(0);
  });

  it('is damage if DuckDB finds a block of the file damaged', async () => {
    const file = path.join(folder, 'damaged.duckdb');
    let database = await Database.openFile(file, options);
    await database.run(
      'CREATE TABLE things AS SELECT range AS id, md5(range::VARCHAR) AS text FROM range(600000)',
    );
    await database.close();
    const bytes = readFileSync(file);
    bytes[Math.floor(bytes.length * 0.8)] ^= 1;
    writeFileSync(file, bytes);
    database = await Database.openFile(file, options);
    const read = async (): Promise<void> => {
      for await (const chunk of database.streamChunks('SELECT * FROM things')) void chunk;
    };
    await expect(read()).rejects.toSatisfy(isDamage);
    await expect(database.rows('SELECT max(text) FROM things')).rejects.toSatisfy(isDamage);
    const within = database.transaction(async (tx) => {
      for await (const chunk of tx.chunks('SELECT * FROM things')) void chunk;
    });
    await expect(within).rejects.toSatisfy(isDamage);
    await database.close();
  });
});
