/** A DCA order as GET /dca-orders lists it and GET /dca-pressure nests it (api.md 2.6). */
import Type from 'typebox';
import { DIRECTIONS, type Timeframe, TIMEFRAMES } from '../../compute/orders/dca-orders.js';
import { document, nullable, number, text, tokenSymbol, usd, word } from '../api/schemas.js';

type Flows<T> = Record<`usd_next_${Timeframe}`, T>;

const flows = Object.fromEntries(
  TIMEFRAMES.map((timeframe) => [
    `usd_next_${timeframe}`,
    usd(`What the order trades in the next ${timeframe.replace('_', ' ')}`),
  ]),
) as Flows<ReturnType<typeof usd>>;

export const direction = word(DIRECTIONS, { description: 'What the order does with the token.' });
export const pairedSymbol = text('Symbol of what the token is traded against');

export const dcaOrder = document({
  dca_address: text('Address of the order'),
  chain: word(['mainchain'], { description: 'DCA orders are on mainchain alone.' }),
  direction,
  symbol: tokenSymbol,
  paired_symbol: pairedSymbol,
  deposited_usd: usd('What was put in'),
  remaining_usd: usd('What is left to be traded'),
  pct_filled: nullable(
    Type.Number(),
    '`1 - remaining_usd / deposited_usd`, a fraction: 0.25 is 25%; null where nothing was deposited.',
  ),
  in_active_range: Type.Boolean({
    description:
      'Whether the current price lies within `price_range`, its ends included. Without a current ' +
      'price no order is in range.',
  }),
  cycle_frequency: number('Seconds between two cycles'),
  price_range: document(
    {
      min_usd: nullable(Type.Number(), 'Lowest price, USD; null where that end is open.'),
      max_usd: nullable(Type.Number(), 'Highest price, USD; null where that end is open.'),
      current_price_usd: nullable(Type.Number(), 'Current price, USD; null where none is known.'),
    },
    { description: 'The prices between which the order trades.' },
  ),
  flow_projections: document(flows, {
    description:
      'What the order trades from now on: its cycles up to then, at most what remains; 0 out of range.',
  }),
});
