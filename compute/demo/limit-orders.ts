/** The simulated market's limit orders: placed away from the price, filled as it comes to them. */
import type { Direction } from '../orders/dca-orders.js';
import type { Chain } from '../market.js';
import type { AssetKind } from './assets.js';
import { hash, keyOf, sizeDraw, unit } from './hash.js';
import { base58Address, evmAddress } from './identity.js';
import { DAY_S } from './path.js';
import { fairPrice, type PriceModel } from './price.js';
import type { DemoLimitOrderRow } from './rows.js';
import { rowsOfPlaces, type Tenancy } from './slots.js';
import type { DemoToken } from './tokens.js';

/** Orders that a leg has open at a time, about. */
const ORDERS: Readonly<Record<AssetKind, number>> = {
  ...{ major: 60, liquid: 36, listed: 20, onchain: 14, stable: 0, dormant: 0 },
};
const PLATFORMS: Readonly<Record<Chain, readonly string[]>> = {
  mainchain: ['jupiter', 'raydium'],
  evmchain: ['1inch', 'cowswap'],
};
const QUOTES: Readonly<Record<Chain, readonly string[]>> = {
  mainchain: ['USDC', 'SOL'],
  evmchain: ['USDC', 'WETH'],
};
const MIN_STAY_S = 3_600;
const MAX_STAY_S = 12 * DAY_S;
/** The price is held against an order this often in its life. */
const LOOKS = 16;
/** A price this far beyond an order's has filled all of it. */
const FILL_REACH = 0.004;
/** Nearer orders than this are filled bit by bit before the price has come to them, up to a share. */
const NEAR = 0.05;
const MAX_TRICKLE = 0.95;
/** Median of an order as a share of what the token's pools hold. */
const MEDIAN_USD = 0.00025;

/** A leg's orders at `t`; `sinceS` as demoDcaOrderRows has it. */
export function demoLimitOrderRows(
  token: DemoToken,
  t: number,
  sinceS: number | null = null,
): DemoLimitOrderRow[] {
  const { price } = token;
  if (price === null) return [];
  return rowsOfPlaces(
    {
      key: keyOf(token.key, 'limit'),
      count: ORDERS[token.kind],
      ...{ minStayS: MIN_STAY_S, maxStayS: MAX_STAY_S },
      rowAt: (tenancy, at) => orderRow(token, price, tenancy, at),
      ended: (row) => ({ ...row, closed: true }),
      isChanged: (then, now) => then.pct_complete !== now.pct_complete,
    },
    t,
    sinceS,
  );
}

function orderRow(
  token: DemoToken,
  price: PriceModel,
  tenancy: Tenancy,
  t: number,
): DemoLimitOrderRow {
  const { chain } = token;
  const { key, fromS } = tenancy;
  const direction: Direction = unit(hash(key, 1)) < 0.55 ? 'BUY' : 'SELL';
  // Most stand near the price, some far away.
  const away = 0.004 + 0.5 * Math.pow(unit(hash(key, 2)), 2.2);
  const sign = direction === 'BUY' ? -1 : 1;
  const usdPrice = Number((fairPrice(price, fromS) * Math.exp(sign * away)).toPrecision(7));
  const placedUsd = token.liquidityUsd * MEDIAN_USD * sizeDraw(hash(key, 4));
  const met = filledShare(price, tenancy, sign, usdPrice, t);
  const filled = Math.max(met, away < NEAR ? trickle(tenancy, t) : 0);
  const address = chain === 'mainchain' ? base58Address : evmAddress;
  return {
    order_address: address(`limit ${token.address} ${key} ${fromS}`),
    chain,
    token_address: token.address,
    direction,
    platform: PLATFORMS[chain][unit(hash(key, 5)) < 0.75 ? 0 : 1],
    paired_symbol: QUOTES[chain][unit(hash(key, 6)) < 0.8 ? 0 : 1],
    maker: address(`maker ${hash(key, 7) % 400}`),
    usd_price: usdPrice,
    remaining_usd: Math.round(placedUsd * (1 - filled) * 100) / 100,
    pct_complete: filled,
    created_at: fromS,
    closed: filled >= 1,
  };
}

/** What takers who come to an order near the price fill of it, bit by bit, two decimals. */
function trickle({ key, fromS, toS }: Tenancy, t: number): number {
  const gone = (t - fromS) / (toS - fromS);
  return Math.floor(100 * gone * MAX_TRICKLE * unit(hash(key, 8))) / 100;
}

/** How much of an order has been filled by prices at or beyond its own, two decimals. */
function filledShare(
  price: PriceModel,
  { fromS, toS }: Tenancy,
  sign: number,
  usdPrice: number,
  t: number,
): number {
  const everyS = (toS - fromS) / LOOKS;
  let filled = 0;
  for (let at = fromS + everyS; at <= t && filled < 1; at += everyS) {
    const beyond = sign * Math.log(fairPrice(price, at) / usdPrice);
    filled = Math.max(filled, Math.min(1, beyond / FILL_REACH));
  }
  return Math.round(filled * 100) / 100;
}
