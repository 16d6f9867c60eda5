/**
 * Divides the memory of the process (`--memory-mib`) into shares. Everything that the server caches or
 * buffers has one; memory that grows only with the stored data has none (docs/settings.md#memory).
 */
import { availableParallelism } from 'node:os';
import { recordOf } from '../compute/collections.js';

export const MIB = 2 ** 20;
export const DEFAULT_MEMORY_MIB = 2048;
/** Node, its libraries and DuckDB's, and the event loop's heap while the store is small. */
export const PROCESS_MIB = 240;
/** A worker thread: its heap, and the page that it works on. */
export const THREAD_MIB = 56;
/** Heaps of a worker thread. They stay small, since the columns that it works on lie outside. */
export const THREAD_HEAPS = { maxYoungGenerationSizeMb: 12, maxOldGenerationSizeMb: 256 } as const;

/** Each share: its minimum, and its percentage of the memory that remains after all minimums. */
export const SHARES = {
  /** DuckDB's own bound. */
  database: { leastMib: 128, percent: 30 },
  /** Fragments of pages. */
  fragments: { leastMib: 8, percent: 15 },
  /** Blocks of segments that pages used. */
  blocks: { leastMib: 4, percent: 4 },
  /** Pages from fragments that are kept for the next request. */
  keptPages: { leastMib: 4, percent: 4 },
  /** Replies that clients have yet to take. */
  replies: { leastMib: 24, percent: 10 },
  /** Live messages: those that clients have yet to take, and those that are kept for further clients. */
  live: { leastMib: 16, percent: 5 },
  /** Newest snapshots of tokens. */
  ladders: { leastMib: 8, percent: 10 },
  /** Replies that are kept for the next request, without pages. */
  keptReplies: { leastMib: 8, percent: 8 },
  /** Tokens' lists of segments. */
  directories: { leastMib: 8, percent: 7 },
  /** Entries of the newest segments. */
  newestSegments: { leastMib: 4, percent: 4 },
  /** Owners of recently changed holder histories, and requested holder flows. */
  holders: { leastMib: 4, percent: 3 },
} as const;

export type ShareName = keyof typeof SHARES;
/** Bytes of each share. */
export type Shares = Readonly<Record<ShareName, number>>;

const NAMES = Object.keys(SHARES) as ShareName[];

/** The default number of worker threads: one per core, as long as they take at most half of the memory for caches. */
export function defaultThreads(memoryMib: number, given: Partial<Shares> = {}): number {
  const left = memoryMib - leastMemoryMib(0, given);
  return Math.max(1, Math.min(availableParallelism(), Math.floor(left / 2 / THREAD_MIB)));
}

/** The least memory for this many threads and the given shares. */
export function leastMemoryMib(threads: number, given: Partial<Shares> = {}): number {
  const least = NAMES.map((name) => Math.ceil((given[name] ?? 0) / MIB) || leastOf(name, given));
  return PROCESS_MIB + threads * THREAD_MIB + least.reduce((sum, mib) => sum + mib, 0);
}

function leastOf(name: ShareName, given: Partial<Shares>): number {
  return given[name] === 0 ? 0 : SHARES[name].leastMib;
}

/**
 * The shares of a process; `memoryMib` is at least leastMemoryMib().
 * @param given shares that are configured separately: the others divide the rest
 */
export function divideMemory(
  memoryMib: number,
  threads: number,
  given: Partial<Shares> = {},
): Shares {
  const left = memoryMib - leastMemoryMib(threads, given);
  const divided = NAMES.filter((name) => given[name] === undefined);
  const percents = divided.reduce((sum, name) => sum + SHARES[name].percent, 0);
  const bytesOf = (name: ShareName): number => {
    const { leastMib, percent } = SHARES[name];
    if (given[name] !== undefined) return given[name];
    return Math.floor(MIB * (leastMib + (left * percent) / percents));
  };
  return recordOf(NAMES, bytesOf);
}

/** The shares of caches that are created without a server's settings. */
export const DEFAULT_SHARES = divideMemory(DEFAULT_MEMORY_MIB, 2);
