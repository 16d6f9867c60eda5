/** Rows of dataset `snapshots` from files with a schema, which has one type for all of a list. */

type Fields = Record<string, unknown>;

/** What the entries of a list are called where they are structs instead of lists. */
const ENTRY_FIELDS = {
  cells: ['bin', 'support_usd', 'resistance_usd'],
  levels: ['price_usd', 'size'],
  ticks: ['tick', 'liquidity_net'],
  bins: ['id', 'amount_x', 'amount_y'],
} as const;

const INTEGER = /^-?\d{1,15}$/;

/**
 * A row as NDJSON would have it. An entry of `cells`, `bids`, `asks`, `ticks` or `bins` may be a
 * struct of its named values; a tick, whose two values are of two types, may be two texts (bare, or
 * as JSON writes them); integers of 64 bits stand for numbers, or for decimal strings where those are
 * wanted.
 */
export function plainSnapshotRow(row: Fields): Fields {
  const { markets } = row;
  const rest = plainNumbers(row);
  return Array.isArray(markets) ? { ...rest, markets: markets.map(plainMarket) } : rest;
}

function plainMarket(value: unknown): unknown {
  if (!isFields(value)) return value;
  const market = plainNumbers(value);
  if (market.cells !== undefined) market.cells = entries(market.cells, ENTRY_FIELDS.cells);
  if (isFields(market.book)) {
    const { bids, asks } = market.book;
    market.book = {
      ...market.book,
      bids: entries(bids, ENTRY_FIELDS.levels),
      asks: entries(asks, ENTRY_FIELDS.levels),
    };
  }
  if (isFields(market.constant_product)) {
    market.constant_product = plainNumbers(market.constant_product);
  }
  if (isFields(market.clmm)) {
    const { sqrt_price_x96: price, ticks } = market.clmm;
    market.clmm = {
      ...plainNumbers(market.clmm),
      sqrt_price_x96: typeof price === 'bigint' ? String(price) : price,
      ticks: Array.isArray(ticks) ? ticks.map(plainTick) : ticks,
    };
  }
  if (isFields(market.dlmm)) {
    const pool = plainNumbers(market.dlmm);
    market.dlmm = { ...pool, bins: entries(pool.bins, ENTRY_FIELDS.bins) };
  }
  return market;
}

function plainTick(value: unknown): unknown {
  const entry = isFields(value) ? ENTRY_FIELDS.ticks.map((name) => value[name]) : value;
  if (!Array.isArray(entry)) return entry;
  const [tick, net, ...rest] = (entry as unknown[]).map((part) =>
    typeof part === 'string' ? unquoted(part) : part,
  );
  const index = typeof tick === 'string' && INTEGER.test(tick) ? Number(tick) : plainNumber(tick);
  return [index, typeof net === 'bigint' ? String(net) : net, ...rest];
}

function entries(list: unknown, names: readonly string[]): unknown {
  if (!Array.isArray(list)) return list;
  return list.map((entry: unknown) => {
    if (isFields(entry)) return names.map((name) => plainNumber(entry[name]));
    return Array.isArray(entry) ? entry.map(plainNumber) : entry;
  });
}

/** A text in JSON's quotes without them. */
function unquoted(text: string): string {
  return /^"[^"\\]*"$/.test(text) ? text.slice(1, -1) : text;
}

function plainNumbers(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, plainNumber(value)]),
  );
}

const plainNumber = (value: unknown): unknown =>
  typeof value === 'bigint' ? Number(value) : value;

function isFields(value: unknown): value is Fields {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof Date) &&
    !ArrayBuffer.isView(value)
  );
}
