/** What a server holds at one moment, and whether it grows. */
import { readdir, readFile } from 'node:fs/promises';
import { residentMegabytes } from '../../bench/processes.js';
import { databaseBytes } from '../../bench/store.js';

/** Each in its unit; NaN without /proc. Without fragments of pages: their bounded cache may fill for hours. */
export interface Sample {
  residentMib: number;
  heapMib: number;
  externalMib: number;
  descriptors: number;
  /** Files of the data directory. */
  files: number;
  databaseMib: number;
}
export type Held = keyof Sample;

const MIB = 1024 * 1024;

/** How much may fluctuate: a share of the first third, plus an amount in the unit. */
const SLACK: Readonly<Record<Held, readonly [share: number, units: number]>> = {
  residentMib: [0.1, 32],
  heapMib: [0.1, 16],
  externalMib: [0.1, 16],
  descriptors: [0, 8],
  files: [0, 4],
  databaseMib: [0.15, 32],
};
/** Share of the time in which caches fill. */
const WARMUP_SHARE = 1 / 4;

export async function takeSample(
  server: { url: string; pid: number },
  directory: string,
): Promise<Sample> {
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  const metric = (name: string): number =>
    Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics)?.[1] ?? NaN);
  const entries = (folder: string, recursive = false): Promise<number> =>
    readdir(folder, { recursive }).then(
      ({ length }) => length,
      () => NaN,
    );
  const fragmentsMib = metric('fathom_fragments_memory_bytes') / MIB;
  return {
    residentMib: ((residentMegabytes(server.pid) ?? NaN) * 1e6) / MIB - fragmentsMib,
    heapMib: metric('nodejs_heap_size_used_bytes') / MIB,
    externalMib: metric('nodejs_external_memory_bytes') / MIB - fragmentsMib,
    descriptors: await entries(`/proc/${server.pid}/fd`),
    files: (await entries(directory, true)) - metric('fathom_fragments_disk_files'),
    databaseMib: (await databaseBytes(directory)) / MIB,
  };
}

interface Trend {
  held: Held;
  /** The least value of each third after the warm-up, which ignores peaks of work. */
  thirds: [number, number, number];
  most: number;
  grew: boolean;
}

/** Something grew if each third has more than the one before, and the last too much more than the first. */
export function trendsOf(samples: readonly Sample[]): Trend[] {
  const warm = samples.slice(Math.floor(samples.length * WARMUP_SHARE));
  const third = Math.ceil(warm.length / 3);
  return (Object.keys(SLACK) as Held[]).map((held) => {
    const least = (i: number): number =>
      Math.min(...warm.slice(i * third, (i + 1) * third).map((sample) => sample[held]));
    const thirds: Trend['thirds'] = [least(0), least(1), least(2)];
    const [share, units] = SLACK[held];
    const [first, second, last] = thirds;
    const grew = first < second && second < last && last > first * (1 + share) + units;
    return { held, thirds, most: Math.max(...samples.map((sample) => sample[held])), grew };
  });
}

/** Peak resident memory, in MiB; NaN without /proc. */
export async function peakMib(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? NaN) / 1024;
}
