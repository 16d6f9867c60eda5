/** The simulated market's DCA and limit orders, from placing to closing. */
import type { Direction } from '../compute/orders/dca-orders.js';
import { DAY_S, HOUR_S } from '../compute/time.js';
import { base58Address, evmAddress, hash, keyOf, sizeDraw, unit } from './hash.js';
import { KINDS } from './markets.js';
import { fairPrice, type PriceModel } from './price.js';
import type { DemoToken } from './tokens.js';

const BUY_SHARE = 0.57;

const FREQUENCIES_S = [60, 120, 300, 600, 900, HOUR_S, 6 * HOUR_S, DAY_S] as const;
const DCA_STAY_S = [2 * HOUR_S, 21 * DAY_S] as const;
/** A DCA order is done after this share of its slot's time; then the slot is empty for a while. */
const WORKED_SHARE = 0.85;
const RANGED_SHARE = 0.35;
/** Median of a deposit as a share of what the token's pools hold. */
const MEDIAN_DEPOSIT = 0.006;
/** Maximum number of cycles of an order with a range, which checks the price at each. */
const MAX_RANGED_CYCLES = 200;

const LIMIT_STAY_S = [HOUR_S, 12 * DAY_S] as const;
/** How often a limit order is checked against the price before it closes. */
const CHECKS = 16;
/** A price this far (log) beyond an order's fills all of it. */
const FILL_REACH = 0.02;
/** Median of a limit order as a share of what the token's pools hold. */
const MEDIAN_LIMIT = 0.00025;
const PLATFORMS = { mainchain: ['jupiter', 'raydium'], evmchain: ['1inch', 'cowswap'] } as const;
const QUOTES = { mainchain: ['USDC', 'SOL'], evmchain: ['USDC', 'WETH'] } as const;

/** One occupant of a slot. Occupants follow one another, each for the slot's own time. */
interface Tenancy {
  /** The occupant's hash. */
  key: number;
  fromS: number;
  toS: number;
}

/**
 * The occupant of a slot at `t`.
 * @param staysS shortest and longest time that a slot keeps its occupants, drawn evenly on a log
 * scale
 */
export function tenancyAt(
  slotKey: number,
  [minS, maxS]: readonly [number, number],
  t: number,
): Tenancy {
  const stayS = Math.round(minS * Math.pow(maxS / minS, unit(hash(slotKey, 3))));
  const phase = hash(slotKey, 1) % stayS;
  const number = Math.floor((t - phase) / stayS);
  const fromS = number * stayS + phase;
  return { key: hash(hash(slotKey, 2), number), fromS, toS: fromS + stayS };
}

/**
 * A token's DCA orders at `t`, as a collector reports them: with `sinceS`, only those that changed
 * after it, closed ones included.
 */
export function demoDcaOrderRows(token: DemoToken, t: number, sinceS: number | null) {
  const { price } = token;
  if (price === null || token.chain !== 'mainchain') return [];
  const rowAt = (tenancy: Tenancy, at: number) => dcaOrder(token, price, tenancy, at);
  return orderRows(
    keyOf(token.key, 'dca'),
    KINDS[token.kind].dcaOrders,
    DCA_STAY_S,
    rowAt,
    t,
    sinceS,
  );
}

/** A leg's limit orders at `t`; `sinceS` is as for demoDcaOrderRows. */
export function demoLimitOrderRows(token: DemoToken, t: number, sinceS: number | null) {
  const { price } = token;
  if (price === null) return [];
  const rowAt = (tenancy: Tenancy, at: number) => limitOrder(token, price, tenancy, at);
  const count = KINDS[token.kind].limitOrders;
  return orderRows(keyOf(token.key, 'limit'), count, LIMIT_STAY_S, rowAt, t, sinceS);
}

/** A row of dataset `dca_orders`. */
export type DemoDcaOrderRow = ReturnType<typeof dcaOrder>;
/** A row of dataset `limit_orders`. */
export type DemoLimitOrderRow = ReturnType<typeof limitOrder>;

/** The orders in a number of slots at `t`: the open ones, or those that changed after `sinceS`. */
function orderRows<Row extends { remaining_usd: number; closed: boolean }>(
  key: number,
  count: number,
  staysS: readonly [number, number],
  rowAt: (tenancy: Tenancy, t: number) => Row,
  t: number,
  sinceS: number | null,
): Row[] {
  return Array.from({ length: count }, (_, slot) => hash(key, slot)).flatMap((slotKey) => {
    const tenancy = tenancyAt(slotKey, staysS, t);
    const now = rowAt(tenancy, t);
    if (sinceS === null) return now.closed ? [] : [now];
    const before = tenancyAt(slotKey, staysS, sinceS);
    const then = rowAt(before, sinceS);
    if (before.fromS !== tenancy.fromS) return [{ ...then, remaining_usd: 0, closed: true }, now];
    return JSON.stringify(then) === JSON.stringify(now) ? [] : [now];
  });
}

function dcaOrder(token: DemoToken, price: PriceModel, { key, fromS, toS }: Tenancy, t: number) {
  const workS = (toS - fromS) * WORKED_SHARE;
  const isRanged = unit(hash(key, 6)) < RANGED_SHARE;
  const fitting = FREQUENCIES_S.filter(
    (everyS) => everyS * 4 <= workS && (!isRanged || everyS * MAX_RANGED_CYCLES >= workS),
  );
  const frequencyS = fitting[hash(key, 1) % fitting.length];
  const cycles = Math.floor(workS / frequencyS);
  const depositedUsd = cents(token.liquidityUsd * MEDIAN_DEPOSIT * sizeDraw(hash(key, 2)));
  const cycleUsd = cents(depositedUsd / cycles);
  const passed = Math.min(cycles, Math.floor((t - fromS) / frequencyS));
  const direction: Direction = unit(hash(key, 4)) < BUY_SHARE ? 'BUY' : 'SELL';
  const range = isRanged ? rangeOf(key, direction, fairPrice(price, fromS)) : OPEN_RANGE;
  let traded = passed;
  if (isRanged) {
    // A cycle with the price out of range passes without a trade.
    for (let cycle = 1; cycle <= passed; cycle++) {
      const usd = fairPrice(price, fromS + cycle * frequencyS);
      if (usd < (range.min_usd ?? 0) || usd > (range.max_usd ?? Infinity)) traded--;
    }
  }
  const left = passed === cycles ? 0 : cents(depositedUsd - traded * cycleUsd);
  return {
    dca_address: base58Address(`dca ${token.address} ${key} ${fromS}`),
    token_address: token.address,
    direction,
    paired_symbol: pairedWith(token, unit(hash(key, 5)) < 0.7),
    deposited_usd: depositedUsd,
    remaining_usd: Math.max(0, left),
    cycle_usd: cycleUsd,
    cycle_frequency: frequencyS,
    next_cycle_at: fromS + (passed + 1) * frequencyS,
    ...range,
    closed: left <= 0,
  };
}

interface PriceRange {
  min_usd: number | null;
  max_usd: number | null;
}

const OPEN_RANGE: PriceRange = { min_usd: null, max_usd: null };

/** Buyers set a ceiling, sellers a floor, a little beyond the price at which they start. */
function rangeOf(key: number, direction: Direction, priceUsd: number): PriceRange {
  const near = 0.01 + 0.12 * unit(hash(key, 7));
  const far = 0.2 + 0.6 * unit(hash(key, 8));
  const isBounded = unit(hash(key, 9)) < 0.5;
  const at = (up: number) => Number((priceUsd * Math.exp(up)).toPrecision(6));
  return direction === 'BUY'
    ? { min_usd: isBounded ? at(-far) : null, max_usd: at(near) }
    : { min_usd: at(-near), max_usd: isBounded ? at(far) : null };
}

/** What an order trades the token for: never the token itself. */
function pairedWith({ chain, symbol }: DemoToken, isStable: boolean): string {
  const [stable, native] = QUOTES[chain];
  return isStable || native === symbol ? stable : native;
}

function limitOrder(token: DemoToken, price: PriceModel, { key, fromS, toS }: Tenancy, t: number) {
  const { chain } = token;
  const direction: Direction = unit(hash(key, 1)) < BUY_SHARE ? 'BUY' : 'SELL';
  // Most are near the price, some far away.
  const away = 0.004 + 0.5 * Math.pow(unit(hash(key, 2)), 2.2);
  const sign = direction === 'BUY' ? -1 : 1;
  const usdPrice = Number((fairPrice(price, fromS) * Math.exp(sign * away)).toPrecision(7));
  const everyS = (toS - fromS) / CHECKS;
  let filled = 0;
  for (let at = fromS + everyS; at <= t && filled < 1; at += everyS) {
    const beyond = sign * Math.log(fairPrice(price, at) / usdPrice);
    filled = Math.max(filled, Math.min(1, Math.round((100 * beyond) / FILL_REACH) / 100));
  }
  const placedUsd = token.liquidityUsd * MEDIAN_LIMIT * sizeDraw(hash(key, 4));
  const address = chain === 'mainchain' ? base58Address : evmAddress;
  return {
    order_address: address(`limit ${token.address} ${key} ${fromS}`),
    chain,
    token_address: token.address,
    direction,
    platform: PLATFORMS[chain][unit(hash(key, 5)) < 0.75 ? 0 : 1],
    paired_symbol: pairedWith(token, unit(hash(key, 6)) < 0.8),
    maker: address(`maker ${hash(key, 7) % 400}`),
    usd_price: usdPrice,
    remaining_usd: cents(placedUsd * (1 - filled)),
    pct_complete: filled,
    created_at: fromS,
    closed: filled >= 1,
  };
}

function cents(usd: number): number {
  return Math.round(usd * 100) / 100;
}
