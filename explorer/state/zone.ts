/** The time zone of all times that the page shows. */
import { Value } from './value.js';

export type Zone = 'utc' | 'local';

export const zone = new Value<Zone>('utc');

/** As `Intl` takes it. */
export const timeZone = (): 'UTC' | undefined => (zone.value === 'utc' ? 'UTC' : undefined);

/** What stands beside times: `UTC`, or the browser's zone, such as `GMT+2`. */
export function zoneLabel(t: number): string {
  if (zone.value === 'utc') return 'UTC';
  const parts = new Intl.DateTimeFormat('en-US', { timeZoneName: 'short' }).formatToParts(t * 1000);
  return parts.find(({ type }) => type === 'timeZoneName')?.value ?? 'local';
}
