/** Preloaded into the measured command: at exit, writes the process's resource usage to descriptor 3. */
import { readFileSync, writeSync } from 'node:fs';

const DESCRIPTOR = 3;

/** Peak resident memory, on Linux from /proc: resourceUsage() would include the parent process's memory. */
function peakBytes(): number {
  try {
    const [, kilobytes] =
      /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
    if (kilobytes !== undefined) return Number(kilobytes) * 1024;
  } catch {
    // Not Linux.
  }
  return process.resourceUsage().maxRSS * 1024;
}

process.on('exit', () => {
  const { userCPUTime, systemCPUTime } = process.resourceUsage();
  const usage = { cpuS: (userCPUTime + systemCPUTime) / 1e6, peakMegabytes: peakBytes() / 1e6 };
  writeSync(DESCRIPTOR, JSON.stringify(usage));
});
