/** The flags of `npm run bench:crash`. */
import { readBenchFlags, wholeFlag } from '../flags.js';

export const USAGE = `npm run bench:crash -- [--kills N] [--seed S]
  --kills N   processes to kill; default 100
  --seed S    repeats the operations of an earlier run; what is killed when depends on the machine, too; default: another one`;

export interface CrashOptions {
  kills: number;
  seed: number;
}

/** @throws BenchUsageError */
export function readCrashOptions(words: readonly string[]): CrashOptions {
  const { values } = readBenchFlags(words, {
    options: { kills: { type: 'string', default: '100' }, seed: { type: 'string' } },
  });
  const drawn = String(Math.floor(Math.random() * 2 ** 32));
  return {
    kills: wholeFlag('--kills', values.kills, 1, 1_000_000),
    seed: wholeFlag('--seed', values.seed ?? drawn, 0, 2 ** 32 - 1),
  };
}
