/** The simulated market's volume by the hour, wash trading left out. */
import { hash, keyOf, unit } from './hash.js';
import { HOUR_S, TURNOVER_PERIOD_S, goneShare } from './hours.js';
import { dayShape, smoothNoise } from './path.js';
import { fairPrice, type PriceModel } from './price.js';
import type { DemoTokenHourRow } from './rows.js';
import type { DemoToken } from './tokens.js';

/** The row of one hour of a token, as far as it has gone by `t`; none of a token without a price. */
export function demoTokenHourRows(token: DemoToken, hour: number, t: number): DemoTokenHourRow[] {
  const { chain, address, price } = token;
  if (price === null || token.markets.length === 0) return [];
  const organicUsd = organicVolumeUsd(token, price, hour) * goneShare(hour, t);
  return [{ chain, address, hour, organic_volume_usd: organicUsd }];
}

/** A share of what the token's pools hold; moves of the price bring trades. */
function organicVolumeUsd(token: DemoToken, price: PriceModel, hour: number): number {
  const middle = hour + HOUR_S / 2;
  const key = keyOf(token.key, 'organic');
  const swing = Math.exp(1.3 * smoothNoise(key, middle, TURNOVER_PERIOD_S));
  const move = Math.abs(Math.log(fairPrice(price, hour + HOUR_S) / fairPrice(price, hour)));
  const turnover = 0.01 + 0.04 * unit(hash(key, 1)) + move;
  return token.liquidityUsd * turnover * dayShape(middle) * swing;
}
