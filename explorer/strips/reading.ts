/** The amounts that the strips state for a moment. */
import type { Score } from '../../client/index.js';
import { usdOf } from '../heatmap/amounts.js';
import { codesAt, type Column } from '../heatmap/columns.js';
import { isWithin, type Ladder, NEAR_PCT, partUsd, totalsWithin } from '../ladder/ladder.js';
import {
  ALL,
  type Course,
  type Layer,
  LINE_PCT,
  type Lines,
  OTHERS,
  pointAt,
  type Points,
} from './course.js';

/** The exact values of the moment that the page shows: pinned, played or now. */
export interface Moment {
  ladder: Ladder;
  /** Null if not known yet. */
  scored: Pick<Score, 'service_score' | 'service_last_run'> | null;
}

/** What the map's cursor points at. */
export interface Pointed {
  /** The time of its snapshot, or of the place if there is none. */
  t: number;
  column: Column | null;
  /** By layer, within NEAR_PCT of the price; null if unknown. */
  nearUsd: ReadonlyMap<string, number> | null;
}

/** Amounts by layer, and when they were measured. */
interface LayersReading {
  t: number;
  usd: number[];
  /** Whether they are those of an earlier snapshot of the same step. */
  isRough?: boolean;
}

interface LinesReading {
  t: number;
  score: number | null;
  /** The time of the score if it is not the snapshot's: the score may count a later snapshot of another leg. */
  scoreT: number | null;
  supportUsd: number;
  resistanceUsd: number;
  /** Whether the score is that of the step, not of the snapshot. */
  isRough?: boolean;
}

/**
 * Reads the layers of the last point at or before a time; null if there is none.
 *
 * @param endsNow whether the course ends now
 */
export function layersIn(course: Course, t: number, endsNow: boolean): LayersReading | null {
  const at = pointHeldAt(course, { to: course.to, endsNow }, t);
  if (at < 0) return null;
  const usd = course.layers.map((one) => one.supportUsd[at] + one.resistanceUsd[at]);
  return { t: course.t[at], usd };
}

/** The amounts of a course's layers in a single snapshot. @param exact all layers of the snapshot */
export function layersOf(
  course: Course,
  t: number,
  exact: ReadonlyMap<string, number>,
): LayersReading {
  const named = course.layers.reduce((sum, { key }) => sum + (exact.get(key) ?? 0), 0);
  const all = [...exact.values()].reduce((sum, usd) => sum + usd, 0);
  return {
    t,
    usd: course.layers.map(({ key }) => (key === OTHERS ? all - named : (exact.get(key) ?? 0))),
  };
}

/** Amounts by venue, or their sum. */
export function ladderAmounts(ladder: Ladder, group: 'venue' | 'all'): Map<string, number> {
  if (group === 'venue') return new Map(ladder.parts.map((one) => [one.key, partUsd(one)]));
  const { supportUsd, resistanceUsd } = totalsWithin(ladder, NEAR_PCT);
  return new Map([[ALL, supportUsd + resistanceUsd]]);
}

/** Amounts by layer, of layers with a single snapshot. */
export function layerAmounts(layers: readonly Layer[]): Map<string, number> {
  return new Map(layers.map((one) => [one.key, one.supportUsd[0] + one.resistanceUsd[0]]));
}

/**
 * Reads the lines at a time.
 *
 * @param moment the exact values at that time; null if unknown
 * @param endsNow whether the lines end now
 */
export function linesAt(
  lines: Lines,
  t: number,
  moment: Moment | null,
  endsNow: boolean,
): LinesReading | null {
  const at = pointHeldAt(lines, { to: lines.to, endsNow }, t);
  if (at < 0 && moment === null) return null;
  const depth =
    moment === null
      ? { t: lines.t[at], supportUsd: lines.supportUsd[at], resistanceUsd: lines.resistanceUsd[at] }
      : { t: moment.ladder.t, ...totalsWithin(moment.ladder, LINE_PCT) };
  const scored = moment?.scored ?? null;
  const [score, scoreT] =
    scored === null
      ? [lines.scores[at] ?? null, lines.scoreT[at] ?? null]
      : [scored.service_score, Date.parse(scored.service_last_run ?? '') / 1000];
  return { ...depth, score, scoreT: score === null || scoreT === depth.t ? null : scoreT };
}

/** The layers of the snapshot at the cursor: its own if they are known, otherwise about those of the step's point. */
export function layersPointedAt(
  course: Course,
  { t, column, nearUsd }: Pointed,
  endsNow: boolean,
): LayersReading | null {
  if (column === null) return null;
  if (nearUsd !== null) return layersOf(course, t, nearUsd);
  const read = layersIn(course, t, endsNow);
  return read && { ...read, t, isRough: read.t !== t };
}

/** The amounts of the snapshot at the cursor, and about its score: that of the step. */
export function linesPointedAt(
  lines: Lines,
  { t, column }: Pointed,
  endsNow: boolean,
): LinesReading | null {
  if (column === null) return null;
  const at = pointHeldAt(lines, { to: lines.to, endsNow }, t);
  const score = lines.scores[at] ?? null;
  const isRough = score !== null && lines.scoreT[at] !== t;
  return { t, ...columnWithin(column, LINE_PCT), score, scoreT: null, isRough };
}

function columnWithin(column: Column, pct: number): { supportUsd: number; resistanceUsd: number } {
  let [supportUsd, resistanceUsd] = [0, 0];
  for (let bin = column.firstBin; bin <= column.lastBin; bin++) {
    if (!isWithin(bin, pct)) continue;
    const [support, resistance] = codesAt(column, bin);
    supportUsd += usdOf(support);
    resistanceUsd += usdOf(resistance);
  }
  return { supportUsd, resistanceUsd };
}

/** The moment if it is the latest known at a time: not after it, and not before the course's last point up to it. */
export function momentAt(moment: Moment | null, t: number, course: Course): Moment | null {
  if (moment === null || moment.ladder.t > t) return null;
  return moment.ladder.t >= (course.t[pointAt(course, t)] ?? -Infinity) ? moment : null;
}

/**
 * The index of the point at a time; -1 if there is none. In a course that ends now, the last point also holds after the
 * course's end, until the next one is fetched.
 */
function pointHeldAt(
  points: Points,
  { to, endsNow }: { to: number; endsNow: boolean },
  t: number,
): number {
  // A course that ends in the past says nothing about later times.
  if (!endsNow && t > to) return -1;
  const at = pointAt(points, t);
  const last = points.t.length - 1;
  return at < 0 && last >= 0 && t >= points.t[last] && t >= to - points.stepS ? last : at;
}
