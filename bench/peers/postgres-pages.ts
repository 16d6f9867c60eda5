/** Pages from a running PostgreSQL: texts of its arrays, the cheapest of its client's and its SQL's ways. */
import pg from 'pg';
import { textOfObjects, type Prices } from './content.js';
import type { MakePage, PageMaker, PageRequest } from './fastify-server.js';

/** Twice the cores of a small machine: one query is computed while another's rows are received. */
const CONNECTIONS = 4;

/** The address and the user of the server. */
export interface PostgresPlace {
  /** The folder of its socket. */
  host: string;
  user: string;
}

const WHERE = 'WHERE token = $1 AND t >= $2 AND t < $3';
/** In the order of the index, which saves sorting. */
const ORDERED = `SELECT t, market, bin, support_usd, resistance_usd FROM cells ${WHERE} ORDER BY t, market, bin`;
/** Each is planned once per connection. */
const STATEMENTS = {
  prices: `SELECT t, price_usd FROM snapshots ${WHERE}`,
  array_agg: `SELECT t, array_agg(market)::text, array_agg(bin)::text, array_agg(support_usd)::text,
    array_agg(resistance_usd)::text FROM (${ORDERED}) cells GROUP BY t ORDER BY t`,
};

export async function postgresPages({ host, user }: PostgresPlace): Promise<PageMaker> {
  const pool = new pg.Pool({ host, user, database: 'postgres', max: CONNECTIONS });
  const query = async (name: keyof typeof STATEMENTS, { token, from, to }: PageRequest) => {
    const statement = { name, text: STATEMENTS[name], values: [token, from, to] };
    return (await pool.query<unknown[]>({ ...statement, rowMode: 'array' })).rows;
  };
  const pricesOf = async (request: PageRequest): Promise<Prices> =>
    new Map((await query('prices', request)) as [number, number][]);
  const make: MakePage = async (request) => {
    const prices = await pricesOf(request);
    const rows = (await query('array_agg', request)) as [number, ...string[]][];
    const texts = rows.map(([t, ...arrays]) => [t, objectOf(arrays)] as const);
    return textOfObjects(request.address, texts, prices);
  };
  const { rows } = await pool.query<{ server_version: string }>('SHOW server_version');
  return { version: rows[0].server_version, make };
}

/** PostgreSQL writes arrays of numbers as `{1,2}`, which is JSON except for the brackets. */
function objectOf([market, bin, support, resistance]: readonly string[]): string {
  const array = (text: string): string => `[${text.slice(1, -1)}]`;
  return `{"market_idx":${array(market)},"bin":${array(bin)},"support_usd":${array(support)},"resistance_usd":${array(resistance)}}`;
}
