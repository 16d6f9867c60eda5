/** Places in which things come and go: one after another stands in each, each for its own time. */
import { hash, unit } from './hash.js';

/** What stands in a place at a moment. */
export interface Tenancy {
  /** A hash of its own. */
  key: number;
  fromS: number;
  toS: number;
}

/**
 * Who is in a place at `t`: places change hands every `staysS`, at moments of their own.
 * @param back 1 for the one before, and so on
 */
export function tenancyAt(placeKey: number, staysS: number, t: number, back = 0): Tenancy {
  const phase = hash(placeKey, 1) % staysS;
  const turn = Math.floor((t - phase) / staysS) - back;
  const fromS = turn * staysS + phase;
  return { key: hash(hash(placeKey, 2), turn), fromS, toS: fromS + staysS };
}

/** A duration between `minS` and `maxS`, short ones as likely as long ones on a scale of logs. */
export function logDuration(h: number, minS: number, maxS: number): number {
  return Math.round(minS * Math.pow(maxS / minS, unit(h)));
}

/** Places in each of which one row after another stands. */
export interface Places<Row extends { closed: boolean }> {
  key: number;
  count: number;
  minStayS: number;
  maxStayS: number;
  /** The row of a tenancy at a moment within it. */
  rowAt: (tenancy: Tenancy, t: number) => Row;
  /** A row of a tenancy that is over. */
  ended: (row: Row) => Row;
  isChanged: (then: Row, now: Row) => boolean;
}

/**
 * The rows at `t` that are not closed; with `sinceS` those that changed after it, closed ones and
 * ended ones among them.
 */
export function rowsOfPlaces<Row extends { closed: boolean }>(
  { key, count, minStayS, maxStayS, rowAt, ended, isChanged }: Places<Row>,
  t: number,
  sinceS: number | null,
): Row[] {
  const rows: Row[] = [];
  for (let place = 0; place < count; place++) {
    const placeKey = hash(key, place);
    const staysS = logDuration(hash(placeKey, 3), minStayS, maxStayS);
    const tenancy = tenancyAt(placeKey, staysS, t);
    const now = rowAt(tenancy, t);
    if (sinceS === null) {
      if (!now.closed) rows.push(now);
      continue;
    }
    const before = tenancyAt(placeKey, staysS, sinceS);
    const then = rowAt(before, sinceS);
    const isOther = before.fromS !== tenancy.fromS;
    if (isOther) rows.push(ended(then));
    if (isOther || isChanged(then, now)) rows.push(now);
  }
  return rows;
}
