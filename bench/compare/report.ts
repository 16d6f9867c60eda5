/** A comparison for people (a table) and for programs (JSON). */
import type { Revision } from '../machine.js';
import { aligned, figure } from '../report.js';
import type { CompareOptions } from './options.js';
import { changedCounters, faultsOf, grownCounters, hasOtherResult } from './outcome.js';
import type { ComparedCase, Comparison } from './run.js';

/** Changes with the layout of the JSON. */
const REPORT_VERSION = 1;
const COMMIT_CHARS = 8;

interface ComparedRevisions {
  base: Revision;
  head: Revision;
}

const COLUMNS = ['case', 'REV ms', 'this ms', 'ratio', 'interval', 'verdict'];
const LEFT = ['case', 'interval', 'verdict'];

const FOOTER =
  "ratio: this build's time divided by REV's, median over pairs of neighbouring turns; interval: bootstrap, so " +
  'wide that one wrong verdict among all cases is a matter of 1 run in 100. "same": no difference beyond the ' +
  'threshold was shown, which does not mean that there is none. The cases run in-process: what a client sees ' +
  'also depends on queues, sockets and other clients (npm run bench:http).';

/** The table, what it lacks and why, the verdict and the footer, as one text. */
export function tableOf(
  comparison: Comparison,
  revisions: ComparedRevisions,
  options: Pick<CompareOptions, 'allowOtherResults'>,
): string {
  const rows = comparison.cases.map((one) => [
    one.name,
    figure(one.baseMs),
    figure(one.headMs),
    one.ratio.toFixed(3),
    `${one.low.toFixed(3)} to ${one.high.toFixed(3)}`,
    verdictText(one),
  ]);
  return [
    headingOf(revisions),
    '',
    ...(rows.length > 0 ? [...aligned([COLUMNS, ...rows], LEFT), ''] : []),
    ...notesOf(comparison),
    verdictOf(comparison, options),
    FOOTER,
  ].join('\n');
}

function headingOf({ base, head }: ComparedRevisions): string {
  const isSame = base.commit === head.commit && !head.dirty;
  return `REV ${nameOf(base)}, this build ${nameOf(head)}${isSame ? ': the same sources' : ''}`;
}

const nameOf = ({ commit, dirty }: Revision): string =>
  `${commit.slice(0, COMMIT_CHARS)}${dirty ? ' and changes' : ''}`;

function verdictText(one: ComparedCase): string {
  const counters = changedCounters(one).map(
    ({ name, base, head }) => `${name} ${head > base ? 'grew' : 'fell'} from ${base} to ${head}`,
  );
  const result = hasOtherResult(one) ? ['other result'] : [];
  return [one.verdict, ...result, ...counters].join(', ');
}

/** What was not compared. */
function notesOf({ failed, gone, baseFailed, fresh }: Comparison): string[] {
  return [
    ...failed.map(({ what, reason }) => `${what}: this build fails at it (${reason})`),
    ...gone.map((name) => `${name}: this build no longer has it`),
    ...baseFailed.map(({ what, reason }) => `${what}: REV lacks it or fails at it (${reason})`),
    ...fresh.map((name) => `${name}: REV lacks it`),
  ];
}

function verdictOf(
  comparison: Comparison,
  options: Pick<CompareOptions, 'allowOtherResults'>,
): string {
  const faults = faultsOf(comparison, options);
  if (faults.length > 0) return `Failed: ${faults.join('; ')}.`;
  const { cases, gone } = comparison;
  const other = cases.filter(hasOtherResult).length;
  const allowed = [
    ...(other > 0 ? [`${other} with another result`] : []),
    ...(gone.length > 0 ? [`${gone.length} gone`] : []),
  ];
  const but = allowed.length > 0 ? ` (allowed: ${allowed.join(', ')})` : '';
  return `No regression in ${cases.length} cases${but}.`;
}

/** The JSON document: every figure of the table, plus the counters and hashes of both builds. */
export function documentOf(
  comparison: Comparison,
  { base, head }: ComparedRevisions,
  { turns, turnMs, threshold, allowOtherResults }: CompareOptions,
): object {
  const faults = faultsOf(comparison, { allowOtherResults });
  return {
    version: REPORT_VERSION,
    base,
    head,
    turns,
    turnMs,
    threshold,
    allowOtherResults,
    passed: faults.length === 0,
    faults,
    ...comparison,
    cases: comparison.cases.map((one) => ({
      ...one,
      grown: grownCounters(one).map(({ name }) => name),
      otherResult: hasOtherResult(one),
    })),
  };
}
