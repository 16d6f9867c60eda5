/** What Jupiter's DCA and limit orders have in common: documents, the two sides, and prices. */
import { isFields } from '../../compute/ingest/fields.js';
import { InputError } from '../errors.js';
import { JsonFields } from './fields.js';
import type { ImportOptions, ImportReport, LeftOut } from './formats.js';
import { readJsonDocuments } from './json-documents.js';
import { quoteUsdOf } from './quote-prices.js';

/** The usual other sides of orders; if both sides are listed, the first listed one is the other side. */
const QUOTES: ReadonlyMap<string, { symbol: string; decimals: number }> = new Map([
  ['EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v', { symbol: 'USDC', decimals: 6 }],
  ['Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB', { symbol: 'USDT', decimals: 6 }],
  ['So11111111111111111111111111111111111111112', { symbol: 'SOL', decimals: 9 }],
]);
/** Keys with lists of orders in replies of the API. */
const LIST_KEYS = ['data', 'orders', 'all', 'time', 'price'];
/** An order's key: in the current API, and in accounts of earlier ones. */
const ORDER_KEYS = ['orderKey', 'publicKey'];
const ANY_PRICE_USD = 1;
/** How deep lists and objects around an order may be nested. */
const MAX_DEPTH = 8;

/** An order's row, or why it has none. */
type RowOrReason = { row: object } | Pick<LeftOut, 'reason'>;

/** Which token an order is about. */
interface OrderSides {
  token: string;
  /** The token on the other side. */
  other: string;
  direction: 'BUY' | 'SELL';
  /** The symbol of the other side, or its address. */
  pairedSymbol: string;
}

/** Reads an order's row. @throws InputError */
type ReadOrder = (order: JsonFields, prices: OrderPrices) => RowOrReason | null;

/**
 * The rows that `read` makes from the files' orders; orders of other tokens than the options' give none.
 * @throws InputError
 */
export async function* importOrders(
  files: readonly string[],
  options: ImportOptions,
  report: ImportReport,
  read: ReadOrder,
): AsyncGenerator<object, void, undefined> {
  const prices = new OrderPrices(options);
  for (const path of files) {
    for (const { where, value } of await readJsonDocuments(path)) {
      for (const order of ordersOf(where, value)) {
        report.messages++;
        const found = read(order, prices);
        if (found === null) continue;
        if ('row' in found) yield found.row;
        else report.leftOut.add({ where: order.where, what: keyOf(order), ...found });
      }
    }
  }
}

/** The orders in an order, in a list, or in a reply of the API. */
function* ordersOf(where: string, value: unknown, depth = 0): Generator<JsonFields> {
  if (depth > MAX_DEPTH) throw new InputError(`${where}: lists are nested too deep`);
  if (Array.isArray(value)) {
    for (const [i, item] of (value as unknown[]).entries())
      yield* ordersOf(`${where}[${i}]`, item, depth + 1);
    return;
  }
  if (isFields(value)) {
    if (ORDER_KEYS.some((key) => key in value)) {
      yield new JsonFields(where, value);
      return;
    }
    const lists = LIST_KEYS.filter((key) => typeof value[key] === 'object' && value[key] !== null);
    for (const key of lists) yield* ordersOf(`${where}:${key}`, value[key], depth + 1);
    if (lists.length > 0) return;
  }
  throw new InputError(
    `${where}: expected an order (${ORDER_KEYS.join(' or ')}), a list of orders, or an object with ${LIST_KEYS.join(', ')}`,
  );
}

function keyOf({ object }: JsonFields): string {
  const key = ORDER_KEYS.map((name) => object[name]).find((value) => typeof value === 'string');
  return key ?? 'an order';
}

/** What the options state about tokens of orders. */
export class OrderPrices {
  constructor(private readonly options: ImportOptions) {}

  /**
   * The token of an order that gives `inputMint` for `outputMint`: the options' token; otherwise the side that is not a
   * quote token, the less usual of two quote tokens, or the input. Null if neither side is the options' token.
   */
  sidesOf(input: string, output: string): OrderSides | null {
    const { token } = this.options;
    if (token !== undefined && token.address !== input && token.address !== output) return null;
    const isBuy = token === undefined ? rank(input) < rank(output) : token.address === output;
    const other = isBuy ? input : output;
    return {
      token: isBuy ? output : input,
      other,
      direction: isBuy ? 'BUY' : 'SELL',
      pairedSymbol: QUOTES.get(other)?.symbol ?? other,
    };
  }

  /** The price of a token. A closed order's row deletes the stored order, so without a price it gets ANY_PRICE_USD. */
  usdOf(address: string, isClosed: boolean): number | null {
    return quoteUsdOf(this.options, address) ?? (isClosed ? ANY_PRICE_USD : null);
  }

  decimalsOf(address: string): number | null {
    return this.options.decimalsByAddress.get(address) ?? QUOTES.get(address)?.decimals ?? null;
  }
}

function rank(address: string): number {
  const place = [...QUOTES.keys()].indexOf(address);
  return place < 0 ? QUOTES.size : place;
}

export function noPrice(address: string): RowOrReason {
  return { reason: `no USD price of ${address}: --quote-usd ${address}=N` };
}

/** Whether the transaction that closed the order is known. */
export function hasCloseTx({ object }: JsonFields): boolean {
  return typeof object.closeTx === 'string' && object.closeTx !== '';
}
