/** The simulated market's holders: wallets that come, trade now and then, and leave. */
import type { AssetKind } from './assets.js';
import { hash, keyOf, sizeDraw, unit } from './hash.js';
import { base58Address } from './identity.js';
import { DAY_S, smoothNoise } from './path.js';
import type { DemoHolderRow } from './rows.js';
import { logDuration, tenancyAt } from './slots.js';
import type { DemoToken } from './tokens.js';

/** Wallets that are followed, about; none where the token's holders are not. */
const WALLETS: Readonly<Record<AssetKind, number>> = {
  ...{ major: 320, liquid: 260, listed: 180, onchain: 140, stable: 0, dormant: 0 },
};
const MIN_STAY_S = 40 * DAY_S;
const MAX_STAY_S = 600 * DAY_S;
/** A wallet trades this often at the most; in between its balance stands still. */
const MIN_TRADE_S = 1_800;
const MAX_TRADE_S = 5 * DAY_S;
/** A wallet's holdings swell and shrink over such a time. */
const MOOD_S = 11 * DAY_S;
/** Part of its place's time that a wallet holds anything. */
const HELD_SHARE = 0.93;
/** Supply that a wallet of median size holds. */
const MEDIAN_SHARE = 0.0006;
const MINUTE_S = 60;
const HOUR_S = 3_600;
/** Wallets' addresses that are remembered: one takes longer to make than its balances. */
const MAX_NAMES = 20_000;
const names = new Map<string, string>();

function walletAddress(name: string): string {
  let address = names.get(name);
  if (address === undefined) {
    if (names.size >= MAX_NAMES) names.clear();
    address = base58Address(name);
    names.set(name, address);
  }
  return address;
}

/** Whether the token's holders are followed at all. */
export function hasDemoHolders(token: DemoToken): boolean {
  return token.chain === 'mainchain' && WALLETS[token.kind] > 0 && token.supply > 0;
}

/**
 * Times of the snapshots of a past that ends with `untilS`: a day's last minute for 33 days, every
 * hour of the last two days, every minute of the last quarter. A live collector takes every minute.
 */
export function demoHolderTimes(untilS: number): number[] {
  const times = new Set<number>();
  const minute = Math.floor(untilS / MINUTE_S) * MINUTE_S;
  for (let day = 33; day > 0; day--) {
    times.add(Math.floor(untilS / DAY_S) * DAY_S - (day - 1) * DAY_S - MINUTE_S);
  }
  for (let hour = 48; hour > 0; hour--) times.add(minute - hour * HOUR_S);
  for (let back = 15; back >= 0; back--) times.add(minute - back * MINUTE_S);
  return [...times].sort((a, b) => a - b);
}

/** A token's holders at `t`, the wallets that hold anything. */
export function demoHolderRows(token: DemoToken, t: number): DemoHolderRow[] {
  const rows: DemoHolderRow[] = [];
  for (let place = 0; place < WALLETS[token.kind]; place++) {
    const placeKey = hash(keyOf(token.key, 'holders'), place);
    const staysS = logDuration(hash(placeKey, 3), MIN_STAY_S, MAX_STAY_S);
    const { key, fromS, toS } = tenancyAt(placeKey, staysS, t);
    if (t >= fromS + (toS - fromS) * HELD_SHARE) continue;
    const tradeS = logDuration(hash(key, 1), MIN_TRADE_S, MAX_TRADE_S);
    const traded = Math.max(fromS, t - ((t + (hash(key, 2) % tradeS)) % tradeS));
    const mood = smoothNoise(hash(key, 4), traded, MOOD_S);
    const trade = unit(hash(hash(key, 5), traded)) - 0.5;
    const balance =
      token.supply * MEDIAN_SHARE * sizeDraw(key) * Math.exp(0.5 * mood + 0.12 * trade);
    rows.push({
      token_address: token.address,
      t,
      owner: walletAddress(`wallet ${placeKey} ${fromS}`),
      balance: Number(balance.toFixed(Math.min(token.decimals, 6))),
    });
  }
  return rows;
}
