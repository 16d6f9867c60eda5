/** Programs of others that are installed here, started and ended by this process. */
import { execFileSync, spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** A program has to be ready within this. */
const START_DEADLINE_MS = 30_000;
/** It has to end within this after it was asked to. */
const STOP_DEADLINE_MS = 10_000;
const POLL_MS = 50;
/** What is kept of its log to say why it did not start. */
const MAX_LOG_CHARS = 4096;

export interface RunningProgram {
  pid: number;
  stop(): Promise<void>;
}

/** The program's file on PATH or in one of `folders`, null where it is in none of them. */
export function findProgram(name: string, folders: readonly string[] = []): string | null {
  const searched = [...(process.env.PATH ?? '').split(path.delimiter), ...folders];
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

/** What a short command prints, null where it fails or is not there. */
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
 * @param endSignal what asks it to end at once, its clients notwithstanding
 * @throws Error with the end of its log where it ends or is not ready in time
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
  child.on('error', (error) => keep(error.message));
  const name = path.basename(file);
  // It must not outlive a bench that is broken off, nor write to a folder that is being removed.
  process.prependOnceListener('exit', () => child.kill(endSignal));
  const deadline = performance.now() + START_DEADLINE_MS;
  while (!(await isReady())) {
    const hasEnded = child.pid === undefined || child.exitCode !== null;
    if (hasEnded || performance.now() > deadline) {
      await stop(child, endSignal);
      throw new Error(`${name} ${hasEnded ? 'ended' : 'was not ready in time'}:\n${log}`);
    }
    await sleep(POLL_MS);
  }
  return { pid: child.pid as number, stop: () => stop(child, endSignal) };
}

async function stop(child: ChildProcess, endSignal: NodeJS.Signals): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill(endSignal);
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_DEADLINE_MS);
  await ended;
  clearTimeout(timer);
}
