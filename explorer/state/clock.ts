/** The server's clock. */
import { Value } from './value.js';

/** In epoch seconds if it is frozen (`--as-of`); null if it follows the time of day. */
export const asOfS = new Value<number | null>(null);

/** The time by the server's clock in epoch seconds. */
export function currentS(): number {
  return asOfS.value ?? Date.now() / 1000;
}
