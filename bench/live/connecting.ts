/** Connects many clients, as far as the limit of open files allows. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { BenchUsageError } from '../errors.js';
import type { Subscriber } from './subscriber.js';

/** Connections opened at the same time. */
const OPENING = 200;
export const CONNECT_LIMIT_MS = 60_000;
const RETRY_MS = 100;
/** Files that server and clients open beside their connections. */
const OTHER_FILES = 500;

/**
 * Node raises its own limit of open files to the hard one, in the server too. Without /proc, the check is left out.
 * @throws BenchUsageError if it is too low for as many connections
 */
export function checkOpenFiles(connections: number): void {
  let limits = '';
  try {
    limits = readFileSync('/proc/self/limits', 'utf8');
  } catch {
    return;
  }
  const most = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Infinity);
  const needed = connections + OTHER_FILES;
  if (most >= needed) return;
  throw new BenchUsageError(
    `${connections} connections need ${needed} open files, and ${most} are allowed: raise the limit with 'ulimit -n ${needed}'`,
  );
}

/**
 * Connects all clients, some at a time. A refused one tries again, as clients do: a server that has not noticed yet
 * that a key's connections ended still counts them.
 * @returns milliseconds
 * @throws Error if one is refused for CONNECT_LIMIT_MS
 */
export async function connectAll(clients: readonly Subscriber[]): Promise<number> {
  const beganMs = performance.now();
  let next = 0;
  const connect = async (client: Subscriber): Promise<void> => {
    try {
      await client.connect();
    } catch (error) {
      if (performance.now() - beganMs > CONNECT_LIMIT_MS) throw error;
      await sleep(RETRY_MS);
      await connect(client);
    }
  };
  const connectNext = async (): Promise<void> => {
    while (next < clients.length) await connect(clients[next++]);
  };
  await Promise.all(Array.from({ length: OPENING }, connectNext));
  return performance.now() - beganMs;
}
