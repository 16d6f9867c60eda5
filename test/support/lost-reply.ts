/** A server that is killed while it has the request of a command, and has not answered. */
import { Socket } from 'node:net';

/**
 * Stops a process just before this one sends it a certain operation, and kills it right after: it never answers.
 * @param operation the operation's name, as in storage/operations.ts
 */
export async function losingReplyTo<T>(
  operation: string,
  pid: number,
  body: () => Promise<T>,
): Promise<T> {
  const write = Reflect.get(Socket.prototype, 'write') as (...args: unknown[]) => boolean;
  const writeAndKill = function (this: Socket, ...args: unknown[]): unknown {
    const isIt = String(args[0]).includes(operation);
    if (isIt) process.kill(pid, 'SIGSTOP');
    const isFlushed: unknown = Reflect.apply(write, this, args);
    if (isIt) process.kill(pid, 'SIGKILL');
    return isFlushed;
  };
  Object.assign(Socket.prototype, { write: writeAndKill });
  // Sockets inherit the method from streams.
  return body().finally(() => Reflect.deleteProperty(Socket.prototype, 'write'));
}
