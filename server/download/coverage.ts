/** The stored history of a token, for a download whose window holds no snapshot. */
import type { Coverage } from '../../client/index.js';
import { isoOf } from '../../compute/time.js';

/** In words, for the end of a message. */
export function coverageText({ tiers }: Coverage): string {
  if (tiers.length === 0) return 'the server has no depth of this token';
  const firstT = Math.min(...tiers.map((tier) => tier.first_t));
  const lastT = Math.max(...tiers.map((tier) => tier.last_t));
  return `there are snapshots from ${isoOf(firstT)} to ${isoOf(lastT)}`;
}
