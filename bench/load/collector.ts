/** A collector in a separate process: commits snapshots at a fixed rate into the running server's store. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startPool, type ComputePool } from '../../compute/pool.js';
import { HOUR_S } from '../../compute/time.js';
import type { RewriteInput } from '../../compute/segment/rewrite.js';
import { withStore } from '../../storage/access.js';
import type { Dataset } from '../../storage/ingest/datasets.js';
import { ingestFiles } from '../../storage/ingest/ingest.js';
import { botSnapshotLine, botTokenLine } from '../data/bots.js';
import { datasetLines, OTHER_DATASETS } from '../data/datasets.js';

/** Collectors start this long before the server's clock. */
export const COLLECTED_S = 6 * HOUR_S;

export interface CollectOrder {
  /** The data directory, and a folder for the files to ingest. */
  directory: string;
  folder: string;
  tokens: number;
  /** Snapshots per commit, of the tokens in turn; one commit per second. */
  snapshotsPerSecond: number;
  /** Epoch seconds of the first snapshots. */
  fromS: number;
  /** After this many commits, times start over and snapshots replace stored ones; default: never. */
  repeatAfter?: number;
  /** Whether each commit is followed by one of another dataset. */
  everyDataset?: boolean;
  forMs: number;
}

export interface CollectReport {
  snapshots: number;
  commits: number;
  elapsedMs: number;
}

/** Fills a closed store with every token's row and one snapshot. */
export function fillBots(order: Omit<CollectOrder, 'forMs' | 'snapshotsPerSecond'>): Promise<void> {
  return withCollectorPool(async (pool) => {
    const all = Array.from({ length: order.tokens }, (_, i) => i);
    await ingest(order, pool, 'tokens', all.map(botTokenLine));
    const lines = all.map((i) => botSnapshotLine(i, order.fromS));
    await ingest(order, pool, 'snapshots', lines);
  });
}

/** Commits for `forMs`, the snapshots of one second at a time. */
export function collect(order: CollectOrder): Promise<CollectReport> {
  const { tokens, snapshotsPerSecond, fromS, forMs, repeatAfter = Infinity } = order;
  return withCollectorPool(async (pool) => {
    const began = performance.now();
    const report = { snapshots: 0, commits: 0, elapsedMs: 0 };
    for (let second = 0; performance.now() - began < forMs; second++) {
      const lines = Array.from({ length: snapshotsPerSecond }, (_, i) =>
        botSnapshotLine(
          (second * snapshotsPerSecond + i) % tokens,
          fromS + 1 + (second % repeatAfter),
        ),
      );
      await ingest(order, pool, 'snapshots', lines);
      if (order.everyDataset === true) {
        const dataset = OTHER_DATASETS[second % OTHER_DATASETS.length];
        await ingest(order, pool, dataset, datasetLines(dataset, second));
      }
      report.snapshots += lines.length;
      report.commits++;
      await sleep(Math.max(0, began + (second + 1) * 1000 - performance.now()));
    }
    report.elapsedMs = performance.now() - began;
    return report;
  });
}

async function ingest(
  { directory, folder }: Pick<CollectOrder, 'directory' | 'folder'>,
  pool: ComputePool,
  dataset: Dataset,
  lines: readonly string[],
): Promise<void> {
  const file = path.join(folder, `${dataset}.ndjson`);
  await writeFile(file, `${lines.join('\n')}\n`);
  const rewrite = (input: RewriteInput) => pool.run('rewriteSegments', input);
  const reports = ingestFiles({
    directory,
    dataset,
    files: [file],
    merge: false,
    pool,
    useStore: (body) => withStore(directory, { rewrite }, body),
  });
  while ((await reports.next()).done !== true);
}

async function withCollectorPool<T>(body: (pool: ComputePool) => Promise<T>): Promise<T> {
  const faults: Error[] = [];
  const pool = await startPool({ threads: 1, onError: (error) => faults.push(error) });
  const result = await body(pool).finally(() => pool.close());
  if (faults.length > 0) throw faults[0];
  return result;
}
