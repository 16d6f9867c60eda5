/**
 * All tokens in memory with their scores and newest depth. They are reloaded in the background:
 * after commits, and when time makes snapshots visible.
 */
import { isDamage } from '../../compute/damage.js';
import type { Chain, Market } from '../../compute/market.js';
import type { ComputePool, RunTask } from '../../compute/pool.js';
import { withDeadline } from '../../compute/running-time.js';
import type {
  MarketSource,
  NewestSnapshots,
  SnapshotRef,
  TokenName,
  TokenRecord,
} from '../../storage/contract.js';
import { LargeMap } from '../../compute/large-map.js';
import { Trouble } from '../../storage/trouble.js';
import { Turns } from '../../storage/turns.js';
import type { Clock } from '../clock.js';
import { Updater } from '../updater.js';
import { ApiError, replayBusy } from '../http/errors.js';
import type { Logger } from '../logger.js';
import {
  createHeldDepth,
  DEPTH_DELAY_S,
  DepthLoader,
  type HeldDepth,
  type HeldToken,
  isSameSnapshot,
  type LoadedToken,
  type Moment,
} from './newest-depth.js';
import { type LiveToken, TokenTable } from './token-table.js';

/** Tokens loaded together, with one read and one task of the pool. */
const TOKENS_AT_ONCE = 16;
/** Concurrent loads at the start. */
const LOADS_AT_START = 4;
/** Longest wait of a request for a token that is not in memory yet. */
const MAX_LOAD_WAIT_MS = 2_000;
/** Interval between checks of the clock. */
const TICK_MS = 1000;

interface LiveTokensOptions {
  source: MarketSource;
  pool: Pick<ComputePool, 'run'>;
  clock: Clock;
  logger: Logger;
  /** Greatest age of a snapshot that is not stale. */
  staleAfterS: number;
  maxHeldBytes?: number;
}

/** Called with the addresses of tokens that have just been loaded: their replies may change. */
type LoadListener = (addresses: readonly string[]) => void;

export class LiveTokens {
  readonly table: TokenTable;
  readonly held: HeldDepth;
  private readonly alarms = new Alarms();
  private readonly loader: DepthLoader;
  private readonly updater: Updater<number>;
  /** Current reads of tokens that are not held. */
  private readonly reading = new Map<number, Promise<HeldToken>>();
  private readonly loadListeners: LoadListener[] = [];
  private ticking: NodeJS.Timeout | null = null;
  /** Every token's newest snapshot is stale, for example because no collector runs. */
  private readonly staleness = new Trouble<{ newest: string }>({
    onBegan: (details) =>
      this.options.logger.warn("every token's newest snapshot is stale", details),
    onOver: () =>
      this.options.logger.info('snapshots are fresh again', { newest: this.newestText() }),
  });
  private closed = false;

  constructor(private readonly options: LiveTokensOptions) {
    this.table = new TokenTable(options.staleAfterS);
    this.held = createHeldDepth(options.maxHeldBytes);
    this.loader = new DepthLoader(options.source, options.pool, this.held, (tokenId) =>
      this.knownNewest(tokenId),
    );
    this.updater = new Updater({
      work: async (tokenIds) => {
        await this.loadTokens(tokenIds);
        this.logStaleness();
      },
      failure: 'a token could not be loaded',
      keyField: 'token_id',
      logger: options.logger,
      batchKeys: TOKENS_AT_ONCE,
    });
  }

  /** Loads every token, then follows the store. Call `touch` for commits from before the start. */
  async start(): Promise<void> {
    this.ticking = setInterval(() => this.tick(), TICK_MS);
    this.ticking.unref();
    const { source, clock, logger } = this.options;
    const nowS = clock.nowS();
    const snapshots = await allNewestSnapshots(source, nowS).catch((error: unknown) => {
      // A damaged entry of a segment fails the query; one query per token still finds the others.
      logger.error("tokens' newest snapshots are looked up one by one", {}, error);
      return undefined;
    });
    const batches = batchesOf(source.tokenIds());
    let hasFailed = false;
    const load = async (): Promise<void> => {
      for (const batch of batches) {
        if (this.closed) return;
        try {
          await this.loadTokens(batch, snapshots);
        } catch {
          // The updater retries them one by one, and logs failures.
          this.touch(batch);
          hasFailed = true;
        }
      }
    };
    // The loads share one iterator: each takes the next batch when it finishes one.
    await Promise.all(Array.from({ length: LOADS_AT_START }, load));
    this.logStaleness();
    this.updater.start();
    if (hasFailed) await this.updater.settled();
  }

  /** Reloads the tokens of a commit, soon and in the background. */
  touch(tokenIds: Iterable<number>): void {
    this.updater.touch(tokenIds);
  }

  /** Reloads tokens that change because time has passed. */
  tick(): void {
    this.touch(this.alarms.due(this.options.clock.nowS()));
  }

  /** Calls `listener` after each load, when the table holds the new state. */
  onLoad(listener: LoadListener): void {
    this.loadListeners.push(listener);
  }

  /** Whether the store has a record of the token, loaded or not. */
  hasRecord(chain: Chain, address: string): boolean {
    return this.options.source.token(chain, address) !== null;
  }

  /**
   * The token of a request: at once if it is in memory, else as soon as it is loaded, before all others.
   * @throws ApiError 404 token_not_found, at once; 503 replay_busy after MAX_LOAD_WAIT_MS
   * @throws Error if its newest snapshot is damaged
   */
  known({ chain, address }: TokenName): LiveToken | Promise<LiveToken> {
    const token = this.readable(address);
    if (token !== null) return token;
    const record = this.options.source.token(chain, address);
    if (record === null) {
      throw new ApiError(404, 'token_not_found', `There is no record of ${address}`);
    }
    return this.afterLoading(record);
  }

  /** The token's newest snapshots: at once if they are held, else read from the store. */
  depth({ details: { tokenId }, newest }: LiveToken): HeldToken | Promise<HeldToken> {
    if (newest === null) {
      return { newest, delayed: null, markets: this.options.source.markets(tokenId) };
    }
    const held = this.held.get(tokenId);
    if (held !== undefined) return held;
    let reading = this.reading.get(tokenId);
    if (reading === undefined) {
      reading = this.readDepth(tokenId).finally(() => this.reading.delete(tokenId));
      this.reading.set(tokenId, reading);
    }
    return reading;
  }

  /**
   * Tokens with the newest snapshot in `oldestS <= t <= atS` of those that pages show at `nowS`, read in the pool unless
   * it is held. Tokens whose records are gone are left out.
   * @throws Error if a segment is damaged
   */
  depthAt(
    tokenIds: readonly number[],
    { nowS, ...at }: Moment & { nowS: number },
    run: RunTask,
  ): Promise<LoadedToken[]> {
    return this.loader.load(tokenIds, { nowS, at, run, always: true, onlyNewest: true });
  }

  /**
   * The token and the legs of its asset as of `at`, as a server with its clock frozen there would hold them.
   * @throws Error if a segment is damaged
   */
  async tableAt(token: LiveToken, at: Moment, run: RunTask): Promise<TokenTable> {
    const legs = this.table.legs(token);
    // Another token may have replaced it as a leg.
    const tokens = legs.includes(token) ? legs : [token, ...legs];
    const ids = tokens.map(({ details }) => details.tokenId);
    const table = new TokenTable(this.options.staleAfterS);
    const turns = new Turns();
    for (const loaded of await this.depthAt(ids, { ...at, nowS: at.atS }, run)) {
      table.put(loaded, at.atS);
      await turns.take();
    }
    return table;
  }

  /**
   * The token that carries this address's score (for a bridged leg, the mainchain mint), and the legs that the score is
   * based on; null: the token is not in memory and has no score.
   */
  scored(address: string): { token: LiveToken; legs: LiveToken[] } | null {
    const named = this.table.token(address);
    if (named === null) return null;
    const token = this.table.leg(named, 'mainchain') ?? named;
    const legs = this.table.legs(token);
    // Another token may have replaced it as a leg.
    return { token, legs: legs.includes(token) ? legs : [token] };
  }

  /** The token's newest snapshot as of each of the times. It looks them up in turns. */
  async newestAt(
    tokenId: number,
    times: readonly number[],
  ): Promise<{ refs: (SnapshotRef | null)[]; markets: readonly Market[] }> {
    const { source } = this.options;
    const turns = new Turns();
    const refs: (SnapshotRef | null)[] = [];
    for (const t of times) {
      refs.push(await source.newestShownAt(tokenId, t, t));
      await turns.take();
    }
    // Read after the snapshots: a commit in between only appends markets.
    return { refs, markets: source.markets(tokenId) };
  }

  /** Resolves when every touched token is loaded or has failed once. */
  settled(): Promise<void> {
    return this.updater.settled();
  }

  /** Stops following the store, and waits for the current work. */
  async close(): Promise<void> {
    this.closed = true;
    if (this.ticking !== null) clearInterval(this.ticking);
    await this.updater.close();
  }

  private async afterLoading({ tokenId, address }: TokenRecord): Promise<LiveToken> {
    const loading = this.updater.first(tokenId);
    await withDeadline(loading, MAX_LOAD_WAIT_MS, `loading ${address}`).catch(() => undefined);
    const token = this.readable(address);
    // Why it could not be loaded is in the log.
    if (token === null) throw replayBusy();
    return token;
  }

  /** The token, if it is in memory. @throws Error if its newest snapshot is damaged */
  private readable(address: string): LiveToken | null {
    const token = this.table.token(address);
    if (token?.damage !== undefined) throw token.damage;
    return token;
  }

  /** `t` of the newest snapshot of all tokens; null without one. */
  newestT(): number | null {
    return this.table.newestT;
  }

  private logStaleness(): void {
    const { snapshotCount, staleCount } = this.table;
    if (snapshotCount === 0 || staleCount < snapshotCount) this.staleness.over();
    else this.staleness.began('stale', { newest: this.newestText() });
  }

  private newestText(): string {
    return new Date((this.newestT() ?? 0) * 1000).toISOString();
  }

  private knownNewest(tokenId: number): SnapshotRef | null {
    return this.table.tokenById(tokenId)?.newest?.ref ?? null;
  }

  private async readDepth(tokenId: number): Promise<HeldToken> {
    const nowS = this.options.clock.nowS();
    const [{ held }] = await this.loader.load([tokenId], { nowS, always: true });
    if (held === null) throw new Error(`token ${tokenId} has not been read`);
    // After a commit during the read, hold only snapshots that agree with the scores.
    const known = this.knownNewest(tokenId);
    const agrees =
      known === null ? held.newest === null : isSameSnapshot(known, held.newest?.ref ?? null);
    if (agrees) this.held.set(tokenId, held);
    return held;
  }

  /** Loads tokens; those whose newest snapshot is damaged have none. */
  private async load(
    tokenIds: readonly number[],
    options: Parameters<DepthLoader['load']>[1],
  ): Promise<LoadedToken[]> {
    try {
      return await this.loader.load(tokenIds, options);
    } catch (error) {
      if (!isDamage(error)) throw error;
      if (tokenIds.length === 1) {
        const [tokenId] = tokenIds;
        this.options.logger.error(
          "a token's newest depth is damaged",
          { token_id: tokenId },
          error,
        );
        if (options.onlyNewest) return this.loader.damaged(tokenId, error);
        // Scores need no delayed snapshot. Requests for depth read it, and fail.
        const newest = await this.load(tokenIds, { ...options, onlyNewest: true });
        this.held.delete(tokenId);
        return newest.map((one) => ({ ...one, isPartial: true }));
      }
      const loaded: LoadedToken[] = [];
      for (const tokenId of tokenIds) loaded.push(...(await this.load([tokenId], options)));
      return loaded;
    }
  }

  private async loadTokens(
    tokenIds: readonly number[],
    snapshots?: ReadonlyMap<number, NewestSnapshots>,
  ): Promise<void> {
    const nowS = this.options.clock.nowS();
    const loaded = await this.load(tokenIds, { nowS, snapshots });
    const turns = new Turns();
    for (const token of loaded) {
      this.put(token, nowS);
      await turns.take();
    }
    const addresses = loaded.map(({ details }) => details.address);
    for (const listener of this.loadListeners) listener(addresses);
  }

  private put(token: LoadedToken, nowS: number): void {
    const { details, held, nextChangeS, isPartial = false } = token;
    if (held !== null && !isPartial) {
      // A token without depth does not displace those with depth.
      if (held.newest === null) this.held.delete(details.tokenId);
      else this.held.set(details.tokenId, held);
    }
    this.table.put(token, nowS);
    const staleFromS = this.table.staleFromS(details.tokenId);
    this.alarms.set(details.tokenId, earlierOf(nextChangeS, staleFromS));
  }
}

async function allNewestSnapshots(
  source: MarketSource,
  nowS: number,
): Promise<Map<number, NewestSnapshots>> {
  const snapshots = new Map<number, NewestSnapshots>();
  for await (const part of source.allNewestSnapshots(nowS, DEPTH_DELAY_S)) {
    for (const [tokenId, found] of part) snapshots.set(tokenId, found);
  }
  return snapshots;
}

/** Times at which tokens change without a commit. */
class Alarms {
  private readonly byToken = new LargeMap<number, number>();
  private readonly byTime = new Map<number, Set<number>>();

  /** Replaces a token's alarm; null: none. */
  set(tokenId: number, atS: number | null): void {
    const before = this.byToken.get(tokenId);
    if (before !== undefined) {
      const tokens = this.byTime.get(before);
      tokens?.delete(tokenId);
      if (tokens?.size === 0) this.byTime.delete(before);
      this.byToken.delete(tokenId);
    }
    if (atS === null) return;
    this.byToken.set(tokenId, atS);
    const tokens = this.byTime.get(atS);
    if (tokens === undefined) this.byTime.set(atS, new Set([tokenId]));
    else tokens.add(tokenId);
  }

  /** Removes the alarms that are due. @returns their tokens */
  due(nowS: number): number[] {
    const due: number[] = [];
    for (const [atS, tokens] of this.byTime) if (atS <= nowS) due.push(...tokens);
    for (const tokenId of due) this.set(tokenId, null);
    return due;
  }
}

function earlierOf(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b;
  return Math.min(a, b);
}

function* batchesOf(tokenIds: Iterable<number>): IterableIterator<number[]> {
  let batch: number[] = [];
  for (const tokenId of tokenIds) {
    batch.push(tokenId);
    if (batch.length < TOKENS_AT_ONCE) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
