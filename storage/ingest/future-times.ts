/** Warns of times in the future: most have a wrong zone or unit. */
import type { WarningTally } from '../../compute/ingest/warnings.js';
import { MAX_T_S } from '../../compute/ingest/fields.js';
import { HOUR_S } from '../../compute/time.js';
import { wallS } from '../wall-clock.js';

/** How far ahead a collector's clock may be. */
const MAX_AHEAD_S = HOUR_S;

export function warnOfTime(warnings: WarningTally, t: unknown, line: number): void {
  if (typeof t !== 'number' || t <= wallS() + MAX_AHEAD_S || t > MAX_T_S) return;
  const what = (): string => `${new Date(t * 1000).toISOString()} is more than an hour ahead`;
  warnings.add('future_time', line, what);
}
