/** A DuckDB that answers a user's queries over the files of one folder, and can neither read nor write anything else. */
import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { InputError } from '../errors.js';
import { client } from './client.js';
import { Connection } from './connection.js';
import { called, DuckDBError } from './duckdb-error.js';
import { createInstance, type InstanceOptions } from './opening.js';

export interface QueryOptions extends InstanceOptions {
  /** Statements that make the views which queries may use. */
  views: readonly string[];
  /** Folders whose files may be read; the first one takes what does not fit into memory. */
  folders: readonly [string, ...string[]];
}

/** A column of a result. */
export interface QueryColumn {
  name: string;
  /** DuckDB's name, such as `DOUBLE` or `VARCHAR[]`. */
  type: string;
}

/** A query that was checked, as a table in statements. */
export interface CheckedQuery {
  from: string;
  columns: readonly QueryColumn[];
}

const ONLY_QUERIES =
  'SQL: expected one query, such as SELECT, FROM, WITH or DESCRIBE: an export is only read';
/** How statements begin that a query database refuses anyway, with messages about its settings. */
const CHANGES =
  /^(ALTER|ATTACH|CALL|COPY|CREATE|DELETE|DETACH|DROP|EXPORT|IMPORT|INSERT|INSTALL|LOAD|PRAGMA|RESET|SET|UPDATE|USE)\b/i;
/** Functions that change or write something, or that run texts, which may call them. */
const CHANGING = new Set([
  ...['enable_logging', 'disable_logging', 'truncate_duckdb_logs', 'write_log'],
  ...['enable_profiling', 'disable_profiling', 'enable_peg_parser', 'disable_peg_parser'],
  ...['checkpoint', 'force_checkpoint', 'arrow_scan', 'arrow_scan_dumb'],
  ...['query', 'json_execute_serialized_sql'],
]);

/** Runs one query at a time. */
export class QueryDatabase extends Connection {
  private constructor(
    private readonly instance: DuckDBInstance,
    private readonly own: DuckDBConnection,
  ) {
    super(own);
  }

  static async open({ views, folders, ...options }: QueryOptions): Promise<QueryDatabase> {
    const instance = await createInstance(options);
    const database = new QueryDatabase(instance, await instance.connect());
    const list = (items: readonly string[]): string =>
      `[${items.map((item) => `'${item.replaceAll("'", "''")}'`).join(', ')}]`;
    const [temporary] = folders;
    try {
      for (const statement of [
        // Unlike a store's, these queries may have large sides on either side of a join, and spill.
        `SET disabled_optimizers = ''`,
        `SET temp_directory = '${temporary.replaceAll("'", "''")}'`,
        `SET TimeZone = 'UTC'`,
        ...views,
        `SET allowed_directories = ${list(folders)}`,
        'SET enable_external_access = false',
        'SET lock_configuration = true',
      ]) {
        await database.run(statement);
      }
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  }

  /** Checks a query. @throws InputError with DuckDB's message and the position of the fault */
  async check(sql: string): Promise<CheckedQuery> {
    const bare = withoutComments(sql.trim()).replace(/[\s;]+$/, '');
    const query = sql.trim().slice(0, bare.length);
    const words = bare.trim();
    // DuckDB's client fails without a message.
    if (words === '') throw new InputError('SQL: expected a query');
    if (CHANGES.test(words)) throw new InputError(ONLY_QUERIES);
    const from = `(\n${query}\n)`;
    try {
      const statements = await called(() => this.own.extractStatements(query));
      await this.refuseChanging(query);
      const prepared = await called(() => statements.prepare(0));
      const isQuery = prepared.statementType === client.StatementType.SELECT;
      prepared.destroySync();
      if (statements.count !== 1 || !isQuery) {
        throw new InputError(ONLY_QUERIES);
      }
      const rows = await this.rows(`DESCRIBE SELECT * FROM ${from}`);
      const columns = rows.map(([name, type]) => ({ name: String(name), type: String(type) }));
      return { from, columns };
    } catch (error) {
      throw queryError(error);
    }
  }

  /** Preparing a query may call its functions already. @throws InputError */
  private async refuseChanging(query: string): Promise<void> {
    const [[parsed]] = await this.rows('SELECT json_serialize_sql(?::VARCHAR)::VARCHAR', [query]);
    const { error } = JSON.parse(String(parsed)) as { error: boolean };
    if (error) throw new InputError(ONLY_QUERIES);
    for (const [, name] of String(parsed).matchAll(/"function_name":"([^"]*)"/g)) {
      if (CHANGING.has(name.toLowerCase())) {
        throw new InputError(`SQL: ${name.toLowerCase()}() is not allowed: an export is only read`);
      }
    }
  }

  /** Ends the running query. */
  interrupt(): void {
    this.own.interrupt();
  }

  override close(): void {
    super.close();
    this.instance.closeSync();
  }
}

/** The error of a query in words for its author. */
export function queryError(error: unknown): unknown {
  if (!(error instanceof DuckDBError)) return error;
  return new InputError(`SQL: ${error.message.replace(/^Failed to extract statements: /, '')}`);
}

/** Texts and quoted names, which may hold what looks like a comment; then comments. */
const QUOTED_OR_COMMENT =
  /[eE]'(?:\\[\s\S]|[^'\\])*'|'[^']*'|"[^"]*"|(\$\w*\$)[\s\S]*?\1|--[^\n]*|\/\*[\s\S]*?\*\//g;

/** A query with spaces instead of its comments. */
const withoutComments = (sql: string): string =>
  sql.replace(QUOTED_OR_COMMENT, (found) =>
    /^(--|\/\*)/.test(found) ? ' '.repeat(found.length) : found,
  );
