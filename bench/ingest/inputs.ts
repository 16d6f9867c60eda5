/** The files to ingest, by dataset and format. DuckDB makes the rows and writes them. */
import path from 'node:path';
import { HOURS_IN_SIGHT, hourOf } from '../../compute/lp/hours.js';
import { DAY_S, HOUR_S } from '../../compute/time.js';
import { USDC_MINT } from '../../demo/tokens.js';
import { MemoryDatabase } from '../../storage/duckdb/memory-database.js';
import { MAX_DLMM_POOLS } from '../../storage/lp/dlmm-pools.js';
import { EVERY_S, PAGE_A, sizesOf, START_S } from '../data/pages.js';
import { writeArrow } from './arrow-file.js';

export interface Input {
  name: InputName;
  dataset: string;
  file: string;
  rows: number;
  /** 0 if the dataset has none, null if only binning tells. */
  cells: number | null;
}

/** What a file holds: rows of SQL, and how many. */
interface Rows {
  dataset: string;
  sql: string;
  rows: number;
  cells: number | null;
}

/** Text formats get this share of the cells, because they take ten times the bytes per cell. */
const TEXT_SHARE = 1 / 4;
const FLAT_SHARE = 1 / 40;
/** A small ladder has two hundred cells. */
const LADDER_CELLS = 200;
const BOOK_LEVELS = 1000;
const MEMORY_MIB = 2048;

/** The rows of each file, for as many cells as the largest have. */
const INPUTS = {
  'cells.parquet': (cells) => cellRows(cells),
  'cells.arrow': (cells) => cellRows(cells),
  'cells-dictionary.arrow': (cells) => cellRows(cells),
  'cells.csv': (cells) => cellRows(cells * TEXT_SHARE),
  'cells.ndjson': (cells) => cellRows(cells * TEXT_SHARE),
  'snapshots.ndjson': (cells) => snapshotRows(cells),
  'snapshots.parquet': (cells) => snapshotRows(cells * TEXT_SHARE),
  'books.ndjson': (cells) => bookRows(cells),
  'holders.ndjson': (cells) => holderRows(cells * TEXT_SHARE),
  'holders.parquet': (cells) => holderRows(cells * TEXT_SHARE),
  'dca_orders.ndjson': (cells) => flatRows('dca_orders', cells * FLAT_SHARE),
  'dca_orders.parquet': (cells) => flatRows('dca_orders', cells * FLAT_SHARE),
  'tokens.ndjson': (cells) => flatRows('tokens', cells * FLAT_SHARE),
  'ladders.ndjson': (cells) => ladderRows(cells / LADDER_CELLS),
  'limit_orders.ndjson': (cells) => flatRows('limit_orders', cells * FLAT_SHARE),
  'dlmm_pools.ndjson': (cells) =>
    flatRows('dlmm_pools', Math.min(cells * FLAT_SHARE, MAX_DLMM_POOLS)),
  'dlmm_hours.ndjson': (cells) => flatRows('dlmm_hours', cells * FLAT_SHARE),
  'token_hours.ndjson': (cells) => flatRows('token_hours', cells * FLAT_SHARE),
} satisfies Record<string, (cells: number) => Rows>;
export type InputName = keyof typeof INPUTS;
export const INPUT_NAMES = Object.keys(INPUTS) as InputName[];

const OPTIONS = { ndjson: 'FORMAT json', csv: 'FORMAT csv, HEADER', parquet: 'FORMAT parquet' };

/** Writes one file of the wanted size into a folder. */
export async function makeInput(name: InputName, cells: number, folder: string): Promise<Input> {
  const file = path.join(folder, name);
  const { sql, ...input } = INPUTS[name](cells);
  const database = await MemoryDatabase.open({ memoryLimitMiB: MEMORY_MIB, threads: 2 });
  try {
    const format = path.extname(name).slice(1);
    if (format === 'arrow') await writeArrow(database, sql, file, name.includes('dictionary'));
    else {
      await database.run(`COPY (${sql}) TO '${file}' (${OPTIONS[format as keyof typeof OPTIONS]})`);
    }
  } finally {
    database.close();
  }
  return { name, file, ...input };
}

/** A base58 address of 32 bytes for number `i`, an SQL expression; the letter keeps kinds apart. */
const address = (letter: string, i: string): string =>
  `rpad('${letter}' || replace((${i})::BIGINT::VARCHAR, '0', 'A') || 'x', 43, 'z')`;
/** A hashed number from 0 to 1 of SQL expressions. */
const unit = (...of: string[]): string => `(hash(${of.join(', ')}) % 1000003 / 1000003.0)::DOUBLE`;
/** An amount around `median`, spread like the levels of a market. */
const amount = (median: number, ...of: string[]): string =>
  `round(${median} * exp(2.6 * (${unit(...of, '1')} + ${unit(...of, '2')} + ${unit(...of, '3')} - 1.5)), 2)`;

/** Flat cells of page A's shape: in each snapshot, six of ten cells have another amount than before. */
function cellRows(wanted: number): Rows {
  const { tokens, snapshots } = sizesOf(wanted);
  const { cells, markets } = PAGE_A;
  const rows = tokens * snapshots * cells;
  const since = (back: number): string => `${unit('token', 'c', `s - ${back}`)} < 0.6`;
  const sql = `
    WITH places AS (
      SELECT i // ${snapshots * cells} AS token, i // ${cells} % ${snapshots} AS s, i % ${cells} AS c
      FROM range(${rows}) AS numbers(i)
    ), marked AS (
      SELECT *, c * ${markets} // ${cells} AS m,
             CASE WHEN ${since(0)} THEN s WHEN ${since(1)} THEN s - 1 ELSE s - 2 END AS changed
      FROM places
    ), valued AS (
      SELECT *, c - (m * ${cells} + ${markets} - 1) // ${markets} - ${Math.floor(cells / markets / 2)} AS bin,
             1 + round(${amount(750, 'token', 'c')} * exp(0.04 * (${unit('token', 'c', 'changed')} - 0.5)), 2) AS usd
      FROM marked
    )
    SELECT 'mainchain' AS chain, ${address('T', 'token')} AS address, ${START_S} + ${EVERY_S} * s AS t,
           'raw' AS tier, round(148 * (1 + 0.02 * sin(s / 50.0 + token)), 6) AS price_usd,
           ['Orca', 'Raydium', 'Phoenix', 'Binance', 'Bybit Perps'][m % 5 + 1] AS source,
           CASE WHEN m % 5 < 3 THEN 'DEX' ELSE 'CEX' END AS exchange_type,
           ['onchain_pool', 'onchain_pool', 'onchain_limit_order', 'cex_spot', 'cex_perp'][m % 5 + 1] AS type,
           CASE WHEN m % 5 < 3 THEN ${address('M', `1 + token * ${markets} + m`)} END AS market_address,
           'BENCH/USD' || m AS pair, bin,
           CASE WHEN bin <= 0 THEN usd ELSE 0.0::DOUBLE END AS support_usd,
           CASE WHEN bin > 0 THEN usd ELSE 0.0::DOUBLE END AS resistance_usd
    FROM valued`;
  return { dataset: 'cells', sql, rows, cells: rows };
}

/** The same cells, nested in rows of `snapshots`. */
function snapshotRows(wanted: number): Rows {
  const { sql, rows } = cellRows(wanted);
  const market =
    '{source: source, exchange_type: exchange_type, type: type, address: market_address, pair: pair, cells: cells}';
  const nested = `
    SELECT chain, address, t, price_usd, list(${market} ORDER BY pair) AS markets
    FROM (
      SELECT chain, address, t, price_usd, source, exchange_type, type, market_address, pair,
             list(json_array(bin, support_usd, resistance_usd) ORDER BY bin) AS cells
      FROM (${sql}) GROUP BY ALL
    ) GROUP BY ALL ORDER BY address, t`;
  return { dataset: 'snapshots', sql: nested, rows: rows / PAGE_A.cells, cells: rows };
}

/** Snapshots of one book each, `levels` levels in total; each token has as many snapshots as a page. */
function bookRows(levels: number): Rows {
  const rows = Math.max(1, Math.round(levels / BOOK_LEVELS));
  const side = (sign: 1 | -1): string =>
    `list(json_array(round(148 * (1 + ${sign * 0.0004} * (level + 0.5)), 4), 1 + ${amount(10, 'i', `level * ${sign}`)}) ORDER BY level)`;
  const sql = `
    SELECT 'mainchain' AS chain, ${address('T', `i // ${PAGE_A.snapshots}`)} AS address,
           ${START_S} + ${EVERY_S} * (i % ${PAGE_A.snapshots}) AS t, 148 AS price_usd,
           [{source: 'Binance', exchange_type: 'CEX', pair: 'BENCH/USDC',
             book: {bids: ${side(-1)}, asks: ${side(1)}}}] AS markets
    FROM range(${rows}) AS numbers(i), range(${BOOK_LEVELS / 2}) AS levels(level)
    GROUP BY i ORDER BY i`;
  return { dataset: 'snapshots', sql, rows, cells: null };
}

/** A small ladder for each of as many tokens: four markets of fifty cells. */
function ladderRows(wanted: number): Rows {
  const rows = Math.ceil(wanted);
  const cell = `
    json_array(CASE WHEN c < 25 THEN c - 25 ELSE c - 24 END,
               CASE WHEN c < 25 THEN 1 + usd ELSE 0 END, CASE WHEN c < 25 THEN 0 ELSE 1 + usd END)`;
  const sql = `
    SELECT 'mainchain' AS chain, ${address('T', 'i')} AS address, ${START_S} AS t, 2.5 AS price_usd,
           list({source: source, exchange_type: 'CEX', pair: 'BOT/USDC', cells: cells} ORDER BY source) AS markets
    FROM (
      SELECT i, source, list(${cell} ORDER BY c) AS cells
      FROM (SELECT i, source, c, ${amount(450, 'i', 'source', 'c')} AS usd
            FROM range(${rows}) AS numbers(i), (VALUES ('Binance'), ('Bybit'), ('Coinbase'), ('Kraken')) AS markets(source),
                 range(${LADDER_CELLS / 4}) AS cells(c))
      GROUP BY i, source
    ) GROUP BY i ORDER BY i`;
  return { dataset: 'snapshots', sql, rows, cells: rows * LADDER_CELLS };
}

/** Owners per snapshot, with most daily snapshots per token; a thirtieth of the balances changes a day. */
const OWNERS = 5_000;
const DAYS = 30;

function holderRows(wanted: number): Rows {
  const owners = Math.min(OWNERS, Math.ceil(wanted));
  const snapshots = Math.max(1, Math.round(wanted / owners));
  const sql = `
    SELECT ${address('T', `s // ${DAYS}`)} AS token_address,
           ${START_S} - ${DAY_S} * (${DAYS} - s % ${DAYS}) AS t, ${address('W', 'o')} AS owner,
           1 + ${amount(1000, `s // ${DAYS}`, 'o', `CASE WHEN hash(o) % ${DAYS} = s % ${DAYS} THEN s ELSE 0 END`)} AS balance
    FROM (SELECT i // ${owners} AS s, i % ${owners} AS o FROM range(${snapshots * owners}) AS numbers(i))`;
  return { dataset: 'holders', sql, rows: snapshots * owners, cells: 0 };
}

const LAST_HOUR_S = hourOf(START_S);
/** How many tokens the orders are spread over. */
const ORDER_TOKENS = 1000;

/** Columns of row number `i`; `owner` numbers the pools or tokens that have a row for each hour in sight. */
const FLAT = {
  tokens: {
    chain: "'mainchain'",
    address: address('T', 'i'),
    symbol: "'BOT' || i",
    name: "'Token ' || i",
    decimals: '9',
    mcap: '1000000',
    liquidity_usd: '100000',
    price_usd: '2.5::DOUBLE',
  },
  dca_orders: {
    dca_address: address('D', 'i'),
    token_address: address('T', `i % ${ORDER_TOKENS}`),
    direction: "CASE WHEN hash(i) % 2 = 0 THEN 'BUY' ELSE 'SELL' END",
    paired_symbol: "'USDC'",
    deposited_usd: `2 * ${amount(900, 'i')}`,
    remaining_usd: amount(900, 'i'),
    cycle_usd: `1 + ${amount(900, 'i')} / (1 + hash(i) % 50)`,
    cycle_frequency: '[60, 300, 600, 3600, 21600, 86400][(hash(i) % 6)::BIGINT + 1]',
    next_cycle_at: `${START_S} + hash(i) % 7200`,
    min_usd: `CASE WHEN i % 10 < 3 THEN 1.6 + ${unit('i', '4')} / 2 END`,
    max_usd: `CASE WHEN i % 10 < 3 THEN 2.2 + ${unit('i', '5')} / 2 END`,
  },
  limit_orders: {
    order_address: address('L', 'i'),
    chain: "'mainchain'",
    token_address: address('T', `i % ${ORDER_TOKENS}`),
    direction: "CASE WHEN i % 2 = 0 THEN 'BUY' ELSE 'SELL' END",
    platform: "'bench'",
    paired_symbol: "'USDC'",
    maker: address('W', 'i % 1000'),
    usd_price: `0.5 + 3 * ${unit('i', '1')}`,
    remaining_usd: `1 + 1000 * ${unit('i', '2')}`,
    pct_complete: unit('i', '3'),
    created_at: `${START_S} - i`,
  },
  dlmm_pools: {
    pubkey: address('P', 'i'),
    bin_step: '20',
    active_id: '-100',
    token_x_mint: address('T', 'i'),
    token_y_mint: `'${USDC_MINT}'`,
    token_x_decimals: '9',
    token_y_decimals: '6',
    reserve_x: `1e6 * ${unit('i')}`,
    reserve_y: '10000',
    base_fee_pct: '0.2::DOUBLE',
    dynamic_fee_pct: '0.1::DOUBLE',
    num_positions: '10',
    num_wallets: '5',
  },
  dlmm_hours: {
    pubkey: address('P', 'owner'),
    hour: 'hour',
    fees_usd: unit('i', '1'),
    volume_usd: `1000 * ${unit('i', '2')}`,
    tvl_usd: `1e5 * ${unit('i', '3')}`,
  },
  token_hours: {
    chain: "'mainchain'",
    address: address('T', 'owner'),
    hour: 'hour',
    organic_volume_usd: `1000 * ${unit('i')}`,
  },
} satisfies Record<string, Record<string, string>>;

function flatRows(dataset: keyof typeof FLAT, wanted: number): Rows {
  const rows = Math.ceil(wanted);
  const owners = Math.ceil(rows / HOURS_IN_SIGHT);
  const columns = Object.entries(FLAT[dataset]).map(([name, value]) => `${value} AS ${name}`);
  const sql = `
    SELECT ${columns.join(', ')}
    FROM (SELECT i, i % ${owners} AS owner, ${LAST_HOUR_S} - i // ${owners} * ${HOUR_S} AS hour
          FROM range(${rows}) AS numbers(i))`;
  return { dataset, sql, rows, cells: 0 };
}
