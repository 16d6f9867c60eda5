/** How long a server asks not to be asked again. */
import { wallMs } from '../storage/wall-clock.js';

/** Milliseconds of a Retry-After header (RFC 9110, 10.2.3): seconds, or a date; null without one. */
export function retryAfterMs(headers: Headers): number | null {
  const text = headers.get('retry-after')?.trim() ?? '';
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const dateMs = Date.parse(text);
  return Number.isNaN(dateMs) ? null : Math.max(0, dateMs - wallMs());
}
