/** The service's clock: the only source of 'now' for market data. */

export interface Clock {
  /** Whole epoch seconds. */
  nowS(): number;
}

/** The system's clock. */
export const systemClock: Clock = { nowS: () => Math.floor(Date.now() / 1000) };

/** A clock that stands still (`--as-of`); `atS` in epoch seconds, rounded down. */
export function frozenClock(atS: number): Clock {
  const nowS = Math.floor(atS);
  return { nowS: () => nowS };
}
