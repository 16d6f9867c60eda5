/** The cursor over the picture. */
import { usdOf } from './amounts.js';
import { binAt, codesAt } from './columns.js';
import type { Held, History } from './history.js';
import { type Point, type View, xOf, yOf } from './view.js';

/** A place in the data, which stays the same as the view moves. */
export interface Place {
  t: number;
  lnPrice: number;
}

/** The cursor, and the amounts under it. */
export interface Cursor extends Place {
  /** Shares of the plot's width and height; y from the bottom. */
  at: Point;
  /** Null if there is no data. */
  snapshot: Held | null;
  bin: number;
  supportUsd: number;
  resistanceUsd: number;
}

export function cursorAt({ t, lnPrice }: Place, history: History, view: View): Cursor {
  const snapshot = history.at(t);
  const bin = snapshot === null ? 0 : binAt(snapshot, lnPrice);
  const [support, resistance] = snapshot === null ? [0, 0] : codesAt(snapshot, bin);
  return {
    at: { x: xOf(view, t), y: yOf(view, lnPrice) },
    t,
    lnPrice,
    snapshot,
    bin,
    supportUsd: usdOf(support),
    resistanceUsd: usdOf(resistance),
  };
}

/** Whether the place is still in sight after a zoom or a move. */
export function isInView(view: View, { t, lnPrice }: Place): boolean {
  return [xOf(view, t), yOf(view, lnPrice)].every((share) => share >= -1e-6 && share <= 1 + 1e-6);
}
