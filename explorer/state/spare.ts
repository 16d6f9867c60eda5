/** Requests that wait until the key has some to spare. */
import { pause } from './pause.js';

/** The pause between two checks whether the key can spare a request. */
const SPARE_CHECK_MS = 1000;

/**
 * Waits until the key can spare a request.
 *
 * @param onWait called at each check that it has to wait longer
 * @throws the signal's reason once it is aborted
 */
export async function spared(
  canSpare: () => boolean,
  signal: AbortSignal,
  onWait?: () => void,
): Promise<void> {
  while (!canSpare()) {
    onWait?.();
    await pause(SPARE_CHECK_MS, signal);
  }
}
