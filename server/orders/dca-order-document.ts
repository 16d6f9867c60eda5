/** A DCA order as a document of the API. */
import type { Static } from 'typebox';
import {
  type DcaOrder,
  isInRange,
  TIMEFRAMES,
  usdNextByTimeframe,
} from '../../compute/orders/dca-orders.js';
import { currentPriceUsd, type LiveToken } from '../tokens/token-table.js';
import type { dcaOrder } from './dca-order-fields.js';

export type DcaOrderDocument = Static<typeof dcaOrder>;

/** An active order of `token`; its flows count from `nowS` on, the service's now. */
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
