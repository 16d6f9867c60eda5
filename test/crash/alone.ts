/**
 * Kills one process at a time. Each kill begins with the store left by the last one, performs some operations until they
 * are acknowledged, and kills a process in the middle of another one. Then it compares the store with what was
 * acknowledged: the interrupted operation must be there as a whole or not at all.
 */
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectToServer } from '../../storage/control.js';
import { DATABASE_FILE } from '../../storage/data-directory.js';
import type { UseStore } from '../../storage/operations.js';
import {
  after,
  afterRetention,
  differences,
  differing,
  effectOn,
  type Operation,
} from '../walk/model.js';
import { ONE_THREAD } from '../walk/one-thread.js';
import { perform } from '../walk/perform.js';
import { TOKENS } from '../walk/times.js';
import { contentsAt, contentsOfCopy, type State, ViolationError } from './state.js';
import { tamperWithWal, walIn } from './tampers.js';
import { COLLECTING, MAIN, Victim, VICTIM } from './victims.js';

/** The processes to kill, and their shares of the kills. */
const PHASES = {
  'the process that has the store': 0.45,
  'fathom serve': 0.08,
  'a command beside that process': 0.1,
  'a command alone': 0.27,
  retention: 0.1,
} as const;
type Phase = keyof typeof PHASES;
/** A kill comes within this multiple of the operation's usual time. */
const LATEST_KILL = 1.3;
const GUESS_MS = 200;
const MOST_ACKNOWLEDGED = 4;
const TAMPER_SHARE = 0.6;
const SHOWN_DIFFERENCES = 5;

/** Kills one process, and compares. @throws ViolationError */
export async function killAlone(state: State): Promise<void> {
  const kill = new Kill(state);
  await kill.run();
  await kill.compare();
  state.operations.removeFiles();
}

class Kill {
  private readonly phase: Phase;
  private readonly directory: string;
  /** The WAL before this kill. */
  private readonly older: Buffer;
  /** The interrupted operation. */
  private pending: Operation | null = null;
  /** Retention was removing raw depth before this time, and may have removed part of it. */
  private retiringBeforeS: number | null = null;

  constructor(private readonly state: State) {
    this.phase = drawPhase(state.random);
    this.directory = state.directory;
    this.older = walIn(this.directory);
  }

  async run(): Promise<void> {
    switch (this.phase) {
      case 'the process that has the store':
      case 'fathom serve':
        await this.killHolder(false);
        break;
      case 'a command beside that process':
        await this.killHolder(true);
        break;
      case 'a command alone':
        await this.commandKilled(this.nextOperation());
        break;
      case 'retention':
        await this.killRetention();
        break;
    }
    this.state.killed(`${this.phase}, alone`);
    const { random } = this.state;
    if (random() >= TAMPER_SHARE) return;
    const how = tamperWithWal(this.directory, this.older, random);
    if (how !== null) this.state.count(`WAL ${how}`);
  }

  /** @throws ViolationError */
  async compare(): Promise<void> {
    const { state, pending, retiringBeforeS } = this;
    const { rows: found } = await contentsOfCopy(this.directory);
    if (retiringBeforeS !== null) {
      // Accepts its current progress; the next comparison shows whether that lasts.
      const reached = afterRetention(state.rows, TOKENS, retiringBeforeS, found);
      this.count(differences(reached, state.rows).length > 0);
      state.rows = reached;
    }
    if (differences(state.rows, found).length === 0) {
      if (pending !== null) this.count(false);
      if (pending?.kind === 'backup') await this.compareBackup(pending.out);
      return;
    }
    const wanted = pending === null ? state.rows : after(state.rows, pending);
    const wrong = differing(wanted, found);
    if (wrong.length === 0) {
      this.count(true);
      this.take(pending as Operation);
      return;
    }
    const isPartial =
      pending !== null && wrong.every((name) => effectOn(name, pending) !== undefined);
    throw new ViolationError(
      isPartial ? 'partial' : 'lost',
      `${this.phase}: ${pending?.kind ?? 'nothing'} in work, ${wrongRows(differences(wanted, found))}`,
    );
  }

  /**
   * Performs operations through a process that holds the store, and kills it; with `besideFirst` after a command that runs
   * beside it.
   */
  private async killHolder(besideFirst: boolean): Promise<void> {
    const { random } = this.state;
    const claimant = await this.claimant();
    const useStore: UseStore = async (body) => {
      const store = await connectToServer(this.directory);
      if (store === null) throw new Error('the process that held the store is gone');
      return body(store).finally(() => store.close());
    };
    const acknowledged = Math.floor(random() * (MOST_ACKNOWLEDGED + 1));
    for (let i = 0; i < acknowledged; i++) {
      const operation = this.nextOperation();
      const startMs = performance.now();
      await perform(operation, this.directory, ONE_THREAD, useStore);
      this.state.took(operation.kind, performance.now() - startMs);
      await this.acknowledge(operation);
    }
    const operation = this.nextOperation();
    if (besideFirst) {
      await this.commandKilled(operation);
      await sleep(random() * 50);
      await claimant.kill();
      return;
    }
    this.pending = operation;
    const performing = perform(operation, this.directory, ONE_THREAD, useStore).then(
      () => true,
      () => false,
    );
    await sleep(random() * LATEST_KILL * this.state.usual(operation.kind, 100));
    await claimant.kill();
    if (await performing) await this.acknowledge(operation);
  }

  private async commandKilled(operation: Operation): Promise<void> {
    this.pending = operation;
    const file = path.join(this.state.folder, 'orders.json');
    writeFileSync(file, JSON.stringify([{ ...operation, brings: undefined }]));
    const command = Victim.start([COLLECTING, VICTIM, 'commands', this.directory, file]);
    await command.line(/^begin /);
    const done = command.sees(/^done /);
    // The store may still be closing.
    if (await this.cut('command', done)) await sleep(this.state.random() * 20);
    await command.kill();
    if (await done) await this.acknowledge(operation);
    else if (command.has(/^failed /)) throw new ViolationError('refused', command.describe());
  }

  private async killRetention(): Promise<void> {
    const beforeS = this.state.operations.retentionLimit();
    this.retiringBeforeS = beforeS;
    const words = [VICTIM, 'hold', this.directory, String(beforeS)];
    const claimant = Victim.start([COLLECTING, ...words]);
    await claimant.line(/^ready$/);
    const done = claimant.sees(/^retained$/);
    await this.cut('retention', done);
    await claimant.kill();
    if (!(await done)) return;
    this.state.rows = afterRetention(this.state.rows, TOKENS, beforeS);
    this.retiringBeforeS = null;
  }

  /** Waits for a random part of a step's usual time. @returns whether the step was done first */
  private async cut(step: string, done: Promise<boolean>): Promise<boolean> {
    const { state } = this;
    const startMs = performance.now();
    const latestMs = LATEST_KILL * state.usual(step, GUESS_MS);
    const isDone = await Promise.race([done, sleep(state.random() * latestMs, false)]);
    if (isDone) state.took(step, performance.now() - startMs);
    else state.tookLonger(step, GUESS_MS);
    return isDone;
  }

  private async claimant(): Promise<Victim> {
    const words =
      this.phase === 'fathom serve'
        ? [MAIN, 'serve', '--data', this.directory, '--port', '0', '--threads', '1']
        : [VICTIM, 'hold', this.directory];
    const claimant = Victim.start([COLLECTING, ...words]);
    if (!(await claimant.sees(/^ready$|listening/))) {
      throw new ViolationError('refused', `a start alone: ${claimant.describe()}`);
    }
    return claimant;
  }

  private nextOperation(): Operation {
    return this.state.operations.next(this.state);
  }

  private async acknowledge(operation: Operation): Promise<void> {
    this.state.acknowledged++;
    this.take(operation);
    this.pending = null;
    if (operation.kind === 'backup') await this.compareBackup(operation.out);
  }

  private take(operation: Operation): void {
    const { state } = this;
    state.rows = after(state.rows, operation);
    if (operation.kind === 'revoke') state.keys = state.keys.filter((id) => id !== operation.id);
  }

  /** @throws ViolationError if a backup whose database has its final name is wrong */
  private async compareBackup(out: string): Promise<void> {
    if (existsSync(path.join(out, DATABASE_FILE))) {
      const wrong = differences(this.state.rows, (await contentsAt(out)).rows);
      if (wrong.length > 0) throw new ViolationError('partial', `a backup: ${wrongRows(wrong)}`);
    }
    rmSync(out, { recursive: true, force: true });
  }

  private count(isWhole: boolean): void {
    this.state.count(isWhole ? 'cut short, whole' : 'cut short, absent');
  }
}

const wrongRows = (wrong: readonly string[]): string =>
  `${wrong.length} rows are wrong: ${wrong.slice(0, SHOWN_DIFFERENCES).join('; ')}`;

function drawPhase(random: () => number): Phase {
  let share = random();
  for (const [phase, own] of Object.entries(PHASES) as [Phase, number][]) {
    share -= own;
    if (share < 0) return phase;
  }
  return 'the process that has the store';
}
