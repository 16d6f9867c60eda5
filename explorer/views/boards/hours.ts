/** The hours of a board's period: docs/definitions.md#this-hour. */
import { fieldTime, zoneLabel } from '../../state/zone.js';

const HOUR_S = 3600;

/**
 * Which hours a period has.
 *
 * @param period such as `6h`
 * @param unit what has data of an hour
 */
export function hoursText(period: string, unit: string, nowS: number): string {
  const before = parseInt(period, 10) - 1;
  const fromS = nowS - (nowS % HOUR_S) - before * HOUR_S;
  const since = `since ${fieldTime(fromS).slice(before === 0 ? 11 : 5, 16)} ${zoneLabel(fromS)}`;
  return before === 0
    ? `${period}: this hour, ${since}; until any ${unit} has data of it, the hour before.`
    : `${period}: this hour and the ${before} before it, ${since}; an hour earlier until any ${unit} has data of this hour.`;
}
