/** The `token` block of lists and of one token's orders: who a token is, and how large. */
import Type from 'typebox';
import {
  chainKey,
  document,
  nullable,
  tokenAddress,
  tokenName,
  tokenSymbol,
} from '../api/schemas.js';
import { serviceScore } from '../scores/score-fields.js';

const identity = {
  address: tokenAddress,
  chain: chainKey,
  symbol: tokenSymbol,
  name: tokenName,
};
const icon = nullable(Type.String(), 'URL of an icon; null where no list of tokens has given one.');
const size = {
  mcap: nullable(Type.Number(), 'Market capitalisation, USD; null where none has been given.'),
  liquidity_usd: nullable(
    Type.Number(),
    'Liquidity as the list of tokens gave it, USD; null where none has been given. The ranges ' +
      '`min_liquidity` and `max_liquidity` are about Support Liquidity, which is another number.',
  ),
};
const priceUsd = nullable(Type.Number(), 'Current price, USD; null where none is known.');

/** The block on boards of tokens. */
export const boardToken = document({
  ...identity,
  icon,
  ...size,
  price_usd: priceUsd,
});

/** The block beside one token's orders. */
export const ordersToken = document({
  ...identity,
  ...size,
  service_score: serviceScore,
  price_usd: priceUsd,
  last_refresh: nullable(
    Type.Integer(),
    "Time of the snapshot that the price is from, else of the token's row, Unix epoch seconds; null " +
      'where it has neither.',
  ),
});
