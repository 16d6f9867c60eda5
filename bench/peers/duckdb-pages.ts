/** Pages from DuckDB's npm package: its SQL makes the JSON, the cheapest of its client's ways. */
// oxlint-disable-next-line no-restricted-imports
import type { DuckDBConnection } from '@duckdb/node-api';
import { Lender } from '../../storage/lender.js';
import { textOfObjects, type Prices } from './content.js';
import { loadDuckdb, rowsOf } from './duckdb-tables.js';
import type { MakePage, PageMaker, PageRequest } from './fastify-server.js';
import type { TableFiles } from './tables.js';

/** Concurrent queries, each on a separate connection; libuv has at least as many threads. */
const CONNECTIONS = 4;

export async function duckdbPages(folder: string, files: TableFiles): Promise<PageMaker> {
  const { version, connection: first, connect } = await loadDuckdb(folder, files);
  const more = Array.from({ length: CONNECTIONS - 1 }, connect);
  const lender = new Lender([first, ...(await Promise.all(more))]);
  const make: MakePage = (request) =>
    lender.use(async (connection) =>
      textOfObjects(
        request.address,
        await objectsOf(connection, request),
        await pricesOf(connection, request),
      ),
    );
  return { version, make };
}

/** Literals: the planner uses them to skip row groups. */
function where({ token, from, to }: PageRequest): string {
  return `WHERE token = ${token} AND t >= ${from} AND t < ${to}`;
}

async function pricesOf(connection: DuckDBConnection, request: PageRequest): Promise<Prices> {
  const rows = await rowsOf(connection, `SELECT t, price_usd FROM snapshots ${where(request)}`);
  return new Map(rows as [number, number][]);
}

/** DuckDB writes the numbers, on its own thread; JavaScript joins a text per snapshot. */
async function objectsOf(connection: DuckDBConnection, request: PageRequest) {
  const arrays =
    'market_idx: list(market), bin: list(bin), support_usd: list(support_usd), resistance_usd: list(resistance_usd)';
  const sql = `SELECT t, to_json({${arrays}})::VARCHAR FROM cells ${where(request)} GROUP BY t ORDER BY t`;
  return (await rowsOf(connection, sql)) as [number, string][];
}
