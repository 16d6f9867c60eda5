/** A DuckDB without a database file, to read and write files of other formats. */
import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { DiskFullError } from '../errors.js';
import { Connection } from './connection.js';
import { DuckDBError } from './duckdb-error.js';
import { createInstance, type InstanceOptions } from './opening.js';

/** Runs one statement at a time; a stream counts as one. */
export class MemoryDatabase extends Connection {
  private constructor(
    private readonly instance: DuckDBInstance,
    connection: DuckDBConnection,
  ) {
    super(connection);
  }

  static async open(options: InstanceOptions): Promise<MemoryDatabase> {
    const instance = await createInstance(options);
    return new MemoryDatabase(instance, await instance.connect());
  }

  /** @throws DiskFullError if there is no room for a file that the statement writes */
  override async run(...statement: Parameters<Connection['run']>): Promise<void> {
    await super.run(...statement).catch(throwNamed);
  }

  /** @throws DiskFullError as run() */
  override async runOn(...statement: Parameters<Connection['runOn']>): Promise<void> {
    await super.runOn(...statement).catch(throwNamed);
  }

  override close(): void {
    super.close();
    this.instance.closeSync();
  }
}

function throwNamed(error: unknown): never {
  const isFull = error instanceof DuckDBError && error.isDiskFull;
  throw isFull ? new DiskFullError('the database in memory') : error;
}
