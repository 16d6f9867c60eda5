/** Fields of DLMM pools, as their endpoints share them (api.md 2.9 and 2.10). */
import Type from 'typebox';
import { nullable, number, usd } from '../api/schemas.js';

/** How fresh what is prepared of pools is; part of the endpoints' descriptions. */
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

/** The upper bound of range yield. */
export const rangeCeiling = nullable(
  number('Yield'),
  'Range yield of a liquidity provider that rebalances perfectly: the sum over hours of fees over the ' +
    "liquidity in that hour's own range; null where no hour has such liquidity.",
);
