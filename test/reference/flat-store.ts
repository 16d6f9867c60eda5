/** The contents of the flat datasets in a store, as plain maps of rows by key. */
import type { FlatDataset } from '../../storage/contract.js';
import type { FlatContents } from '../support/flat.js';
import type { Json } from '../support/tables.js';

const KEYS: Record<FlatDataset, (row: Json) => string> = {
  dca_orders: (row) => row.dca_address as string,
  limit_orders: (row) => row.order_address as string,
  dlmm_pools: (row) => row.pubkey as string,
  dlmm_hours: (row) => `${row.pubkey} ${row.hour}`,
  token_hours: (row) => `${row.address} ${row.hour}`,
};

const TIMES = ['cycle_frequency', 'next_cycle_at', 'created_at'];
const fieldOf = (name: string) =>
  `${name.replace(/_\w/g, ([, letter]) => letter.toUpperCase())}${TIMES.includes(name) ? 'S' : ''}`;

/** A row as readers get it: the same values in fields of the code's names; none say whether it is closed. */
export const storedRow = <Stored>({ closed: _, ...row }: Json): Stored =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [fieldOf(name), value])) as Stored;

export class PlainFlatStore {
  private readonly tables: Record<FlatDataset, Map<string, Json>> = {
    dca_orders: new Map(),
    limit_orders: new Map(),
    dlmm_pools: new Map(),
    dlmm_hours: new Map(),
    token_hours: new Map(),
  };

  /** @returns tokens whose rows changed, and whether any row did */
  commit(dataset: FlatDataset, rows: readonly Json[]): { tokens: string[]; changed: boolean } {
    const table = this.tables[dataset];
    const before = new Map(table);
    for (const row of rows) {
      const key = KEYS[dataset](row);
      if (row.closed === true || row.remaining_usd === 0) table.delete(key);
      else table.set(key, row);
    }
    const tokens = new Set<string>();
    for (const key of new Set([...before.keys(), ...table.keys()])) {
      const [old, now] = [before.get(key), table.get(key)];
      if (JSON.stringify(old) === JSON.stringify(now)) continue;
      for (const row of [old, now]) if (row !== undefined) tokens.add(row.token_address as string);
    }
    return { tokens: [...tokens].sort(), changed: tokens.size > 0 };
  }

  contents(): FlatContents {
    const rows = (dataset: FlatDataset) =>
      [...this.tables[dataset]].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
    return {
      dca: rows('dca_orders').map((row) => storedRow(row)),
      limit: rows('limit_orders').map((row) => storedRow(row)),
      pools: rows('dlmm_pools').map((row) => storedRow(row)),
      hours: rows('dlmm_hours').map((row) => ({
        key: `${row.pubkey} ${row.hour}`,
        values: [row.fees_usd, row.volume_usd, row.tvl_usd],
      })),
      tokenHours: rows('token_hours').map((row) => ({
        key: `${row.address} ${row.hour}`,
        values: [row.organic_volume_usd],
      })),
    };
  }
}
