/**
 * The market in memory: the tokens, their scores and their newest depth. It follows the store by
 * itself, off the path of requests: after commits, and as time makes snapshots visible.
 */
import type { ComputePool } from '../../compute/pool.js';
import type { MarketSource, NewestPlaces } from '../../storage/seams.js';
import type { ChainFilter } from '../api/chain.js';
import type { Clock } from '../clock.js';
import type { Log } from '../log.js';
import { Alarms } from './alarms.js';
import { Boards } from '../scores/boards.js';
import { DEPTH_DELAY_S, DepthLoader } from './depth-loader.js';
import { HeldDepth, MAX_HELD_BYTES, isSamePlace, type HeldToken } from './held-depth.js';
import { MarketState, type TokenState } from './market-state.js';

/** Tokens that are loaded at once, with a read and a task of the pool for all of them. */
const TOKENS_AT_ONCE = 16;
/** Such loads under way at the start. */
const LOADS_AT_START = 4;
/** How often the clock is looked at. */
const TICK_MS = 1000;
/** The boards are ranked anew at most so often. */
const BOARDS_EVERY_MS = 100;
/** A token that could not be loaded is tried again after this. */
const RETRY_AFTER_MS = 10_000;

export interface MarketOptions {
  source: MarketSource;
  pool: Pick<ComputePool, 'run'>;
  clock: Clock;
  log: Log;
  maxHeldBytes?: number;
}

/** Told of the tokens that have just been loaded: whatever is served of them may be another. */
export type LoadListener = (addresses: readonly string[]) => void;

export class Market {
  readonly state = new MarketState();
  readonly held: HeldDepth;
  private readonly boards = new Boards();
  private readonly alarms = new Alarms();
  private readonly loader: DepthLoader;
  private readonly touched = new Set<number>();
  private following: Promise<void> | null = null;
  private readonly timers = new Set<NodeJS.Timeout>();
  private boardsTimer: NodeJS.Timeout | null = null;
  private boardsBuiltMs = 0;
  private ticking: NodeJS.Timeout | null = null;
  private started = false;
  private closed = false;
  private readonly reading = new Map<number, Promise<HeldToken>>();
  private readonly loadListeners: LoadListener[] = [];

  constructor(private readonly options: MarketOptions) {
    this.held = new HeldDepth(options.maxHeldBytes ?? MAX_HELD_BYTES);
    this.loader = new DepthLoader(options.source, options.pool, this.held, this.state);
  }

  /** The board of a chain, or the merged one. */
  board(chain: ChainFilter): ReturnType<Boards['get']> {
    return this.boards.get(chain);
  }

  /** Calls `listener` once tokens have been loaded, and their state holds what is new. */
  onLoad(listener: LoadListener): void {
    this.loadListeners.push(listener);
  }

  /** Whether anything has named the token, be it loaded yet or not. */
  hasRecord(...[chain, address]: Parameters<MarketSource['hasRecord']>): boolean {
    return this.options.source.hasRecord(chain, address);
  }

  /** The token's newest snapshots where they are held; null: loadDepth() reads them. */
  depth({ details: { tokenId } }: TokenState): HeldToken | null {
    return this.held.get(tokenId);
  }

  /** Reads the snapshots of a token that is not held: one that the bound has put out. */
  loadDepth({ details: { tokenId } }: TokenState): Promise<HeldToken> {
    let reading = this.reading.get(tokenId);
    if (reading === undefined) {
      reading = this.readDepth(tokenId).finally(() => this.reading.delete(tokenId));
      this.reading.set(tokenId, reading);
    }
    return reading;
  }

  /** Takes note of a commit: the tokens are loaded anew, soon and in the background. */
  touch(tokenIds: Iterable<number>): void {
    for (const tokenId of tokenIds) this.touched.add(tokenId);
    if (!this.started || this.closed || this.touched.size === 0) return;
    this.following ??= this.follow().finally(() => {
      this.following = null;
      // What was touched between the last look and now.
      this.touch([]);
    });
  }

  /** Loads every token, then follows the store, to be told of commits from before this call on. */
  async start(): Promise<void> {
    this.ticking = setInterval(() => this.tick(), TICK_MS);
    this.ticking.unref();
    const { source, clock } = this.options;
    const nowS = clock.nowS();
    const places = new Map<number, NewestPlaces>();
    for await (const part of source.allNewestPlaces(nowS, DEPTH_DELAY_S)) {
      for (const [tokenId, found] of part) places.set(tokenId, found);
    }
    const batches = batchesOf(source.tokenIds());
    const load = async (): Promise<void> => {
      for (const batch of batches) {
        if (this.closed) return;
        await this.loadBatch(batch, places);
      }
    };
    // They share one iterator: each takes the next batch when it is done with one.
    await Promise.all(Array.from({ length: LOADS_AT_START }, load));
    this.rebuildBoards();
    this.started = true;
    this.touch([]);
  }

  /** Looks at the clock: tokens that change by it alone are loaded anew. */
  tick(): void {
    this.touch(this.alarms.due(this.options.clock.nowS()));
  }

  /** Resolves when everything that was touched so far has been loaded. */
  async settled(): Promise<void> {
    while (this.following !== null) await this.following;
    if (this.boardsTimer !== null) this.rebuildBoards();
  }

  /** Stops following, and waits for what is under way. */
  async close(): Promise<void> {
    this.closed = true;
    if (this.ticking !== null) clearInterval(this.ticking);
    for (const timer of this.timers) clearTimeout(timer);
    if (this.boardsTimer !== null) clearTimeout(this.boardsTimer);
    await this.following;
  }

  private async readDepth(tokenId: number): Promise<HeldToken> {
    const nowS = this.options.clock.nowS();
    const [{ held }] = await this.loader.load([tokenId], { nowS, always: true });
    if (held === null) throw new Error(`token ${tokenId} has not been read`);
    // A commit may have come in between: only what agrees with the scores is held.
    const known = this.state.tokenById(tokenId)?.newest?.place ?? null;
    const agrees = known === null || held.newest === null || isSamePlace(known, held.newest.place);
    if (agrees) this.held.put(tokenId, held);
    return held;
  }

  private async follow(): Promise<void> {
    // Commits come in quick succession: those of one moment are loaded together.
    await Promise.resolve();
    while (this.touched.size > 0 && !this.closed) {
      const batch: number[] = [];
      for (const tokenId of this.touched) {
        if (batch.push(tokenId) === TOKENS_AT_ONCE) break;
      }
      for (const tokenId of batch) this.touched.delete(tokenId);
      await this.loadBatch(batch);
      this.scheduleBoards();
    }
  }

  /** Never rejects: what cannot be loaded is logged, one by one, and tried again later. */
  private async loadBatch(
    tokenIds: readonly number[],
    places?: ReadonlyMap<number, NewestPlaces>,
  ): Promise<void> {
    try {
      await this.loadTokens(tokenIds, places);
    } catch (error) {
      if (tokenIds.length > 1) {
        for (const tokenId of tokenIds) await this.loadBatch([tokenId]);
        return;
      }
      if (this.closed) return;
      this.options.log.error('a token could not be loaded', { token_id: tokenIds[0] }, error);
      const timer = setTimeout(() => {
        this.timers.delete(timer);
        this.touch(tokenIds);
      }, RETRY_AFTER_MS);
      timer.unref();
      this.timers.add(timer);
    }
  }

  private async loadTokens(
    tokenIds: readonly number[],
    places?: ReadonlyMap<number, NewestPlaces>,
  ): Promise<void> {
    const nowS = this.options.clock.nowS();
    const loaded = await this.loader.load(tokenIds, { nowS, places });
    for (const { details, held, nextChangeS } of loaded) {
      if (held !== null) this.held.put(details.tokenId, held);
      this.alarms.set(details.tokenId, nextChangeS);
    }
    this.state.put(loaded, nowS);
    const addresses = loaded.map(({ details }) => details.address);
    for (const listener of this.loadListeners) listener(addresses);
  }

  private scheduleBoards(): void {
    if (this.boardsTimer !== null) return;
    const waitMs = this.boardsBuiltMs + BOARDS_EVERY_MS - Date.now();
    if (waitMs <= 0) this.rebuildBoards();
    else {
      this.boardsTimer = setTimeout(() => this.rebuildBoards(), waitMs);
      this.boardsTimer.unref();
    }
  }

  private rebuildBoards(): void {
    if (this.boardsTimer !== null) clearTimeout(this.boardsTimer);
    this.boardsTimer = null;
    this.boards.rebuild(this.state);
    this.boardsBuiltMs = Date.now();
  }
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
