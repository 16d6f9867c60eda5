/** The datasets of an export that are tables of the store: their columns, and how a store reads them. */
import { DAY_S } from '../../compute/time.js';
import type { Database } from '../duckdb/database.js';

/** Rows in one reply. */
const ROWS_AT_ONCE = 8192;
type ColumnType = 'VARCHAR' | 'DOUBLE' | 'BIGINT';

interface ExportTable {
  columns: Readonly<Record<string, ColumnType>>;
  /** The column by whose days the files are split; null: one file. */
  hour: string | null;
  /** The order of a file's rows. */
  order: string;
}

export const TEXT = 'VARCHAR';
export const EXPORT_TABLES = {
  tokens: {
    columns: {
      chain: TEXT,
      address: TEXT,
      symbol: TEXT,
      name: TEXT,
      decimals: 'BIGINT',
      asset: TEXT,
      coverage: TEXT,
    },
    hour: null,
    order: 'chain, address',
  },
  dca_orders: {
    columns: {
      dca_address: TEXT,
      token_address: TEXT,
      direction: TEXT,
      paired_symbol: TEXT,
      deposited_usd: 'DOUBLE',
      remaining_usd: 'DOUBLE',
      cycle_usd: 'DOUBLE',
      cycle_frequency: 'DOUBLE',
      next_cycle_at: 'BIGINT',
      min_usd: 'DOUBLE',
      max_usd: 'DOUBLE',
    },
    hour: null,
    order: 'dca_address',
  },
  limit_orders: {
    columns: {
      order_address: TEXT,
      chain: TEXT,
      token_address: TEXT,
      direction: TEXT,
      platform: TEXT,
      paired_symbol: TEXT,
      maker: TEXT,
      usd_price: 'DOUBLE',
      remaining_usd: 'DOUBLE',
      pct_complete: 'DOUBLE',
      created_at: 'BIGINT',
    },
    hour: null,
    order: 'created_at, order_address',
  },
  dlmm_hours: {
    columns: {
      pubkey: TEXT,
      hour: 'BIGINT',
      fees_usd: 'DOUBLE',
      volume_usd: 'DOUBLE',
      tvl_usd: 'DOUBLE',
    },
    hour: 'hour',
    order: 'hour, pubkey',
  },
  token_hours: {
    columns: { chain: TEXT, address: TEXT, hour: 'BIGINT', organic_volume_usd: 'DOUBLE' },
    hour: 'hour',
    order: 'hour, chain, address',
  },
} as const satisfies Record<string, ExportTable>;
export type ExportTableName = keyof typeof EXPORT_TABLES;

export const tableOf = (name: ExportTableName): ExportTable => EXPORT_TABLES[name];

/** The rows of one file. */
export interface TablePart {
  /** null: the whole table. */
  dayS: number | null;
  /** Changes with its rows, whatever their order. */
  digest: string;
}

export interface TableRows {
  /** By column: doubles, NaN for null, or texts. */
  columns: (Float64Array | (string | null)[])[];
  /** From where to go on; null after the last rows. */
  next: number | null;
}

const columnsOf = (name: ExportTableName): string => Object.keys(tableOf(name).columns).join(', ');

/** The files of a table for the hours `fromS <= hour < toS`; of a table without hours its only one. */
export async function tableParts(
  database: Database,
  name: ExportTableName,
  fromS: number,
  toS: number,
): Promise<TablePart[]> {
  const { hour } = tableOf(name);
  const day = hour === null ? 'NULL' : `(${hour} - ${hour} % ${DAY_S})`;
  const where = hour === null ? 'true' : `${hour} >= ${fromS} AND ${hour} < ${toS}`;
  const rows = await database.rows(
    `SELECT ${day}::BIGINT AS day, count(*) || '-' || sum(hash(${columnsOf(name)})::HUGEINT) AS digest
     FROM ${name} WHERE ${where} GROUP BY day ORDER BY day`,
  );
  return rows.map(([dayS, digest]) => ({ dayS, digest }) as TablePart);
}

/** The next rows of a file. @param after what the rows before gave as `next`; 0 at the start */
export async function tableRows(
  database: Database,
  name: ExportTableName,
  dayS: number | null,
  after: number,
): Promise<TableRows> {
  const { columns, hour } = tableOf(name);
  const where = dayS === null ? '' : `AND ${hour} >= ${dayS} AND ${hour} < ${dayS + DAY_S}`;
  const rows = await database.rows(
    `SELECT rowid, ${columnsOf(name)} FROM ${name} WHERE rowid >= ${after} ${where}
     ORDER BY rowid LIMIT ${ROWS_AT_ONCE}`,
  );
  const last = rows.at(-1);
  return {
    columns: Object.values(columns).map((type, i) =>
      type === TEXT
        ? rows.map((row) => row[i + 1] as string | null)
        : Float64Array.from(rows, (row) => (row[i + 1] as number | null) ?? NaN),
    ),
    next: last === undefined || rows.length < ROWS_AT_ONCE ? null : (last[0] as number) + 1,
  };
}
