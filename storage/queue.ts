/**
 * Tokens that were asked for before anything has named them. Kept in memory, where they count at
 * once; written behind, within the second.
 */
import type { Chain } from '../compute/market.js';
import type { Database, SqlValue } from './duckdb/database.js';
import type { QueuedToken, TokenQueue } from './contract.js';

/**
 * Tokens that wait at one time. One more takes the place of the one that was not asked for the
 * longest: whoever still wants that one asks again.
 */
export const MAX_QUEUED_TOKENS = 100_000;
/** From a request to the start of its writing. */
const WRITE_DELAY_MS = 250;
/** Rows of one statement. */
const MAX_STATEMENT_ROWS = 500;

interface Entry extends QueuedToken {
  lastRequestedAtS: number;
}

export interface WaitingTokensOptions {
  /** Whether a token has a record, and thus waits no more. */
  hasRecord: (chain: Chain, address: string) => boolean;
  /** Told of a write that failed; it is tried again. */
  onError: (error: unknown) => void;
  /** The system's clock: the queue does not follow a frozen one. */
  nowS?: () => number;
  maxTokens?: number;
}

export class WaitingTokens implements TokenQueue {
  /** By address, which no two chains share; the one asked for least recently first. */
  private readonly entries = new Map<string, Entry>();
  /** Addresses whose rows are not as the entries are. */
  private dirty = new Set<string>();
  private timer: NodeJS.Timeout | null = null;
  private writing: Promise<void> = Promise.resolve();
  private closed = false;
  private readonly nowS: () => number;
  private readonly maxTokens: number;

  private constructor(
    private readonly database: Pick<Database, 'rows' | 'runAside'>,
    private readonly options: WaitingTokensOptions,
  ) {
    this.nowS = options.nowS ?? (() => Math.floor(Date.now() / 1000));
    this.maxTokens = options.maxTokens ?? MAX_QUEUED_TOKENS;
  }

  /** Loads the queue of a store; what has got a record since is taken off. */
  static async load(
    database: Pick<Database, 'rows' | 'runAside'>,
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
    this.entries.delete(address);
    this.entries.set(address, entry);
    this.markDirty(address);
    for (const oldest of this.entries.keys()) {
      if (this.entries.size <= this.maxTokens) break;
      this.remove(oldest);
    }
    return known === undefined;
  }

  list(): QueuedToken[] {
    return Array.from(this.entries.values(), ({ chain, address, requestedAtS, requests }) => ({
      chain,
      address,
      requestedAtS,
      requests,
    })).sort((a, b) => a.requestedAtS - b.requestedAtS || (a.address < b.address ? -1 : 1));
  }

  /** Takes those of the tokens off that have a record by now. */
  settle(tokens: Iterable<{ chain: Chain; address: string }>): void {
    for (const { chain, address } of tokens) {
      if (this.entries.has(address) && this.options.hasRecord(chain, address)) this.remove(address);
    }
  }

  /** Resolves when all that was asked so far is written. @throws where that failed */
  async flush(): Promise<void> {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    const writing = this.writing.then(() => this.write());
    // One write at a time, whether the one before failed or not.
    this.writing = writing.catch(() => undefined);
    await writing;
  }

  /** Writes what is left. */
  async close(): Promise<void> {
    this.closed = true;
    await this.flush();
  }

  private remove(address: string): void {
    this.entries.delete(address);
    this.markDirty(address);
  }

  private markDirty(address: string): void {
    this.dirty.add(address);
    if (this.timer !== null || this.closed) return;
    this.timer = setTimeout(() => {
      this.timer = null;
      this.flush().catch(this.options.onError);
    }, WRITE_DELAY_MS);
  }

  private async write(): Promise<void> {
    const addresses = [...this.dirty];
    this.dirty = new Set();
    for (let first = 0; first < addresses.length; first += MAX_STATEMENT_ROWS) {
      try {
        await this.writeRows(addresses.slice(first, first + MAX_STATEMENT_ROWS));
      } catch (error) {
        for (const address of addresses.slice(first)) this.markDirty(address);
        throw error;
      }
    }
  }

  private async writeRows(addresses: readonly string[]): Promise<void> {
    const kept: Entry[] = [];
    const gone: string[] = [];
    for (const address of addresses) {
      const entry = this.entries.get(address);
      if (entry === undefined) gone.push(address);
      else kept.push(entry);
    }
    if (gone.length > 0) {
      const marks = gone.map(() => '?').join(', ');
      await this.database.runAside(`DELETE FROM queue WHERE address IN (${marks})`, gone);
    }
    if (kept.length === 0) return;
    await this.database.runAside(
      `INSERT INTO queue VALUES ${kept.map(() => '(?, ?, ?, ?, ?)').join(', ')}
       ON CONFLICT (chain, address) DO UPDATE SET requested_at = EXCLUDED.requested_at,
         requests = EXCLUDED.requests, last_requested_at = EXCLUDED.last_requested_at`,
      kept.flatMap((entry): SqlValue[] => [
        entry.chain,
        entry.address,
        entry.requestedAtS,
        entry.requests,
        entry.lastRequestedAtS,
      ]),
    );
  }
}
