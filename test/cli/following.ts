/** `fathom follow --cursor-file` as a process that appends to a file, and what that file says in the end. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { LiveMessage, LiveSnapshots } from '../../client/index.js';
import { atEnd, temporaryDirectory } from '../support/folders.js';
import { MAIN } from '../support/processes.js';

type Snapshot = LiveSnapshots['snapshots'][number];

export class Follower {
  private readonly directory = temporaryDirectory();
  readonly out = path.join(this.directory, 'out.ndjson');
  readonly cursorFile = path.join(this.directory, 'cursor');
  private child: ChildProcess | null = null;

  constructor(
    private readonly words: readonly string[],
    private readonly key: string,
  ) {
    atEnd(() => this.kill());
  }

  /** Starts a run, unless one runs. */
  start(...more: string[]): void {
    if (this.isRunning) return;
    const fd = openSync(this.out, 'a');
    const words = ['follow', ...this.words, '--cursor-file', this.cursorFile, ...more];
    this.child = spawn(process.execPath, [MAIN, ...words], {
      env: { ...process.env, FATHOM_KEY: this.key },
      stdio: ['ignore', fd, 'ignore'],
    });
    closeSync(fd);
  }

  get isRunning(): boolean {
    return this.child !== null && this.child.exitCode === null && this.child.signalCode === null;
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (this.child === null || !this.isRunning) return;
    const ended = once(this.child, 'exit');
    this.child.kill(signal);
    await ended;
  }

  get hasCursor(): boolean {
    return existsSync(this.cursorFile);
  }

  /** Whether the cursor file is at the last printed message. */
  get isAtItsEnd(): boolean {
    if (!this.hasCursor) return false;
    const { cursor } = JSON.parse(readFileSync(this.cursorFile, 'utf8')) as { cursor: string };
    return cursor === this.read().messages.at(-1)?.cursor;
  }

  /** The printed messages; a line that a kill has cut off is none. */
  read(): { messages: LiveMessage[]; cutOff: number } {
    const messages: LiveMessage[] = [];
    let cutOff = 0;
    const text = existsSync(this.out) ? readFileSync(this.out, 'utf8') : '';
    for (const line of text.split('\n')) {
      try {
        if (line !== '') messages.push(JSON.parse(line) as LiveMessage);
      } catch {
        cutOff++;
      }
    }
    return { messages, cutOff };
  }

  /** The snapshots that the messages leave, in order of time. */
  held(): Snapshot[] {
    const held = new Map<number, Snapshot>();
    for (const message of this.read().messages) {
      if (message.type === 'deleted') for (const t of message.t) held.delete(t);
      if (message.type !== 'snapshots' && message.type !== 'revised') continue;
      for (const one of message.snapshots) held.set(one.t, one);
    }
    return [...held].sort(([a], [b]) => a - b).map(([, one]) => one);
  }
}
