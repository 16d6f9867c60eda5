/** Processes to be killed with SIGKILL. None outlives this one. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { onEnd } from '../../bench/clean-up.js';
import { builtPath } from '../../compute/built.js';

/** A process that prints nothing for this long hangs. */
const HANGS_MS = 90_000;

export const VICTIM = builtPath('test/crash/victim.js');
export const MAIN = builtPath('server/cli/main.js');
/** Makes V8 collect garbage early, which closes what unreachable objects hold open. */
export const COLLECTING = '--max-semi-space-size=1';

export class Victim {
  readonly lines: string[] = [];
  /** Exit status; null while it runs, or if a signal ended it. */
  status: number | null = null;
  isOver = false;
  /** Whether it was sent SIGKILL. */
  isKilled = false;
  readonly exited: Promise<void>;
  private wake: (() => void)[] = [];
  private readonly forget: () => void;

  private constructor(
    private readonly child: ChildProcess,
    private readonly words: readonly string[],
  ) {
    this.forget = onEnd(() => child.kill('SIGKILL'));
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue;
      createInterface({ input: stream }).on('line', (line) => {
        this.lines.push(line);
        this.wakeAll();
      });
    }
    this.exited = new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (status) => {
        this.status = status;
        this.isOver = true;
        this.forget();
        this.wakeAll();
        resolve();
      });
    });
  }

  /** @param words of Node: its flags, the program and the program's */
  static start(words: readonly string[]): Victim {
    const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'pipe'] });
    return new Victim(child, words);
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  has(pattern: RegExp): boolean {
    return this.lines.some((line) => pattern.test(line));
  }

  /**
   * Waits for a line.
   * @returns whether it came; otherwise the process has ended
   * @throws Error if neither happens
   */
  async sees(pattern: RegExp): Promise<boolean> {
    const deadline = setTimeout(() => this.wakeAll(), HANGS_MS);
    const startMs = performance.now();
    try {
      for (;;) {
        if (this.has(pattern)) return true;
        if (this.isOver) return false;
        if (performance.now() - startMs >= HANGS_MS) throw new Error(`hangs: ${this.describe()}`);
        await new Promise<void>((resolve) => this.wake.push(resolve));
      }
    } finally {
      clearTimeout(deadline);
    }
  }

  /** @throws Error if it ends before */
  async line(pattern: RegExp): Promise<void> {
    if (!(await this.sees(pattern))) throw new Error(`a process ended early: ${this.describe()}`);
  }

  /** @returns whether it still ran */
  async kill(): Promise<boolean> {
    const ran = !this.isOver && this.child.exitCode === null && this.child.signalCode === null;
    this.isKilled = true;
    this.child.kill('SIGKILL');
    await this.exited;
    return ran && this.child.signalCode === 'SIGKILL';
  }

  stop(): void {
    this.child.kill('SIGSTOP');
  }

  continue(): void {
    this.child.kill('SIGCONT');
  }

  /** Its command line and output, for a report. */
  describe(): string {
    return `${this.pid} ${this.words.join(' ')}: ${this.lines.join(' | ') || 'printed nothing'}`;
  }

  private wakeAll(): void {
    for (const wake of this.wake.splice(0)) wake();
  }
}
