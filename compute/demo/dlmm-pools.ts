/** The simulated market's DLMM pools and their hours. */
import { NATIVE_MINT, USDC_MINT } from './assets.js';
import { WHOLE_BOOK } from './book.js';
import { dlmmAt } from './dlmm.js';
import { between, hash, unit } from './hash.js';
import { base58Address } from './identity.js';
import type { DemoMarket } from './markets.js';
import { HOUR_S, TURNOVER_PERIOD_S, goneShare } from './hours.js';
import { dayShape, smoothNoise } from './path.js';
import { poolMoment, tradedPrice, type PriceModel } from './price.js';
import type { DemoDlmmHourRow, DemoDlmmPoolRow } from './rows.js';
import type { DemoToken } from './tokens.js';

/** What a pool turns over in an average hour, as a share of what it holds. */
const HOURLY_TURNOVER = 0.035;
/** Providers come and go over such a time. */
const CROWD_PERIOD_S = 2 * HOUR_S;
const USDC_DECIMALS = 6;

type DemoDlmmMarket = Extract<DemoMarket, { kind: 'dlmm' }>;

/** A pool at a moment. */
interface PoolState {
  pubkey: string;
  key: number;
  feeBp: number;
  binStep: number;
  activeId: number;
  /** The side that the token is on. */
  isX: boolean;
  quoteMint: string;
  decimalsX: number;
  decimalsY: number;
  reserveX: number;
  reserveY: number;
  usd: number;
  positions: number;
}

/** The rows of a token's pools at `t`. */
export function demoDlmmPoolRows(token: DemoToken, t: number): DemoDlmmPoolRow[] {
  return poolsAt(token, t).map((pool) => {
    const crowd = 1 + 0.1 * smoothNoise(hash(pool.key, 45), t, CROWD_PERIOD_S);
    const positions = Math.round(pool.positions * crowd);
    return {
      pubkey: pool.pubkey,
      bin_step: pool.binStep,
      active_id: pool.activeId,
      token_x_mint: pool.isX ? token.address : pool.quoteMint,
      token_y_mint: pool.isX ? pool.quoteMint : token.address,
      token_x_decimals: pool.decimalsX,
      token_y_decimals: pool.decimalsY,
      reserve_x: amount(pool.reserveX),
      reserve_y: amount(pool.reserveY),
      base_fee_pct: pool.feeBp / 100,
      dynamic_fee_pct: feePct(pool.feeBp, pool.key, t),
      num_positions: positions,
      num_wallets: Math.ceil(positions * 0.7),
    };
  });
}

/** The row of one hour of each of a token's pools, as far as it has gone by `t`. */
export function demoDlmmHourRows(token: DemoToken, hour: number, t: number): DemoDlmmHourRow[] {
  const middle = hour + HOUR_S / 2;
  return poolsAt(token, Math.min(t, middle)).map(({ pubkey, key, feeBp, usd }) => {
    const rush = Math.exp(1.1 * smoothNoise(hash(key, 43), middle, TURNOVER_PERIOD_S));
    const turnover = HOURLY_TURNOVER * dayShape(middle) * rush * goneShare(hour, t);
    const volumeUsd = usd * turnover;
    return {
      pubkey,
      hour,
      fees_usd: (volumeUsd * feePct(feeBp, key, hour)) / 100,
      volume_usd: volumeUsd,
      tvl_usd: usd,
    };
  });
}

/** A token's pools; beside the one of its ladder, a much traded token has a young one. */
function poolsAt(token: DemoToken, t: number): PoolState[] {
  const { price } = token;
  if (price === null || token.chain !== 'mainchain') return [];
  const pools = token.markets
    .filter((market) => market.kind === 'dlmm')
    .flatMap((market) => ladderPoolAt(price, market, t));
  const isBusy = token.kind === 'major' || token.kind === 'liquid';
  return isBusy ? pools.flatMap((pool) => [pool, youngPoolAt(token, price, pool, t)]) : pools;
}

/** The pool whose depth the token's snapshots hold. */
function ladderPoolAt(
  price: PriceModel,
  { head, profile, terms }: DemoDlmmMarket,
  t: number,
): PoolState[] {
  if (head.address === null) return [];
  const priceUsd = tradedPrice(price, t);
  const moment = poolMoment(terms.key, terms.feeBp, price, terms.quote, t, priceUsd);
  const { active_id, bins } = dlmmAt(profile, moment, WHOLE_BOOK);
  const reserveX = bins.reduce((sum, [, x]) => sum + x, 0);
  const reserveY = bins.reduce((sum, [, , y]) => sum + y, 0);
  const isX = profile.token === 'x';
  const [tokens, quotes] = isX ? [reserveX, reserveY] : [reserveY, reserveX];
  return [
    {
      ...{ pubkey: head.address, key: profile.key, feeBp: terms.feeBp, binStep: profile.binStep },
      ...{ activeId: active_id, isX, quoteMint: terms.quote === null ? USDC_MINT : NATIVE_MINT },
      ...{ decimalsX: profile.decimalsX, decimalsY: profile.decimalsY, reserveX, reserveY },
      usd: tokens * priceUsd + quotes * moment.quoteUsd,
      positions: between(hash(profile.key, 41), profile.positions, profile.positions * 4),
    },
  ];
}

/** A pool of wide bins against USDC that no collector of depth follows yet. */
function youngPoolAt(token: DemoToken, price: PriceModel, older: PoolState, t: number): PoolState {
  const key = hash(older.key, 46);
  const priceUsd = tradedPrice(price, t);
  const share = 0.15 + 0.35 * unit(hash(key, 1));
  const usd = older.usd * share * (1 + 0.05 * smoothNoise(hash(key, 2), t, CROWD_PERIOD_S));
  const raw = priceUsd * 10 ** (USDC_DECIMALS - token.decimals);
  return {
    ...{ pubkey: base58Address(`young pool ${token.address}`), key, feeBp: 100, binStep: 100 },
    activeId: Math.floor(Math.log(raw) / Math.log1p(0.01)),
    ...{ isX: true, quoteMint: USDC_MINT, decimalsX: token.decimals, decimalsY: USDC_DECIMALS },
    ...{ reserveX: usd / 2 / priceUsd, reserveY: usd / 2, usd },
    positions: between(hash(key, 3), 12, 60),
  };
}

/** The fee rises with volatility. */
function feePct(feeBp: number, key: number, t: number): number {
  const extra = 0.3 + 0.3 * smoothNoise(hash(key, 44), t, 2 * HOUR_S);
  return Number(((feeBp / 100) * (1 + extra)).toFixed(4));
}

const amount = (value: number): number => Number(value.toPrecision(12));
