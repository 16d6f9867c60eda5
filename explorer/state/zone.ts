/** The time zone of all times on the page. */
import { Value } from './value.js';

export type Zone = 'utc' | 'local';

export const zone = new Value<Zone>('utc');

/** The zone's name for `Intl`. */
export const timeZone = (): 'UTC' | undefined => (zone.value === 'utc' ? 'UTC' : undefined);

/** The offset of the chosen zone's clocks from UTC. @param t epoch seconds */
export function offsetS(t: number): number {
  return zone.value === 'utc' ? 0 : -60 * new Date(t * 1000).getTimezoneOffset();
}

/** A time in the format of input fields, in the chosen zone: `2026-11-22T13:20:13`. @param t epoch seconds */
export function fieldTime(t: number): string {
  return new Date((t + offsetS(t)) * 1000).toISOString().slice(0, 19);
}

/** The time in an input field, epoch seconds; null if it has none. */
export function timeInField(text: string): number | null {
  const t = Date.parse(zone.value === 'utc' ? `${text}Z` : text) / 1000;
  return Number.isFinite(t) ? Math.floor(t) : null;
}

/** The zone's label beside times: `UTC`, or the browser's zone, such as `GMT+2`. */
export function zoneLabel(t: number): string {
  if (zone.value === 'utc') return 'UTC';
  const parts = new Intl.DateTimeFormat('en-US', { timeZoneName: 'short' }).formatToParts(t * 1000);
  return parts.find(({ type }) => type === 'timeZoneName')?.value ?? 'local';
}
