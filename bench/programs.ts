/** Finds, starts and ends programs that are installed on this machine. */
import { execFileSync, spawn, type SpawnOptions } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { onEnd } from './clean-up.js';
import { endProcess } from './processes.js';

/** Time for a program to be ready. */
const START_DEADLINE_MS = 120_000;
/** Time for a program to end after its signal. */
const STOP_DEADLINE_MS = 10_000;
const POLL_MS = 50;
/** How much of the end of its log is kept, to report why it did not start. */
const MAX_LOG_CHARS = 4096;
/** Ports from which free ones are chosen, and the first that Linux assigns on its own. */
const FIRST_PORT = 20_000;
const EPHEMERAL_PORT = 32_768;

export interface RunningProgram {
  pid: number;
  stop(): Promise<void>;
}

/** The program's file on PATH, in /usr/sbin or in one of `folders`; null if it is not installed. */
export function findProgram(name: string, folders: readonly string[] = []): string | null {
  const onPath = (process.env.PATH ?? '').split(path.delimiter);
  const searched = [...onPath, '/usr/sbin', ...folders];
  const files = searched.filter((folder) => folder !== '').map((folder) => path.join(folder, name));
  return files.find(isExecutable) ?? null;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The output of a short command; null if it fails or is not installed. */
export function outputOf(
  file: string,
  words: readonly string[],
  identity: { uid?: number; gid?: number } = {},
): string | null {
  try {
    const stdio = ['ignore', 'pipe', 'ignore'] as const;
    return execFileSync(file, words, { ...identity, encoding: 'utf8', stdio: [...stdio] }).trim();
  } catch {
    return null;
  }
}

/**
 * Starts a server program and waits until `isReady`.
 * @param endSignal a signal that ends it at once, even with connected clients
 * @throws Error with the end of its log if it ends or is not ready in time
 */
export async function startProgram(
  file: string,
  words: readonly string[],
  options: SpawnOptions,
  endSignal: NodeJS.Signals,
  isReady: () => Promise<boolean>,
): Promise<RunningProgram> {
  const child = spawn(file, words, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';
  const keep = (text: string): void => void (log = (log + text).slice(-MAX_LOG_CHARS));
  child.stdout?.setEncoding('utf8').on('data', keep);
  child.stderr?.setEncoding('utf8').on('data', keep);
  // It must not outlive an interrupted bench, nor write to a folder that is being removed.
  const forget = onEnd(() => void child.kill(endSignal));
  child.once('exit', forget).on('error', (error) => {
    keep(error.message);
    forget();
  });
  const name = path.basename(file);
  const deadline = performance.now() + START_DEADLINE_MS;
  while (!(await isReady())) {
    const hasEnded = child.pid === undefined || child.exitCode !== null;
    if (hasEnded || performance.now() > deadline) {
      await endProcess(child, endSignal, STOP_DEADLINE_MS);
      throw new Error(`${name} ${hasEnded ? 'ended' : 'was not ready in time'}:\n${log}`);
    }
    await sleep(POLL_MS);
  }
  const stop = () => endProcess(child, endSignal, STOP_DEADLINE_MS);
  return { pid: child.pid as number, stop };
}

/** Currently free ports of this machine. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, listenBelowEphemeral));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

/** Listens on a port that the system assigns to no other program on its own, so it stays free once it is closed. */
function listenBelowEphemeral(): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    const listen = (): void => {
      const port = FIRST_PORT + Math.floor(Math.random() * (EPHEMERAL_PORT - FIRST_PORT));
      server.listen(port, '127.0.0.1');
    };
    server.once('listening', () => resolve(server));
    server.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') listen();
      else reject(error);
    });
    listen();
  });
}
