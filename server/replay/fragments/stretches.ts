/** Which snapshots of a plan a page of fragments holds, by segment. */
import { PAGE_LIMITS } from '../../../compute/replay/page.js';
import type { PackGroup } from '../../../compute/fragments/pack.js';
import type { PagePlan } from '../../../storage/contract.js';

/** Neighbouring snapshots of one segment of a plan: `first <= row < end`. */
export interface PlanStretch {
  /** Index into the plan's segments. */
  segment: number;
  first: number;
  end: number;
  /** `t` of the first one. */
  t: number;
}

/** A page of the default band without a filter, worked out from the plan alone. */
export interface PlannedPage {
  stretches: PlanStretch[];
  nextFrom: number | null;
}

/**
 * The page that the plan's snapshots make. With group=market a snapshot has as many cells as the
 * plan says; with group=all a full page of them stays below the most that it may have.
 */
export function pageOfPlan({ snapshots, nextT }: PagePlan, group: PackGroup): PlannedPage {
  const stretches: PlanStretch[] = [];
  let stretch: PlanStretch | undefined;
  let cells = 0;
  for (const { segment, row, t, bandCells } of snapshots) {
    if (group === 'market') cells += bandCells;
    if (cells > PAGE_LIMITS.maxCells) return { stretches, nextFrom: t };
    if (stretch?.segment === segment && stretch.end === row) stretch.end++;
    else stretches.push((stretch = { segment, first: row, end: row + 1, t }));
  }
  return { stretches, nextFrom: nextT };
}
