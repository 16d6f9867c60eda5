/** Whether a comparison passes, and if not, why. */
import type { ComparedCase, Comparison } from './run.js';

/** A counter of a case whose value changed. */
interface CounterChange {
  name: string;
  base: number;
  head: number;
}

/** The counters that grew, even by one: they do not depend on the machine. */
export function grownCounters({ counters }: Pick<ComparedCase, 'counters'>): CounterChange[] {
  return changedCounters({ counters }).filter(({ base, head }) => head > base);
}

export function changedCounters({ counters }: Pick<ComparedCase, 'counters'>): CounterChange[] {
  return Object.entries(counters)
    .filter(([, { base, head }]) => head !== base)
    .map(([name, both]) => ({ name, ...both }));
}

export const hasOtherResult = ({ hash }: Pick<ComparedCase, 'hash'>): boolean =>
  hash.base !== hash.head;

/**
 * Why the comparison fails, one reason per line; empty if it passes.
 * @param allowOtherResults whether to accept different results and missing cases
 */
export function faultsOf(
  { cases, failed, gone }: Comparison,
  { allowOtherResults }: { allowOtherResults: boolean },
): string[] {
  const slower = cases.filter(({ verdict }) => verdict === 'slower');
  const grown = cases.filter((one) => grownCounters(one).length > 0);
  const other = allowOtherResults ? [] : cases.filter(hasOtherResult);
  const lost = allowOtherResults ? [] : gone;
  const counted: [number, string][] = [
    [slower.length, 'slower'],
    [grown.length, 'with a counter that grew'],
    [other.length, 'with another result'],
  ];
  return [
    ...counted
      .filter(([count]) => count > 0)
      .map(([count, what]) => `${count} of ${cases.length} cases ${what}`),
    ...(failed.length > 0 ? [`this build fails at ${failed.length} groups or cases`] : []),
    ...(lost.length > 0 ? [`this build no longer has ${lost.length} cases`] : []),
    ...(cases.length === 0 ? ['nothing was compared'] : []),
  ];
}
