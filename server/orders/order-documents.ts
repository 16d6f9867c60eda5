/** DCA orders as replies show them. */
import Type, { type Static } from '../api/type.js';
import {
  type DcaOrder,
  DIRECTIONS,
  isInRange,
  type Timeframe,
  TIMEFRAMES,
  usdNextByTimeframe,
} from '../../compute/orders/dca-orders.js';
import { document, nullable, number, text, tokenSymbol, usd, word } from '../api/schemas.js';
import { currentPriceUsd, type LiveToken } from '../tokens/token-table.js';

type Flows<T> = Record<`usd_next_${Timeframe}`, T>;

const flows = Object.fromEntries(
  TIMEFRAMES.map((timeframe) => [
    `usd_next_${timeframe}`,
    usd(`Amount that the order trades in the next ${timeframe.replace('_', ' ')}`),
  ]),
) as Flows<ReturnType<typeof usd>>;

export const direction = word(DIRECTIONS, {
  description: 'Whether the order buys or sells the token.',
});
export const pairedSymbol = text('Symbol of the token on the other side');

export const dcaOrder = document('DcaOrder', {
  dca_address: text('Address of the order'),
  chain: word(['mainchain'], { description: 'DCA orders exist on mainchain only.' }),
  direction,
  symbol: tokenSymbol,
  paired_symbol: pairedSymbol,
  deposited_usd: usd('Amount deposited'),
  remaining_usd: usd('Amount left to trade'),
  pct_filled: nullable(
    Type.Number(),
    '`1 - remaining_usd / deposited_usd` as a fraction: 0.25 is 25%, and below 0 if more is left than was deposited; null if nothing was deposited.',
  ),
  in_active_range: Type.Boolean({
    description:
      'Whether the current price is within `price_range` (inclusive); false without a current price.',
  }),
  cycle_frequency: number('Seconds between two cycles'),
  price_range: document(
    'DcaPriceRange',
    {
      min_usd: nullable(Type.Number(), 'Lowest price, USD; null if unbounded.'),
      max_usd: nullable(Type.Number(), 'Highest price, USD; null if unbounded.'),
      current_price_usd: nullable(Type.Number(), 'Current price, USD; null if unknown.'),
    },
    { description: 'Prices at which the order trades.' },
  ),
  flow_projections: document('DcaFlows', flows, {
    description:
      'Amounts that the order will trade from now on, capped at what remains; 0 out of range.',
  }),
});

type DcaOrderDocument = Static<typeof dcaOrder>;

/** An active order of `token`; its flows start at `nowS`, the server's time. */
export function dcaOrderDocument(
  order: DcaOrder,
  token: LiveToken,
  nowS: number,
): DcaOrderDocument {
  const { depositedUsd, remainingUsd, minUsd, maxUsd } = order;
  const priceUsd = currentPriceUsd(token);
  const flows = usdNextByTimeframe(order, priceUsd, nowS);
  return {
    dca_address: order.dcaAddress,
    chain: 'mainchain',
    direction: order.direction,
    symbol: token.details.symbol,
    paired_symbol: order.pairedSymbol,
    deposited_usd: depositedUsd,
    remaining_usd: remainingUsd,
    pct_filled: depositedUsd === 0 ? null : 1 - remainingUsd / depositedUsd,
    in_active_range: isInRange(order, priceUsd),
    cycle_frequency: order.cycleFrequencyS,
    price_range: { min_usd: minUsd, max_usd: maxUsd, current_price_usd: priceUsd },
    flow_projections: Object.fromEntries(
      TIMEFRAMES.map((timeframe, i) => [`usd_next_${timeframe}`, flows[i]]),
    ) as DcaOrderDocument['flow_projections'],
  };
}
