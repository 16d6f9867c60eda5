/**
 * A round of rivals: servers and commands that compete for one directory. At random moments, even during their start, they
 * are killed, or stopped for a while and then continued or killed. In the end all are dead; the store must have everything
 * acknowledged, and every other operation as a whole or not at all.
 */
import { existsSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { seededRandom } from '../../bench/random.js';
import { DATABASE_FILE } from '../../storage/data-directory.js';
import { afterRetention } from '../walk/model.js';
import { SLOTS_BEHIND_RETENTION, TOKENS } from '../walk/times.js';
import { type Act, explain } from './history.js';
import { isLockFree } from './locks.js';
import { type Course, type Share, sharesOf } from './rival-operations.js';
import { Rival } from './rival.js';
import { contentsAt, contentsOfCopy, type State, ViolationError } from './state.js';
import { tamperWithWal, walIn } from './tampers.js';

const LEAST_SLOTS = 3;
const MOST_SLOTS = 5;
/** Processes of a slot, one after the other. */
const LEAST_LIVES = 3;
const MOST_LIVES = 5;
const SERVER_SHARE = 0.25;
/** Shares of the rounds: in a directory without a store; with retention. */
const FRESH_SHARE = 0.12;
const RETENTION_SHARE = 0.1;
/** Share of the rounds after which the WAL is tampered with. */
const TAMPER_SHARE = 0.5;
const PROBE_EVERY_MS = 20;
/** Files that a listening server keeps locked. */
const LOCKED_FILES = ['fathom.lock', DATABASE_FILE];
const SHOWN_FAULTS = 5;

/** @throws ViolationError */
export async function rivalRound(state: State, round: number): Promise<void> {
  await new Round(state, round).run();
  state.operations.removeFiles();
}

class Round {
  private readonly directory: string;
  private readonly course: Course;
  private readonly retiringBeforeS: number | null;
  private readonly isFresh: boolean;
  private readonly acts: Act[] = [];
  private readonly alive = new Set<Rival>();
  private violation: Error | null = null;

  constructor(
    private readonly state: State,
    round: number,
  ) {
    const drawn = state.random();
    this.isFresh = drawn < FRESH_SHARE;
    const retires = !this.isFresh && drawn > 1 - RETENTION_SHARE;
    this.retiringBeforeS = retires ? state.operations.retentionLimit() : null;
    this.directory = this.isFresh ? path.join(state.folder, `fresh-${round}`) : state.directory;
    this.course = { hasStore: !this.isFresh, firstSlot: retires ? SLOTS_BEHIND_RETENTION : 0 };
  }

  async run(): Promise<void> {
    const { random } = this.state;
    const older = walIn(this.directory);
    const slots = LEAST_SLOTS + Math.floor(random() * (MOST_SLOTS - LEAST_SLOTS + 1));
    const deletes = this.retiringBeforeS === null && !this.isFresh;
    const shares = sharesOf(this.isFresh ? [] : this.state.keys, slots, deletes);
    const probing = setInterval(() => this.probe(), PROBE_EVERY_MS);
    try {
      // Each slot has separate random numbers: the order of the slots depends on the machine.
      await Promise.all(
        shares.map((share, i) => this.slot(i, share, seededRandom(Math.floor(random() * 2 ** 32)))),
      );
    } finally {
      clearInterval(probing);
      await Promise.all(Array.from(this.alive, (rival) => rival.end()));
    }
    if (this.violation !== null) throw this.violation;
    const how = random() < TAMPER_SHARE ? tamperWithWal(this.directory, older, random) : null;
    if (how !== null) this.state.count(`WAL ${how}, after rivals`);
    await this.compare();
  }

  /** Runs processes in sequence; the first slot's are all servers. */
  private async slot(index: number, share: Share, random: () => number): Promise<void> {
    const lives = LEAST_LIVES + Math.floor(random() * (MOST_LIVES - LEAST_LIVES + 1));
    await sleep(random() * 50);
    for (let life = 0; life < lives && this.violation === null; life++) {
      const isServer = index === 0 || random() < SERVER_SHARE;
      const rival = isServer
        ? Rival.server(this.state, this.directory, this.retiringBeforeS, random)
        : Rival.commands(this.state, this.directory, this.course, share, random);
      this.alive.add(rival);
      try {
        await rival.live();
        // Kills of others do not excuse it.
        const fault = rival.fault();
        if (fault !== null) throw new ViolationError('refused', fault);
      } catch (error) {
        this.violation ??= error instanceof Error ? error : new Error(String(error));
      } finally {
        this.alive.delete(rival);
        this.acts.push(...rival.acts());
      }
    }
  }

  /** Checks from outside that each listening server holds the locks on its store. */
  private probe(): void {
    for (const rival of this.alive) {
      if (!rival.listens || this.violation !== null) continue;
      this.state.count('lock checks');
      const free = LOCKED_FILES.find(
        (name) => isLockFree(rival.pid, path.join(this.directory, name)) && rival.listens,
      );
      // It may have ended by itself, which is reported elsewhere.
      if (free === undefined || !existsSync(`/proc/${rival.pid}/exe`)) continue;
      this.violation = new ViolationError(
        'unlocked',
        `a server that listens does not hold the lock on ${free}: ${rival.describe()}`,
      );
    }
  }

  private async compare(): Promise<void> {
    const { state } = this;
    const found = await contentsOfCopy(this.directory);
    let base = this.isFresh ? new Map<string, string>() : state.rows;
    if (this.retiringBeforeS !== null) {
      // The round's other operations do not touch data that old.
      base = afterRetention(base, TOKENS, this.retiringBeforeS, found.rows);
    }
    const { faults, isPartial, whole, absent } = explain(base, this.acts, found.rows);
    if (faults.length > 0) throw this.wrong(isPartial, 'the store', faults);
    await this.compareBackups();
    state.count('rounds');
    for (let i = 0; i < whole; i++) state.count('cut short, whole');
    for (let i = 0; i < absent; i++) state.count('cut short, absent');
    state.acknowledged += this.acts.filter(({ end }) => end !== Infinity).length;
    if (this.isFresh) rmSync(this.directory, { recursive: true });
    else {
      state.rows = found.rows;
      state.keys = found.keys;
    }
  }

  /** Each backup holds everything acknowledged before it began, and nothing that began after its end. */
  private async compareBackups(): Promise<void> {
    for (const { operation, begin, end } of this.acts) {
      if (operation.kind !== 'backup') continue;
      const { out } = operation;
      if (existsSync(path.join(out, DATABASE_FILE)) && this.retiringBeforeS === null) {
        const before = this.acts
          .filter((act) => act.begin < end)
          .map((act) => (act.end < begin ? act : { ...act, end: Infinity }));
        const { rows } = await contentsAt(out);
        const { faults } = explain(this.state.rows, before, rows);
        if (faults.length > 0) throw this.wrong(true, `the copy ${out}`, faults);
      } else if (end !== Infinity && !existsSync(path.join(out, DATABASE_FILE))) {
        throw this.wrong(true, `the copy ${out}`, ['it is not there']);
      }
      rmSync(out, { recursive: true, force: true });
    }
  }

  private wrong(isPartial: boolean, what: string, faults: readonly string[]): ViolationError {
    const shown = faults.slice(0, SHOWN_FAULTS).join('\n  ');
    const acts = this.acts.map(
      ({ operation, begin, end }) => `${operation.number} ${operation.kind} ${begin} ${end}`,
    );
    return new ViolationError(
      isPartial ? 'partial' : 'lost',
      `${what} holds ${faults.length} rows that cannot be:\n  ${shown}\n  operations (number, kind, begin and end in µs):\n  ${acts.join('\n  ')}`,
    );
  }
}
