/** How closely spaced the snapshots of a picture must be, and how closely spaced those in memory are. */

/** Epoch seconds; the end is exclusive. */
export interface TimeWindow {
  from: number;
  to: number;
}

/** The steps of `/replay?step=`, in seconds. */
const STEPS = { '1m': 60, '5m': 300, '15m': 900, '1h': 3600, '4h': 14_400, '1d': 86_400 } as const;
type StepName = keyof typeof STEPS;
/** The step of a picture that shows every snapshot. */
export const EVERY_SNAPSHOT = 0;
/** The most snapshots of a picture per column of its pixels. */
const SNAPSHOTS_PER_PX = 2.5;
/** The most snapshots of a picture: memory has room for a few such pictures. */
const MAX_SNAPSHOTS = 2600;
/** A picture may always have this many snapshots, however narrow it is. */
const MIN_SNAPSHOTS = 300;

/** The most snapshots that a picture of some width needs. */
export function enoughFor(widthPx: number): number {
  return Math.min(MAX_SNAPSHOTS, Math.max(MIN_SNAPSHOTS, SNAPSHOTS_PER_PX * widthPx));
}

/**
 * The finest step with at most this many snapshots, in seconds.
 *
 * @param intervalS the least known time between two snapshots
 */
export function stepFor(spanS: number, snapshots: number, intervalS: number): number {
  if (spanS / intervalS <= snapshots) return EVERY_SNAPSHOT;
  const steps = Object.values(STEPS);
  return steps.find((stepS) => spanS / stepS <= snapshots) ?? STEPS['1d'];
}

/** The next longer step; a day is the longest. */
export function coarser(stepS: number): number {
  return Object.values(STEPS).find((one) => one > stepS) ?? STEPS['1d'];
}

/** The step's name in the API; undefined for every snapshot. */
export function stepName(stepS: number): StepName | undefined {
  return (Object.keys(STEPS) as StepName[]).find((name) => STEPS[name] === stepS);
}

/** The length of a step in seconds. */
export const stepSeconds = (step: StepName): number => STEPS[step];

interface HeldRange extends TimeWindow {
  stepS: number;
}

/** The loaded ranges of time, ascending, without overlap. */
export class HeldRanges {
  list: readonly HeldRange[] = [];

  /** The parts of a window that are not loaded, or only with longer steps. */
  missing(window: TimeWindow, stepS: number): TimeWindow[] {
    const gaps: TimeWindow[] = [];
    let { from } = window;
    for (const one of this.list) {
      if (one.stepS > stepS || one.to <= from || one.from >= window.to) continue;
      if (one.from > from) gaps.push({ from, to: one.from });
      from = one.to;
    }
    if (from < window.to) gaps.push({ from, to: window.to });
    return gaps;
  }

  /** Replaces what is loaded of a range. */
  add({ from, to, stepS }: HeldRange): void {
    this.remove({ from, to });
    const sorted = [...this.list, { from, to, stepS }].sort((a, b) => a.from - b.from);
    const joined: HeldRange[] = [];
    for (const one of sorted) {
      const last = joined.at(-1);
      if (last?.to === one.from && last.stepS === one.stepS) last.to = one.to;
      else joined.push({ ...one });
    }
    this.list = joined;
  }

  remove({ from, to }: TimeWindow): void {
    this.list = this.list.flatMap((one) =>
      [
        { ...one, to: Math.min(one.to, from) },
        { ...one, from: Math.max(one.from, to) },
      ].filter((part) => part.from < part.to),
    );
  }
}
