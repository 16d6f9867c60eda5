/** The service's clock: every 'now' of the data is asked here, never of the system. */

export interface Clock {
  /** The service's now in whole epoch seconds. */
  nowS(): number;
}

/** The system's clock. */
export const systemClock: Clock = { nowS: () => Math.floor(Date.now() / 1000) };

/** A clock that stands still (`--as-of`): `atS` in epoch seconds, a fraction is cut off. */
export function frozenClock(atS: number): Clock {
  const nowS = Math.floor(atS);
  return { nowS: () => nowS };
}
