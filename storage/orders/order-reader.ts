/** The active orders as DuckDB serves them. */
import type { Chain } from '../../compute/market.js';
import type { DcaOrder, Direction } from '../../compute/orders/dca-orders.js';
import type { LimitOrder } from '../../compute/orders/limit-orders.js';
import type { OrderSource } from '../contract.js';
import type { Database, ResultChunk } from '../duckdb/database.js';
import { columnsOf, FLAT_TABLES, SharedTexts } from '../flat-tables.js';

/** Tokens named in one query; of more than that, the whole table is gone through. */
const MAX_NAMED_TOKENS = 1000;

type OrderTable = 'dca_orders' | 'limit_orders';
type ReadOrders<T> = (chunk: ResultChunk, texts: SharedTexts) => T[];

export class OrderReader implements OrderSource {
  constructor(private readonly database: Pick<Database, 'streamChunks'>) {}

  dcaOrders(tokenAddresses: readonly string[]): Promise<DcaOrder[]> {
    return this.ordersOf('dca_orders', tokenAddresses, dcaOrdersOf);
  }

  allDcaOrders(): AsyncGenerator<DcaOrder[]> {
    return this.orders('dca_orders', null, dcaOrdersOf);
  }

  limitOrders(tokenAddresses: readonly string[]): Promise<LimitOrder[]> {
    return this.ordersOf('limit_orders', tokenAddresses, limitOrdersOf);
  }

  allLimitOrders(): AsyncGenerator<LimitOrder[]> {
    return this.orders('limit_orders', null, limitOrdersOf);
  }

  private async ordersOf<T extends { tokenAddress: string }>(
    table: OrderTable,
    tokens: readonly string[],
    read: ReadOrders<T>,
  ): Promise<T[]> {
    if (tokens.length === 0) return [];
    const wanted = new Set(tokens);
    const named = wanted.size <= MAX_NAMED_TOKENS ? [...wanted] : null;
    const found: T[] = [];
    for await (const orders of this.orders(table, named, read)) {
      for (const order of orders) if (wanted.has(order.tokenAddress)) found.push(order);
    }
    return found;
  }

  /** Orders of the named tokens, of all where none is named, a vector's worth at a time. */
  private async *orders<T>(
    table: OrderTable,
    tokens: readonly string[] | null,
    read: ReadOrders<T>,
  ): AsyncGenerator<T[]> {
    const columns = columnsOf(FLAT_TABLES[table]).join(', ');
    const places = tokens?.map(() => '?').join(', ');
    const where = places === undefined ? '' : ` WHERE token_address IN (${places})`;
    const sql = `SELECT ${columns} FROM ${table}${where}`;
    const texts = new SharedTexts();
    for await (const chunk of this.database.streamChunks(sql, tokens ?? [])) {
      yield read(chunk, texts);
    }
  }
}

/** Reads a column's values by row. */
type Reader<T> = (row: number) => T;

/** Readers of a chunk's columns by name, as columnsOf has their order. */
function readersOf(chunk: ResultChunk, table: OrderTable, texts: SharedTexts) {
  const columns = columnsOf(FLAT_TABLES[table]);
  const reader = (name: string): Reader<unknown> => chunk.reader(columns.indexOf(name));
  return {
    key: reader(columns[0]) as Reader<string>,
    number: (name: string) => reader(name) as Reader<number>,
    nullable: (name: string) => reader(name) as Reader<number | null>,
    shared: <T extends string>(name: string): Reader<T> => {
      const text = reader(name) as Reader<string>;
      return (row) => texts.of(text(row)) as T;
    },
  };
}

function dcaOrdersOf(chunk: ResultChunk, texts: SharedTexts): DcaOrder[] {
  const { key, number, nullable, shared } = readersOf(chunk, 'dca_orders', texts);
  const token = shared('token_address');
  const direction = shared<Direction>('direction');
  const paired = shared('paired_symbol');
  const deposited = number('deposited_usd');
  const remaining = number('remaining_usd');
  const cycle = number('cycle_usd');
  const frequency = number('cycle_frequency');
  const next = number('next_cycle_at');
  const min = nullable('min_usd');
  const max = nullable('max_usd');
  return Array.from({ length: chunk.rowCount }, (_, row) => ({
    dcaAddress: key(row),
    tokenAddress: token(row),
    direction: direction(row),
    pairedSymbol: paired(row),
    depositedUsd: deposited(row),
    remainingUsd: remaining(row),
    cycleUsd: cycle(row),
    cycleFrequencyS: frequency(row),
    nextCycleAtS: next(row),
    minUsd: min(row),
    maxUsd: max(row),
  }));
}

function limitOrdersOf(chunk: ResultChunk, texts: SharedTexts): LimitOrder[] {
  const { key, number, shared } = readersOf(chunk, 'limit_orders', texts);
  const chain = shared<Chain>('chain');
  const token = shared('token_address');
  const direction = shared<Direction>('direction');
  const platform = shared('platform');
  const paired = shared('paired_symbol');
  const maker = shared('maker');
  const price = number('usd_price');
  const remaining = number('remaining_usd');
  const complete = number('pct_complete');
  const created = number('created_at');
  return Array.from({ length: chunk.rowCount }, (_, row) => ({
    orderAddress: key(row),
    chain: chain(row),
    tokenAddress: token(row),
    direction: direction(row),
    platform: platform(row),
    pairedSymbol: paired(row),
    maker: maker(row),
    usdPrice: price(row),
    remainingUsd: remaining(row),
    pctComplete: complete(row),
    createdAtS: created(row),
  }));
}
