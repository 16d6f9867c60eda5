/** The flags of `npm run test:crash`. */
import { readBenchFlags, wholeFlag } from '../../bench/flags.js';

export const USAGE = `npm run test:crash -- [--kills N] [--seed S] [--minutes M]
  --kills N    processes to kill; default 100
  --seed S     repeats the operations of an earlier run; the moments of the kills also depend on the machine; default: random
  --minutes M  ends after this time, even with fewer kills; default 240`;

export interface CrashOptions {
  kills: number;
  seed: number;
  minutes: number;
}

/** @throws BenchUsageError */
export function readCrashOptions(words: readonly string[]): CrashOptions {
  const { values } = readBenchFlags(words, {
    options: {
      kills: { type: 'string', default: '100' },
      seed: { type: 'string' },
      minutes: { type: 'string', default: '240' },
    },
  });
  const drawn = String(Math.floor(Math.random() * 2 ** 32));
  return {
    kills: wholeFlag('--kills', values.kills, 1, 1_000_000),
    seed: wholeFlag('--seed', values.seed ?? drawn, 0, 2 ** 32 - 1),
    minutes: wholeFlag('--minutes', values.minutes, 1, 10_000),
  };
}
