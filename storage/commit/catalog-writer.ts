/** Gathers rows of the catalogue's tables and writes many at once. */
import type { Market } from '../../compute/market.js';
import type { TokenRow } from '../catalog/token-row.js';
import type { SqlValue, Statements } from '../duckdb/database.js';

/** Rows written at once. One by one they cost DuckDB a block of memory each. */
const ROWS_AT_ONCE = 1000;

type Table = 'tokens' | 'markets';

export class CatalogWriter {
  private readonly waiting: Record<Table, SqlValue[][]> = { tokens: [], markets: [] };

  constructor(private readonly tx: Statements) {}

  /** Appends a market to its token's. */
  async market(tokenId: number, index: number, market: Market): Promise<void> {
    const { source, exchangeType, type, address, pair } = market;
    await this.add('markets', [tokenId, index, source, exchangeType, type, address, pair]);
  }

  /** Writes tokens' rows, each over an earlier state of it where there is one. */
  async tokens(rows: readonly { tokenId: number; row: TokenRow; isNew: boolean }[]): Promise<void> {
    const old = rows.filter(({ isNew }) => !isNew).map(({ tokenId }) => tokenId);
    for (let i = 0; i < old.length; i += ROWS_AT_ONCE) {
      const ids = old.slice(i, i + ROWS_AT_ONCE).join(',');
      await this.tx.run(`DELETE FROM tokens WHERE token_id IN (${ids})`);
    }
    for (const { tokenId, row } of rows) await this.add('tokens', valuesOf(tokenId, row));
  }

  /** Writes what still waits. */
  async finish(): Promise<void> {
    await this.write('tokens');
    await this.write('markets');
  }

  private async add(table: Table, values: SqlValue[]): Promise<void> {
    if (this.waiting[table].push(values) >= ROWS_AT_ONCE) await this.write(table);
  }

  private async write(table: Table): Promise<void> {
    const rows = this.waiting[table].splice(0);
    if (rows.length > 0) await this.tx.append(table, rows);
  }
}

function valuesOf(tokenId: number, row: TokenRow): SqlValue[] {
  return [
    tokenId,
    row.chain,
    row.address,
    row.symbol,
    row.name,
    row.icon,
    row.decimals,
    row.asset,
    row.coverage,
    row.price_usd,
    row.mcap,
    row.liquidity_usd,
    row.last_refresh,
  ];
}
