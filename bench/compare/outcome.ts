/** What two builds' runs of `npm run bench` say of each other. */
import type { CaseResult } from '../case.js';
import { aligned, figure } from '../report.js';

/** A case's figures by its name, as a run of `npm run bench` writes them. */
export type Cases = Record<string, Omit<CaseResult, 'name'>>;

/** What one build found of a case. */
interface Side {
  ms: number;
  hash: string;
  bytes: number | null;
}

export interface ComparedCase {
  name: string;
  /** null if the build lacks the case. */
  base: Side | null;
  head: Side | null;
}

export function comparedCases(base: readonly Cases[], head: readonly Cases[]): ComparedCase[] {
  const names = new Set([...base, ...head].flatMap((cases) => Object.keys(cases)));
  return [...names].map((name) => ({
    name,
    base: sideOf(base, name),
    head: sideOf(head, name),
  }));
}

function sideOf(runs: readonly Cases[], name: string): Side | null {
  const all = runs.flatMap((cases) => cases[name] ?? []);
  if (all.length === 0) return null;
  const [{ hash, extra }] = all;
  const ms = Math.min(...all.map((one) => one.extra.cpuMs ?? one.p50Ms));
  return { ms, hash, bytes: extra.bytes ?? null };
}

/** Why the comparison fails, one reason each; empty if it passes. */
export function faultsOf(compared: readonly ComparedCase[]): string[] {
  const gone = compared.filter(({ head }) => head === null).map(({ name }) => name);
  const other = compared.filter(isOther).map(({ name }) => name);
  return [
    ...(gone.length === 0 ? [] : [`this build no longer has ${gone.join(', ')}`]),
    ...(other.length === 0 ? [] : [`another result of ${other.join(', ')}`]),
    ...(compared.some(({ base, head }) => base !== null && head !== null)
      ? []
      : ['the builds have no case in common']),
  ];
}

const isOther = ({ base, head }: ComparedCase): boolean =>
  base !== null && head !== null && base.hash !== head.hash;

export function tableOf(compared: readonly ComparedCase[]): string[] {
  const rows = compared.map((one) => {
    const { name, base, head } = one;
    const ms = [base, head].map((side) => (side === null ? '' : figure(side.ms)));
    if (base === null || head === null) {
      return [name, ...ms, '', base === null ? 'REV lacks it' : 'this build lacks it'];
    }
    const isSize = base.bytes !== head.bytes;
    const notes = [
      ...(isOther(one) ? ['another result'] : []),
      ...(isSize ? [`${figure(base.bytes ?? NaN)} to ${figure(head.bytes ?? NaN)} bytes`] : []),
    ];
    return [name, ...ms, (head.ms / base.ms).toFixed(3), notes.join(', ')];
  });
  return aligned([['case', 'REV ms', 'this ms', 'ratio', ''], ...rows], ['case', '']);
}
