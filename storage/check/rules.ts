/** Rules for a store's rows, as statements that select the rows that break them. */

/** Every table, with its dataset. */
export const SCANNED: Readonly<Record<string, string>> = {
  meta: 'meta',
  tokens: 'tokens',
  markets: 'snapshots',
  segments: 'snapshots',
  objects: 'snapshots',
  segment_parts: 'snapshots',
  segment_samples: 'snapshots',
  segment_lists: 'snapshots',
  depth_revisions: 'snapshots',
  dca_orders: 'dca_orders',
  limit_orders: 'limit_orders',
  dlmm_pools: 'dlmm_pools',
  dlmm_hours: 'dlmm_hours',
  token_hours: 'token_hours',
  holder_tokens: 'holders',
  holder_owners: 'holders',
  holder_blocks: 'holders',
  holder_block_parts: 'holders',
  keys: 'keys',
  key_uses: 'keys',
  usage: 'keys',
  queue: 'queue',
};

/** Tables whose rows have a key but no index. */
export const UNIQUE: readonly { table: string; keys: readonly string[] }[] = [
  { table: 'tokens', keys: ['token_id'] },
  { table: 'tokens', keys: ['chain', 'address'] },
  { table: 'markets', keys: ['token_id', 'market_idx'] },
  { table: 'segments', keys: ['segment_id'] },
  { table: 'segment_parts', keys: ['segment_id', 'part'] },
  { table: 'segment_samples', keys: ['segment_id'] },
  { table: 'segment_lists', keys: ['list_id'] },
  { table: 'objects', keys: ['object_id'] },
  { table: 'objects', keys: ['key'] },
  { table: 'dca_orders', keys: ['dca_address'] },
  { table: 'limit_orders', keys: ['order_address'] },
  { table: 'dlmm_pools', keys: ['pubkey'] },
  { table: 'dlmm_hours', keys: ['pubkey', 'hour'] },
  { table: 'token_hours', keys: ['chain', 'address', 'hour'] },
  { table: 'holder_tokens', keys: ['holder_id'] },
  { table: 'holder_tokens', keys: ['token_address'] },
  { table: 'holder_blocks', keys: ['block_id'] },
  { table: 'holder_block_parts', keys: ['block_id', 'part'] },
];

const orphans = (dataset: string, table: string, owner: string, key: string, name: string) => ({
  dataset,
  sql: `SELECT DISTINCT NULL, '${name} of ${key} ' || ${key} || ', which does not exist'
    FROM ${table} ANTI JOIN ${owner} USING (${key})`,
});
const MINT = "regexp_full_match(ADDRESS, '[1-9A-HJ-NP-Za-km-z]{32,44}')";
const isAddress = (column: string, chain = "'mainchain'"): string =>
  `CASE ${chain} WHEN 'mainchain' THEN ${MINT.replace('ADDRESS', column)}
   WHEN 'evmchain' THEN regexp_full_match(${column}, '0x[0-9a-f]{40}') ELSE false END`;
const addressed = (table: string, column: string, chain?: string) => ({
  dataset: SCANNED[table],
  sql: `SELECT ${column}, 'the row''s address is not that of a token' FROM ${table} WHERE NOT (${isAddress(column, chain)})`,
});

/** Each statement selects a token or null, and what is wrong. */
export const RULES: readonly { dataset: string; sql: string }[] = [
  orphans('snapshots', 'markets', 'tokens', 'token_id', 'a market'),
  orphans('snapshots', 'segments', 'tokens', 'token_id', 'a segment'),
  orphans('snapshots', 'segment_lists', 'tokens', 'token_id', 'a list'),
  orphans('snapshots', 'depth_revisions', 'tokens', 'token_id', 'a revision'),
  orphans('snapshots', 'segment_parts', 'segments', 'segment_id', 'a part'),
  orphans('snapshots', 'segment_samples', 'segments', 'segment_id', 'a sample'),
  {
    dataset: 'snapshots',
    sql: `SELECT DISTINCT NULL, 'a segment of object_id ' || object_id || ', which does not exist'
      FROM segments ANTI JOIN objects USING (object_id) WHERE object_id IS NOT NULL`,
  },
  orphans('holders', 'holder_owners', 'holder_tokens', 'holder_id', 'owners'),
  orphans('holders', 'holder_blocks', 'holder_tokens', 'holder_id', 'a block'),
  orphans('holders', 'holder_block_parts', 'holder_blocks', 'block_id', 'a part'),
  {
    dataset: 'snapshots',
    sql: `SELECT t.chain || ':' || t.address, 'a market is missing from its list'
      FROM markets m JOIN tokens t USING (token_id)
      GROUP BY t.chain, t.address HAVING max(market_idx) + 1 <> count(*)`,
  },
  {
    dataset: 'keys',
    sql: "SELECT NULL, 'key ' || id || ' has no digest' FROM keys WHERE octet_length(digest) <> 32",
  },
  {
    dataset: 'keys',
    sql: `SELECT DISTINCT NULL, 'calls of key ' || key_id || ', which does not exist'
      FROM usage ANTI JOIN keys ON key_id = id`,
  },
  addressed('tokens', 'address', 'chain'),
  addressed('dca_orders', 'token_address'),
  addressed('limit_orders', 'token_address', 'chain'),
  addressed('token_hours', 'address', 'chain'),
  addressed('holder_tokens', 'token_address'),
  ...['token_x_mint', 'token_y_mint'].map((column) => addressed('dlmm_pools', column)),
  ...['dlmm_hours', 'token_hours'].map((table) => ({
    dataset: table,
    sql: `SELECT DISTINCT NULL, 'hour ' || hour || ' is not a full hour' FROM ${table} WHERE hour % 3600 <> 0`,
  })),
];
