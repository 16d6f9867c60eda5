/** What the strips' scales span. */

/** Round ends of the scale of scores. One that hardly changes is a flat line, not noise. */
export function scoreScale(scores: readonly number[]): { low: number; high: number } {
  const high = Math.min(100, Math.max(10, 5 * Math.ceil(Math.max(...scores) / 5)));
  const low = Math.max(0, Math.min(5 * Math.floor(Math.min(...scores) / 5), high - 10));
  return { low, high };
}

const NICE = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10];

/** The least round number that is not below `value`, which is above 0. */
export function niceAbove(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const nice = NICE.find((one) => one * power >= value * (1 - 1e-9)) ?? 10;
  return Number((nice * power).toPrecision(3));
}
