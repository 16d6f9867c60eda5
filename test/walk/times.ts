/** The tokens and times of the walks' data. */
import { botAddress } from '../../bench/data/bots.js';
import { wallMs } from '../../storage/wall-clock.js';

/** The current hour: retention and boards omit much of older data. */
export const HOUR = Math.floor(wallMs() / 3_600_000);
export const HOUR_S = 3600;
/** Tokens with data of every dataset, whose snapshots have one market. */
export const TOKENS = Array.from({ length: 4 }, (_, i) => botAddress(i));
/** A token whose markets are replaced, merged and deleted one at a time. */
export const MERGED = botAddress(4);
/** Times of a token's snapshots, a minute apart. */
export const SLOTS = 400;
/** Retention may empty half of the slots, and also makes the hour behind them coarser. */
export const SLOTS_BEHIND_RETENTION = SLOTS / 2 + 60;

export const timeOf = (slot: number): number => HOUR * HOUR_S - 60 * (SLOTS - slot);
