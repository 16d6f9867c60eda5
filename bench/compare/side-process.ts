/** Controls one of the two builds from the comparison. */
import { fork, type ChildProcess } from 'node:child_process';
import { onEnd } from '../clean-up.js';
import { endProcess } from '../processes.js';
import { BenchFailure } from '../errors.js';
import type { ReplyTo, SideReply, SideRequest } from './protocol.js';

/** Loading a group or taking a turn takes seconds; a process that takes longer than this hangs. */
const ANSWER_DEADLINE_MS = 120_000;
/** Time to end after SIGTERM. */
const STOP_DEADLINE_MS = 5_000;

type SideName = 'REV' | 'this build';

/** A request failed in the build. */
export class SideError extends Error {}

export class SideProcess {
  private readonly child: ChildProcess;
  private readonly forget: () => void;

  /** @param command the build's bench/compare/side.js and its arguments */
  constructor(
    readonly name: SideName,
    command: readonly string[],
  ) {
    const [file, ...words] = command;
    this.child = fork(file, words, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    this.forget = onEnd(() => void this.child.kill());
  }

  /**
   * @throws SideError if the request threw
   * @throws BenchFailure if the process ends, or does not answer in time
   */
  async ask<R extends SideRequest>(request: R): Promise<ReplyTo<R>> {
    const reply = await this.replyTo(request);
    if (reply.kind === 'failed') throw new SideError(reply.reason);
    return reply as ReplyTo<R>;
  }

  private replyTo(request: SideRequest): Promise<SideReply> {
    const { child } = this;
    const what = `${this.name}, ${textOf(request)}`;
    return new Promise((resolve, reject) => {
      const done = (): void => {
        clearTimeout(timer);
        child.off('message', onMessage).off('exit', onExit);
      };
      const onMessage = (reply: SideReply): void => {
        done();
        resolve(reply);
      };
      const onExit = (code: number | null, signal: string | null): void => {
        done();
        reject(new BenchFailure(`${what}: its process ended with ${signal ?? code}`));
      };
      const timer = setTimeout(() => {
        done();
        reject(new BenchFailure(`${what}: no answer within ${ANSWER_DEADLINE_MS} ms`));
      }, ANSWER_DEADLINE_MS);
      child.on('message', onMessage).on('exit', onExit);
      if (child.exitCode !== null || child.signalCode !== null) {
        return onExit(child.exitCode, child.signalCode);
      }
      child.send(request);
    });
  }

  /** Ends the process. */
  async close(): Promise<void> {
    await endProcess(this.child, 'SIGTERM', STOP_DEADLINE_MS);
    this.forget();
  }
}

function textOf(request: SideRequest): string {
  if (request.kind === 'unload') return 'unloading a group';
  return request.kind === 'load' ? `loading ${request.group}` : request.name;
}
