/** The server's clock: the only source of 'now' for market data. */
import { wallS } from '../storage/wall-clock.js';

export interface Clock {
  /** Whole epoch seconds. */
  nowS(): number;
  /** Epoch seconds at which it is frozen; undefined: it runs. */
  readonly frozenS?: number;
}

export const systemClock: Clock = { nowS: wallS };

/** A frozen clock (`--as-of`); `atS` in epoch seconds, rounded down. */
export function frozenClock(atS: number): Clock {
  const nowS = Math.floor(atS);
  return { nowS: () => nowS, frozenS: nowS };
}
