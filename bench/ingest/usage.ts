/** Loaded in front of the measured command: what its process used, written to descriptor 3 at its end. */
import { writeSync } from 'node:fs';

const DESCRIPTOR = 3;

process.on('exit', () => {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  const usage = { cpuS: (userCPUTime + systemCPUTime) / 1e6, peakMegabytes: (maxRSS * 1024) / 1e6 };
  writeSync(DESCRIPTOR, JSON.stringify(usage));
});
