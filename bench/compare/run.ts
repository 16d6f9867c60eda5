/** Takes turns at every case that both builds have, and judges what came of it. */
import type { LoadedGroupName } from '../groups.js';
import type { CompareOptions } from './options.js';
import type { LoadedCase } from './protocol.js';
import { SideProcess } from './side-process.js';
import {
  DEFAULT_ERROR_RATE,
  grownCounters,
  judgeTimes,
  median,
  type CounterChange,
  type PairedTurns,
  type RatioInterval,
  type TimeVerdict,
} from './verdict.js';

export interface ComparedCase extends RatioInterval {
  name: string;
  /** Median of the turns' medians, milliseconds. */
  baseMs: number;
  headMs: number;
  verdict: TimeVerdict;
  grown: CounterChange[];
  /** The builds' results differ: the times are those of different work. */
  otherResult: boolean;
}

export interface Comparison {
  cases: ComparedCase[];
  /** Groups and cases that only one of the builds has, and why. */
  skipped: string[];
}

/** A case with its turns. */
interface Measured {
  base: LoadedCase;
  head: LoadedCase;
  turns: { base: number[]; head: number[] };
}

/** @param tell gets the name of each group as it begins */
export async function compareBuilds(
  baseCommand: readonly string[],
  headCommand: readonly string[],
  { groups, turns, turnMs, threshold }: CompareOptions,
  tell: (group: LoadedGroupName) => void,
): Promise<Comparison> {
  const base = new SideProcess(baseCommand);
  const head = new SideProcess(headCommand);
  try {
    const measured: Measured[] = [];
    const skipped: string[] = [];
    for (const group of groups) {
      tell(group);
      const cases = await loadBoth(base, head, group, skipped);
      await takeTurns(base, head, cases, turns, turnMs);
      const slow = cases.filter(({ turns: taken }) => isSlower(taken, threshold, cases.length));
      // What looks slower is looked at again, for as long: chance does not strike twice.
      await takeTurns(base, head, slow, turns, turnMs);
      measured.push(...cases);
      for (const side of [base, head]) await side.ask({ kind: 'unload' });
    }
    const options = { threshold, errorRate: DEFAULT_ERROR_RATE, cases: measured.length };
    return { skipped, cases: measured.map((one) => comparedCase(one, options)) };
  } finally {
    await Promise.all([base.close(), head.close()]);
  }
}

async function loadBoth(
  base: SideProcess,
  head: SideProcess,
  group: string,
  skipped: string[],
): Promise<Measured[]> {
  const loaded: Map<string, LoadedCase>[] = [];
  for (const [side, name] of [[base, 'REV'] as const, [head, 'this build'] as const]) {
    const reply = await side.ask({ kind: 'load', group });
    if (reply.kind === 'lacks') skipped.push(`${group}: ${name} lacks it (${reply.reason})`);
    const cases = reply.kind === 'loaded' ? reply.cases : [];
    loaded.push(new Map(cases.map((one) => [one.name, one])));
  }
  const [ofBase, ofHead] = loaded;
  return Array.from(ofHead.values()).flatMap((one) => {
    const other = ofBase.get(one.name);
    if (other !== undefined) return [{ base: other, head: one, turns: { base: [], head: [] } }];
    if (ofBase.size > 0) skipped.push(`${one.name}: REV lacks it`);
    return [];
  });
}

async function takeTurns(
  base: SideProcess,
  head: SideProcess,
  cases: readonly Measured[],
  turns: number,
  turnMs: number,
): Promise<void> {
  for (let turn = 0; turn < turns; turn++) {
    for (const one of cases) {
      const order = [
        { side: base, times: one.turns.base },
        { side: head, times: one.turns.head },
      ];
      // Who goes first changes from turn to turn.
      if (turn % 2 === 1) order.reverse();
      for (const { side, times } of order) {
        const reply = await side.ask({ kind: 'turn', name: one.head.name, turnMs });
        if (reply.kind === 'turn') times.push(reply.medianMs);
      }
    }
  }
}

function isSlower(turns: PairedTurns, threshold: number, cases: number): boolean {
  const { verdict } = judgeTimes(turns, { threshold, errorRate: DEFAULT_ERROR_RATE, cases });
  return verdict === 'slower';
}

function comparedCase(
  { base, head, turns }: Measured,
  options: Parameters<typeof judgeTimes>[1],
): ComparedCase {
  return {
    name: head.name,
    baseMs: median(Float64Array.from(turns.base)),
    headMs: median(Float64Array.from(turns.head)),
    ...judgeTimes(turns, options),
    grown: grownCounters(base.counters, head.counters),
    otherResult: base.hash !== head.hash,
  };
}

/** What makes the comparison fail. */
export function regressions({ cases }: Comparison): ComparedCase[] {
  return cases.filter(({ verdict, grown }) => verdict === 'slower' || grown.length > 0);
}
