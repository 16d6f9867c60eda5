/** Depth and score over time, for the strips below the map. */
import type { AddressClient } from '../../client/address-client.js';
import type { ReplayParameters, Result } from '../../client/index.js';
import { stepFor, stepName, type TimeWindow } from '../heatmap/detail.js';
import { keyOf } from '../heatmap/split.js';
import { NEAR_PCT } from '../ladder/ladder.js';
import { currentS } from '../state/clock.js';
import { type Gap, gapBetween } from '../state/gaps.js';
import { TYPES } from '../state/url.js';

/** The band of the lines, in percent of the price. */
export const LINE_PCT = 2;
/** Most points of a course. */
const MAX_POINTS = 500;
/** Markets are summed from pages of cells, which cost more than points of a series. */
const MAX_MARKET_POINTS = 120;
const MIN_STEP_S = 60;
/** Layers that are shown separately; the others are summed. */
const MAX_LAYERS = 6;
export const OTHERS = 'others';
/** The key of the layer if the markets are not split. */
export const ALL = 'all';

/** A part of the depth; amounts by point, USD. */
export interface Layer {
  key: string;
  label: string;
  supportUsd: number[];
  resistanceUsd: number[];
}

/** The times of measured values. */
export interface Points {
  /** Each step has at most one point: the last snapshot in it. */
  stepS: number;
  t: number[];
  /** When each point ends: at the next point, or at the beginning of a gap. */
  ends: number[];
}

/** A point is a snapshot. */
export interface Course extends TimeWindow, Points {
  /** Within NEAR_PCT of the price, largest first. */
  layers: Layer[];
}

/** A course, and the data of its lines. */
export interface Lines extends Course {
  /** By point: the score at the end of its step, or now if the step has not ended; null if there was no score. */
  scores: (number | null)[];
  /** By point: the time of its score, which is that of its snapshot or later. */
  scoreT: number[];
  supportUsd: number[];
  resistanceUsd: number[];
}

/** What to load. */
export interface CourseRequest {
  client: AddressClient;
  address: string;
  /** Includes the filter; its group decides the layers. */
  parameters: ReplayParameters;
}

/** The score and the depth near the price, and its layers by venue or type. */
export async function linesOf(
  { client, address, parameters }: CourseRequest,
  window: TimeWindow,
  signal: AbortSignal,
): Promise<Lines> {
  const { group, types, venues, exclude_venues } = parameters;
  const isFiltered = types !== undefined || venues !== undefined;
  const stepS = stepOf(window, MAX_POINTS);
  const reply = await client.getDepthSeries(
    {
      address,
      score: true,
      pct: [LINE_PCT, NEAR_PCT],
      step: stepName(stepS),
      // The window's newest snapshot may belong to a step that ends after the window.
      from: Math.floor(window.from / stepS) * stepS,
      to: window.to + stepS,
      ...(isFiltered ? { types, venues } : { types: [...TYPES] }),
      ...(exclude_venues === undefined ? {} : { exclude_venues }),
      ...(group === 'venue' || group === 'type' ? { group } : {}),
    },
    { signal },
  );
  return linesIn(reply, window, stepS, currentS());
}

/** The length of a step that gives at most this many points. */
function stepOf({ from, to }: TimeWindow, points: number): number {
  return Math.max(MIN_STEP_S, stepFor(to - from, points, MIN_STEP_S));
}

function linesIn(
  reply: Result<'getDepthSeries'>,
  window: TimeWindow,
  stepS: number,
  nowS: number,
): Lines {
  const { snapshot_t: t, groups = [{ key: ALL, label: 'All' }], score: scores = [] } = reply;
  const byGroup = (amounts: number[][] | number[][][]): number[][][] =>
    reply.groups === undefined ? [amounts as number[][]] : (amounts as number[][][]);
  const [support, resistance] = [byGroup(reply.support_usd), byGroup(reply.resistance_usd)];
  const sums = (side: number[][][]): number[] =>
    t.map((_, at) => side.reduce((sum, one) => sum + one[0][at], 0));
  const layers = groups.map(({ key, label }, at): Layer => ({
    key,
    label,
    supportUsd: support[at][1],
    resistanceUsd: resistance[at][1],
  }));
  return {
    ...window,
    ...pointsOf(t, stepS),
    scores,
    scoreT: reply.t.map((end, at) => Math.max(t[at], Math.min(end, nowS))),
    supportUsd: sums(support),
    resistanceUsd: sums(resistance),
    layers: largest(layers),
  };
}

/** The depth near the price by market. */
export async function marketsOf(
  request: CourseRequest,
  window: TimeWindow,
  signal: AbortSignal,
): Promise<Course> {
  const stepS = stepOf(window, MAX_MARKET_POINTS);
  const { t, layers } = await snapshotsOf(request, { ...window, stepS }, signal);
  return { ...window, ...pointsOf(t, stepS), layers: largest(layers) };
}

/** All layers of one snapshot; none if it no longer exists. */
export async function layersAt(
  request: CourseRequest,
  t: number,
  signal: AbortSignal,
): Promise<Layer[]> {
  const { layers } = await snapshotsOf(request, { from: t, to: t + 1, stepS: 0 }, signal);
  return layers;
}

/** The layers of snapshots, from pages of cells. */
async function snapshotsOf(
  { client, address, parameters }: CourseRequest,
  { from, to, stepS }: TimeWindow & { stepS: number },
  signal: AbortSignal,
): Promise<{ t: number[]; layers: Layer[] }> {
  const layers = new Map<string, Layer>();
  const t: number[] = [];
  const query = {
    ...parameters,
    from,
    to,
    step: stepName(stepS),
    min_pct: -NEAR_PCT,
    max_pct: NEAR_PCT,
  };
  for await (const one of client.snapshots(address, query, { signal })) {
    const at = t.push(one.t) - 1;
    for (const [i, slot] of one.index.entries()) {
      const part = one.slots[slot];
      if (part === undefined) continue;
      const key = keyOf(part);
      const label =
        'label' in part ? part.label : [part.source, part.pair].filter(Boolean).join(' ');
      let layer = layers.get(key);
      if (layer === undefined)
        layers.set(key, (layer = { key, label, supportUsd: [], resistanceUsd: [] }));
      layer.supportUsd[at] = (layer.supportUsd[at] ?? 0) + one.supportUsd[i];
      layer.resistanceUsd[at] = (layer.resistanceUsd[at] ?? 0) + one.resistanceUsd[i];
    }
  }
  for (const { supportUsd, resistanceUsd } of layers.values()) {
    for (const at of t.keys()) {
      supportUsd[at] ??= 0;
      resistanceUsd[at] ??= 0;
    }
  }
  return { t, layers: [...layers.values()] };
}

/** The largest layers first; the smallest ones are summed into one. */
export function largest(layers: readonly Layer[]): Layer[] {
  const size = ({ supportUsd, resistanceUsd }: Layer): number =>
    [...supportUsd, ...resistanceUsd].reduce((sum, usd) => sum + usd, 0);
  const sizes = new Map(layers.map((one) => [one, size(one)]));
  const sorted = layers.toSorted((a, b) => (sizes.get(b) ?? 0) - (sizes.get(a) ?? 0));
  const others = sorted.splice(MAX_LAYERS);
  if (others.length === 0) return sorted;
  const sum = (side: 'supportUsd' | 'resistanceUsd'): number[] =>
    others[0][side].map((_, at) => others.reduce((usd, one) => usd + one[side][at], 0));
  const rest = { supportUsd: sum('supportUsd'), resistanceUsd: sum('resistanceUsd') };
  return [...sorted, { key: OTHERS, label: `${others.length} others`, ...rest }];
}

/** The index of the point that holds at a time, which is never a later one; -1 if there is none. */
export function pointAt({ t, ends }: Points, time: number): number {
  const at = t.findLastIndex((one) => one <= time);
  return at >= 0 && time < ends[at] ? at : -1;
}

/**
 * Each point holds until the next one. Before a gap, it holds for the usual interval there, but at least a step; the
 * last one, whose next is not known, for the usual distance of points.
 * @param t by ascending time @param gaps of the token's history
 */
export function pointsOf(t: number[], stepS: number, gaps: readonly Gap[] = []): Points {
  const distances = t.slice(1).map((one, i) => one - t[i]);
  const usualS = distances.toSorted((a, b) => a - b)[(distances.length - 1) >> 1] ?? stepS;
  const ends = t.map((one, i) => {
    const next = t[i + 1];
    if (next === undefined) return one + Math.max(stepS, usualS);
    const gap = gapBetween(gaps, one, next);
    if (gap === undefined) return next;
    return Math.min(next, Math.max(one, gap.from) + Math.max(stepS, gap.intervalS));
  });
  return { stepS, t, ends };
}

/** The course with the gaps of the token's history. */
export function broken<T extends Course>(course: T, gaps: readonly Gap[]): T {
  return { ...course, ...pointsOf(course.t, course.stepS, gaps) };
}
