/** The time zone of all times on the page. */
import { Value } from './value.js';

export type Zone = 'utc' | 'local';

export const zone = new Value<Zone>('utc');

/** The offset of the chosen zone's clocks from UTC. @param t epoch seconds */
export function offsetS(t: number): number {
  return zone.value === 'utc' ? 0 : -60 * new Date(t * 1000).getTimezoneOffset();
}

/** `2026-11-22 13:20:13` in the chosen zone. @param t epoch seconds */
export function fieldTime(t: number): string {
  return new Date((t + offsetS(t)) * 1000).toISOString().slice(0, 19).replace('T', ' ');
}

/** The zone's label beside times: `UTC`, or the browser's zone, such as `GMT+2`. */
export function zoneLabel(t: number): string {
  if (zone.value === 'utc') return 'UTC';
  const parts = new Intl.DateTimeFormat('en-US', { timeZoneName: 'short' }).formatToParts(t * 1000);
  return parts.find(({ type }) => type === 'timeZoneName')?.value ?? 'local';
}
