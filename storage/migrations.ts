/** The store's schema as a list of migrations. A released migration never changes. */
import { constants } from 'node:fs';
import { copyFile, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { freeBytesOf, syncFile } from './disk.js';
import { InputError } from './errors.js';
import type { Database } from './duckdb/database.js';
import { readMeta, writeMeta } from './meta.js';

/**
 * Blocks are already compressed, so DuckDB must not compress them again: with its default (ZSTD), reading one block
 * would decompress its whole row group.
 */
const BLOCK = 'BLOB NOT NULL USING COMPRESSION uncompressed';

/** Free bytes that a copy before a migration leaves on the disk. */
const SPARE_BYTES = 64 * 1024 * 1024;

/** Builds before the first version had earlier schemas. */
const FIRST_SCHEMA = 12;

/** The tables of that schema. */
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
  // No key on segments: DuckDB does not reclaim the space of a table with an index, and finds rows as fast by the ranges
  // of their ascending ids.
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
     digests BLOB NOT NULL
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
  `CREATE TABLE usage (
     key_id VARCHAR NOT NULL,
     month INTEGER NOT NULL,
     calls BIGINT NOT NULL,
     PRIMARY KEY (key_id, month)
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
  `CREATE TABLE usage_days (
     key_id VARCHAR NOT NULL,
     day INTEGER NOT NULL,
     endpoint VARCHAR NOT NULL,
     calls BIGINT NOT NULL,
     PRIMARY KEY (key_id, day, endpoint)
   )`,
  // What other nodes of a cluster have counted.
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
  `CREATE TABLE key_uses (
     key_id VARCHAR PRIMARY KEY,
     used_at BIGINT NOT NULL
   )`,
  // `history`: the sequence in which positions count. `last_t`: the token's last snapshot, if a commit moved it back.
  `CREATE TABLE depth_revisions (
     history VARCHAR NOT NULL,
     position BIGINT NOT NULL,
     token_id INTEGER NOT NULL,
     committed_at BIGINT NOT NULL,
     times BLOB NOT NULL,
     last_t BIGINT
   )`,
  "INSERT INTO meta VALUES ('store_id', uuid()::VARCHAR)",
];

/** Entry i migrates from version FIRST_SCHEMA + i to the next one. */
const MIGRATIONS: readonly (readonly string[])[] = [
  // Made in the background.
  [
    `CREATE TABLE segment_samples (
       segment_id BIGINT NOT NULL,
       crc32 UINTEGER NOT NULL,
       data ${BLOCK}
     )`,
  ],
];

const VERSION_KEY = 'schema_version';
/** The schema version of this build. */
export const SCHEMA_VERSION = FIRST_SCHEMA + MIGRATIONS.length;

/**
 * Migrates a database to this build's schema in one transaction.
 * @param from the version of its schema; 0 if it is empty
 */
export async function migrate(database: Database, from: number): Promise<void> {
  if (from === SCHEMA_VERSION) return;
  await database.transaction(async (tx) => {
    const missing = MIGRATIONS.slice(Math.max(0, from - FIRST_SCHEMA)).flat();
    await tx.run([...(from === 0 ? TABLES : []), ...missing].join(';\n'));
    await writeMeta(tx, VERSION_KEY, String(SCHEMA_VERSION));
  });
}

/** @throws InputError if a database does not have this build's schema, or is not a store */
export async function checkSchema(database: Pick<Database, 'rows'>, where: string): Promise<void> {
  if ((await schemaVersion(database, where)) === SCHEMA_VERSION) return;
  throw new InputError(
    `${where} was written by an earlier version of Fathom: check it with that version, or start this one on it first`,
  );
}

/**
 * The version of a database's schema; 0 if it is empty.
 * @throws InputError if a build that is newer, or before the first version, wrote it, or if it is not a store
 */
export async function schemaVersion(
  database: Pick<Database, 'rows'>,
  where: string,
): Promise<number> {
  const tables = (await database.rows('SELECT table_name FROM duckdb_tables()')).flat();
  if (tables.length === 0) return 0;
  if (!tables.includes('meta')) {
    throw new InputError(`${where} is a database, but not a Fathom store`);
  }
  const stored = (await readMeta(database)).get(VERSION_KEY);
  const version = Number(stored);
  if (!Number.isInteger(version) || version < 1) {
    throw new InputError(`${where} is damaged: its schema version is ${stored ?? 'missing'}`);
  }
  if (version < FIRST_SCHEMA) {
    throw new InputError(
      `${where} was written by a build before the first version of Fathom: load its files into a new store`,
    );
  }
  if (version <= SCHEMA_VERSION) return version;
  throw new InputError(
    `${where} was written by a newer version of Fathom (schema ${version}, this version knows ${SCHEMA_VERSION}): upgrade Fathom to open it`,
  );
}

/**
 * Copies a closed database if its disk has room. Nothing may have it open: closing a second handle of it would end
 * DuckDB's lock.
 * @param schema the version of its schema
 * @returns the text of a notice
 */
export async function copyBeforeMigration(file: string, schema: number): Promise<string> {
  const copy = `${file}.schema-${schema}`;
  const partial = `${copy}.new`;
  const { size } = await stat(file);
  if ((await freeBytesOf(path.dirname(file))) < size + SPARE_BYTES) {
    return `${file} is brought to a new schema without a copy of it: its disk has no room for one`;
  }
  try {
    await copyFile(file, partial, constants.COPYFILE_FICLONE);
    await syncFile(partial);
    await rename(partial, copy);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
  return `${file} is brought to a new schema; ${copy} is a copy from before: delete it once you keep the new version`;
}
