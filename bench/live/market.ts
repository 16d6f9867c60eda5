/** The market that live clients follow: a store of tokens that each have one snapshot, and files of further ones. */
import type { ComputePool } from '../../compute/pool.js';
import { botAddress } from '../data/bots.js';
import { Collector } from '../http/collector.js';
import { openStore, unlimitedKey } from '../store.js';

const START_S = 1_794_000_000;
/** The clock of a server of this market. */
export const NOW_S = START_S + 86_400;
/** Connections per key, as its plan allows. */
const CONNECTIONS_PER_KEY = 100;

export class LiveMarket {
  /** The time of the next snapshots. */
  nextS = START_S;

  private constructor(
    readonly directory: string,
    readonly tokenCount: number,
    readonly collector: Collector,
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
    const collector = new Collector(directory, directory, pool);
    const market = new LiveMarket(directory, tokenCount, collector, keys);
    await collector.tokens(tokenCount);
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
    await this.collector.round(this.tokenCount, t);
    return t;
  }

  addressOf(token: number): string {
    return botAddress(token);
  }
}
