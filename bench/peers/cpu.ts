/** CPU time of several processes. Linux alone tells. */
import { readdirSync, readFileSync } from 'node:fs';

/** Linux counts a process' time in hundredths of a second. */
const TICK_MS = 10;

interface ProcessTimes {
  pid: number;
  parent: number;
  /** Its own and that of its children that have ended. */
  cpuMs: number;
}

/** Of a process and all that descend from it; null where this system does not tell. */
export function treeCpuMs(pid: number): number | null {
  const all = allProcesses();
  if (!all.some((one) => one.pid === pid)) return null;
  const sumFrom = (root: number): number =>
    all.reduce(
      (sum, one) =>
        sum + (one.pid === root ? one.cpuMs : one.parent === root ? sumFrom(one.pid) : 0),
      0,
    );
  return sumFrom(pid);
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

/** Fields 4 and 14 to 17 of /proc/PID/stat; the second, which may hold spaces, ends at the last `)`. */
function timesOf(pid: number): ProcessTimes | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const ticks = fields.slice(11, 15).reduce((sum, one) => sum + one, 0);
    return { pid, parent: fields[1], cpuMs: ticks * TICK_MS };
  } catch {
    // It has ended meanwhile.
    return null;
  }
}
