/**
 * The table `queue`: tokens requested before the store knew them, counted in memory and written behind.
 */
import { LRUCache } from 'lru-cache';
import type { Chain } from '../compute/market.js';
import type { QueuedToken, TokenName, TokenQueue } from './contract.js';
import type { Database } from './duckdb/database.js';
import type { SqlValue } from './duckdb/statements.js';
import { wallS } from './wall-clock.js';
import { WriteBehind } from './write-behind.js';

/** Tokens in the queue. A further one replaces the token whose last request is the oldest. */
export const MAX_QUEUED_TOKENS = 100_000;

interface Waiting extends QueuedToken {
  lastRequestedAtS: number;
}

interface WaitingTokensOptions {
  /** Whether the store knows the token by now. */
  hasRecord: (chain: Chain, address: string) => boolean;
  /** Called when a write fails; it is retried. */
  onError: (error: unknown) => void;
  /** The system's clock: the queue ignores a frozen clock. */
  nowS?: () => number;
  maxTokens?: number;
}

export class WaitingTokens implements TokenQueue {
  /** By address, which is unique over both chains. */
  private readonly entries: LRUCache<string, Waiting>;
  /** Addresses to write; the row of a removed entry is deleted. */
  private readonly rows: WriteBehind<string>;
  private readonly nowS: () => number;

  private constructor(
    private readonly database: Pick<Database, 'rows' | 'shortTransaction'>,
    private readonly options: WaitingTokensOptions,
  ) {
    this.nowS = options.nowS ?? wallS;
    this.entries = new LRUCache({
      maxSize: options.maxTokens ?? MAX_QUEUED_TOKENS,
      sizeCalculation: () => 1,
      dispose: (_, address) => this.rows.mark(address),
    });
    this.rows = new WriteBehind({
      write: (addresses) => this.write(addresses),
      onError: options.onError,
    });
  }

  /** Loads the queue of a store, without tokens that have a record by now. */
  static async load(
    database: Pick<Database, 'rows' | 'shortTransaction'>,
    options: WaitingTokensOptions,
  ): Promise<WaitingTokens> {
    const queue = new WaitingTokens(database, options);
    const rows = await database.rows(
      `SELECT chain, address, requested_at, requests, last_requested_at FROM queue
       ORDER BY last_requested_at, address`,
    );
    for (const row of rows as [Chain, string, number, number, number][]) {
      const [chain, address, requestedAtS, requests, lastRequestedAtS] = row;
      queue.entries.set(address, { chain, address, requestedAtS, requests, lastRequestedAtS });
    }
    queue.settle([...queue.entries.values()]);
    return queue;
  }

  request(chain: Chain, address: string): boolean {
    if (this.options.hasRecord(chain, address)) return false;
    const nowS = this.nowS();
    const known = this.entries.get(address);
    const entry = known ?? { chain, address, requestedAtS: nowS, requests: 0, lastRequestedAtS: 0 };
    entry.requests++;
    entry.lastRequestedAtS = nowS;
    this.entries.set(address, entry);
    this.rows.mark(address);
    return known === undefined;
  }

  list(): QueuedToken[] {
    return Array.from(this.entries.values(), ({ chain, address, requestedAtS, requests }) => ({
      chain,
      address,
      requestedAtS,
      requests,
    })).sort(byRequest);
  }

  /** Removes the tokens that have a record by now. */
  settle(tokens: Iterable<TokenName>): void {
    for (const { chain, address } of tokens) {
      const isKnown = this.entries.has(address) && this.options.hasRecord(chain, address);
      if (isKnown) this.entries.delete(address);
    }
  }

  /** Writes the remaining rows; a failure is reported to `onError`. */
  close(): Promise<void> {
    return this.rows.close();
  }

  private async write(addresses: readonly string[]): Promise<void> {
    const gone = addresses.filter((address) => !this.entries.has(address));
    const kept = addresses.flatMap((address): SqlValue[][] => {
      const entry = this.entries.peek(address);
      if (entry === undefined) return [];
      const { chain, requestedAtS, requests, lastRequestedAtS } = entry;
      return [[chain, address, requestedAtS, requests, lastRequestedAtS]];
    });
    await this.database.shortTransaction(async (tx) => {
      const marks = gone.map(() => '?').join(', ');
      if (gone.length > 0) await tx.run(`DELETE FROM queue WHERE address IN (${marks})`, gone);
      await tx.append(
        'queue',
        kept,
        `(chain, address) DO UPDATE SET requested_at = EXCLUDED.requested_at,
           requests = EXCLUDED.requests, last_requested_at = EXCLUDED.last_requested_at`,
      );
    });
  }
}

/** The order of the queue: earliest request first. */
function byRequest(a: QueuedToken, b: QueuedToken): number {
  return a.requestedAtS - b.requestedAtS || (a.address < b.address ? -1 : 1);
}
