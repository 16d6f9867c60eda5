/** One of the two builds as the comparison holds it. */
import { fork, type ChildProcess } from 'node:child_process';
import type { SideReply, SideRequest } from './protocol.js';

/** Loading a group or a turn takes seconds; longer, and the process hangs. */
const ANSWER_DEADLINE_MS = 120_000;

export class SideProcess {
  private readonly child: ChildProcess;

  /** @param command the build's bench/compare/side.js, with words of its own behind it */
  constructor(command: readonly string[]) {
    const [file, ...words] = command;
    this.child = fork(file, words, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  }

  /** @throws Error where the process ends, or does not answer in time */
  ask(request: SideRequest): Promise<SideReply> {
    const { child } = this;
    return new Promise((resolve, reject) => {
      const done = (): void => {
        clearTimeout(timer);
        child.off('message', onMessage).off('exit', onExit);
      };
      const onMessage = (reply: SideReply): void => {
        done();
        resolve(reply);
      };
      const onExit = (): void => {
        done();
        reject(new Error(`the process of a build ended at ${request.kind}`));
      };
      const timer = setTimeout(() => {
        done();
        reject(new Error(`${request.kind}: no answer within ${ANSWER_DEADLINE_MS} ms`));
      }, ANSWER_DEADLINE_MS);
      child.on('message', onMessage).on('exit', onExit);
      child.send(request);
    });
  }

  /** Ends the process. */
  async close(): Promise<void> {
    const { child } = this;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill();
    await ended;
  }
}
