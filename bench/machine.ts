/** The machine and the revision behind a result; without the machine's name. */
import { execFileSync } from 'node:child_process';
import os from 'node:os';
import { fileURLToPath } from 'node:url';

export interface MachineFacts {
  node: string;
  zlib: string;
  platform: string;
  cores: number;
  cpuModel: string;
  memoryMegabytes: number;
  /** The load average over the last minute when the bench began: above 0, other processes were running too. */
  loadAverage: number;
}

export interface Revision {
  commit: string;
  /** Files differ from the commit. */
  dirty: boolean;
}

export function machineFacts(): MachineFacts {
  return {
    node: process.version,
    zlib: process.versions.zlib,
    platform: `${process.platform} ${process.arch}`,
    cores: os.availableParallelism(),
    cpuModel: os.cpus()[0]?.model.trim() ?? 'unknown',
    memoryMegabytes: Math.round(os.totalmem() / 1e6),
    loadAverage: Math.round(os.loadavg()[0] * 100) / 100,
  };
}

/** The commit that is checked out; null outside a clone, or without git. */
export function revision(): Revision | null {
  const git = (...words: string[]): string =>
    execFileSync('git', ['--no-optional-locks', ...words], {
      cwd: fileURLToPath(new URL('.', import.meta.url)),
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  try {
    return { commit: git('rev-parse', 'HEAD'), dirty: git('status', '--porcelain') !== '' };
  } catch {
    return null;
  }
}
