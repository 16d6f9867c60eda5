/** The flat datasets that are tables of their own, and how a table's rows are told apart. */
import type { FlatRowValues } from './bundle/frames.js';
import type { FlatDataset, StoreChange } from './contract.js';
import type { SqlParameter, Statements } from './duckdb/connection.js';
import type { ResultChunk } from './duckdb/database.js';
import { InputError } from './errors.js';

/** Orders of one dataset that are neither closed nor used up: all of them are held in memory. */
export const MAX_ACTIVE_ORDERS = 1_000_000;
/** Pools, which are held in memory too. */
export const MAX_DLMM_POOLS = 100_000;

/** A table has its dataset's name. */
export interface FlatTable {
  /** Columns whose values name a row. They come first, in this order. */
  key: readonly string[];
  /** The other columns, in the table's order. */
  values: readonly string[];
  /** The column of the token that a row belongs to, where changes are told token by token. */
  token?: string;
  /** The column of `key` that rises from file to file: few row groups need be searched by it. */
  rising?: string;
  /** Greatest number of rows, and what they are to people. */
  limit?: { rows: number; of: string };
}

export const FLAT_TABLES: Readonly<Record<FlatDataset, FlatTable>> = {
  dca_orders: {
    key: ['dca_address'],
    values: [
      'token_address',
      'direction',
      'paired_symbol',
      'deposited_usd',
      'remaining_usd',
      'cycle_usd',
      'cycle_frequency',
      'next_cycle_at',
      'min_usd',
      'max_usd',
    ],
    token: 'token_address',
    limit: { rows: MAX_ACTIVE_ORDERS, of: 'active orders' },
  },
  limit_orders: {
    key: ['order_address'],
    values: [
      'chain',
      'token_address',
      'direction',
      'platform',
      'paired_symbol',
      'maker',
      'usd_price',
      'remaining_usd',
      'pct_complete',
      'created_at',
    ],
    token: 'token_address',
    limit: { rows: MAX_ACTIVE_ORDERS, of: 'active orders' },
  },
  dlmm_pools: {
    key: ['pubkey'],
    values: [
      'bin_step',
      'active_id',
      'token_x_mint',
      'token_y_mint',
      'token_x_decimals',
      'token_y_decimals',
      'reserve_x',
      'reserve_y',
      'base_fee_pct',
      'dynamic_fee_pct',
      'num_positions',
      'num_wallets',
    ],
    limit: { rows: MAX_DLMM_POOLS, of: 'pools' },
  },
  dlmm_hours: {
    key: ['pubkey', 'hour'],
    values: ['fees_usd', 'volume_usd', 'tvl_usd'],
    rising: 'hour',
  },
  token_hours: {
    key: ['chain', 'address', 'hour'],
    values: ['organic_volume_usd'],
    rising: 'hour',
  },
};

/** A table's columns in order. */
export function columnsOf({ key, values }: FlatTable): string[] {
  return [...key, ...values];
}

// Puts rows of flat datasets over the stored ones of the same keys, within one transaction.

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

// Columns put together from a result's chunks, in typed arrays that grow.

const FIRST_CAPACITY = 2048;

abstract class NumberColumn<A extends Uint32Array | Float64Array> {
  private length = 0;

  protected constructor(
    private array: A,
    private readonly make: (length: number) => A,
  ) {}

  /** What has been added, without copying it. */
  get values(): A {
    return this.array.subarray(0, this.length) as A;
  }

  /** Adds the values of a chunk's column, none of them null. */
  add(chunk: ResultChunk, column: number): void {
    this.addEach(chunk.rowCount, chunk.reader(column) as (row: number) => number);
  }

  addEach(rows: number, value: (row: number) => number): void {
    if (this.length + rows > this.array.length) {
      const grown = this.make(Math.max(this.array.length * 2, this.length + rows));
      grown.set(this.values);
      this.array = grown;
    }
    for (let row = 0; row < rows; row++) this.array[this.length++] = value(row);
  }
}

export class UintColumn extends NumberColumn<Uint32Array> {
  constructor() {
    const make = (length: number): Uint32Array => new Uint32Array(length);
    super(make(FIRST_CAPACITY), make);
  }
}

export class DoubleColumn extends NumberColumn<Float64Array> {
  constructor() {
    const make = (length: number): Float64Array => new Float64Array(length);
    super(make(FIRST_CAPACITY), make);
  }
}

/** Texts as indexes into the list of different ones. */
export class TextColumn {
  readonly texts: string[] = [];
  readonly codes = new UintColumn();
  private readonly known = new Map<string, number>();

  add(chunk: ResultChunk, column: number): void {
    const text = chunk.reader(column) as (row: number) => string;
    this.codes.addEach(chunk.rowCount, (row) => this.codeOf(text(row)));
  }

  private codeOf(text: string): number {
    const known = this.known.get(text);
    if (known !== undefined) return known;
    this.known.set(text, this.texts.length);
    return this.texts.push(text) - 1;
  }
}

/** Texts that many rows repeat, held once: as results give them, each row has a copy of its own. */
export class SharedTexts {
  private readonly texts = new Map<string, string>();

  /** The one copy of a text. */
  of(text: string): string {
    const known = this.texts.get(text);
    if (known !== undefined) return known;
    this.texts.set(text, text);
    return text;
  }
}
