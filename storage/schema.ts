/** The store's tables, and which databases have them. */
import { InputError } from './errors.js';
import type { Database } from './duckdb/database.js';
import { readMeta, writeMeta } from './meta.js';

/**
 * Blocks are already compressed, so DuckDB must not compress them again: with its default (ZSTD), reading one block
 * would decompress its whole row group.
 */
const BLOCK = 'BLOB NOT NULL USING COMPRESSION uncompressed';

/** This build's schema. A build opens no store of another one. */
export const SCHEMA_VERSION = 4;
const VERSION_KEY = 'schema';
/** Where builds before the first version kept theirs. */
const EARLIER_VERSION_KEY = 'schema_version';

const TABLES: readonly string[] = [
  'CREATE TABLE meta (key VARCHAR NOT NULL, value VARCHAR NOT NULL)',
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
  // The block of an archived segment is in an object, and its `data` is empty.
  // No key on segments: DuckDB does not reclaim the space of a table with an index (duckdb/duckdb-web#5502), and
  // finds rows as fast by the ranges of their ascending ids.
  `CREATE TABLE segments (
     segment_id BIGINT NOT NULL,
     token_id INTEGER NOT NULL,
     tier UTINYINT NOT NULL,
     cells UINTEGER NOT NULL,
     times BLOB NOT NULL,
     band_cells BLOB NOT NULL,
     crc32 UINTEGER NOT NULL,
     data ${BLOCK},
     market_rows BLOB NOT NULL,
     digests BLOB NOT NULL,
     object_id BIGINT,
     object_at BIGINT,
     object_bytes UINTEGER
   )`,
  // Archived days; `unused_since`: when no segment named the object any more.
  `CREATE TABLE objects (
     object_id BIGINT NOT NULL,
     key VARCHAR NOT NULL,
     sha256 VARCHAR NOT NULL,
     bytes BIGINT NOT NULL,
     unused_since BIGINT
   )`,
  // Made in the background.
  `CREATE TABLE segment_samples (
     segment_id BIGINT NOT NULL,
     crc32 UINTEGER NOT NULL,
     data ${BLOCK}
   )`,
  `CREATE TABLE segment_parts (
     segment_id BIGINT NOT NULL,
     part INTEGER NOT NULL,
     data ${BLOCK}
   )`,
  // `earlier_digest`: of a rotated key's earlier text.
  `CREATE TABLE keys (
     id VARCHAR PRIMARY KEY,
     name VARCHAR,
     tier VARCHAR NOT NULL,
     hint VARCHAR NOT NULL,
     digest BLOB NOT NULL,
     requests_per_minute DOUBLE,
     monthly_quota DOUBLE,
     created_at BIGINT NOT NULL,
     revoked_at BIGINT,
     expires_at BIGINT,
     earlier_digest BLOB,
     earlier_until BIGINT
   )`,
  // `node`: of a cluster; empty if a single server counted the calls.
  `CREATE TABLE usage (
     node VARCHAR NOT NULL,
     key_id VARCHAR NOT NULL,
     day INTEGER NOT NULL,
     endpoint VARCHAR NOT NULL,
     calls BIGINT NOT NULL,
     PRIMARY KEY (node, key_id, day, endpoint)
   )`,
  `CREATE TABLE queue (
     chain VARCHAR NOT NULL,
     address VARCHAR NOT NULL,
     requested_at BIGINT NOT NULL,
     requests BIGINT NOT NULL,
     last_requested_at BIGINT NOT NULL,
     PRIMARY KEY (chain, address)
   )`,
  // No keys on these tables either: commits delete the rows that they replace.
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
  `CREATE TABLE segment_lists (
     list_id BIGINT NOT NULL,
     token_id INTEGER NOT NULL,
     tier UTINYINT NOT NULL,
     first_t UINTEGER NOT NULL,
     data ${BLOCK}
   )`,
  `CREATE TABLE key_uses (
     key_id VARCHAR PRIMARY KEY,
     used_at BIGINT NOT NULL
   )`,
  // `position`: of the entry in the log. `last_t`: the token's last snapshot, if a commit moved it back.
  `CREATE TABLE depth_revisions (
     position BIGINT NOT NULL,
     token_id INTEGER NOT NULL,
     committed_at BIGINT NOT NULL,
     times BLOB NOT NULL,
     last_t BIGINT
   )`,
];

/**
 * Makes the tables in an empty database.
 * @param where names the database in errors
 * @returns whether it was empty
 * @throws InputError if it is not a store, or one of another schema
 */
export async function ensureSchema(database: Database, where: string): Promise<boolean> {
  if ((await tablesOf(database)).length > 0) {
    await checkSchema(database, where);
    return false;
  }
  await database.transaction(async (tx) => {
    await tx.run(TABLES.join(';\n'));
    await writeMeta(tx, VERSION_KEY, String(SCHEMA_VERSION));
  });
  return true;
}

/** @throws InputError if a database is not a store, or one of another schema than this build's */
export async function checkSchema(database: Pick<Database, 'rows'>, where: string): Promise<void> {
  const tables = await tablesOf(database);
  if (tables.length === 0) {
    throw new InputError(
      `${where} is empty: a start on it was interrupted, and another one completes it`,
    );
  }
  if (!tables.includes('meta')) {
    throw new InputError(`${where} is a database, but not a Fathom store`);
  }
  const meta = await readMeta(database);
  const stored = meta.get(VERSION_KEY);
  if (stored === undefined && meta.has(EARLIER_VERSION_KEY)) {
    throw new InputError(
      `${where} was written by a build before the first version of Fathom: keep it, and load its files into a new store`,
    );
  }
  const version = Number(stored);
  if (!Number.isInteger(version) || version < 1) {
    throw new InputError(`${where} is damaged: its schema version is ${stored ?? 'missing'}`);
  }
  if (version < SCHEMA_VERSION) {
    throw new InputError(
      `${where} was written by an earlier build of Fathom (schema ${version}, this one knows ${SCHEMA_VERSION}): keep it, and load its files into a new store`,
    );
  }
  if (version > SCHEMA_VERSION) {
    throw new InputError(
      `${where} was written by a newer version of Fathom (schema ${version}, this version knows ${SCHEMA_VERSION}): upgrade Fathom to open it`,
    );
  }
}

async function tablesOf(database: Pick<Database, 'rows'>): Promise<unknown[]> {
  return (await database.rows('SELECT table_name FROM duckdb_tables()')).flat();
}
