/** The cursor over the picture. */
import { usdOf } from './amounts.js';
import { BIN_RATIO } from '../ladder/ladder.js';
import { binAt, codesAt, LN_BIN } from './columns.js';
import { type Held, type History, lastInSight } from './history.js';
import { type Point, type View, xOf, yOf } from './view.js';

/** A place in the data, which stays the same as the view moves. */
export interface Place {
  t: number;
  lnPrice: number;
}

/** The cursor, and the amounts under it. */
export interface Cursor extends Place {
  /** Where its lines are, which cross at the cell: shares of the plot's width and height; y from the bottom. */
  at: Point;
  /** The one time and price that everything states: of the snapshot and the bin, or of the place if there is no data. */
  shownT: number;
  priceUsd: number;
  /** The height of its price's label: beside the cursor, or next to the label of the last price. */
  labelY: number;
  /** Null if there is no data. */
  snapshot: Held | null;
  bin: number;
  supportUsd: number;
  resistanceUsd: number;
}

/** @param labelRoom the least distance between two labels of prices, as a share of the height */
export function cursorAt(
  { t, lnPrice }: Place,
  history: History,
  view: View,
  labelRoom: number,
): Cursor {
  const snapshot = history.at(t);
  const bin = snapshot === null ? 0 : binAt(snapshot, lnPrice);
  const [support, resistance] = snapshot === null ? [0, 0] : codesAt(snapshot, bin);
  const shownT = snapshot?.t ?? t;
  const lnShown = snapshot === null ? lnPrice : snapshot.lnPrice + bin * LN_BIN;
  const at = { x: inside(xOf(view, shownT)), y: inside(yOf(view, lnShown)) };
  const last = lastInSight(history.held, view);
  const labelY =
    last === undefined ? at.y : heightClearOf(yOf(view, last.lnPrice), at.y, labelRoom);
  return {
    at,
    shownT,
    priceUsd: snapshot === null ? Math.exp(lnPrice) : snapshot.priceUsd * BIN_RATIO ** bin,
    labelY,
    t,
    lnPrice,
    snapshot,
    bin,
    supportUsd: usdOf(support),
    resistanceUsd: usdOf(resistance),
  };
}

/** A snapshot may begin, and a bin may have its middle, just out of sight. */
const inside = (share: number): number => Math.min(1, Math.max(0, share));

/** Whether the place is still in sight after a zoom or a move. */
export function isInView(view: View, { t, lnPrice }: Place): boolean {
  return [xOf(view, t), yOf(view, lnPrice)].every((share) => share >= -1e-6 && share <= 1 + 1e-6);
}

/** The height nearest to `y` that is in sight and at least `room` from another one, if that one is in sight. */
export function heightClearOf(other: number, y: number, room: number): number {
  if (other < 0 || other > 1 || Math.abs(y - other) >= room) return y;
  const [above, below] = [other + room, other - room];
  const isAbove = y >= other ? above + room / 2 <= 1 : below < 0;
  return isAbove ? above : below;
}
