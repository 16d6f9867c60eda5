/** The simulated market's DLMM pools and their hours: the pools whose depth its snapshots hold. */
import { NATIVE_MINT, USDC_MINT } from './assets.js';
import { WHOLE_BOOK } from './book.js';
import { dlmmAt } from './dlmm.js';
import { between, hash } from './hash.js';
import type { DemoMarket } from './markets.js';
import { HOUR_S, TURNOVER_PERIOD_S, goneShare } from './hours.js';
import { dayShape, smoothNoise } from './path.js';
import { poolMoment, tradedPrice } from './price.js';
import type { DemoDlmmHourRow, DemoDlmmPoolRow } from './rows.js';
import type { DemoToken } from './tokens.js';

/** What a pool turns over in an average hour, as a share of what it holds. */
const HOURLY_TURNOVER = 0.035;

type DemoDlmmMarket = Extract<DemoMarket, { kind: 'dlmm' }>;

function dlmmMarkets(token: DemoToken): DemoDlmmMarket[] {
  if (token.chain !== 'mainchain') return [];
  return token.markets.filter((market) => market.kind === 'dlmm');
}

/** The rows of a token's pools at `t`. */
export function demoDlmmPoolRows(token: DemoToken, t: number): DemoDlmmPoolRow[] {
  return dlmmMarkets(token).flatMap(({ head, profile, terms }) => {
    if (head.address === null || token.price === null) return [];
    const priceUsd = tradedPrice(token.price, t);
    const moment = poolMoment(terms.key, terms.feeBp, token.price, terms.quote, t, priceUsd);
    const body = dlmmAt(profile, moment, WHOLE_BOOK);
    const quoteMint = terms.quote === null ? USDC_MINT : NATIVE_MINT;
    const isX = profile.token === 'x';
    const positions = between(hash(profile.key, 41), profile.positions, profile.positions * 4);
    return [
      {
        pubkey: head.address,
        bin_step: profile.binStep,
        active_id: body.active_id,
        token_x_mint: isX ? token.address : quoteMint,
        token_y_mint: isX ? quoteMint : token.address,
        token_x_decimals: profile.decimalsX,
        token_y_decimals: profile.decimalsY,
        reserve_x: amount(body.bins.reduce((sum, [, x]) => sum + x, 0)),
        reserve_y: amount(body.bins.reduce((sum, [, , y]) => sum + y, 0)),
        base_fee_pct: terms.feeBp / 100,
        dynamic_fee_pct: feePct(terms.feeBp, profile.key, t),
        num_positions: positions,
        num_wallets: Math.ceil(positions * 0.7),
      },
    ];
  });
}

/** The row of one hour of each of a token's pools, as far as it has gone by `t`. */
export function demoDlmmHourRows(token: DemoToken, hour: number, t: number): DemoDlmmHourRow[] {
  return dlmmMarkets(token).flatMap(({ head, profile, terms }) => {
    if (head.address === null) return [];
    const gone = goneShare(hour, t);
    const middle = hour + HOUR_S / 2;
    const tvlUsd = profile.tvlUsd * (1 + 0.08 * smoothNoise(hash(profile.key, 42), middle, 86_400));
    const rush = Math.exp(1.1 * smoothNoise(hash(profile.key, 43), middle, TURNOVER_PERIOD_S));
    const volumeUsd = tvlUsd * HOURLY_TURNOVER * dayShape(middle) * rush * gone;
    return [
      {
        pubkey: head.address,
        hour,
        fees_usd: (volumeUsd * feePct(terms.feeBp, profile.key, hour)) / 100,
        volume_usd: volumeUsd,
        tvl_usd: tvlUsd,
      },
    ];
  });
}

/** The fee rises with volatility. */
function feePct(feeBp: number, key: number, t: number): number {
  const extra = 0.3 + 0.3 * smoothNoise(hash(key, 44), t, 2 * HOUR_S);
  return Number(((feeBp / 100) * (1 + extra)).toFixed(4));
}

const amount = (value: number): number => Number(value.toPrecision(12));
