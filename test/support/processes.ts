/** The built command as separate processes, used as from a shell. */
import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { createInterface } from 'node:readline';
import path from 'node:path';
import { PATIENCE_MS } from './waiting.js';

/** The built command. */
export const MAIN = path.resolve('dist/server/cli/main.js');

/** The environment of a process that waits for a store without a time limit: the clock of its waits stands still. */
export const WAITING_ON = {
  NODE_OPTIONS: '--import=data:text/javascript,performance.now=()=>0',
};

export interface Ended {
  /** Exit status; null if a signal ended it. */
  status: number | null;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  env?: Record<string, string>;
  cwd?: string;
  /** Standard input; none by default. */
  input?: string | Uint8Array;
  /** Limit on open files; by default this process's own. */
  descriptors?: number;
  /** Limit on the size of files it writes, which `prlimit` may raise. */
  fileKiB?: number;
}

/** This process's variables without those that configure Fathom. */
export function cleanEnvironment(extra: Record<string, string> = {}): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('FATHOM_'));
  return { ...Object.fromEntries(inherited), ...extra };
}

/** Starts a program. */
export function start(
  program: string,
  words: readonly string[],
  { env, cwd, input, descriptors, fileKiB }: RunOptions = {},
): ChildProcess {
  const limits = [
    ...(descriptors === undefined ? [] : [`ulimit -n ${descriptors}`]),
    // Without the signal, a write beyond the limit fails as on a full disk.
    ...(fileKiB === undefined ? [] : ["trap '' XFSZ", `ulimit -S -f ${fileKiB}`]),
  ];
  const limited = limits.length === 0 ? [] : ['bash', '-c', `${limits.join('; ')}; exec "$0" "$@"`];
  const [first, ...args] = [...limited, program, ...words];
  const child = spawn(first, args, {
    cwd: cwd ?? process.cwd(),
    env: cleanEnvironment(env),
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  child.stdin?.end(input);
  return child;
}

/** Runs a program to its end. */
export function run(
  program: string,
  words: readonly string[],
  options: RunOptions = {},
): Promise<Ended> {
  const child = start(program, words, options);
  return new Promise((resolve, reject) => {
    let stdout = '';
    let stderr = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error(`${program} ${words.join(' ')} hung; it said: ${stderr}`));
    }, PATIENCE_MS);
    child.once('error', reject);
    child.once('close', (status) => {
      clearTimeout(timer);
      resolve({ status, stdout, stderr });
    });
  });
}

/** A script beside this file, run separately; tests wait for its output line by line. */
export class Script {
  readonly exited: Promise<void>;
  private readonly lines: string[] = [];
  private wake: () => void = () => undefined;

  private constructor(private readonly child: ChildProcess) {
    const take = (line: string): void => {
      this.lines.push(line);
      this.wake();
    };
    for (const stream of [child.stdout, child.stderr]) {
      if (stream !== null) createInterface({ input: stream }).on('line', take);
    }
    this.exited = new Promise((resolve) =>
      child.once('close', () => {
        resolve();
        this.wake();
      }),
    );
  }

  static start(file: string, words: readonly string[]): Script {
    return new Script(spawn(process.execPath, [path.resolve('test/support', file), ...words]));
  }

  /** Any other program, left running. */
  static program(
    program: string,
    words: readonly string[],
    options: { cwd: string; env: NodeJS.ProcessEnv },
  ): Script {
    return new Script(spawn(program, words, options));
  }

  /** `fathom WORDS`, left running. */
  static fathom(words: readonly string[], env: Record<string, string> = {}): Script {
    return new Script(
      spawn(process.execPath, [MAIN, ...words], { env: { ...process.env, ...env } }),
    );
  }

  get pid(): number {
    return this.child.pid as number;
  }

  get printed(): readonly string[] {
    return this.lines;
  }

  /** Waits for a line that matches. */
  async line(pattern: RegExp): Promise<RegExpExecArray> {
    const deadline = setTimeout(() => this.wake(), PATIENCE_MS);
    const start = Date.now();
    try {
      for (let seen = 0; ;) {
        for (; seen < this.lines.length; seen++) {
          const match = pattern.exec(this.lines[seen]);
          if (match !== null) return match;
        }
        if (
          this.child.exitCode !== null ||
          this.child.signalCode !== null ||
          Date.now() - start >= PATIENCE_MS
        ) {
          throw new Error(`${pattern} was not printed: ${this.lines.join('\n')}`);
        }
        await new Promise<void>((resolve) => (this.wake = resolve));
      }
    } finally {
      clearTimeout(deadline);
    }
  }

  /** Ends it at once, as `kill -9` does. */
  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.exited;
  }

  /** Asks it to end, as `kill` does. */
  async stop(): Promise<number | null> {
    this.child.kill('SIGTERM');
    await this.exited;
    return this.child.exitCode;
  }
}

/** Nice values of a process's threads by id, on Linux: field 19 of stat; the second may contain spaces. */
export function niceValuesOf(pid: number): Map<number, number> {
  const threads = `/proc/${pid}/task`;
  const found = new Map<number, number>();
  for (const id of readdirSync(threads)) {
    try {
      const stat = readFileSync(path.join(threads, id, 'stat'), 'latin1');
      found.set(Number(id), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16]));
    } catch {
      // The thread has ended.
    }
  }
  return found;
}

/** Whether a process opens a store or waits for it, on Linux: it then loads DuckDB. */
export function opensStore(pid: number): boolean {
  return readFileSync(`/proc/${pid}/maps`, 'latin1').includes('duckdb');
}
