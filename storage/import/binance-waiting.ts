/** Parts of a Binance feed that wait for each other: updates for a snapshot, snapshots for updates. */
import { InputError } from '../errors.js';
import type { DepthSnapshot, DepthUpdate } from './binance-messages.js';
import { idBefore } from './sequence.js';
import { WaitingUpdates } from './waiting-updates.js';

/** Levels of updates that wait for a snapshot; beyond that, the oldest updates are dropped. */
export const MAX_WAITING_LEVELS = 500_000;
/** Snapshots that wait for their updates; beyond that, the oldest are dropped. */
const MAX_WAITING_SNAPSHOTS = 100;
/** How many symbols of a capture have their ids compared. */
const MAX_CAPTURE_SYMBOLS = 10_000;
/** Ids of two symbols this close may belong to one sequence: futures share a sequence, and this is 20 s of it. */
const NEAR_IDS = 10_000_000;

/** Updates that wait for their snapshot. */
export class UpdateBuffer extends WaitingUpdates<DepthUpdate> {
  constructor() {
    super(
      MAX_WAITING_LEVELS,
      ({ fields }) => 1 + fields.list('b').length + fields.list('a').length,
    );
  }

  /** The last update's `u`; null if none waits. */
  get lastId(): number | null {
    return this.updates.at(-1)?.lastId ?? null;
  }

  /** The id before the first update; null if none waits. */
  get idBefore(): number | null {
    return this.first === undefined ? null : idBefore(this.first);
  }

  /** The greatest time of the updates that end at or before `lastId`; 0 if there are none. */
  timeUpTo(lastId: number): number {
    let us = 0;
    for (const update of this.updates) {
      if (update.lastId <= lastId) us = Math.max(us, update.us);
    }
    return us;
  }
}

/** Snapshots that do not state which of several symbols they belong to: only their ids can tell. */
export class UnnamedSnapshots {
  private waiting: DepthSnapshot[] = [];
  private taken: DepthSnapshot | null = null;
  /** The range of ids in each other symbol's updates so far. */
  private readonly others = new Map<string, { from: number; to: number }>();

  get count(): number {
    return this.waiting.length;
  }

  /** @returns whether an older snapshot was dropped for it */
  add(snapshot: DepthSnapshot): boolean {
    this.waiting.push(snapshot);
    if (this.waiting.length <= MAX_WAITING_SNAPSHOTS) return false;
    this.waiting.shift();
    return true;
  }

  /** Records the ids of another symbol's update. @throws InputError if an accepted snapshot may be that symbol's */
  addOther(update: DepthUpdate): void {
    const known = this.others.get(update.symbol);
    if (known !== undefined) {
      known.to = Math.max(known.to, update.lastId);
      return;
    }
    if (this.others.size === MAX_CAPTURE_SYMBOLS) {
      throw new InputError(`${update.fields.where}: more than ${MAX_CAPTURE_SYMBOLS} symbols`);
    }
    this.others.set(update.symbol, { from: idBefore(update), to: update.lastId });
    if (this.taken !== null) this.refuseShared(this.taken);
  }

  /**
   * Takes the newest snapshot that the updates continue. It and all older ones stop waiting.
   * @throws InputError if the ids of another symbol match it too
   */
  takeFitting(updates: UpdateBuffer): DepthSnapshot | null {
    const { idBefore: from, lastId: to } = updates;
    if (from === null || to === null) return null;
    const fitting = this.waiting.filter(({ lastId }) => from <= lastId && lastId <= to);
    const snapshot = fitting.reduce<DepthSnapshot | null>(
      (best, next) => (best === null || next.lastId > best.lastId ? next : best),
      null,
    );
    if (snapshot === null) return null;
    this.refuseShared(snapshot);
    this.waiting = this.waiting.filter((other) => !fitting.includes(other));
    this.taken = snapshot;
    return snapshot;
  }

  private refuseShared({ lastId, fields }: DepthSnapshot): void {
    for (const [symbol, { from, to }] of this.others) {
      if (lastId < from - NEAR_IDS || lastId > to + NEAR_IDS) continue;
      throw new InputError(
        `${fields.where}: the depth snapshot names no symbol, and its lastUpdateId also fits ${symbol}: ` +
          'add "symbol" to it, or split the capture by symbol',
      );
    }
  }
}
