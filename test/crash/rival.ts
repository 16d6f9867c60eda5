/** One process among rivals: its work, when it is stopped and killed, and how it may end. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { LOCK_WAIT_MS } from '../../storage/access.js';
import type { Operation } from '../walk/model.js';
import { wordsOf } from '../walk/perform.js';
import type { Act } from './history.js';
import { type Course, rivalOperation, type Share } from './rival-operations.js';
import type { State } from './state.js';
import { COLLECTING, MAIN, Victim, VICTIM } from './victims.js';

/** Shares of the processes. */
const REAL_SERVER_SHARE = 0.1;
const REAL_COMMAND_SHARE = 0.15;
/** The share of the processes that collect garbage early. */
const COLLECTING_SHARE = 0.6;
/** Shares of the kills that come before the store is opened, and while a server opens it. */
const EARLY_SHARE = 0.05;
const OPENING_SHARE = 0.4;
const STOPPED_SHARE = 0.2;
const CONTINUED_SHARE = 0.5;
const MOST_OPERATIONS = 8;
/** A listening server is killed, and a stopped process continued, within the time of this many operations. */
const SERVING_OPERATIONS = 6;
const STOPPED_OPERATIONS = 2;
const LATEST_KILL = 1.3;
const GUESS_MS = 200;

/** What a command may report when its server goes away. */
const SERVER_GONE = /the server (went away before it answered|did not give its version)/;
/** The first start was killed, and nobody has opened the store for writing since. */
const EMPTY = /is empty: a start on it was interrupted/;
const IN_USE = /is in use by another Fathom process/;
const SERVER_THERE = /a Fathom server already runs on/;
/** `fathom check` changes nothing, so it applies nothing either. */
const UNAPPLIED = /has changes in its log that its database lacks|cannot be read: start the server/;
const STORE_CHANGED = /changed while the file was being read/;

type Role = 'a server' | 'fathom serve' | 'commands' | 'a fathom command';

interface Failure {
  /** The operation's number; null: the process' own work. */
  n: number | null;
  message: string;
  stack?: string;
}

export class Rival {
  private readonly startedUs = nowUs();
  private endedUs = Infinity;

  private constructor(
    private readonly state: State,
    private readonly role: Role,
    private readonly victim: Victim,
    private readonly operations: readonly Operation[],
    private readonly random: () => number,
  ) {}

  static server(
    state: State,
    directory: string,
    retiringBeforeS: number | null,
    random: () => number,
  ): Rival {
    const isReal = retiringBeforeS === null && random() < REAL_SERVER_SHARE;
    const time = retiringBeforeS === null ? [] : [String(retiringBeforeS)];
    const words = isReal
      ? [MAIN, 'serve', '--data', directory, '--port', '0', '--threads', '1']
      : [VICTIM, 'hold', directory, ...time];
    const victim = Victim.start([...flags(random), ...words]);
    return new Rival(state, isReal ? 'fathom serve' : 'a server', victim, [], random);
  }

  static commands(
    state: State,
    directory: string,
    course: Course,
    share: Share,
    random: () => number,
  ): Rival {
    const isReal = random() < REAL_COMMAND_SHARE;
    const count = isReal ? 1 : 1 + Math.floor(random() * MOST_OPERATIONS);
    const operations = Array.from({ length: count }, () =>
      rivalOperation(state, course, share, random),
    );
    if (isReal) {
      const victim = Victim.start([...flags(random), MAIN, ...wordsOf(operations[0], directory)]);
      return new Rival(state, 'a fathom command', victim, operations, random);
    }
    const file = path.join(state.folder, `orders-${operations[0].number}.json`);
    writeFileSync(file, JSON.stringify(operations.map((one) => ({ ...one, brings: undefined }))));
    state.operations.removeLater(file);
    const victim = Victim.start([...flags(random), VICTIM, 'commands', directory, file]);
    return new Rival(state, 'commands', victim, operations, random);
  }

  get pid(): number {
    return this.victim.pid;
  }

  /** Whether it has reported that it listens, and still runs. */
  get listens(): boolean {
    const { victim, isServer } = this;
    return isServer && !victim.isKilled && !victim.isOver && victim.has(/^ready$|listening/);
  }

  describe(): string {
    return this.victim.describe();
  }

  /** Runs until it is killed or ends. */
  async live(): Promise<void> {
    const { victim, state, random } = this;
    const kind = await this.untilKill();
    if (!victim.isOver && random() < STOPPED_SHARE) {
      victim.stop();
      state.count('stopped');
      await sleep(random() * STOPPED_OPERATIONS * this.operationMs);
      if (random() < CONTINUED_SHARE) {
        victim.continue();
        await this.orOver(random() * STOPPED_OPERATIONS * this.operationMs);
      }
    }
    if (await victim.kill()) state.killed(kind);
    else state.count(`${this.role}, ended by itself`);
    this.endedUs = nowUs();
  }

  /** Kills it, whatever it does. */
  async end(): Promise<void> {
    await this.victim.kill();
  }

  /** Waits until the moment of its kill, or its end. @returns a name for such kills */
  private async untilKill(): Promise<string> {
    const { victim, role, random } = this;
    const isReal = role === 'fathom serve' || role === 'a fathom command';
    const step = (name: string): string => `${role}: ${name}`;
    if (isReal || random() < EARLY_SHARE) {
      // A command that is not interrupted ends normally.
      const name = step('all');
      const isCut = !(await this.cut(
        name,
        isReal && this.isServer ? /listening/ : /^opening$|^\{/,
      ));
      if (isCut || !isReal) return `${role}, at its start`;
      if (this.isServer) await this.orOver(random() * SERVING_OPERATIONS * this.operationMs);
      return role;
    }
    if (!(await victim.sees(/^opening$/))) return role;
    if (!this.isServer) {
      await this.orOver(random() * LATEST_KILL * this.operationMs * this.operations.length);
      return role;
    }
    if (random() < OPENING_SHARE) {
      if (!(await this.cut(step('opening'), /^ready$/))) return `${role}, while it opens the store`;
    } else if (!(await victim.sees(/^ready$/))) return role;
    await this.orOver(random() * SERVING_OPERATIONS * this.operationMs);
    return role;
  }

  /** Waits for a line for a random part of its usual time. @returns whether it came */
  private async cut(step: string, line: RegExp): Promise<boolean> {
    const { victim, state, random } = this;
    const startMs = performance.now();
    const seen = victim.sees(line);
    const latestMs = random() * LATEST_KILL * state.usual(step, GUESS_MS);
    const isSeen = await Promise.race([seen, sleep(latestMs, false)]);
    // The process will soon be killed, which settles it.
    seen.catch(() => undefined);
    if (isSeen) state.took(step, performance.now() - startMs);
    else if (!victim.isOver) state.tookLonger(step, GUESS_MS);
    return isSeen;
  }

  private async orOver(ms: number): Promise<void> {
    await Promise.race([this.victim.exited, sleep(ms)]);
  }

  private get operationMs(): number {
    return this.state.usual('operation', GUESS_MS);
  }

  private get isServer(): boolean {
    return this.role === 'a server' || this.role === 'fathom serve';
  }

  /** Its operations, with the times at which they began and were acknowledged. */
  acts(): Act[] {
    if (this.role === 'a fathom command') {
      const end = this.victim.status === 0 ? this.endedUs : Infinity;
      return [{ operation: this.operations[0], begin: this.startedUs, end }];
    }
    const times = (word: string): Map<number, number> =>
      new Map(
        this.victim.lines.flatMap((line) => {
          const [found, n, at] = line.split(' ');
          return found === word ? [[Number(n), Number(at)]] : [];
        }),
      );
    const [begun, done] = [times('begin'), times('done')];
    for (const [n, end] of done) {
      this.state.took('operation', (end - (begun.get(n) ?? end)) / 1000);
    }
    return this.operations.flatMap((operation) => {
      const begin = begun.get(operation.number);
      const end = done.get(operation.number) ?? Infinity;
      return begin === undefined ? [] : { operation, begin, end };
    });
  }

  /** A report or an end that must not happen; null: none. */
  fault(): string | null {
    const { victim } = this;
    for (const failure of this.failures()) {
      if (!this.isAllowed(failure)) return `${failure.message}: ${victim.describe()}`;
    }
    const ended = victim.isKilled && victim.status === null;
    if (ended || victim.status === 0 || this.failures().length > 0) return null;
    return `it ended with status ${victim.status}: ${victim.describe()}`;
  }

  private failures(): Failure[] {
    const { victim, role } = this;
    if (role === 'a fathom command' || role === 'fathom serve') {
      if (victim.status === null || victim.status === 0) return [];
      const n = this.operations.at(0)?.number ?? null;
      return [{ n, message: victim.lines.join('\n') }];
    }
    return victim.lines.flatMap((line) =>
      line.startsWith('failed ') ? [JSON.parse(line.slice('failed '.length)) as Failure] : [],
    );
  }

  /** Whether rivals, or the end of a server, may cause this failure. */
  private isAllowed({ n, message }: Failure): boolean {
    const operation = this.operations.find(({ number }) => number === n);
    if (this.isServer && SERVER_THERE.test(message)) return true;
    if (IN_USE.test(message)) return this.endedUs - this.startedUs >= LOCK_WAIT_MS * 1000;
    if (operation === undefined) return false;
    if (SERVER_GONE.test(message)) return true;
    if (operation.kind === 'check') return UNAPPLIED.test(message) || EMPTY.test(message);
    return operation.kind === 'ingest' && operation.merge && STORE_CHANGED.test(message);
  }
}

const nowUs = (): number => Number(process.hrtime.bigint() / 1000n);

function flags(random: () => number): string[] {
  return random() < COLLECTING_SHARE ? [COLLECTING] : [];
}
