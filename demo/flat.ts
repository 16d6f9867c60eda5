/** The simulated market's flat datasets at a moment, as a collector reports them. */
import type { HolderRow } from '../storage/ingest/holders.js';
import { LRUCache } from 'lru-cache';
import { DAY_S, HOUR_S, MINUTE_S } from '../compute/time.js';
import { base58Address, between, hash, keyOf, sizeDraw, unit } from './hash.js';
import { KINDS } from './markets.js';
import { demoDcaOrderRows, demoLimitOrderRows, tenancyAt } from './orders.js';
import { dlmmAt, type PoolProfile } from './pools.js';
import { dayShape, fairPrice, quotePrice, smoothNoise, tradedPrice } from './price.js';
import { NATIVE_MINT, USDC_MINT, type DemoToken } from './tokens.js';

/** Hours of history in a filled market. */
const HOURS_BACK = 48;
/** How long trading takes to swell and ebb. */
const TURNOVER_PERIOD_S = 5 * HOUR_S;
/** Hourly turnover of a DLMM pool, as a share of its reserves. */
const POOL_TURNOVER = 0.035;
/** How long providers, volatility and fees take to come and go. */
const POOL_PERIOD_S = 2 * HOUR_S;

const WALLET_STAY_S = [40 * DAY_S, 600 * DAY_S] as const;
/** Share of its slot's time in which a wallet holds anything. */
const HELD_SHARE = 0.93;
/** Time between a wallet's trades; its balance is constant in between. */
const TRADE_EVERY_S = [1_800, 5 * DAY_S] as const;
/** How long a wallet's holdings take to swell and shrink. */
const MOOD_S = 11 * DAY_S;
/** Supply that a wallet of median size holds. */
const MEDIAN_SHARE = 0.0006;
/** A history of holders has this many daily snapshots, then hourly ones, then one a minute to its end. */
const HOLDER_DAYS = 33;
const HOLDER_MINUTES = 15;
/** Cached wallet addresses: making one takes longer than making its balances. */
const MAX_WALLET_ADDRESSES = 20_000;
const walletAddresses = new LRUCache<string, string>({
  max: MAX_WALLET_ADDRESSES,
  memoMethod: base58Address,
});

/** Rows of one dataset, made as they are read: there are many holders. */
export interface DemoRows {
  dataset: 'dca_orders' | 'limit_orders' | 'holders' | 'dlmm_pools' | 'dlmm_hours' | 'token_hours';
  rows: () => Iterable<object>;
}

/** The whole state at `untilS`, with the hours and holders before it. */
export function demoFlatRows(tokens: readonly DemoToken[], untilS: number): DemoRows[] {
  const hours = hoursBetween(untilS - HOURS_BACK * HOUR_S, untilS);
  return datasets(tokens, untilS, null, hours, holderTimes(untilS));
}

/** The changes in `(sinceS, t]`: orders at once, the rest once a minute. */
export function demoFlatChanges(
  tokens: readonly DemoToken[],
  sinceS: number,
  t: number,
): DemoRows[] {
  const minute = Math.floor(t / MINUTE_S) * MINUTE_S;
  const hours = hoursBetween(Math.max(sinceS, t - HOURS_BACK * HOUR_S), t);
  const changed = datasets(tokens, t, sinceS, hours, [minute]);
  return changed.filter(({ dataset }) => minute > sinceS || dataset.endsWith('_orders'));
}

function datasets(
  tokens: readonly DemoToken[],
  t: number,
  sinceS: number | null,
  hours: readonly number[],
  times: readonly number[],
): DemoRows[] {
  const each = (rowsOf: (token: DemoToken) => object[]) => () => tokens.flatMap(rowsOf);
  const hourly = (rowsOf: (token: DemoToken, hour: number, t: number) => object[]) =>
    each((token) => hours.flatMap((hour) => rowsOf(token, hour, t)));
  return [
    { dataset: 'dca_orders', rows: each((token) => demoDcaOrderRows(token, t, sinceS)) },
    { dataset: 'limit_orders', rows: each((token) => demoLimitOrderRows(token, t, sinceS)) },
    { dataset: 'dlmm_pools', rows: each((token) => dlmmPoolRows(token, t)) },
    { dataset: 'dlmm_hours', rows: hourly(dlmmHourRows) },
    { dataset: 'token_hours', rows: hourly(tokenHourRows) },
    {
      dataset: 'holders',
      *rows() {
        for (const token of tokens) for (const at of times) yield* holderRows(token, at);
      },
    },
  ];
}

/** Starts of the hours that have begun before `toS`, from the one that contains `fromS`. */
function hoursBetween(fromS: number, toS: number): number[] {
  const hours: number[] = [];
  for (let hour = fromS - (fromS % HOUR_S); hour < toS; hour += HOUR_S) hours.push(hour);
  return hours;
}

/** Share of an hour that has passed at `t`. */
function passedShare(hour: number, t: number): number {
  return Math.min(1, Math.max(0, (t - hour) / HOUR_S));
}

/** Times of the snapshots of holders in a history that ends with `untilS`, ascending. */
function holderTimes(untilS: number): number[] {
  const today = untilS - (untilS % DAY_S);
  const minute = untilS - (untilS % MINUTE_S);
  const back = (count: number, fromS: number, stepS: number) =>
    Array.from({ length: count }, (_, i) => fromS - i * stepS);
  const times = [
    ...back(HOLDER_DAYS, today - MINUTE_S, DAY_S),
    ...back(HOURS_BACK, minute - HOUR_S, HOUR_S),
    ...back(HOLDER_MINUTES + 1, minute, MINUTE_S),
  ];
  return [...new Set(times)].sort((a, b) => a - b);
}

/** A token's holders at `t`: wallets that come, trade now and then, and leave. */
function holderRows(token: DemoToken, t: number): HolderRow[] {
  if (token.chain !== 'mainchain') return [];
  const rows: HolderRow[] = [];
  const holdersKey = keyOf(token.key, 'holders');
  for (let slot = 0; slot < KINDS[token.kind].wallets; slot++) {
    const slotKey = hash(holdersKey, slot);
    const { key, fromS, toS } = tenancyAt(slotKey, WALLET_STAY_S, t);
    if (t >= fromS + (toS - fromS) * HELD_SHARE) continue;
    const tradedS = Math.max(fromS, tenancyAt(key, TRADE_EVERY_S, t).fromS);
    const mood = 0.5 * smoothNoise(hash(key, 4), tradedS, MOOD_S);
    const trade = 0.12 * (unit(hash(hash(key, 5), tradedS)) - 0.5);
    const balance = token.supply * MEDIAN_SHARE * sizeDraw(key) * Math.exp(mood + trade);
    rows.push({
      token_address: token.address,
      t,
      owner: walletAddresses.memo(`wallet ${slotKey} ${fromS}`),
      balance: Number(balance.toFixed(Math.min(token.decimals, 6))),
    });
  }
  return rows;
}

/** One DLMM pool at a moment: its state and what it holds. */
function dlmmPoolsAt(token: DemoToken, t: number) {
  const { price, markets, chain } = token;
  if (price === null || chain !== 'mainchain') return [];
  const priceUsd = tradedPrice(price, t);
  return markets.flatMap((market) => {
    if (market.kind !== 'dlmm') return [];
    const { pool, head } = market;
    const { bins, ...state } = dlmmAt(pool, priceUsd, t);
    const reserveX = bins.reduce((sum, [, x]) => sum + x, 0);
    const reserveY = bins.reduce((sum, [, , y]) => sum + y, 0);
    const [tokens, quotes] = pool.isFirst ? [reserveX, reserveY] : [reserveY, reserveX];
    const usd = tokens * priceUsd + quotes * quotePrice(pool.quote, t);
    return [{ pubkey: head.address, pool, state, reserveX, reserveY, usd }];
  });
}

function dlmmPoolRows(token: DemoToken, t: number): object[] {
  return dlmmPoolsAt(token, t).map(({ pubkey, pool, state, reserveX, reserveY }) => {
    const crowd = 1 + 0.1 * smoothNoise(hash(pool.key, 45), t, POOL_PERIOD_S);
    const usual = between(hash(pool.key, 41), pool.positions, pool.positions * 4);
    const positions = Math.round(usual * crowd);
    const quoteMint = pool.quote === null ? USDC_MINT : NATIVE_MINT;
    return {
      pubkey,
      bin_step: state.bin_step,
      active_id: state.active_id,
      token_x_mint: pool.isFirst ? token.address : quoteMint,
      token_y_mint: pool.isFirst ? quoteMint : token.address,
      token_x_decimals: state.decimals_x,
      token_y_decimals: state.decimals_y,
      reserve_x: Number(reserveX.toPrecision(12)),
      reserve_y: Number(reserveY.toPrecision(12)),
      base_fee_pct: pool.feeBp / 100,
      dynamic_fee_pct: feePct(pool, t),
      num_positions: positions,
      num_wallets: Math.ceil(positions * 0.7),
    };
  });
}

/** One hour of each of a token's pools, as far as it has passed at `t`. */
function dlmmHourRows(token: DemoToken, hour: number, t: number): object[] {
  const middle = hour + HOUR_S / 2;
  return dlmmPoolsAt(token, Math.min(t, middle)).map(({ pubkey, pool, usd }) => {
    const rush = Math.exp(1.1 * smoothNoise(hash(pool.key, 43), middle, TURNOVER_PERIOD_S));
    const volumeUsd = usd * POOL_TURNOVER * dayShape(middle) * rush * passedShare(hour, t);
    const feesUsd = (volumeUsd * feePct(pool, hour)) / 100;
    return { pubkey, hour, fees_usd: feesUsd, volume_usd: volumeUsd, tvl_usd: usd };
  });
}

/** The fee rises with volatility. */
function feePct({ key, feeBp }: PoolProfile, t: number): number {
  const extra = 0.3 + 0.3 * smoothNoise(hash(key, 44), t, POOL_PERIOD_S);
  return Number(((feeBp / 100) * (1 + extra)).toFixed(4));
}

/**
 * One hour of a token's volume without wash trading, as far as it has passed at `t`: a share of what
 * its pools hold, more when the price moves.
 */
function tokenHourRows(token: DemoToken, hour: number, t: number): object[] {
  const { chain, address, price } = token;
  if (price === null || token.markets.length === 0) return [];
  const middle = hour + HOUR_S / 2;
  const key = keyOf(token.key, 'organic');
  const swing = Math.exp(1.3 * smoothNoise(key, middle, TURNOVER_PERIOD_S));
  const move = Math.abs(Math.log(fairPrice(price, hour + HOUR_S) / fairPrice(price, hour)));
  const turnover = (0.01 + 0.04 * unit(hash(key, 1)) + move) * dayShape(middle) * swing;
  const volumeUsd = token.liquidityUsd * turnover * passedShare(hour, t);
  return [{ chain, address, hour, organic_volume_usd: volumeUsd }];
}
