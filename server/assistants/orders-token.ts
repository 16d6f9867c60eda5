/** The token of a list of orders. */
import type { OrdersToken } from '../../client/index.js';
import { isoOf } from '../../compute/time.js';
import { nullable, text, usd } from '../api/schemas.js';
import { TOKEN_FIELDS, tokenFields } from './snapshot.js';
import { fullName } from './tokens.js';
import { price, time } from './words.js';

export const ORDERS_TOKEN_FIELDS = {
  ...TOKEN_FIELDS,
  price_usd: nullable(usd('Current price of one token')),
  price_time: nullable(text('Time of that price, RFC 3339.')),
};

export function ordersTokenFields(token: OrdersToken) {
  const { price_usd, last_refresh } = token;
  return {
    ...tokenFields(token),
    price_usd,
    price_time: last_refresh === null ? null : isoOf(last_refresh),
  };
}

export function ordersTokenLine(token: OrdersToken): string {
  return `${fullName(token)}, price ${price(token.price_usd)} of ${time(token.last_refresh)}`;
}
