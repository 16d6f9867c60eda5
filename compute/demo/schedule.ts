import { TIER_LENGTH_S, type Tier } from '../market.js';
import { hash, unit } from './hash.js';
import { DAY_S } from './path.js';
import type { DemoToken } from './tokens.js';

const HOUR_S = 3_600;
/** Raw snapshots reach back so far. */
export const DEMO_RAW_S = DAY_S;
/** Quarter-hourly ones of the main chain, before the raw ones. */
export const DEMO_15M_S = 7 * DAY_S;
/** Hourly ones of the EVM chain, before the raw ones. */
export const DEMO_1H_S = 30 * DAY_S;

/** The raw day is made in these pieces, back from its end: first pages are there at once. */
const RAW_PIECES_S = [2 * HOUR_S, 6 * HOUR_S, 16 * HOUR_S] as const;
/** A collector misses a snapshot now and then. */
const MISS_CHANCE = 0.004;

/** One piece of the demo's history: one token's snapshots of one tier in `[fromS, toS)`. */
export interface DemoUnit {
  token: DemoToken;
  tier: Tier;
  fromS: number;
  toS: number;
}

/**
 * Times of a token's snapshots of a tier in `[fromS, toS)`, ascending: raw ones at the token's own
 * cadence on absolute time with a few missing, the others on whole quarters and hours.
 */
export function demoSnapshotTimes(
  token: DemoToken,
  fromS: number,
  toS: number,
  tier: Tier,
): number[] {
  if (token.markets.length === 0) return [];
  const stepS = tier === 'raw' ? token.cadenceS : TIER_LENGTH_S[tier];
  const offsetS = tier === 'raw' ? token.offsetS : 0;
  const times: number[] = [];
  for (let step = Math.ceil((fromS - offsetS) / stepS); ; step++) {
    const t = step * stepS + offsetS;
    if (t >= toS) return times;
    const missed = tier === 'raw' && unit(hash(hash(token.key, 4), step)) < MISS_CHANCE;
    if (!missed) times.push(t);
  }
}

/**
 * The demo's whole history up to and with `untilS` as pieces of work, newest first: the last two
 * hours of every token, then the rest of the raw day, then a week of quarter hours on mainchain
 * and a month of hours on evmchain. Pieces of one token and tier do not overlap and leave no gap.
 */
export function demoPlan(tokens: readonly DemoToken[], untilS: number): DemoUnit[] {
  const traded = tokens.filter((token) => token.markets.length > 0);
  const plan: DemoUnit[] = [];
  let toS = untilS + 1;
  for (const pieceS of RAW_PIECES_S) {
    const fromS = toS - pieceS;
    for (const token of traded) plan.push({ token, tier: 'raw', fromS, toS });
    toS = fromS;
  }
  for (const token of traded) {
    const isMain = token.chain === 'mainchain';
    const lengthS = isMain ? DEMO_15M_S : DEMO_1H_S;
    plan.push({ token, tier: isMain ? '15m' : '1h', fromS: toS - lengthS, toS });
  }
  return plan;
}
