import type { DepthUpdate } from './binance-messages.js';

/** Levels of updates that are held back for a snapshot; beyond, the oldest updates go. */
export const MAX_WAITING_LEVELS = 500_000;

/** Updates of an order book that wait for the snapshot that they build on, oldest first. */
export class UpdateBuffer {
  private updates: DepthUpdate[] = [];
  private first = 0;
  private levels = 0;

  /** The last update's `u`, null where none waits. */
  get lastId(): number | null {
    return this.updates.at(-1)?.lastId ?? null;
  }

  get isEmpty(): boolean {
    return this.updates.length === this.first;
  }

  /** The greatest time of the updates that end at or before `lastId`, 0 where none does. */
  timeUpTo(lastId: number): number {
    let us = 0;
    for (const update of this.updates) {
      if (update.lastId <= lastId) us = Math.max(us, update.us);
    }
    return us;
  }

  /** Adds an update; returns how many old ones it drops to stay within MAX_WAITING_LEVELS. */
  add(update: DepthUpdate): number {
    this.updates.push(update);
    this.levels += levelsOf(update);
    const first = this.first;
    while (this.levels > MAX_WAITING_LEVELS && this.first < this.updates.length - 1) {
      this.levels -= levelsOf(this.updates[this.first++]);
    }
    const dropped = this.first - first;
    if (this.first > this.updates.length / 2) {
      this.updates = this.updates.slice(this.first);
      this.first = 0;
    }
    return dropped;
  }

  /** Empties the buffer. */
  take(): DepthUpdate[] {
    const updates = this.updates.slice(this.first);
    [this.updates, this.first, this.levels] = [[], 0, 0];
    return updates;
  }
}

/** An empty update holds memory too. */
function levelsOf(update: DepthUpdate): number {
  return 1 + update.fields.list('b').length + update.fields.list('a').length;
}
