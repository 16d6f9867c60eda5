/** A pool's figures over a period, as the endpoints of DLMM pools show them: their schema and values. */
import Type from 'typebox';
import { nullable, usd } from '../api/schemas.js';
import type { BoardRow } from './pool-board.js';

/** How fresh the figures are; part of the endpoints' descriptions. */
export const POOL_FRESHNESS =
  'Rows of pools and of hours count within a second of their ingest, and so does depth that comes after ' +
  'a quiet while. Where they keep coming, the board is renewed every 15 seconds at the latest, and ' +
  "`rangeTvl` with what follows from it 15 seconds after a token's depth at the latest, as far as the " +
  'machine keeps up.';

/** A pool's figures over a period of hours. */
export const poolFigures = {
  fees: usd('Fees of the period'),
  volume: usd('Volume of the period'),
  tvl: usd('Mean of the hourly TVL, over the hours there are'),
  effectiveFeeBps: nullable(
    Type.Number(),
    'Fees over volume, basis points; null without any volume.',
  ),
  feesPerAvgTvl: nullable(Type.Number(), '`fees` over `tvl`; null where `tvl` is 0.'),
  captureShare: nullable(
    Type.Number(),
    'The share of the fees of all pools with the same base token; null where they have none.',
  ),
  feeCapture: nullable(
    Type.Number(),
    "`captureShare` over the pool's share of those pools' TVL; null where one of the two is none.",
  ),
  rangeTvl: nullable(
    Type.Number(),
    "Mean liquidity of the pool, USD, within the prices that the base token's snapshots of the period " +
      'went through, half a bin more at both ends; null where they hold no depth of this pool there.',
  ),
  rangeYield: nullable(Type.Number(), '`fees` over `rangeTvl`; null where that is null.'),
};

/** The figures of a pool's row. */
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

/** Kernels' NaN stands for null. */
export function orNull(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}
