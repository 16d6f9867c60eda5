/** A collector: ingests tokens and snapshots of bots into a closed store, or a running server's. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startPool, type ComputePool } from '../../compute/pool.js';
import { HOUR_S } from '../../compute/time.js';
import type { RewriteInput } from '../../compute/segment/rewrite.js';
import { withStore } from '../../storage/access.js';
import { ingestFiles } from '../../storage/ingest/ingest.js';
import { botSnapshotLine, botTokenLine } from '../data/bots.js';

/** Collectors start this long before the server's clock. */
export const COLLECTED_S = 6 * HOUR_S;

interface BotSnapshot {
  token: number;
  t: number;
}

/** Ingests files into the store of a data directory. */
export class Collector {
  /** @param folder for the files */
  constructor(
    private readonly directory: string,
    private readonly folder: string,
    private readonly pool: ComputePool,
  ) {}

  tokens(count: number): Promise<void> {
    return this.ingest(
      'tokens',
      Array.from({ length: count }, (_, i) => botTokenLine(i)),
    );
  }

  snapshots(all: readonly BotSnapshot[]): Promise<void> {
    return this.ingest(
      'snapshots',
      all.map(({ token, t }) => botSnapshotLine(token, t)),
    );
  }

  /** One snapshot of each of `tokens` tokens. */
  round(tokens: number, t: number): Promise<void> {
    return this.snapshots(Array.from({ length: tokens }, (_, token) => ({ token, t })));
  }

  private async ingest(dataset: 'tokens' | 'snapshots', lines: readonly string[]): Promise<void> {
    const { directory, folder, pool } = this;
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
}

export interface CollectOrder {
  /** The data directory, and a folder for the files to ingest. */
  directory: string;
  folder: string;
  tokens: number;
  /** Snapshots per commit, of the tokens in turn; one commit per second. */
  snapshotsPerSecond: number;
  /** Epoch seconds of the first snapshots. */
  fromS: number;
  forMs: number;
}

export interface CollectReport {
  snapshots: number;
  elapsedMs: number;
}

/** Fills a closed store with every token's row and one snapshot. */
export function fillBots(order: Omit<CollectOrder, 'forMs' | 'snapshotsPerSecond'>): Promise<void> {
  return withCollectorPool(async (pool) => {
    const collector = new Collector(order.directory, order.folder, pool);
    await collector.tokens(order.tokens);
    await collector.round(order.tokens, order.fromS);
  });
}

/** Commits for `forMs`, the snapshots of one second at a time. */
export function collect(order: CollectOrder): Promise<CollectReport> {
  const { directory, folder, tokens, snapshotsPerSecond, fromS, forMs } = order;
  return withCollectorPool(async (pool) => {
    const collector = new Collector(directory, folder, pool);
    const began = performance.now();
    let snapshots = 0;
    for (let second = 0; performance.now() - began < forMs; second++) {
      const all = Array.from({ length: snapshotsPerSecond }, (_, i) => {
        return { token: (second * snapshotsPerSecond + i) % tokens, t: fromS + 1 + second };
      });
      await collector.snapshots(all);
      snapshots += all.length;
      await sleep(Math.max(0, began + (second + 1) * 1000 - performance.now()));
    }
    return { snapshots, elapsedMs: performance.now() - began };
  });
}

/** Runs `body` with a pool of one thread. @throws Error if one of its threads failed */
export async function withCollectorPool<T>(body: (pool: ComputePool) => Promise<T>): Promise<T> {
  const faults: Error[] = [];
  const pool = await startPool({ threads: 1, onError: (error) => faults.push(error) });
  const result = await body(pool).finally(() => pool.close());
  if (faults.length > 0) throw faults[0];
  return result;
}
