/** Commits to the flat tables: rows replace the stored rows with the same keys, in one transaction. */
import type { FlatRowValues } from './bundle.js';
import type { FlatDataset, StoreChange } from './contract.js';
import type { GivenRow, SqlValue, Statements } from './duckdb/statements.js';
import { RefusalError } from './errors.js';
import type { FlatTable } from './flat-columns.js';
import { DLMM_HOURS } from './lp/dlmm-hours.js';
import { DLMM_POOLS } from './lp/dlmm-pools.js';
import { TOKEN_HOURS } from './lp/token-hours.js';
import { DCA_ORDERS } from './orders/dca-orders.js';
import { LIMIT_ORDERS } from './orders/limit-orders.js';
import { Turns } from './turns.js';

export const FLAT_TABLES: Readonly<Record<FlatDataset, FlatTable>> = {
  dca_orders: DCA_ORDERS,
  limit_orders: LIMIT_ORDERS,
  dlmm_pools: DLMM_POOLS,
  dlmm_hours: DLMM_HOURS,
  token_hours: TOKEN_HOURS,
};

/** Keys of one look-up, which reads the table once. More waiting rows would burden the garbage collector. */
const KEYS_AT_ONCE = 8192;

export class FlatCommit {
  private readonly tables = new Map<FlatDataset, TableCommit>();

  constructor(private readonly tx: Statements) {}

  /** Takes rows in the order of their file: the last row with a key counts. */
  async add(dataset: FlatDataset, rows: readonly FlatRowValues[]): Promise<void> {
    const table = this.tables.get(dataset) ?? new TableCommit(FLAT_TABLES[dataset], this.tx);
    this.tables.set(dataset, table);
    await table.add(rows);
  }

  /**
   * Writes the waiting rows: call right before the commit.
   * @throws RefusalError if a table would have too many rows
   */
  async finish(): Promise<void> {
    for (const table of this.tables.values()) await table.finish();
  }

  get change(): Omit<StoreChange, 'tokenIds' | 'holderTokens'> {
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

class TableCommit {
  isChanged = false;
  readonly changedTokens = new Set<string>();
  private readonly columns: readonly string[];
  private readonly key: readonly string[];
  private readonly tokenColumn: number;
  /** The last row of each key. */
  private waiting = new Map<string, FlatRowValues>();

  constructor(
    private readonly table: FlatTable,
    private readonly tx: Statements,
  ) {
    this.columns = Object.keys(table.columns);
    this.key = this.columns.slice(0, table.keyColumns);
    this.tokenColumn = this.columns.indexOf(table.token ?? '');
  }

  async add(rows: readonly FlatRowValues[]): Promise<void> {
    const turns = new Turns();
    for (const row of rows) {
      await turns.take();
      this.waiting.set(
        this.keyOf((column) => row[column]),
        row,
      );
      if (this.waiting.size >= KEYS_AT_ONCE) await this.flush();
    }
  }

  async finish(): Promise<void> {
    await this.flush();
    const { name, limit } = this.table;
    if (!this.isChanged || limit === undefined) return;
    if ((await this.tx.count(name)) > limit.rows) {
      throw new RefusalError(`${name}: the store would hold more than ${limit.rows} ${limit.of}`);
    }
  }

  private async flush(): Promise<void> {
    if (this.waiting.size === 0) return;
    const { name } = this.table;
    const turns = new Turns();
    const replaced = await this.takeReplaced(turns);
    if (replaced.length > 0) {
      await this.tx.run(`DELETE FROM ${name} ${this.where}`, this.range(replaced), replaced);
    }
    const kept: GivenRow[] = [];
    for (const row of this.waiting.values()) {
      if (isKept(row)) {
        kept.push(row.slice(0, this.columns.length));
        this.noteToken(row[this.tokenColumn]);
      }
      await turns.take();
    }
    this.waiting = new Map();
    if (replaced.length + kept.length === 0) return;
    this.isChanged = true;
    await this.tx.append(name, kept);
  }

  /**
   * Looks up the keys of the waiting rows, and drops rows that are already stored unchanged.
   * @returns the keys of the rows that replace a stored one
   */
  private async takeReplaced(turns: Turns): Promise<GivenRow[]> {
    const { columns } = this;
    const { name } = this.table;
    const replaced: GivenRow[] = [];
    const keys: GivenRow[] = [];
    for (const row of this.waiting.values()) {
      keys.push(row.slice(0, this.key.length));
      await turns.take();
    }
    const sql = `SELECT ${columns.join(', ')} FROM ${name} ${this.where}`;
    for await (const chunk of this.tx.chunks(sql, this.range(keys), keys)) {
      const readers = columns.map((_, column) => chunk.reader(column));
      for (let at = 0; at < chunk.rowCount; at++) {
        await turns.take();
        const key = this.keyOf((column) => readers[column](at));
        const row = this.waiting.get(key);
        if (row === undefined) throw new Error(`${name} gave a row that was not requested`);
        if (isKept(row) && readers.every((reader, column) => reader(at) === row[column])) {
          this.waiting.delete(key);
          continue;
        }
        replaced.push(row.slice(0, this.key.length));
        if (this.tokenColumn >= 0) this.noteToken(readers[this.tokenColumn](at));
      }
    }
    return replaced;
  }

  private noteToken(token: unknown): void {
    if (typeof token === 'string') this.changedTokens.add(token);
  }

  /** Selects the stored rows with the given keys, within the range of range(). */
  private get where(): string {
    const { rising } = this.table;
    const range = rising === undefined ? '' : ` AND ${rising} BETWEEN ? AND ?`;
    return `WHERE (${this.key.join(', ')}) IN (SELECT * FROM given())${range}`;
  }

  /** The least and the greatest value of the rising column, if the table has one. */
  private range(keys: readonly GivenRow[]): SqlValue[] {
    const { rising } = this.table;
    if (rising === undefined) return [];
    const column = this.key.indexOf(rising);
    let [low, high] = [Infinity, -Infinity];
    for (const { [column]: value } of keys) {
      low = Math.min(low, value as number);
      high = Math.max(high, value as number);
    }
    return [low, high];
  }

  /** A row's key as one text; its later columns contain no spaces. */
  private keyOf(value: (column: number) => unknown): string {
    let key = String(value(0));
    for (let column = 1; column < this.key.length; column++) key += ` ${String(value(column))}`;
    return key;
  }
}

/** Whether a row stays in the table: the value after its columns. */
function isKept(row: FlatRowValues): boolean {
  return row[row.length - 1] === true;
}
