/** Depth and score over time, for the strips below the map. */
import type { FathomClient, ReplayParameters, Result } from '../../client/index.js';
import { stepFor, stepName, type TimeWindow } from '../heatmap/detail.js';
import { NEAR_PCT } from '../ladder/ladder.js';
import { TYPES } from '../state/url.js';

/** The band of the lines, in percent of the price. */
export const LINE_PCT = 2;
/** Markets are summed from pages of cells, which cost more than points of a series. */
const MAX_MARKET_POINTS = 120;
/** Layers that are shown separately; the others are summed. */
const MAX_LAYERS = 6;

/** A part of the depth; amounts by point, USD. */
interface Layer {
  key: string;
  label: string;
  supportUsd: number[];
  resistanceUsd: number[];
}

export interface Course extends TimeWindow {
  /** A point stands for the step that ends at its time. */
  stepS: number;
  t: number[];
  /** Within NEAR_PCT of the price, largest first. */
  layers: Layer[];
}

/** A course, and the data of its lines. */
export interface Lines extends Course {
  /** Null if there was none. */
  score: (number | null)[];
  supportUsd: number[];
  resistanceUsd: number[];
}

/** What to load. */
export interface CourseRequest {
  client: FathomClient;
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
  const { group, types, venues } = parameters;
  const isFiltered = types !== undefined || venues !== undefined;
  const reply = await client.getDepthSeries(
    {
      ...{ address, from: window.from, to: window.to, score: true, pct: [LINE_PCT, NEAR_PCT] },
      ...(isFiltered ? { types, venues } : { types: [...TYPES] }),
      ...(group === 'venue' || group === 'type' ? { group } : {}),
    },
    { signal },
  );
  return linesIn(reply, window);
}

function linesIn(reply: Result<'getDepthSeries'>, window: TimeWindow): Lines {
  const { t, groups = [{ key: 'all', label: 'All' }], score = [] } = reply;
  const byGroup = (amounts: number[][] | number[][][]): number[][][] =>
    reply.groups === undefined ? [amounts as number[][]] : (amounts as number[][][]);
  const [support, resistance] = [byGroup(reply.support_usd), byGroup(reply.resistance_usd)];
  const sums = (side: number[][][]): number[] =>
    t.map((_, at) => side.reduce((sum, one) => sum + one[0][at], 0));
  const layers = groups.map(({ key, label }, at): Layer => ({
    ...{ key, label, supportUsd: support[at][1], resistanceUsd: resistance[at][1] },
  }));
  return {
    ...window,
    ...{ t, score, stepS: t.length > 1 ? stepIn(reply) : window.to - window.from },
    ...{ supportUsd: sums(support), resistanceUsd: sums(resistance) },
    layers: largest(layers),
  };
}

const UNIT_S = { m: 60, h: 3600, d: 86_400 } as const;

function stepIn({ step }: Result<'getDepthSeries'>): number {
  return Number.parseInt(step, 10) * UNIT_S[step.slice(-1) as keyof typeof UNIT_S];
}

/** The depth near the price by market. */
export async function marketsOf(
  { client, address, parameters }: CourseRequest,
  window: TimeWindow,
  signal: AbortSignal,
): Promise<Course> {
  const stepS = Math.max(60, stepFor(window.to - window.from, MAX_MARKET_POINTS, 60));
  const layers = new Map<string, Layer>();
  const t: number[] = [];
  const asked = {
    ...{ ...parameters, group: 'market' as const, step: stepName(stepS) },
    ...{ from: window.from, to: window.to, min_pct: -NEAR_PCT, max_pct: NEAR_PCT },
  };
  for await (const one of client.snapshots(address, asked, { signal })) {
    const at = t.push(Math.ceil(one.t / stepS) * stepS) - 1;
    for (const [i, slot] of one.index.entries()) {
      const market = one.slots[slot];
      if (market === undefined || !('source' in market)) continue;
      const key = [market.source, market.pair, market.address].join(' ');
      let layer = layers.get(key);
      if (layer === undefined) {
        const label = [market.source, market.pair].filter(Boolean).join(' ');
        layers.set(key, (layer = { key, label, supportUsd: [], resistanceUsd: [] }));
      }
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
  return { ...window, stepS, t, layers: largest([...layers.values()]) };
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
  return [...sorted, { key: 'others', label: `${others.length} others`, ...rest }];
}

/** The index of the point that stands for a time; -1 if there is none. */
export function pointAt(course: Course, time: number): number {
  const at = course.t.findIndex((one) => one >= time);
  return at >= 0 && startsOf(course)[at] < time ? at : -1;
}

/**
 * For each point, the beginning of the time for which it stands: a step before the point, or at the previous point if
 * snapshots are further apart than steps. After a gap of more than two usual distances it is a step.
 */
export function startsOf({ t, stepS }: Course): number[] {
  const distances = t.slice(1).map((one, i) => one - t[i]);
  const usualS = distances.toSorted((a, b) => a - b)[(distances.length - 1) >> 1] ?? stepS;
  return t.map((one, i) => {
    const distanceS = i === 0 ? usualS : one - t[i - 1];
    return one - Math.max(stepS, distanceS > 2 * usualS ? stepS : distanceS);
  });
}
