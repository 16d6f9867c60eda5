/** Fields of a token's score, as the score endpoints share them (api.md 2.2). */
import Type from 'typebox';
import { nullable, word } from '../api/schemas.js';

export const TOKEN_STATUSES = [
  'available',
  'pending',
  'unsupported',
  'unscored',
  'price_unavailable',
] as const;
export type TokenStatus = (typeof TOKEN_STATUSES)[number];

export const tokenStatus = word(TOKEN_STATUSES, {
  description:
    '`available`: scored. `pending`: waits for its score, which follows its data within 15 seconds. ' +
    '`unsupported`: on mainchain, left out of coverage for good; on evmchain, not indexed yet, do not poll. ' +
    '`unscored`: depth and price only, never scored. `price_unavailable`: supported, yet without a price.',
});

export const serviceScore = nullable(
  Type.Number({ minimum: 0, maximum: 100 }),
  'Liquidity score of the asset, 0 to 100 with one decimal; null where it is not scored.',
);

export const scoreMessage = Type.String({
  description: 'How support and resistance balance, or why there is no score.',
});
