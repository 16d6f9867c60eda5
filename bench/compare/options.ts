/** The comparison's flags. */
import path from 'node:path';
import { BenchUsageError } from '../errors.js';
import { namesFlag, readBenchFlags, wholeFlag } from '../flags.js';
import { LOADED_GROUPS, type LoadedGroupName } from '../groups.js';
import { DEFAULT_THRESHOLD, MIN_PAIRS } from './verdict.js';

export const USAGE = `npm run bench:compare -- REV [--only GROUP,GROUP] [--turns N] [--turn-ms N] [--threshold N] [--allow-other-results] [--own-benchmarks] [--json FILE]
  REV          a commit, a branch or a tag to compare this build with
  --only       groups: ${LOADED_GROUPS.join(', ')}
  --turns N    turns of each build at each case; default 21, at least ${MIN_PAIRS}
  --turn-ms N  milliseconds of a turn; default 60
  --threshold  percent by which a case must be slower, beyond doubt, to fail; default ${DEFAULT_THRESHOLD * 100}
  --allow-other-results
               a case whose result differs from REV's, or that this build no longer has, is reported but
               does not fail: for a change that intends this
  --own-benchmarks
               measures REV with its own benchmarks: for a change that moves what benchmarks import;
               cases are compared by name
  --json FILE  where the results go; default bench/results/compare.json
Exit status:
  0  cases were compared: none is slower, no counter grew, every result equals REV's
  1  a case is slower, a counter grew, a result differs, this build fails at a case or no longer has
     it, nothing was compared, REV does not build, or a build's process ended or hung
  2  wrong usage`;

const MAX_TURNS = 1000;
const MAX_TURN_MS = 10_000;
const MAX_THRESHOLD_PCT = 1000;

export interface CompareOptions {
  rev: string;
  groups: readonly LoadedGroupName[];
  turns: number;
  turnMs: number;
  /** Fraction: 0.05 is 5%. */
  threshold: number;
  allowOtherResults: boolean;
  ownBenchmarks: boolean;
  jsonFile: string;
}

/** @throws BenchUsageError */
export function readCompareOptions(words: readonly string[]): CompareOptions {
  const { values, positionals } = readBenchFlags(words, {
    allowPositionals: true,
    options: {
      only: { type: 'string' },
      turns: { type: 'string', default: '21' },
      'turn-ms': { type: 'string', default: '60' },
      threshold: { type: 'string', default: String(DEFAULT_THRESHOLD * 100) },
      'allow-other-results': { type: 'boolean', default: false },
      'own-benchmarks': { type: 'boolean', default: false },
      json: { type: 'string', default: path.join('bench', 'results', 'compare.json') },
    },
  });
  if (positionals.length !== 1) throw new BenchUsageError('expected one REV to compare with');
  const { only, turns, threshold, json } = values;
  return {
    rev: positionals[0],
    groups: namesFlag('--only', only, LOADED_GROUPS),
    turns: wholeFlag('--turns', turns, MIN_PAIRS, MAX_TURNS),
    turnMs: wholeFlag('--turn-ms', values['turn-ms'], 0, MAX_TURN_MS),
    threshold: wholeFlag('--threshold', threshold, 0, MAX_THRESHOLD_PCT) / 100,
    allowOtherResults: values['allow-other-results'],
    ownBenchmarks: values['own-benchmarks'],
    jsonFile: path.resolve(json),
  };
}
