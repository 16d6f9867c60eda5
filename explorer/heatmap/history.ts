/** The snapshots in memory, by time. */
import { Histogram, type Scale } from './amounts.js';
import { type Column, LN_BIN } from './columns.js';

/** Most snapshots in memory, which take 16 MiB; the oldest are removed first. */
export const MAX_DRAWN_SNAPSHOTS = 8192;
/** A gap is longer than this many median intervals (docs/definitions.md#coverage). */
const GAP_INTERVALS = 3;
/** The median is computed from this many of the newest intervals. */
const MEDIAN_OF = 1000;
/** The interval of coarse snapshots, in seconds (docs/definitions.md#replay-tiers). */
const TIER_S = { '15m': 900, '1h': 3600 } as const;

export interface Held extends Column {
  /** Its row in the graphics card's texture. */
  slot: number;
  /** Where its drawing ends: at the next snapshot, or at the beginning of a gap. */
  until: number;
}

const NOTHING = { from: Infinity, to: -Infinity };

/** The range of time and price that all snapshots cover. */
export interface Extent {
  from: number;
  to: number;
  lnLow: number;
  lnHigh: number;
}

/** The snapshot with which the price line leaves a view: loaded data may reach beyond it. */
export function lastInSight(held: readonly Held[], view: { to: number }): Held | undefined {
  return held.findLast(({ t }) => t <= view.to);
}

export class History {
  /** By ascending time. */
  held: readonly Held[] = [];
  /** The median interval of the finest snapshots. */
  intervalS = 60;
  private readonly histogram = new Histogram();
  /** What has changed since the last call of takeChanged(). */
  private changed = NOTHING;
  private readonly freeSlots: number[];

  constructor(private readonly maxSnapshots = MAX_DRAWN_SNAPSHOTS) {
    this.freeSlots = Array.from({ length: maxSnapshots }, (_, i) => maxSnapshots - 1 - i);
  }

  /**
   * Replaces everything in a window: duplicates, replaced snapshots, and coarse snapshots that the server has replaced
   * with finer ones.
   *
   * @param columns by ascending time, all in `[from, to)`
   */
  replace(from: number, to: number, columns: readonly Column[]): void {
    const first = this.indexFrom(from);
    const end = Math.max(first, this.indexFrom(to));
    if (first < end) this.change(this.held[first].t, this.held[end]?.t);
    const over = this.held.length - (end - first) + columns.length - this.maxSnapshots;
    for (const one of this.held.slice(first, end)) this.free(one);
    const before = this.held.slice(0, first);
    // The oldest are removed, whether already loaded or new.
    const removed = before.splice(0, Math.max(0, over));
    for (const one of removed) this.free(one);
    if (removed.length > 0) this.change(removed[0].t, this.held[removed.length]?.t);
    const kept = columns.slice(Math.max(0, over - first));
    const added = kept.map((column): Held => {
      this.histogram.count(column.codes, 1);
      return { ...column, slot: this.freeSlots.pop() ?? 0, until: column.t };
    });
    this.held = [...before, ...added, ...this.held.slice(end)];
    this.setEnds();
  }

  /** The times at which other cells, or another price line, are drawn since the last call; null if there are none. */
  takeChanged(): { from: number; to: number } | null {
    const { from, to } = this.changed;
    this.changed = NOTHING;
    return from < to ? { from, to } : null;
  }

  /** @param to the next snapshot, also after a gap, which is hatched between snapshots */
  private change(from: number, to = Infinity): void {
    // The price line from the previous snapshot changes too.
    const before = this.held[this.indexFrom(from) - 1]?.t ?? from;
    this.changed = {
      from: Math.min(this.changed.from, before),
      to: Math.max(this.changed.to, to),
    };
  }

  /** Keeps only the newest snapshot of each step in a window, like `/replay?step=`. */
  thin({ from, to }: { from: number; to: number }, stepS: number): void {
    const stepOf = ({ t }: Held): number => Math.ceil(t / stepS);
    const inside = this.held.slice(this.indexFrom(from), this.indexFrom(to));
    const newest = inside.filter((one, i) => {
      const next = inside[i + 1];
      return next === undefined || stepOf(next) !== stepOf(one);
    });
    this.replace(
      from,
      to,
      newest.map((one) => ({ ...one, stepS: Math.max(stepS, one.stepS) })),
    );
  }

  /** The scale of all loaded snapshots: zooming and moving do not change it. */
  scale(): Scale {
    return this.histogram.scale();
  }

  /** Null while nothing is loaded. */
  extent(): Extent | null {
    const last = this.held.at(-1);
    if (last === undefined) return null;
    let lnLow = Infinity;
    let lnHigh = -Infinity;
    for (const { lnPrice, firstBin, lastBin } of this.held) {
      lnLow = Math.min(lnLow, lnPrice + Math.min(0, firstBin - 0.5) * LN_BIN);
      lnHigh = Math.max(lnHigh, lnPrice + Math.max(0, lastBin + 0.5) * LN_BIN);
    }
    return { from: this.held[0].t, to: last.until, lnLow, lnHigh };
  }

  /** The snapshot drawn at `t`; null before the first one and in a gap. */
  at(t: number): Held | null {
    const one = this.held[this.indexFrom(t + 1e-6) - 1];
    return one !== undefined && t < one.until ? one : null;
  }

  /** The index of the first snapshot at or after `t`. */
  indexFrom(t: number): number {
    let low = 0;
    let high = this.held.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.held[middle].t < t) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private free({ slot, codes }: Held): void {
    this.freeSlots.push(slot);
    this.histogram.count(codes, -1);
  }

  private setEnds(): void {
    const { held } = this;
    this.intervalS = medianInterval(finest(held)) ?? this.intervalS;
    for (const [i, one] of held.entries()) {
      const { t: nextT, stepS } = held[i + 1] ?? { t: Infinity, stepS: 0 };
      const tierS = one.tier === 'raw' ? this.intervalS : TIER_S[one.tier];
      const intervalS = Math.max(one.stepS, tierS);
      // The next snapshot may represent the whole step that ends with it.
      const isGap = nextT - one.t > GAP_INTERVALS * Math.max(intervalS, stepS);
      const until = isGap ? one.t + intervalS : nextT;
      // A new snapshot has no end yet.
      if (until !== one.until) this.change(one.t, nextT);
      one.until = until;
    }
  }
}

/** Raw snapshots of the shortest step, if there are at least two. */
function finest(held: readonly Held[]): readonly Held[] {
  const raw = held.filter(({ tier }) => tier === 'raw');
  const stepS = raw.reduce((least, one) => Math.min(least, one.stepS), Infinity);
  const shortest = raw.filter((one) => one.stepS === stepS);
  return [shortest, raw].find(({ length }) => length > 1) ?? held;
}

function medianInterval(held: readonly Column[]): number | null {
  const newest = held.slice(-MEDIAN_OF - 1);
  const intervals = newest.slice(1).map(({ t }, i) => t - newest[i].t);
  if (intervals.length === 0) return null;
  intervals.sort((a, b) => a - b);
  const middle = (intervals.length - 1) / 2;
  return (intervals[Math.floor(middle)] + intervals[Math.ceil(middle)]) / 2;
}
