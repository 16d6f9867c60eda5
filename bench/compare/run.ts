/** Takes turns at every case that both builds have, and judges the times. */
import { median } from '../case.js';
import type { LoadedGroupName } from '../groups.js';
import type { CompareOptions } from './options.js';
import type { LoadedCase, SideFailure } from './protocol.js';
import { SideError, SideProcess } from './side-process.js';
import {
  DEFAULT_ERROR_RATE,
  judgeTimes,
  type PairedTurns,
  type RatioInterval,
  type TimeVerdict,
} from './verdict.js';

/** A figure for both builds. */
interface Both<T> {
  base: T;
  head: T;
}

export interface ComparedCase extends RatioInterval {
  name: string;
  /** Median of the turns' medians, milliseconds. */
  baseMs: number;
  headMs: number;
  verdict: TimeVerdict;
  /** Counters that both builds have. */
  counters: Record<string, Both<number>>;
  /** If they differ, the times are of different work. */
  hash: Both<string>;
}

export interface Comparison {
  cases: ComparedCase[];
  /** Groups and cases that this build fails to load or run, whether or not REV does. */
  failed: SideFailure[];
  /** Cases that REV has and this build lacks. */
  gone: string[];
  /** Groups and cases that REV fails at, usually because it is older than they are. */
  baseFailed: SideFailure[];
  /** Cases that only this build has. */
  fresh: string[];
}

/** A case with its turns. */
interface Measured {
  base: LoadedCase;
  head: LoadedCase;
  turns: { base: number[]; head: number[] };
}

/** One build's cases of a group, by name. */
interface LoadedSide {
  whole: boolean;
  cases: ReadonlyMap<string, LoadedCase>;
}

type Effort = Pick<CompareOptions, 'groups' | 'turns' | 'turnMs' | 'threshold'>;

/**
 * @param onGroup called with the name of each group as it begins
 * @throws BenchFailure if a build's process ends or hangs
 */
export async function compareBuilds(
  baseCommand: readonly string[],
  headCommand: readonly string[],
  effort: Effort,
  onGroup: (group: LoadedGroupName) => void,
): Promise<Comparison> {
  const base = new SideProcess('REV', baseCommand);
  const head = new SideProcess('this build', headCommand);
  try {
    return await new Comparing(base, head, effort).compare(onGroup);
  } finally {
    await Promise.all([base.close(), head.close()]);
  }
}

class Comparing {
  private readonly found: Omit<Comparison, 'cases'> = {
    failed: [],
    gone: [],
    baseFailed: [],
    fresh: [],
  };

  constructor(
    private readonly base: SideProcess,
    private readonly head: SideProcess,
    private readonly effort: Effort,
  ) {}

  async compare(onGroup: (group: LoadedGroupName) => void): Promise<Comparison> {
    const measured: Measured[] = [];
    for (const group of this.effort.groups) {
      onGroup(group);
      measured.push(...(await this.measure(group)));
    }
    const { threshold } = this.effort;
    const options = { threshold, errorRate: DEFAULT_ERROR_RATE, cases: measured.length };
    return { cases: measured.map((one) => comparedCase(one, options)), ...this.found };
  }

  private async measure(group: LoadedGroupName): Promise<Measured[]> {
    const loaded = await this.loadBoth(group);
    let cases = await this.takeTurns(loaded);
    const slow = cases.filter(({ turns }) => isSlower(turns, this.effort.threshold, cases.length));
    // Cases that look slower get as many turns again: by chance alone, a case rarely looks slower twice.
    const unfailed = await this.takeTurns(slow);
    cases = await this.lastResults(
      cases.filter((one) => !slow.includes(one) || unfailed.includes(one)),
    );
    await this.try(this.base, `${group}, its end`, () => this.base.ask({ kind: 'unload' }));
    await this.try(this.head, `${group}, its end`, () => this.head.ask({ kind: 'unload' }));
    return cases;
  }

  private async loadBoth(group: LoadedGroupName): Promise<Measured[]> {
    const ofBase = await this.load(this.base, group);
    const ofHead = await this.load(this.head, group);
    const { failed, gone, baseFailed, fresh } = this.found;
    const cases: Measured[] = [];
    for (const [name, head] of ofHead.cases) {
      const base = ofBase.cases.get(name);
      if (base !== undefined) cases.push({ base, head, turns: { base: [], head: [] } });
    }
    gone.push(...missing(ofBase, ofHead, failed));
    fresh.push(...missing(ofHead, ofBase, baseFailed));
    return cases;
  }

  private async load(side: SideProcess, group: LoadedGroupName): Promise<LoadedSide> {
    const reply = await this.try(side, group, () => side.ask({ kind: 'load', group }));
    if (reply === null) return { whole: false, cases: new Map() };
    const { whole, cases, failures } = reply;
    this.failuresOf(side).push(...failures);
    return { whole, cases: new Map(cases.map((one) => [one.name, one])) };
  }

  /** @returns the cases in which no build failed */
  private async takeTurns(cases: readonly Measured[]): Promise<Measured[]> {
    const { turns, turnMs } = this.effort;
    let left = [...cases];
    for (let turn = 0; turn < turns; turn++) {
      const unfailed: Measured[] = [];
      for (const one of left) if (await this.takeTurn(one, turn, turnMs)) unfailed.push(one);
      left = unfailed;
    }
    return left;
  }

  private async takeTurn(one: Measured, turn: number, turnMs: number): Promise<boolean> {
    const { name } = one.head;
    const order = [
      { side: this.base, times: one.turns.base },
      { side: this.head, times: one.turns.head },
    ];
    // The builds take turns in going first.
    if (turn % 2 === 1) order.reverse();
    for (const { side, times } of order) {
      const reply = await this.try(side, name, () => side.ask({ kind: 'turn', name, turnMs }));
      if (reply === null) return false;
      times.push(reply.medianMs);
    }
    return true;
  }

  /** The cases whose results are still the same as at first. */
  private async lastResults(cases: readonly Measured[]): Promise<Measured[]> {
    const steady: Measured[] = [];
    for (const one of cases) {
      const base = await this.isSteady(this.base, one.base);
      const head = await this.isSteady(this.head, one.head);
      if (base && head) steady.push(one);
    }
    return steady;
  }

  private async isSteady(side: SideProcess, { name, hash }: LoadedCase): Promise<boolean> {
    const reply = await this.try(side, name, () => side.ask({ kind: 'hash', name }));
    if (reply === null) return false;
    if (reply.hash === hash) return true;
    this.failuresOf(side).push({ what: name, reason: `gave ${hash}, then ${reply.hash}` });
    return false;
  }

  /** @returns null if the build failed, which is recorded */
  private async try<T>(side: SideProcess, what: string, ask: () => Promise<T>): Promise<T | null> {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof SideError)) throw error;
      this.failuresOf(side).push({ what, reason: error.message });
      return null;
    }
  }

  private failuresOf(side: SideProcess): SideFailure[] {
    return side === this.base ? this.found.baseFailed : this.found.failed;
  }
}

/**
 * The cases of one build that the other lacks, except those that failed or whose group failed: these are reported as
 * failures.
 */
function missing(one: LoadedSide, other: LoadedSide, failures: readonly SideFailure[]): string[] {
  if (!other.whole) return [];
  return Array.from(one.cases.keys()).filter(
    (name) => !other.cases.has(name) && !failures.some(({ what }) => what === name),
  );
}

function isSlower(turns: PairedTurns, threshold: number, cases: number): boolean {
  const { verdict } = judgeTimes(turns, { threshold, errorRate: DEFAULT_ERROR_RATE, cases });
  return verdict === 'slower';
}

function comparedCase(
  { base, head, turns }: Measured,
  options: Parameters<typeof judgeTimes>[1],
): ComparedCase {
  const shared = Object.keys(head.counters).filter((name) => name in base.counters);
  return {
    name: head.name,
    baseMs: median(turns.base),
    headMs: median(turns.head),
    ...judgeTimes(turns, options),
    counters: Object.fromEntries(
      shared.map((name) => [name, { base: base.counters[name], head: head.counters[name] }]),
    ),
    hash: { base: base.hash, head: head.hash },
  };
}
