/** The clocks of limits: the system's own, whatever `--as-of` says of market data. */

export interface LimitClock {
  /** Whole microseconds of a clock that never jumps: what rates are measured by. */
  steadyUs(): number;
  /** Milliseconds since 1970: what decides the month, and what resets are told in. */
  wallMs(): number;
}

export const systemLimitClock: LimitClock = {
  steadyUs: () => Math.floor(performance.now() * 1000),
  wallMs: () => Date.now(),
};

/** A UTC month. */
export interface UtcMonth {
  /** Year and month as people write them: 202611. */
  readonly id: number;
  readonly startMs: number;
  /** The first moment of the next one. */
  readonly endMs: number;
}

/** The UTC month of a moment. */
export function utcMonth(wallMs: number): UtcMonth {
  const date = new Date(wallMs);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return {
    id: year * 100 + month + 1,
    startMs: Date.UTC(year, month),
    endMs: Date.UTC(year, month + 1),
  };
}
