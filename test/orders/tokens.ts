/** Plain tokens as in the market in memory. */
import { binSums, marketMask } from '../../compute/segment/snapshots.js';
import type { LiveToken, NewestSnapshot } from '../../server/tokens/token-table.js';
import { bareTokenRow } from '../../storage/depth/catalog.js';
import { type PlainFlowToken, plainSupportLiquidity } from '../reference/flow.js';
import { cellsOf, marketsOf } from '../scores/ladders.js';
import { NOW_S } from './orders.js';

/** @param revision a different one for each state */
export function tokenStateOf(plain: PlainFlowToken, revision: number): LiveToken {
  const { address, price, markets, mcap } = plain;
  return {
    details: {
      tokenId: 1,
      ...bareTokenRow('mainchain', address),
      symbol: address.slice(0, 3),
      // Only from the row in `tokens`.
      price_usd: markets === null ? price : null,
      mcap,
    },
    newest: markets === null ? null : newestOf(plain),
    standing: { status: 'pending', message: '', asset: null },
    revision,
  };
}

function newestOf({ price, markets }: PlainFlowToken): NewestSnapshot {
  const plain = markets ?? [];
  const mask = marketMask(marketsOf(plain), ({ type }) => type !== 'cex_perp');
  return {
    ref: { segmentId: 1, row: 0, t: NOW_S, tier: 'raw' },
    priceUsd: price ?? NaN,
    ladder: { supportCents: new Float64Array(), resistanceCents: new Float64Array() },
    within2Pct: { support: NaN, resistance: NaN },
    spot: binSums(cellsOf(plain), mask),
    pools: null,
    supportLiquidityUsd: plainSupportLiquidity(plain) ?? NaN,
  };
}
