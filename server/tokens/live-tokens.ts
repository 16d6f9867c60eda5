/**
 * The market in memory: the tokens, their scores and their newest depth. It follows the store by
 * itself, off the path of requests: after commits, and as time makes snapshots visible.
 */
import type { ComputePool } from '../../compute/pool.js';
import type { MarketSource, NewestSnapshots } from '../../storage/contract.js';
import type { ChainFilter } from '../api/chain.js';
import type { Clock } from '../clock.js';
import { Follower, LiveValue } from '../follower.js';
import type { Log } from '../log.js';
import { Alarms } from './alarms.js';
import { EMPTY_BOARDS, topScoreBoards, type TopScoreBoards } from '../scores/boards.js';
import { DEPTH_DELAY_S, DepthLoader } from './depth-loader.js';
import { HeldDepth, MAX_HELD_BYTES, isSamePlace, type HeldToken } from './held-depth.js';
import { TokenTable, type LiveToken } from './token-table.js';

/** Tokens that are loaded at once, with a read and a task of the pool for all of them. */
const TOKENS_AT_ONCE = 16;
/** Such loads under way at the start. */
const LOADS_AT_START = 4;
/** How often the clock is looked at. */
const TICK_MS = 1000;

export interface LiveTokensOptions {
  source: MarketSource;
  pool: Pick<ComputePool, 'run'>;
  clock: Clock;
  log: Log;
  maxHeldBytes?: number;
}

/** Told of the tokens that have just been loaded: whatever is served of them may be another. */
export type LoadListener = (addresses: readonly string[]) => void;

export class LiveTokens {
  readonly table = new TokenTable();
  readonly held: HeldDepth;
  private readonly boards: LiveValue<TopScoreBoards>;
  private readonly alarms = new Alarms();
  private readonly loader: DepthLoader;
  private readonly follower: Follower<number>;
  private ticking: NodeJS.Timeout | null = null;
  private closed = false;
  private readonly reading = new Map<number, Promise<HeldToken>>();
  private readonly loadListeners: LoadListener[] = [];

  constructor(private readonly options: LiveTokensOptions) {
    this.held = new HeldDepth(options.maxHeldBytes ?? MAX_HELD_BYTES);
    this.loader = new DepthLoader(options.source, options.pool, this.held, this.table);
    this.follower = new Follower({
      work: (tokenIds) => this.loadTokens(tokenIds),
      failure: 'a token could not be loaded',
      keyField: 'token_id',
      log: options.log,
      batchKeys: TOKENS_AT_ONCE,
    });
    this.boards = new LiveValue({
      build: () => Promise.resolve({ value: topScoreBoards(this.table) }),
      failure: 'the boards of scores could not be ranked',
      log: options.log,
    });
  }

  /** The board of a chain, or the merged one. */
  board(chain: ChainFilter): TopScoreBoards[ChainFilter] {
    return (this.boards.current ?? EMPTY_BOARDS)[chain];
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
  depth({ details: { tokenId } }: LiveToken): HeldToken | null {
    return this.held.get(tokenId);
  }

  /** Reads the snapshots of a token that is not held: one that the bound has put out. */
  loadDepth({ details: { tokenId } }: LiveToken): Promise<HeldToken> {
    let reading = this.reading.get(tokenId);
    if (reading === undefined) {
      reading = this.readDepth(tokenId).finally(() => this.reading.delete(tokenId));
      this.reading.set(tokenId, reading);
    }
    return reading;
  }

  /** Takes note of a commit: the tokens are loaded anew, soon and in the background. */
  touch(tokenIds: Iterable<number>): void {
    this.follower.touch(tokenIds);
  }

  /** Loads every token, then follows the store, to be told of commits from before this call on. */
  async start(): Promise<void> {
    this.ticking = setInterval(() => this.tick(), TICK_MS);
    this.ticking.unref();
    const { source, clock } = this.options;
    const nowS = clock.nowS();
    const places = new Map<number, NewestSnapshots>();
    for await (const part of source.allNewestSnapshots(nowS, DEPTH_DELAY_S)) {
      for (const [tokenId, found] of part) places.set(tokenId, found);
    }
    const batches = batchesOf(source.tokenIds());
    let hasFailed = false;
    const load = async (): Promise<void> => {
      for (const batch of batches) {
        if (this.closed) return;
        try {
          await this.loadTokens(batch, places);
        } catch {
          // The follower tries them one by one, and says what fails.
          this.touch(batch);
          hasFailed = true;
        }
      }
    };
    // They share one iterator: each takes the next batch when it is done with one.
    await Promise.all(Array.from({ length: LOADS_AT_START }, load));
    this.follower.start();
    if (hasFailed) await this.follower.settled();
    await this.boards.settled();
  }

  /** Looks at the clock: tokens that change by it alone are loaded anew. */
  tick(): void {
    this.touch(this.alarms.due(this.options.clock.nowS()));
  }

  /** Resolves when everything that was touched so far has been loaded. */
  async settled(): Promise<void> {
    await this.follower.settled();
    await this.boards.settled();
  }

  /** Stops following, and waits for what is under way. */
  async close(): Promise<void> {
    this.closed = true;
    if (this.ticking !== null) clearInterval(this.ticking);
    await this.follower.close();
    await this.boards.close();
  }

  private async readDepth(tokenId: number): Promise<HeldToken> {
    const nowS = this.options.clock.nowS();
    const [{ held }] = await this.loader.load([tokenId], { nowS, always: true });
    if (held === null) throw new Error(`token ${tokenId} has not been read`);
    // A commit may have come in between: only what agrees with the scores is held.
    const known = this.table.tokenById(tokenId)?.newest?.place ?? null;
    const agrees = known === null || held.newest === null || isSamePlace(known, held.newest.place);
    if (agrees) this.held.put(tokenId, held);
    return held;
  }

  private async loadTokens(
    tokenIds: readonly number[],
    places?: ReadonlyMap<number, NewestSnapshots>,
  ): Promise<void> {
    const nowS = this.options.clock.nowS();
    const loaded = await this.loader.load(tokenIds, { nowS, places });
    for (const { details, held, nextChangeS } of loaded) {
      if (held !== null) this.held.put(details.tokenId, held);
      this.alarms.set(details.tokenId, nextChangeS);
    }
    this.table.put(loaded, nowS);
    const addresses = loaded.map(({ details }) => details.address);
    for (const listener of this.loadListeners) listener(addresses);
    this.boards.request();
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
