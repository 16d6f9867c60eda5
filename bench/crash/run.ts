/**
 * Kills. Each begins with a store as the one before left it, does some operations whose success is
 * acknowledged, and kills a process in the middle of another one; then what is stored is compared with what
 * was acknowledged. The operation that was cut short has to be in as a whole or not at all.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, existsSync, rmSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type ComputePool, startPool } from '../../compute/pool.js';
import { connectToServer } from '../../storage/control.js';
import { DATABASE_FILE } from '../../storage/data-directory.js';
import { Database } from '../../storage/duckdb/database.js';
import type { UseStore } from '../../storage/ingest/ingest.js';
import { SCHEMA_VERSION } from '../../storage/migrations.js';
import { seededRandom } from '../compare/random.js';
import { temporaryFolder } from '../folder.js';
import { openStore } from '../store.js';
import { after, afterRetention, contentsOf, differences } from './contents.js';
import { type Operation, Operations, perform } from './operations.js';
import type { CrashOptions } from './options.js';
import { type DurableLog, durableLog, hurtTail } from './torn-log.js';

/** Which process is killed; the numbers are its share of the kills. */
const PHASES = {
  'the holder of the store': 0.4,
  'fathom serve': 0.08,
  'a command beside the holder': 0.1,
  'a command alone': 0.22,
  'a migration': 0.1,
  retention: 0.1,
} as const;
type Phase = keyof typeof PHASES;
const KEYS = 40;
/** A kill comes within this many times what the operation usually takes. */
const LATEST_KILL = 1.3;
/** A process that was killed before its end may take this many times what was thought. */
const LONGER = 1.1;
const MOST_ACKNOWLEDGED = 4;
const HURT_SHARE = 0.6;
const SHOWN_DIFFERENCES = 5;

const fileOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
/** The built programs, even where this module runs from its TypeScript source. */
const dist = import.meta.url.endsWith('.ts') ? '../../dist/' : '../../';
const VICTIM = fileOf(`${dist}bench/crash/victim.js`);
const MAIN = fileOf(`${dist}server/cli/main.js`);

interface Outcome {
  kills: number;
  acknowledged: number;
  lost: number;
  partial: number;
}

/** @param say takes a line a phase, and the summary */
export async function runKills(
  { kills, seed }: CrashOptions,
  say: (line: string) => void,
): Promise<Outcome> {
  const folder = temporaryFolder('fathom-crash-');
  const pool = await startPool({ threads: 1, onError: () => undefined });
  const run = new Run(folder.path, pool, seededRandom(seed));
  try {
    await run.prepare();
    for (let kill = 0; kill < kills; kill++) {
      await run.kill(kill);
      const fault = await run.fault();
      if (fault !== null) {
        say(`kill ${kill + 1}: ${fault}`);
        break;
      }
      if ((kill + 1) % 100 === 0)
        say(`${kill + 1} kills, ${run.outcome.acknowledged} acknowledged`);
    }
  } finally {
    await run.end();
    await pool.close();
    await folder.remove();
  }
  const { outcome } = run;
  for (const line of run.report()) say(line);
  say(
    `${outcome.kills} kills, ${outcome.acknowledged} files acknowledged, ${outcome.lost} lost, ${outcome.partial} partial` +
      (outcome.lost + outcome.partial > 0 ? `; --seed ${seed} repeats it` : ''),
  );
  return outcome;
}

interface PhaseCounts {
  kills: number;
  whole: number;
  absent: number;
  hurt: number;
}

class Run {
  readonly outcome: Outcome = { kills: 0, acknowledged: 0, lost: 0, partial: 0 };
  private readonly counts = new Map<Phase, PhaseCounts>();
  private readonly directory: string;
  private readonly operations: Operations;
  private rows: ReadonlyMap<string, number> = new Map();
  private keys: string[] = [];
  /** What was cut short. */
  private pending: Operation | null = null;
  /** Raw depth before this time was going, and may have gone in part. */
  private retiringBeforeS: number | null = null;
  private phase: Phase = 'a command alone';
  private durable: DurableLog = { bytes: 0, digest: '' };
  private victim: Victim | null = null;
  /** What each kind usually takes. */
  private readonly tookMs = new Map<string, number>();

  constructor(
    private readonly folder: string,
    private readonly pool: ComputePool,
    private readonly random: () => number,
  ) {
    this.directory = path.join(folder, 'data');
    this.operations = new Operations(folder, random);
  }

  async prepare(): Promise<void> {
    const store = await openStore(this.directory);
    const request = { tier: 'premium', name: null, requestsPerMinute: null, monthlyQuota: null };
    for (let i = 0; i < KEYS; i++) {
      this.keys.push((await store.createKey({ ...request, tier: 'premium' })).id);
    }
    await store.close();
  }

  async end(): Promise<void> {
    await this.victim?.kill();
  }

  async kill(index: number): Promise<void> {
    this.phase = this.drawPhase();
    this.pending = null;
    this.retiringBeforeS = null;
    this.durable = durableLog(this.directory);
    switch (this.phase) {
      case 'the holder of the store':
      case 'fathom serve':
        await this.killHolder(false);
        break;
      case 'a command beside the holder':
        await this.killHolder(true);
        break;
      case 'a command alone':
        await this.killCommand();
        break;
      case 'a migration':
        await this.killMigration();
        break;
      case 'retention':
        await this.killRetention();
        break;
    }
    this.outcome.kills = index + 1;
    const hurt =
      this.random() < HURT_SHARE ? hurtTail(this.directory, this.durable, this.random) : null;
    const counts = this.countsOf();
    counts.kills++;
    if (hurt !== null) counts.hurt++;
  }

  /** What is wrong with the store, in words; null: nothing. */
  async fault(): Promise<string | null> {
    // A copy, so that the log is mended again by the next process, and goes on to grow.
    const copy = path.join(this.folder, 'copy');
    rmSync(copy, { recursive: true, force: true });
    // A socket, and a second name of the database that a copy would not be.
    const isFile = (name: string): boolean => !/\.(sock|lock)$/.test(name);
    cpSync(this.directory, copy, { recursive: true, filter: isFile });
    let found: Map<string, number>;
    try {
      found = await contentsAt(copy);
    } catch (error) {
      this.outcome.lost++;
      return `${this.phase}: the store cannot be read: ${String(error)}`;
    }
    const { pending, retiringBeforeS } = this;
    const counts = this.countsOf();
    if (retiringBeforeS !== null) {
      // As far as it came; that whatever it did stays, the next comparison shows.
      const reached = afterRetention(this.rows, retiringBeforeS, found);
      if (differences(reached, this.rows).length === 0) counts.absent++;
      else counts.whole++;
      this.rows = reached;
    }
    const missing = differences(this.rows, found);
    if (missing.length === 0) {
      if (pending !== null) counts.absent++;
      return this.backupFault(pending);
    }
    const wanted = pending === null ? this.rows : after(this.rows, pending);
    const wrong = differences(wanted, found);
    if (wrong.length === 0) {
      counts.whole++;
      this.take(pending as Operation);
      return null;
    }
    const isPartial =
      pending !== null && wrong.every((line) => pending.brings.has(line.split(':')[0]));
    if (isPartial) this.outcome.partial++;
    else this.outcome.lost++;
    return `${this.phase}: ${pending?.kind ?? 'nothing'} in work, ${wrong.length} rows are wrong: ${wrong.slice(0, SHOWN_DIFFERENCES).join('; ')}`;
  }

  report(): string[] {
    return Array.from(
      this.counts,
      ([phase, { kills, whole, absent, hurt }]) =>
        `${phase}: ${kills} kills; of what was cut short ${whole} whole, ${absent} absent; ${hurt} logs hurt`,
    );
  }

  /** Does operations through a process that holds the store, and kills it, or a command beside it first. */
  private async killHolder(besideFirst: boolean): Promise<void> {
    const holder = await this.holder();
    this.durable = durableLog(this.directory);
    const useStore: UseStore = async (body) => {
      const store = await connectToServer(this.directory);
      if (store === null) throw new Error('the process that held the store is gone');
      return body(store).finally(() => store.close());
    };
    const acknowledged = Math.floor(this.random() * (MOST_ACKNOWLEDGED + 1));
    for (let i = 0; i < acknowledged; i++) {
      const operation = this.nextOperation();
      await this.timed(operation, () => perform(operation, this.directory, this.pool, useStore));
      await this.acknowledge(operation);
    }
    const operation = this.nextOperation();
    this.pending = operation;
    if (besideFirst) {
      await this.commandKilled(operation);
      await sleep(this.random() * 50);
      await holder.kill();
      return;
    }
    const performing = perform(operation, this.directory, this.pool, useStore).then(
      () => true,
      () => false,
    );
    await sleep(this.random() * LATEST_KILL * (this.tookMs.get(operation.kind) ?? 100));
    await holder.kill();
    if (await performing) await this.acknowledge(operation);
  }

  private async killCommand(): Promise<void> {
    const operation = this.nextOperation();
    this.pending = operation;
    await this.commandKilled(operation);
  }

  private async commandKilled(operation: Operation): Promise<void> {
    const plain = { ...operation, brings: undefined };
    const command = Victim.start([VICTIM, 'command', this.directory, JSON.stringify(plain)]);
    this.victim = command;
    const done = command.line(/^done$/).then(
      () => true,
      () => false,
    );
    await command.line(/^ready$/);
    const usualMs = this.tookMs.get('command') ?? 200;
    const startMs = performance.now();
    const isDone = await Promise.race([done, sleep(this.random() * LATEST_KILL * usualMs, false)]);
    if (isDone) {
      this.tookMs.set('command', (usualMs + performance.now() - startMs) / 2);
      // The store may still be being closed.
      await sleep(this.random() * 20);
    } else this.tookMs.set('command', usualMs * LONGER);
    await command.kill();
    if (isDone || (await done)) await this.acknowledge(operation);
  }

  private async killMigration(): Promise<void> {
    const file = path.join(this.directory, DATABASE_FILE);
    // Takes over the log.
    await (await openStore(this.directory)).close();
    const database = await Database.openFile(file, { memoryLimitMiB: 128, threads: 1 });
    await database.run('DROP TABLE IF EXISTS other_usage');
    await database.run('DROP TABLE IF EXISTS other_usage_days');
    await database.run("DELETE FROM meta WHERE key = 'schema_version'");
    await database.run(`INSERT INTO meta VALUES ('schema_version', '${SCHEMA_VERSION - 1}')`);
    await database.close();
    const holder = Victim.start([VICTIM, 'hold', this.directory]);
    this.victim = holder;
    await holder.line(/^opening$/);
    const startMs = performance.now();
    const usualMs = this.tookMs.get('migration') ?? 200;
    const ready = holder.line(/^ready$/).then(
      () => true,
      () => false,
    );
    if (await Promise.race([ready, sleep(this.random() * LATEST_KILL * usualMs, false)])) {
      this.tookMs.set('migration', (usualMs + performance.now() - startMs) / 2);
    } else this.tookMs.set('migration', usualMs * LONGER);
    await holder.kill();
  }

  private async killRetention(): Promise<void> {
    const beforeS = this.operations.retentionLimit();
    this.retiringBeforeS = beforeS;
    const retaining = Victim.start([VICTIM, 'retain', this.directory, String(beforeS)]);
    this.victim = retaining;
    await retaining.line(/^ready$/);
    const startMs = performance.now();
    const usualMs = this.tookMs.get('retention') ?? 200;
    const done = retaining.line(/^done$/).then(
      () => true,
      () => false,
    );
    if (await Promise.race([done, sleep(this.random() * LATEST_KILL * usualMs, false)])) {
      this.tookMs.set('retention', (usualMs + performance.now() - startMs) / 2);
    } else this.tookMs.set('retention', usualMs * LONGER);
    await retaining.kill();
    if (!(await done)) return;
    this.durable = durableLog(this.directory);
    this.rows = afterRetention(this.rows, beforeS);
    this.retiringBeforeS = null;
  }

  private async holder(): Promise<Victim> {
    const words =
      this.phase === 'fathom serve'
        ? [MAIN, 'serve', '--data', this.directory, '--port', '0', '--threads', '1']
        : [VICTIM, 'hold', this.directory];
    const holder = Victim.start(words);
    this.victim = holder;
    await holder.line(/^ready$|listening/);
    return holder;
  }

  private nextOperation(): Operation {
    return this.operations.next(this.rows, this.keys);
  }

  private async timed(operation: Operation, work: () => Promise<void>): Promise<void> {
    const startMs = performance.now();
    await work();
    const usualMs = this.tookMs.get(operation.kind) ?? performance.now() - startMs;
    this.tookMs.set(operation.kind, (usualMs + performance.now() - startMs) / 2);
  }

  private async acknowledge(operation: Operation): Promise<void> {
    this.outcome.acknowledged++;
    this.durable = durableLog(this.directory);
    this.take(operation);
    this.pending = null;
    if (operation.kind !== 'backup') return;
    const fault = await this.backupFault(operation);
    if (fault !== null) throw new Error(fault);
  }

  private take(operation: Operation): void {
    this.rows = after(this.rows, operation);
    if (operation.kind === 'revoke') this.keys = this.keys.filter((id) => id !== operation.id);
  }

  /** What is wrong with a backup whose database has its name. */
  private async backupFault(operation: Operation | null): Promise<string | null> {
    if (operation?.kind !== 'backup') return null;
    if (!existsSync(path.join(operation.out, DATABASE_FILE))) return null;
    const wrong = differences(this.rows, await contentsAt(operation.out));
    rmSync(operation.out, { recursive: true, force: true });
    if (wrong.length === 0) return null;
    this.outcome.partial++;
    return `a backup: ${wrong.length} rows are wrong: ${wrong.slice(0, SHOWN_DIFFERENCES).join('; ')}`;
  }

  private drawPhase(): Phase {
    let share = this.random();
    for (const [phase, own] of Object.entries(PHASES) as [Phase, number][]) {
      share -= own;
      if (share < 0) return phase;
    }
    return 'the holder of the store';
  }

  private countsOf(): PhaseCounts {
    const counts = this.counts.get(this.phase) ?? { kills: 0, whole: 0, absent: 0, hurt: 0 };
    this.counts.set(this.phase, counts);
    return counts;
  }
}

async function contentsAt(directory: string): Promise<Map<string, number>> {
  const store = await openStore(directory);
  return contentsOf(store).finally(() => store.close());
}

/** A process that ends by kill -9. */
class Victim {
  private readonly lines: string[] = [];
  private wake: (() => void)[] = [];
  private readonly exited: Promise<void>;
  private isOver = false;

  private constructor(private readonly child: ChildProcess) {
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue;
      createInterface({ input: stream }).on('line', (line) => {
        this.lines.push(line);
        this.wakeAll();
      });
    }
    this.exited = new Promise((resolve) =>
      child.once('close', () => {
        this.isOver = true;
        this.wakeAll();
        resolve();
      }),
    );
  }

  static start(words: readonly string[]): Victim {
    return new Victim(spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'pipe'] }));
  }

  /** @throws Error if it ends before */
  async line(pattern: RegExp): Promise<void> {
    while (!this.lines.some((line) => pattern.test(line))) {
      if (this.isOver) throw new Error(`a process ended early: ${this.lines.join(' | ')}`);
      await new Promise<void>((resolve) => this.wake.push(resolve));
    }
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.exited;
  }

  private wakeAll(): void {
    for (const wake of this.wake.splice(0)) wake();
  }
}
