/** Runs the real server in a separate process. */
import { spawn, type ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { onEnd } from '../clean-up.js';
import { BenchFailure } from '../errors.js';
import type { LoopDelay } from './loop-probe.js';
import { endProcess, processCpuMs, residentMegabytes } from '../processes.js';

/** Time limit for beginning to listen. */
const START_DEADLINE_MS = 120_000;
const READY_DEADLINE_MS = 60_000;
/** Time limit for ending after SIGTERM. */
const STOP_DEADLINE_MS = 60_000;
/** How much of the end of its log is kept, to report why it did not start. */
const MAX_LOG_CHARS = 4096;

export interface BenchServer {
  url: string;
  pid: number;
  /** Restarts the measurement of the event loop. Needs `probeLoop`. */
  resetLoopDelay(): void;
  loopDelay(): Promise<LoopDelay>;
  /** CPU time of all its threads; null without /proc. */
  cpuMs(): number | null;
  /** Resident memory in MB; null without /proc. */
  residentMegabytes(): number | null;
  /** Stops the server. @throws Error if it fails or hangs */
  stop(): Promise<void>;
}

interface ServerOptions {
  probeLoop?: boolean;
  /** Whether only one thread makes pages: more take longer to start. */
  smoke?: boolean;
  flags?: readonly string[];
}

/**
 * Starts `fathom serve` on a free port of 127.0.0.1, with a frozen clock and no stale scores.
 * @throws Error with the end of its log if it does not listen
 */
export async function startBenchServer(
  directory: string,
  asOfS: number,
  { probeLoop = false, smoke = false, flags: more = [] }: ServerOptions = {},
): Promise<BenchServer> {
  const main = fileURLToPath(new URL('../../server/cli/main.js', import.meta.url));
  const flags = ['--data', directory, '--host', '127.0.0.1', '--port', '0', '--as-of', `${asOfS}`];
  flags.push('--stale-after', '365d');
  const probe = fileURLToPath(new URL('./loop-probe.js', import.meta.url));
  if (smoke) flags.push('--threads', '1');
  const imports = probeLoop ? ['--import', pathToFileURL(probe).href] : [];
  const child = spawn(process.execPath, [...imports, main, 'serve', ...flags, ...more], {
    // Without the caller's settings and without a config file from the working directory.
    env: Object.fromEntries(Object.entries(process.env).filter(([k]) => !k.startsWith('FATHOM_'))),
    cwd: directory,
    stdio: ['ignore', 'ignore', 'pipe', ...(probeLoop ? (['ipc'] as const) : [])],
  });
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  // The server must not outlive an interrupted bench.
  const kill = (): void => void child.kill('SIGKILL');
  void exited.then(onEnd(kill));
  try {
    const url = await listeningUrl(child, exited);
    const pid = child.pid as number;
    return {
      url,
      pid,
      resetLoopDelay: () => void child.send('reset'),
      loopDelay: () => loopDelay(child),
      cpuMs: () => processCpuMs(pid),
      residentMegabytes: () => residentMegabytes(pid),
      async stop() {
        await endProcess(child, 'SIGTERM', STOP_DEADLINE_MS);
        const code = await exited;
        if (code !== 0) throw new Error(`fathom serve ended with ${code ?? 'a signal'}`);
      },
    };
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
}

/** Waits until a server that listens is ready. @throws BenchFailure if it is not in time */
export async function untilReady(url: string): Promise<void> {
  const deadlineMs = performance.now() + READY_DEADLINE_MS;
  for (;;) {
    const reply = await fetch(`${url}/readyz`);
    const text = await reply.text();
    if (reply.ok) return;
    if (performance.now() > deadlineMs) throw new BenchFailure(`a server is not ready: ${text}`);
    await sleep(50);
  }
}

function listeningUrl(child: ChildProcess, exited: Promise<number | null>): Promise<string> {
  return new Promise((resolve, reject) => {
    let log = '';
    const fail = (why: string) => reject(new Error(`fathom serve ${why}:\n${log}`));
    const timer = setTimeout(() => fail('did not listen in time'), START_DEADLINE_MS);
    void exited.then((code) => fail(`ended with ${code}`));
    const read = (text: string): void => {
      log = (log + text).slice(-MAX_LOG_CHARS);
      const url = /"url":"([^"]+)"/.exec(log)?.[1];
      if (url === undefined) return;
      clearTimeout(timer);
      // From here on, the log has only lines about requests, which are not needed.
      child.stderr?.off('data', read).resume();
      resolve(url);
    };
    child.stderr?.setEncoding('utf8').on('data', read);
  });
}

function loopDelay(child: ChildProcess): Promise<LoopDelay> {
  return new Promise((resolve) => {
    child.once('message', (read) => resolve(read as LoopDelay));
    child.send('read');
  });
}
