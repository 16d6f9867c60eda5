/** Ends processes, and reads their times and memory from /proc, which only Linux has. */
import { type ChildProcess, execFileSync } from 'node:child_process';
import { openSync, readdirSync, readFileSync, readSync } from 'node:fs';

/** Linux counts a process' time in hundredths of a second. */
const TICK_MS = 10;
/** A schedstat file has three numbers of at most 20 digits. */
const MAX_SCHEDSTAT_BYTES = 64;

interface ProcessTimes {
  pid: number;
  parent: number;
  /** CPU time of all its threads. */
  ownMs: number;
  /** CPU time of its ended children. */
  endedChildrenMs: number;
}

/** Asks a process to end, kills it if it does not end in time, and waits for its end. */
export async function endProcess(
  child: ChildProcess,
  signal: NodeJS.Signals,
  deadlineMs: number,
): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  const timer = setTimeout(() => child.kill('SIGKILL'), deadlineMs);
  await ended;
  clearTimeout(timer);
}

/** Lets all threads of a process, and its later children, run on these cores only. @throws Error without Linux's taskset */
export function runOnCores(pid: number, cores: readonly number[]): void {
  execFileSync('taskset', ['-a', '-c', '-p', cores.join(), `${pid}`], { stdio: 'ignore' });
}

/** CPU time of all threads of a process; null if it has ended, or without /proc. */
export function processCpuMs(pid: number): number | null {
  return timesOf(pid)?.ownMs ?? null;
}

/** CPU time of a process and its descendants; null if it has ended, or without /proc. */
export function treeCpuMs(pid: number): number | null {
  const all = allProcesses();
  if (!all.some((one) => one.pid === pid)) return null;
  const sumFrom = (root: number): number =>
    all.reduce((sum, one) => {
      if (one.pid === root) return sum + one.ownMs + one.endedChildrenMs;
      return one.parent === root ? sum + sumFrom(one.pid) : sum;
    }, 0);
  return sumFrom(pid);
}

/** Resident memory of a process in MB; null if it has ended, or without /proc. */
export function residentMegabytes(pid: number): number | null {
  const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(textOf(`/proc/${pid}/status`) ?? '')?.[1];
  return kibibytes === undefined ? null : (Number(kibibytes) * 1024) / 1e6;
}

/** How long a thread has run on a core and waited for one since it began; nanoseconds. */
type ThreadTimes = readonly [busyNs: number, waitingNs: number];

/**
 * Opens the times of a process' main thread, by default this one's, so that each reading is cheap; null without /proc.
 */
export function mainThreadTimes(pid = process.pid): (() => ThreadTimes) | null {
  try {
    // The main thread's id is the process'.
    const file = openSync(`/proc/${pid}/task/${pid}/schedstat`, 'r');
    const text = Buffer.alloc(MAX_SCHEDSTAT_BYTES);
    return () => {
      // The file has a running thread's time as of the last tick, up to 4 ms ago. This call brings its caller's up to date.
      if (pid === process.pid) process.cpuUsage();
      const read = text.toString('latin1', 0, readSync(file, text, 0, text.length, 0));
      const [busy, waiting] = read.split(' ', 2);
      return [Number(busy), Number(waiting)];
    };
  } catch {
    return null;
  }
}

function allProcesses(): ProcessTimes[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((name) => timesOf(Number(name)) ?? []);
  } catch {
    return [];
  }
}

/** Fields 4 and 14 to 17 of /proc/PID/stat; the second field may contain spaces and ends at the last `)`. */
function timesOf(pid: number): ProcessTimes | null {
  const stat = textOf(`/proc/${pid}/stat`);
  if (stat === null) return null;
  const fields = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const [user, system, childrenUser, childrenSystem] = fields.slice(11, 15);
  return {
    pid,
    parent: fields[1],
    ownMs: (user + system) * TICK_MS,
    endedChildrenMs: (childrenUser + childrenSystem) * TICK_MS,
  };
}

/** A file's text; null if the file does not exist, such as that of an ended process. */
function textOf(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}
