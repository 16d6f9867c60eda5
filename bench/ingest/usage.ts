/** Loaded in front of the measured command: what its process used, written to descriptor 3 at its end. */
import { readFileSync, writeSync } from 'node:fs';

const DESCRIPTOR = 3;

/**
 * Greatest resident memory. Linux's own count of this program: that of resourceUsage() begins with
 * what the process held that started it.
 */
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
