/** Kills single processes and runs rounds of rivals, until enough were killed or a violation is found. */
import { renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { seededRandom } from '../../bench/random.js';
import { temporaryFolder } from '../../bench/folder.js';
import { openStore } from '../../bench/store.js';
import { DATABASE_FILE } from '../../storage/data-directory.js';
import { Operations } from '../walk/operations.js';
import { KEY } from '../walk/perform.js';
import { killAlone } from './alone.js';
import { holdsLock } from './locks.js';
import type { CrashOptions } from './options.js';
import { rivalRound } from './rivals.js';
import { State, type Violation, ViolationError } from './state.js';

const KEYS = 40;
/** The share of rounds of rivals; each has some ten kills, the others one. */
const RIVALS_SHARE = 0.3;
/** Of a process that is killed alone. */
const HABITS = {
  shares: {
    ingest: 68,
    replace: 4,
    merge: 8,
    delete: 3,
    prune: 5,
    create: 2,
    revoke: 4,
    rotate: 2,
    backup: 4,
  },
};
const SAY_EVERY_KILLS = 100;
const MINUTE_MS = 60_000;

interface Outcome {
  kills: number;
  acknowledged: number;
  violation: Violation | null;
}

/**
 * @param say called with lines of progress and the summary
 * @throws Error for a fault of the harness
 */
export async function runKills(
  { kills, seed, minutes }: CrashOptions,
  say: (line: string) => void,
): Promise<Outcome> {
  const folder = temporaryFolder('fathom-crash-');
  const random = seededRandom(seed);
  const state = new State(folder.path, new Operations(folder.path, random, HABITS), random);
  const startMs = performance.now();
  const progress = (): string => {
    const seconds = (performance.now() - startMs) / 1000;
    const rate = (state.kills / seconds).toFixed(1);
    return `${state.kills} kills in ${seconds.toFixed(0)} s (${rate}/s), ${state.acknowledged} acknowledged, seed ${seed}`;
  };
  let violation: Violation | null = null;
  let round = 0;
  try {
    await prepare(state, say);
    for (let next = SAY_EVERY_KILLS; state.kills < kills; round++) {
      if (performance.now() - startMs >= minutes * MINUTE_MS) break;
      if (random() < RIVALS_SHARE) await rivalRound(state, round);
      else await killAlone(state);
      if (state.kills < next) continue;
      say(progress());
      next = (Math.floor(state.kills / SAY_EVERY_KILLS) + 1) * SAY_EVERY_KILLS;
    }
    await folder.remove();
  } catch (error) {
    const kept = `${folder.path}-kept`;
    renameSync(folder.path, kept);
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    writeFileSync(path.join(kept, 'violation.txt'), `${progress()}\nround ${round}\n${text}\n`);
    say(`round ${round}, after ${progress()}; kept in ${kept}: ${text}`);
    if (!(error instanceof ViolationError)) throw error;
    violation = error.kind;
  }
  for (const [what, count] of [...state.counts].sort()) say(`  ${what}: ${count}`);
  say(progress());
  say(summaryOf(state, violation));
  return { kills: state.kills, acknowledged: state.acknowledged, violation };
}

function summaryOf(state: State, violation: Violation | null): string {
  const found = (kind: Violation): number => (kind === violation ? 1 : 0);
  return `${state.kills} kills, ${state.acknowledged} files acknowledged, ${found('lost')} lost, ${found('partial')} partial, ${found('refused')} refused, ${found('unlocked')} unlocked`;
}

async function prepare(state: State, say: (line: string) => void): Promise<void> {
  const store = await openStore(state.directory);
  for (let i = 0; i < KEYS; i++) {
    state.keys.push((await store.createKey(KEY)).id);
  }
  if (holdsLock(process.pid, path.join(state.directory, DATABASE_FILE)) !== true) {
    say('this system has no /proc/locks: the locks of servers are not checked');
  }
  await store.close();
}
