/** The store's schema, as a list of migrations. A released one never changes. */
import { InputError } from './errors.js';
import type { Database } from './duckdb/database.js';

/**
 * Blocks are compressed already, so DuckDB must not compress them again: with its default (ZSTD),
 * reading one block would decompress its whole row group.
 */
const BLOCK = 'BLOB NOT NULL USING COMPRESSION uncompressed';

/** Entry i leads from version i to version i + 1. */
const MIGRATIONS: readonly (readonly string[])[] = [
  [
    `CREATE TABLE tokens (
       token_id INTEGER NOT NULL,
       chain VARCHAR NOT NULL,
       address VARCHAR NOT NULL,
       symbol VARCHAR,
       name VARCHAR,
       icon VARCHAR,
       decimals INTEGER,
       asset VARCHAR,
       coverage VARCHAR NOT NULL,
       price_usd DOUBLE,
       mcap DOUBLE,
       liquidity_usd DOUBLE,
       last_refresh BIGINT
     )`,
    `CREATE TABLE markets (
       token_id INTEGER NOT NULL,
       market_idx INTEGER NOT NULL,
       source VARCHAR NOT NULL,
       exchange_type VARCHAR NOT NULL,
       type VARCHAR NOT NULL,
       address VARCHAR,
       pair VARCHAR
     )`,
    // No key on segments: DuckDB reclaims no space of a table with an index, and finds rows by the
    // ranges of their ascending ids as fast.
    `CREATE TABLE segments (
       segment_id BIGINT NOT NULL,
       token_id INTEGER NOT NULL,
       tier UTINYINT NOT NULL,
       cells UINTEGER NOT NULL,
       times BLOB NOT NULL,
       band_cells BLOB NOT NULL,
       crc32 UINTEGER NOT NULL,
       data ${BLOCK}
     )`,
    `CREATE TABLE segment_parts (
       segment_id BIGINT NOT NULL,
       part INTEGER NOT NULL,
       data ${BLOCK}
     )`,
    `CREATE TABLE keys (
       id VARCHAR PRIMARY KEY,
       name VARCHAR,
       tier VARCHAR NOT NULL,
       hint VARCHAR NOT NULL,
       digest BLOB NOT NULL,
       requests_per_minute DOUBLE,
       monthly_quota DOUBLE,
       created_at BIGINT NOT NULL,
       revoked_at BIGINT
     )`,
  ],
  [
    `CREATE TABLE usage (
       key_id VARCHAR NOT NULL,
       month INTEGER NOT NULL,
       calls BIGINT NOT NULL,
       PRIMARY KEY (key_id, month)
     )`,
  ],
  [
    `CREATE TABLE queue (
       chain VARCHAR NOT NULL,
       address VARCHAR NOT NULL,
       requested_at BIGINT NOT NULL,
       requests BIGINT NOT NULL,
       last_requested_at BIGINT NOT NULL,
       PRIMARY KEY (chain, address)
     )`,
  ],
  // No keys on these tables either: commits delete the rows that they replace.
  [
    `CREATE TABLE dca_orders (
       dca_address VARCHAR NOT NULL,
       token_address VARCHAR NOT NULL,
       direction VARCHAR NOT NULL,
       paired_symbol VARCHAR NOT NULL,
       deposited_usd DOUBLE NOT NULL,
       remaining_usd DOUBLE NOT NULL,
       cycle_usd DOUBLE NOT NULL,
       cycle_frequency DOUBLE NOT NULL,
       next_cycle_at UINTEGER NOT NULL,
       min_usd DOUBLE,
       max_usd DOUBLE
     )`,
    `CREATE TABLE limit_orders (
       order_address VARCHAR NOT NULL,
       chain VARCHAR NOT NULL,
       token_address VARCHAR NOT NULL,
       direction VARCHAR NOT NULL,
       platform VARCHAR NOT NULL,
       paired_symbol VARCHAR NOT NULL,
       maker VARCHAR NOT NULL,
       usd_price DOUBLE NOT NULL,
       remaining_usd DOUBLE NOT NULL,
       pct_complete DOUBLE NOT NULL,
       created_at UINTEGER NOT NULL
     )`,
    `CREATE TABLE dlmm_pools (
       pubkey VARCHAR NOT NULL,
       bin_step INTEGER NOT NULL,
       active_id INTEGER NOT NULL,
       token_x_mint VARCHAR NOT NULL,
       token_y_mint VARCHAR NOT NULL,
       token_x_decimals INTEGER NOT NULL,
       token_y_decimals INTEGER NOT NULL,
       reserve_x DOUBLE NOT NULL,
       reserve_y DOUBLE NOT NULL,
       base_fee_pct DOUBLE NOT NULL,
       dynamic_fee_pct DOUBLE NOT NULL,
       num_positions DOUBLE NOT NULL,
       num_wallets DOUBLE NOT NULL
     )`,
    `CREATE TABLE dlmm_hours (
       pubkey VARCHAR NOT NULL,
       hour UINTEGER NOT NULL,
       fees_usd DOUBLE NOT NULL,
       volume_usd DOUBLE NOT NULL,
       tvl_usd DOUBLE NOT NULL
     )`,
    `CREATE TABLE token_hours (
       chain VARCHAR NOT NULL,
       address VARCHAR NOT NULL,
       hour UINTEGER NOT NULL,
       organic_volume_usd DOUBLE NOT NULL
     )`,
  ],
  [
    `CREATE TABLE holder_tokens (
       holder_id INTEGER NOT NULL,
       token_address VARCHAR NOT NULL,
       counted_owners UINTEGER NOT NULL
     )`,
    `CREATE TABLE holder_owners (
       holder_id INTEGER NOT NULL,
       first_owner UINTEGER NOT NULL,
       crc32 UINTEGER NOT NULL,
       data ${BLOCK}
     )`,
    `CREATE TABLE holder_blocks (
       block_id BIGINT NOT NULL,
       holder_id INTEGER NOT NULL,
       times BLOB NOT NULL,
       changes UINTEGER NOT NULL,
       first_changes UINTEGER NOT NULL
     )`,
    `CREATE TABLE holder_block_parts (
       block_id BIGINT NOT NULL,
       part INTEGER NOT NULL,
       data ${BLOCK}
     )`,
  ],
  [
    `CREATE TABLE segment_lists (
       list_id BIGINT NOT NULL,
       token_id INTEGER NOT NULL,
       tier UTINYINT NOT NULL,
       first_t UINTEGER NOT NULL,
       data ${BLOCK}
     )`,
  ],
  // Null in segments of earlier versions.
  ['ALTER TABLE segments ADD COLUMN market_rows BLOB'],
  [
    `CREATE TABLE usage_days (
       key_id VARCHAR NOT NULL,
       day INTEGER NOT NULL,
       endpoint VARCHAR NOT NULL,
       calls BIGINT NOT NULL,
       PRIMARY KEY (key_id, day, endpoint)
     )`,
  ],
  // Null in segments of earlier versions. The lists lack them, so they are rebuilt.
  [
    'ALTER TABLE segments ADD COLUMN digests BLOB',
    'DELETE FROM segment_lists',
    "DELETE FROM meta WHERE key = 'listed_segments'",
  ],
  // What other nodes of a cluster have counted.
  [
    `CREATE TABLE other_usage (
       node VARCHAR NOT NULL,
       key_id VARCHAR NOT NULL,
       month INTEGER NOT NULL,
       calls BIGINT NOT NULL,
       PRIMARY KEY (node, key_id, month)
     )`,
    `CREATE TABLE other_usage_days (
       node VARCHAR NOT NULL,
       key_id VARCHAR NOT NULL,
       day INTEGER NOT NULL,
       endpoint VARCHAR NOT NULL,
       calls BIGINT NOT NULL,
       PRIMARY KEY (node, key_id, day, endpoint)
     )`,
  ],
  // `earlier_digest` is that of a rotated key's earlier text.
  [
    'ALTER TABLE keys ADD COLUMN expires_at BIGINT',
    'ALTER TABLE keys ADD COLUMN earlier_digest BLOB',
    'ALTER TABLE keys ADD COLUMN earlier_until BIGINT',
    `CREATE TABLE key_uses (
       key_id VARCHAR PRIMARY KEY,
       used_at BIGINT NOT NULL
     )`,
  ],
  // `history`: what positions count. `last_t`: the token's last snapshot, where a commit moved it back.
  [
    `CREATE TABLE depth_revisions (
       history VARCHAR NOT NULL,
       position BIGINT NOT NULL,
       token_id INTEGER NOT NULL,
       committed_at BIGINT NOT NULL,
       times BLOB NOT NULL,
       last_t BIGINT
     )`,
    "INSERT INTO meta VALUES ('store_id', uuid()::VARCHAR)",
  ],
];

/** The schema version of this build. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/** The version of a store's schema that is older than this build's; null: it is not, or nothing is stored. */
export async function oldSchema(database: Database, path: string): Promise<number | null> {
  const found = await schemaVersion(database, path);
  return found > 0 && found < SCHEMA_VERSION ? found : null;
}

/**
 * Brings a database to this build's schema in one transaction.
 * @returns whether it was empty
 * @throws InputError if a newer build wrote it, or if it is not a store
 */
export async function migrate(database: Database, path: string): Promise<boolean> {
  const found = await schemaVersion(database, path);
  if (found > SCHEMA_VERSION) {
    throw new InputError(
      `${path} was written by a newer version of Fathom (schema ${found}, this version knows ${SCHEMA_VERSION}): upgrade Fathom to open it`,
    );
  }
  if (found < SCHEMA_VERSION) {
    await database.transaction(async (tx) => {
      for (const statement of MIGRATIONS.slice(found).flat()) await tx.run(statement);
      await tx.run("DELETE FROM meta WHERE key = 'schema_version'");
      await tx.run("INSERT INTO meta VALUES ('schema_version', ?)", [String(SCHEMA_VERSION)]);
    });
  }
  return found === 0;
}

async function schemaVersion(database: Database, path: string): Promise<number> {
  const tables = (await database.rows('SELECT table_name FROM duckdb_tables()')).flat();
  if (tables.length === 0) {
    await database.run('CREATE TABLE meta (key VARCHAR NOT NULL, value VARCHAR NOT NULL)');
    return 0;
  }
  if (!tables.includes('meta'))
    throw new InputError(`${path} is a database, but not a Fathom store`);
  const rows = await database.rows("SELECT value FROM meta WHERE key = 'schema_version'");
  const version = rows.length === 0 ? 0 : Number(rows[0][0]);
  if (!Number.isInteger(version) || version < 0) {
    throw new InputError(`${path} is damaged: its schema version is ${String(rows[0][0])}`);
  }
  return version;
}
