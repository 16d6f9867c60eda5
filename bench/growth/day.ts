/** A day of a collector's small commits, followed by compaction, and the file afterwards. */
import path from 'node:path';
import { describeSegment, sliceRun } from '../../compute/segment/segment.js';
import { Database } from '../../storage/duckdb/database.js';
import { DATABASE_FILE } from '../../storage/data-directory.js';
import type { Store } from '../../storage/store.js';
import { PAGE_A, tokenHistory } from '../data/pages.js';
import { commitFrames, databaseBytes, openStore } from '../store.js';

/** How often the file's size is read during the day. */
const LOOKS = 12;

export interface DayResult {
  tokens: number;
  commits: number;
  cells: number;
  /** Mean milliseconds of a commit, including the work after it. */
  commitMs: number;
  segmentsPerToken: number;
  /** Bytes per cell: of the blocks, of the closed file, and of file and log at their largest. */
  blockBytes: number;
  fileBytes: number;
  mostBytes: number;
  /** The share of free blocks in the closed file. */
  freeShare: number;
}

/** Commits one snapshot of every token, `commits` times. */
export async function measureDay(
  directory: string,
  { dayTokens: tokens, dayCommits: commits }: { dayTokens: number; dayCommits: number },
): Promise<DayResult> {
  const histories = Array.from({ length: tokens }, (_, i) => tokenHistory(PAGE_A, commits, i));
  const cells = tokens * commits * PAGE_A.cells;
  const store = await openStore(directory);
  let commitMs = 0;
  let mostBytes = 0;
  try {
    for (let s = 0; s < commits; s++) {
      const frames = histories.map(({ run, markets }) => {
        const { chain, address, tier } = run;
        const segment = describeSegment(sliceRun(run, s, s + 1));
        return { kind: 'segment' as const, chain, address, tier, markets, segment };
      });
      commitMs += await timed(store, frames);
      if (s % Math.ceil(commits / LOOKS) === 0) {
        mostBytes = Math.max(mostBytes, await databaseBytes(directory));
      }
    }
  } finally {
    await store.close();
  }
  const fileBytes = await databaseBytes(directory);
  return {
    tokens,
    commits,
    cells,
    commitMs: commitMs / commits,
    fileBytes: fileBytes / cells,
    mostBytes: Math.max(mostBytes, fileBytes) / cells,
    ...(await contentsOf(directory, tokens, cells)),
  };
}

async function timed(store: Store, frames: Parameters<typeof commitFrames>[1]): Promise<number> {
  const began = performance.now();
  await commitFrames(store, frames);
  await store.settled();
  return performance.now() - began;
}

async function contentsOf(directory: string, tokens: number, cells: number) {
  const file = path.join(directory, DATABASE_FILE);
  const database = await Database.openFile(file, { memoryLimitMiB: 512, threads: 2 });
  try {
    const [[segments, bytes]] = await database.rows(
      `SELECT count(*), sum(octet_length(data))::BIGINT
              + (SELECT coalesce(sum(octet_length(data)), 0)::BIGINT FROM segment_parts)
       FROM segments`,
    );
    const [[total, free]] = await database.rows(
      "SELECT total_blocks, free_blocks FROM pragma_database_size() WHERE database_name = 'store'",
    );
    return {
      segmentsPerToken: (segments as number) / tokens,
      blockBytes: (bytes as number) / cells,
      freeShare: (free as number) / (total as number),
    };
  } finally {
    await database.close();
  }
}
