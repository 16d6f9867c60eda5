/** A DLMM pool's figures over a period, as replies show them. */
import Type from '../api/type.js';
import { nullable, usd } from '../api/schemas.js';
import type { BoardRow } from './pool-board.js';

export const POOL_FRESHNESS =
  'Pools, hours and depth show up within a second of their ingest. Under continuous ingest the list is ' +
  'updated at least every 15 seconds, and `rangeTvl` and what depends on it within 15 seconds of new ' +
  'depth, load permitting.';

export const poolFigures = {
  fees: usd('Fees of the period'),
  volume: usd('Volume of the period'),
  tvl: usd('Mean hourly TVL, over the hours with data'),
  effectiveFeeBps: nullable(Type.Number(), 'Fees over volume, basis points; null without volume.'),
  feesPerAvgTvl: nullable(Type.Number(), '`fees` over `tvl`; null if `tvl` is 0.'),
  captureShare: nullable(
    Type.Number(),
    'Share of the fees of all pools with the same base token; null if they have no fees.',
  ),
  feeCapture: nullable(
    Type.Number(),
    "`captureShare` over the pool's share of those pools' TVL; null if either is undefined.",
  ),
  rangeTvl: nullable(
    Type.Number(),
    "Mean liquidity of the pool, USD, within the base token's price range over the period, extended by " +
      'half a bin at both ends; null without depth of this pool in that range.',
  ),
  rangeYield: nullable(Type.Number(), '`fees` over `rangeTvl`; null if that is null.'),
};

export function figuresOf({ period, row }: BoardRow) {
  return {
    fees: period.fees[row],
    volume: period.volume[row],
    tvl: period.tvl[row],
    effectiveFeeBps: orNull(period.effectiveFeeBps[row]),
    feesPerAvgTvl: orNull(period.feesPerAvgTvl[row]),
    captureShare: orNull(period.captureShare[row]),
    feeCapture: orNull(period.feeCapture[row]),
    rangeTvl: orNull(period.rangeTvl[row]),
    rangeYield: orNull(period.rangeYield[row]),
  };
}

/** null for NaN, which columns use for null, and for infinity. */
export function orNull(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}
