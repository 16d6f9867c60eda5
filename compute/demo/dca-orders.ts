/** The simulated market's DCA orders: opened, worked off a cycle at a time, closed. */
import type { Direction } from '../orders/dca-orders.js';
import type { AssetKind } from './assets.js';
import { hash, keyOf, sizeDraw, unit } from './hash.js';
import { base58Address } from './identity.js';
import { DAY_S } from './path.js';
import { fairPrice, type PriceModel } from './price.js';
import type { DemoDcaOrderRow } from './rows.js';
import { rowsOfPlaces, type Tenancy } from './slots.js';
import type { DemoToken } from './tokens.js';

/** Orders that a token has open at a time, about. */
const ORDERS: Readonly<Record<AssetKind, number>> = {
  ...{ major: 90, liquid: 48, listed: 22, onchain: 12, stable: 0, dormant: 0 },
};
const FREQUENCIES_S = [60, 120, 300, 600, 900, 3_600, 21_600, DAY_S] as const;
const MIN_STAY_S = 2 * 3_600;
const MAX_STAY_S = 21 * DAY_S;
/** An order is done after this share of its place's time; then the place is empty for a while. */
const WORKED_SHARE = 0.85;
const RANGED_SHARE = 0.35;
const BUY_SHARE = 0.58;
/** Median of a deposit as a share of what the token's pools hold. */
const MEDIAN_DEPOSIT = 0.006;
/** An order with a range looks at the price at each of its cycles: it has no more than these. */
const MAX_RANGED_CYCLES = 200;

/**
 * A token's orders at `t`, as a collector reports them: with `sinceS` only the ones that changed
 * after it, closed ones among them.
 */
export function demoDcaOrderRows(
  token: DemoToken,
  t: number,
  sinceS: number | null = null,
): DemoDcaOrderRow[] {
  const { price } = token;
  if (price === null || token.chain !== 'mainchain') return [];
  return rowsOfPlaces(
    {
      key: keyOf(token.key, 'dca'),
      count: ORDERS[token.kind],
      ...{ minStayS: MIN_STAY_S, maxStayS: MAX_STAY_S },
      rowAt: (tenancy, at) => orderRow(token, price, tenancy, at),
      ended: (row) => ({ ...row, remaining_usd: 0, closed: true }),
      isChanged: (then, now) => then.next_cycle_at !== now.next_cycle_at,
    },
    t,
    sinceS,
  );
}

function orderRow(
  token: DemoToken,
  price: PriceModel,
  { key, fromS, toS }: Tenancy,
  t: number,
): DemoDcaOrderRow {
  const workS = (toS - fromS) * WORKED_SHARE;
  const isRanged = unit(hash(key, 6)) < RANGED_SHARE;
  const fitting = FREQUENCIES_S.filter(
    (everyS) => everyS * 4 <= workS && (!isRanged || everyS * MAX_RANGED_CYCLES >= workS),
  );
  const frequencyS = fitting[hash(key, 1) % fitting.length];
  const cycles = Math.floor(workS / frequencyS);
  const depositedUsd = cents(token.liquidityUsd * MEDIAN_DEPOSIT * sizeDraw(hash(key, 2)));
  const cycleUsd = cents(depositedUsd / cycles);
  const gone = Math.min(cycles, Math.floor((t - fromS) / frequencyS));
  const direction: Direction = unit(hash(key, 4)) < BUY_SHARE ? 'BUY' : 'SELL';
  const range = isRanged ? rangeOf(key, direction, fairPrice(price, fromS)) : OPEN_RANGE;
  const fired = isRanged ? firedInRange(price, range, fromS, frequencyS, gone) : gone;
  const left = gone === cycles ? 0 : cents(depositedUsd - fired * cycleUsd);
  return {
    dca_address: base58Address(`dca ${token.address} ${key} ${fromS}`),
    token_address: token.address,
    direction,
    paired_symbol: unit(hash(key, 5)) < 0.7 ? 'USDC' : 'SOL',
    deposited_usd: depositedUsd,
    remaining_usd: Math.max(0, left),
    cycle_usd: cycleUsd,
    cycle_frequency: frequencyS,
    next_cycle_at: fromS + (gone + 1) * frequencyS,
    ...range,
    closed: left <= 0,
  };
}

type PriceRange = Pick<DemoDcaOrderRow, 'min_usd' | 'max_usd'>;

const OPEN_RANGE: PriceRange = { min_usd: null, max_usd: null };

/** Buyers set a ceiling, sellers a floor, a little beyond the price at which they came. */
function rangeOf(key: number, direction: Direction, priceUsd: number): PriceRange {
  const near = 0.01 + 0.12 * unit(hash(key, 7));
  const far = 0.2 + 0.6 * unit(hash(key, 8));
  const bounded = unit(hash(key, 9)) < 0.5;
  const factor = (up: number) => Number((priceUsd * Math.exp(up)).toPrecision(6));
  return direction === 'BUY'
    ? { min_usd: bounded ? factor(-far) : null, max_usd: factor(near) }
    : { min_usd: factor(-near), max_usd: bounded ? factor(far) : null };
}

/** How many of the first `gone` cycles found the price in range: the others passed without a trade. */
function firedInRange(
  price: PriceModel,
  { min_usd, max_usd }: PriceRange,
  fromS: number,
  frequencyS: number,
  gone: number,
): number {
  let fired = 0;
  for (let cycle = 1; cycle <= gone; cycle++) {
    const usd = fairPrice(price, fromS + cycle * frequencyS);
    if (usd >= (min_usd ?? 0) && usd <= (max_usd ?? Infinity)) fired++;
  }
  return fired;
}

const cents = (usd: number): number => Math.round(usd * 100) / 100;
