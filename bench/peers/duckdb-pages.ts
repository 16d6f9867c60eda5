/** Pages from DuckDB's npm package, in the ways offered by its client. */
// oxlint-disable-next-line no-restricted-imports
import type { DuckDBConnection } from '@duckdb/node-api';
import { Lender } from '../../storage/lender.js';
import { textOfColumns, textOfObjects, textOfRows, type Prices } from './assembly.js';
import { arrowOfChunks } from './duckdb-arrow.js';
import { loadDuckdb, rowsOf } from './duckdb-tables.js';
import type { MakePage, PageMakers, PageRequest } from './fastify-server.js';
import type { TableFiles } from './tables.js';

/** Ways to JSON. */
export const DUCKDB_WAYS = ['getRowsJson', 'getColumns', 'vectors', 'JSON by SQL'] as const;
/** The vectors as one record batch. */
export const DUCKDB_ARROW_WAY = 'vectors, Arrow stream';
type Way = (typeof DUCKDB_WAYS)[number] | typeof DUCKDB_ARROW_WAY;

/** Concurrent queries, each on a separate connection; libuv has at least as many threads. */
const CONNECTIONS = 4;

/** The part of one query's work on one connection. */
type OnConnection = (
  connection: DuckDBConnection,
  request: PageRequest,
  prices: Prices,
) => ReturnType<MakePage>;

export async function duckdbPages(folder: string, files: TableFiles): Promise<PageMakers> {
  const { version, connection: first, connect } = await loadDuckdb(folder, files);
  const more = Array.from({ length: CONNECTIONS - 1 }, connect);
  const lender = new Lender([first, ...(await Promise.all(more))]);
  const wayOn =
    (make: OnConnection): MakePage =>
    (request) =>
      lender.use(async (connection) =>
        make(connection, request, await pricesOf(connection, request)),
      );
  const ways: Record<Way, MakePage> = {
    getRowsJson: wayOn(byRows),
    getColumns: wayOn(byColumns),
    vectors: wayOn(byVectors),
    'JSON by SQL': wayOn(bySql),
    [DUCKDB_ARROW_WAY]: wayOn(byArrow),
  };
  return { version, ways };
}

const CELLS = 't, market, bin, support_usd, resistance_usd';

/** Literals: the planner uses them to skip row groups. */
function where({ token, from, to }: PageRequest): string {
  return `WHERE token = ${token} AND t >= ${from} AND t < ${to}`;
}

function cellsSql(request: PageRequest): string {
  return `SELECT ${CELLS} FROM cells ${where(request)}`;
}

async function pricesOf(connection: DuckDBConnection, request: PageRequest): Promise<Prices> {
  const rows = await rowsOf(connection, `SELECT t, price_usd FROM snapshots ${where(request)}`);
  return new Map(rows as [number, number][]);
}

const byRows: OnConnection = async (connection, request, prices) => {
  const rows = await (await connection.run(cellsSql(request))).getRowsJson();
  return textOfRows(request.address, rows as number[][], prices);
};

const byColumns: OnConnection = async (connection, request, prices) => {
  const columns = await (await connection.run(cellsSql(request))).getColumns();
  const [t, market, bin, supportUsd, resistanceUsd] = columns as number[][];
  return textOfColumns(request.address, { t, market, bin, supportUsd, resistanceUsd }, prices);
};

/** From typed arrays of the client's vectors, without an object per value. */
const byVectors: OnConnection = async (connection, request, prices) => {
  const chunks = await (await connection.run(cellsSql(request))).fetchAllChunks();
  const columns = Array.from({ length: CELLS.split(',').length }, (): number[] => []);
  for (const chunk of chunks) {
    for (const [c, values] of columns.entries()) {
      const vector = chunk.getColumnVector(c);
      for (let row = 0; row < chunk.rowCount; row++) values.push(vector.getItem(row) as number);
    }
  }
  const [t, market, bin, supportUsd, resistanceUsd] = columns;
  return textOfColumns(request.address, { t, market, bin, supportUsd, resistanceUsd }, prices);
};

/** DuckDB writes the numbers, on its own thread; JavaScript joins a text per snapshot. */
const bySql: OnConnection = async (connection, request, prices) => {
  const arrays =
    'market_idx: list(market), bin: list(bin), support_usd: list(support_usd), resistance_usd: list(resistance_usd)';
  const sql = `SELECT t, to_json({${arrays}})::VARCHAR FROM cells ${where(request)} GROUP BY t ORDER BY t`;
  const rows = await rowsOf(connection, sql);
  return textOfObjects(request.address, rows as [number, string][], prices);
};

/** From the vectors' memory, without a value per number. */
const byArrow: OnConnection = async (connection, request, prices) => {
  const chunks = await (await connection.run(cellsSql(request))).fetchAllChunks();
  return arrowOfChunks(chunks, prices);
};
