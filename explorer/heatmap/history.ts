/** The snapshots in memory, by time. */
import { Histogram, type Scale } from './amounts.js';
import { type Column, LN_BIN } from './columns.js';

/** The most snapshots in memory, 16 MiB of them; the oldest go first. */
export const MAX_DRAWN_SNAPSHOTS = 8192;
/** A gap is longer than this many median intervals (docs/definitions.md#coverage). */
const GAP_INTERVALS = 3;
/** How many of the newest intervals the median is taken of. */
const MEDIAN_OF = 1000;
/** The interval of coarse snapshots, in seconds (docs/definitions.md#replay-tiers). */
const TIER_S = { '15m': 900, '1h': 3600 } as const;

export interface Held extends Column {
  /** Its row in the graphics card's texture. */
  slot: number;
  /** Where its drawing ends: at the next snapshot, or where a gap begins. */
  until: number;
}

/** The range of time and price that all snapshots cover. */
export interface Extent {
  from: number;
  to: number;
  lnLow: number;
  lnHigh: number;
}

export class History {
  /** By ascending time. */
  held: readonly Held[] = [];
  /** The median interval of raw snapshots, else of all. */
  intervalS = 60;
  private readonly histogram = new Histogram();
  private readonly freeSlots: number[];

  constructor(private readonly maxSnapshots = MAX_DRAWN_SNAPSHOTS) {
    this.freeSlots = Array.from({ length: maxSnapshots }, (_, i) => maxSnapshots - 1 - i);
  }

  /**
   * Replaces all that is held in a window: duplicates, replaced snapshots, and coarse ones that
   * the server has replaced with finer ones.
   *
   * @param columns by ascending time, all in `[from, to)`
   */
  replace(from: number, to: number, columns: readonly Column[]): void {
    const first = this.indexFrom(from);
    const end = Math.max(first, this.indexFrom(to));
    const over = this.held.length - (end - first) + columns.length - this.maxSnapshots;
    for (const one of this.held.slice(first, end)) this.free(one);
    const before = this.held.slice(0, first);
    // The oldest go, whether held or new.
    for (const one of before.splice(0, Math.max(0, over))) this.free(one);
    const kept = columns.slice(Math.max(0, over - first));
    const added = kept.map((column): Held => {
      this.histogram.count(column.codes, 1);
      return { ...column, slot: this.freeSlots.pop() ?? 0, until: column.t };
    });
    this.held = [...before, ...added, ...this.held.slice(end)];
    this.setEnds();
  }

  /** Drops snapshots that end before `t`. */
  dropBefore(t: number): void {
    const first = this.held.findIndex(({ until }) => until > t);
    if (first <= 0) return;
    for (const one of this.held.slice(0, first)) this.free(one);
    this.held = this.held.slice(first);
  }

  /** The scale of all that is held: zooming and moving do not change it. */
  scale(): Scale {
    return this.histogram.scale();
  }

  /** Null while nothing is held. */
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

  /** The snapshot that is drawn at `t`; null before the first one and in a gap. */
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
    const raw = held.filter(({ tier }) => tier === 'raw');
    this.intervalS = medianInterval(raw.length > 1 ? raw : held) ?? this.intervalS;
    for (const [i, one] of held.entries()) {
      const next = held[i + 1]?.t ?? Infinity;
      const intervalS = one.tier === 'raw' ? this.intervalS : TIER_S[one.tier];
      one.until = next - one.t <= GAP_INTERVALS * intervalS ? next : one.t + intervalS;
    }
  }
}

function medianInterval(held: readonly Column[]): number | null {
  const newest = held.slice(-MEDIAN_OF - 1);
  const intervals = newest.slice(1).map(({ t }, i) => t - newest[i].t);
  if (intervals.length === 0) return null;
  intervals.sort((a, b) => a - b);
  const middle = (intervals.length - 1) / 2;
  return (intervals[Math.floor(middle)] + intervals[Math.ceil(middle)]) / 2;
}
