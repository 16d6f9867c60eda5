/** Puts rows of flat datasets over the stored ones of the same keys, within one transaction. */
import type { SqlParameter, Statements } from '../duckdb/statements.js';
import { InputError } from '../errors.js';
import type { FlatRowValues } from '../bundle/frames.js';
import type { StoreChange } from '../seams.js';
import { FLAT_TABLES, columnsOf, type FlatDataset, type FlatTable } from './tables.js';

/** Keys whose rows are gathered before the table is gone through: each time it is read once. */
const KEYS_AT_ONCE = 32_768;

/** What the rows changed, as readers are told of it. */
export type FlatChange = Pick<
  StoreChange,
  'dcaTokens' | 'limitTokens' | 'dlmmPools' | 'dlmmHours' | 'tokenHours'
>;

export class FlatCommit {
  private readonly tables = new Map<FlatDataset, TableCommit>();

  constructor(private readonly tx: Statements) {}

  /** Takes rows in the order of their file: of two with the same key the later one stands. */
  async add(dataset: FlatDataset, rows: readonly FlatRowValues[]): Promise<void> {
    const table = this.tables.get(dataset) ?? new TableCommit(dataset, this.tx);
    this.tables.set(dataset, table);
    await table.add(rows);
  }

  /**
   * Writes what is still held back: the last thing before the commit.
   * @throws InputError where a table would hold too much
   */
  async finish(): Promise<void> {
    for (const table of this.tables.values()) await table.finish();
  }

  /** What has been changed so far. */
  get change(): FlatChange {
    const tokensOf = (dataset: FlatDataset): string[] => [
      ...(this.tables.get(dataset)?.changedTokens ?? []),
    ];
    const isChanged = (dataset: FlatDataset): boolean =>
      this.tables.get(dataset)?.isChanged ?? false;
    return {
      dcaTokens: tokensOf('dca_orders'),
      limitTokens: tokensOf('limit_orders'),
      dlmmPools: isChanged('dlmm_pools'),
      dlmmHours: isChanged('dlmm_hours'),
      tokenHours: isChanged('token_hours'),
    };
  }
}

/** The rows of one dataset on their way into its table. */
class TableCommit {
  isChanged = false;
  readonly changedTokens = new Set<string>();
  private readonly table: FlatTable;
  private readonly columns: readonly string[];
  private readonly tokenColumn: number;
  /** By key; the last row of each. */
  private waiting = new Map<string, FlatRowValues>();

  constructor(
    private readonly dataset: FlatDataset,
    private readonly tx: Statements,
  ) {
    this.table = FLAT_TABLES[dataset];
    this.columns = columnsOf(this.table);
    this.tokenColumn = this.columns.indexOf(this.table.token ?? '');
  }

  async add(rows: readonly FlatRowValues[]): Promise<void> {
    const keyLength = this.table.key.length;
    for (const row of rows) {
      this.waiting.set(
        keyOf(keyLength, (column) => row[column]),
        row,
      );
      if (this.waiting.size >= KEYS_AT_ONCE) await this.flush();
    }
  }

  async finish(): Promise<void> {
    await this.flush();
    const { limit } = this.table;
    if (!this.isChanged || limit === undefined) return;
    const [[stored]] = await this.tx.rows(`SELECT count(*) FROM ${this.dataset}`);
    if ((stored as number) > limit.rows) {
      throw new InputError(
        `${this.dataset}: the store would hold more than ${limit.rows} ${limit.of}`,
      );
    }
  }

  private async flush(): Promise<void> {
    if (this.waiting.size === 0) return;
    const replaced = await this.takeReplaced();
    if (replaced.length > 0) {
      await this.tx.run(`DELETE FROM ${this.dataset} ${this.where}`, this.keysOf(replaced));
    }
    const kept = [...this.waiting.values()].filter(isKept);
    this.waiting = new Map();
    if (replaced.length + kept.length === 0) return;
    this.isChanged = true;
    for (const row of kept) this.noteToken(row[this.tokenColumn]);
    const width = this.columns.length;
    await this.tx.append(
      this.dataset,
      kept.map((row) => row.slice(0, width)),
    );
  }

  /**
   * Looks the waiting rows' keys up. Rows that are stored as they are wait no longer.
   * @returns the rows that replace a stored one
   */
  private async takeReplaced(): Promise<FlatRowValues[]> {
    const replaced: FlatRowValues[] = [];
    const keys = this.keysOf([...this.waiting.values()]);
    const sql = `SELECT ${this.columns.join(', ')} FROM ${this.dataset} ${this.where}`;
    for await (const chunk of this.tx.chunks(sql, keys)) {
      const readers = this.columns.map((_, column) => chunk.reader(column));
      for (let at = 0; at < chunk.rowCount; at++) {
        const key = keyOf(this.table.key.length, (column) => readers[column](at));
        const row = this.waiting.get(key);
        if (row === undefined) throw new Error(`${this.dataset} gave a row that was not asked for`);
        if (isKept(row) && readers.every((reader, column) => reader(at) === row[column])) {
          this.waiting.delete(key);
          continue;
        }
        replaced.push(row);
        if (this.tokenColumn >= 0) this.noteToken(readers[this.tokenColumn](at));
      }
    }
    return replaced;
  }

  private noteToken(token: unknown): void {
    if (typeof token === 'string') this.changedTokens.add(token);
  }

  /** Selects the stored rows of the keys that keysOf gives. */
  private get where(): string {
    const { key, rising } = this.table;
    const lists = key.map(() => 'unnest(?)').join(', ');
    const range = rising === undefined ? '' : ` AND ${rising} BETWEEN ? AND ?`;
    return `WHERE (${key.join(', ')}) IN (SELECT ${lists})${range}`;
  }

  private keysOf(rows: readonly FlatRowValues[]): SqlParameter[] {
    const { key, rising } = this.table;
    const lists = key.map((name, column) =>
      name === rising
        ? Uint32Array.from(rows, (row) => row[column] as number)
        : rows.map((row) => row[column] as string),
    );
    if (rising === undefined) return lists;
    const times = lists[key.indexOf(rising)] as Uint32Array<ArrayBuffer>;
    return [
      ...lists,
      times.reduce((a, b) => Math.min(a, b)),
      times.reduce((a, b) => Math.max(a, b)),
    ];
  }
}

/** The last value of a row, behind its columns. */
function isKept(row: FlatRowValues): boolean {
  return row[row.length - 1] === true;
}

/** One text for a row's key; its later columns hold no spaces. */
function keyOf(length: number, value: (column: number) => unknown): string {
  let key = String(value(0));
  for (let column = 1; column < length; column++) key += ` ${String(value(column))}`;
  return key;
}
