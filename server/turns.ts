/** Long work on the event loop, cut into turns between which requests are served. */
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Work goes on this long before others have their turn. */
const TURN_MS = 1.5;

export class Turns {
  private untilMs = performance.now() + TURN_MS;

  /** Call between two pieces of work: gives the turn away where it has lasted long enough. */
  take(): Promise<void> | void {
    if (performance.now() < this.untilMs) return;
    return this.next();
  }

  private async next(): Promise<void> {
    await nextTurn();
    this.untilMs = performance.now() + TURN_MS;
  }
}
