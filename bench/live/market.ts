/** The market that live clients follow: a store of tokens that each have one snapshot, and files of further ones. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ComputePool } from '../../compute/pool.js';
import type { RewriteInput } from '../../compute/segment/rewrite.js';
import { withStore } from '../../storage/access.js';
import { ingestFiles } from '../../storage/ingest/ingest.js';
import { botAddress, botSnapshotLine, botTokenLine } from '../data/bots.js';
import { openStore, unlimitedKey } from '../store.js';

const START_S = 1_794_000_000;
/** The clock of a server of this market. */
export const NOW_S = START_S + 86_400;
/** Connections per key, as its plan allows. */
const CONNECTIONS_PER_KEY = 100;

/** One snapshot of a token. */
interface TokenSnapshot {
  token: number;
  t: number;
}

export class LiveMarket {
  /** The time of the next snapshots. */
  nextS = START_S;

  private constructor(
    readonly directory: string,
    readonly tokenCount: number,
    private readonly pool: ComputePool,
    private readonly keys: readonly string[],
  ) {}

  /** Makes the store, with keys for as many connections. */
  static async make(
    directory: string,
    pool: ComputePool,
    { tokenCount, connections }: { tokenCount: number; connections: number },
  ): Promise<LiveMarket> {
    const store = await openStore(directory);
    const keys: string[] = [];
    while (keys.length * CONNECTIONS_PER_KEY < connections) keys.push(await unlimitedKey(store));
    await store.close();
    const market = new LiveMarket(directory, tokenCount, pool, keys);
    const tokens = Array.from({ length: tokenCount }, (_, token) => token);
    await market.ingest('tokens', tokens.map(botTokenLine));
    await market.ingestRound();
    return market;
  }

  /** The key of a connection. */
  keyOf(connection: number): string {
    return this.keys[Math.floor(connection / CONNECTIONS_PER_KEY)];
  }

  /** Ingests a file with the next snapshot of each token. @returns its time */
  async ingestRound(): Promise<number> {
    const t = this.nextS++;
    await this.ingestSnapshots(
      Array.from({ length: this.tokenCount }, (_, token) => ({ token, t })),
    );
    return t;
  }

  ingestSnapshots(snapshots: readonly TokenSnapshot[]): Promise<void> {
    return this.ingest(
      'snapshots',
      snapshots.map(({ token, t }) => botSnapshotLine(token, t)),
    );
  }

  addressOf(token: number): string {
    return botAddress(token);
  }

  private async ingest(dataset: 'tokens' | 'snapshots', lines: readonly string[]): Promise<void> {
    const { directory, pool } = this;
    const file = path.join(directory, `${dataset}.ndjson`);
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
