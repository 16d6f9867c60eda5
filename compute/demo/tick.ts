/** A venue's price and size steps, kept as decimals so that prices print short. */

export interface Step {
  /** Steps in one unit: a power of ten. */
  perUnit: number;
}

const TICK_MAX_RELATIVE = 2e-4;
const LOT_USD = 0.1;

function decimalStep(atMost: number): Step {
  return { perUnit: 10 ** Math.max(0, Math.ceil(-Math.log10(atMost))) };
}

/** The price step of a venue that lists a token near `priceUsd`: at most two basis points. */
export function priceStep(priceUsd: number): Step {
  return decimalStep(priceUsd * TICK_MAX_RELATIVE);
}

/** The size step of a token near `priceUsd`: at most ten cents' worth. */
export function sizeStep(priceUsd: number): Step {
  return decimalStep(LOT_USD / priceUsd);
}

/** A size rounded to its step, at least one step. */
export function roundSize(size: number, step: Step): number {
  return Math.max(1, Math.round(size * step.perUnit)) / step.perUnit;
}
