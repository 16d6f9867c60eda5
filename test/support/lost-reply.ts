/** What happens just as commands of this process send an operation to a server. */
import { Socket } from 'node:net';

type Write = (this: Socket, ...args: unknown[]) => boolean;

/** Passes what sockets write while `body` runs to `instead`, with the real write. */
async function writing<T>(
  instead: (write: () => boolean, text: string) => boolean,
  body: () => Promise<T>,
): Promise<T> {
  const write = Reflect.get(Socket.prototype, 'write') as Write;
  const replaced: Write = function (...args) {
    return instead(() => Reflect.apply(write, this, args), String(args[0]));
  };
  Object.assign(Socket.prototype, { write: replaced });
  // Sockets inherit the method from streams.
  return body().finally(() => Reflect.deleteProperty(Socket.prototype, 'write'));
}

/**
 * Stops a process just before this one sends it a certain operation, and kills it right after: it never answers.
 * @param operation the operation's name, as in storage/operations.ts
 */
export function losingReplyTo<T>(
  operation: string,
  pid: number,
  body: () => Promise<T>,
): Promise<T> {
  return writing((write, text) => {
    if (!text.includes(operation)) return write();
    process.kill(pid, 'SIGSTOP');
    const isFlushed = write();
    process.kill(pid, 'SIGKILL');
    return isFlushed;
  }, body);
}

/** Calls `before` just before this process sends an operation. */
export function beforeSending<T>(
  operation: string,
  before: () => void,
  body: () => Promise<T>,
): Promise<T> {
  return writing((write, text) => {
    if (text.includes(operation)) before();
    return write();
  }, body);
}
