/**
 * The LP tools: the board of DLMM pools and those of fee density, kept ready. They follow the store,
 * the market and the clock by themselves, off the path of requests.
 */
import type { ComputePool } from '../../compute/pool.js';
import type { DepthSource, LpSource, StoreChange } from '../../storage/contract.js';
import type { Clock } from '../clock.js';
import type { Log } from '../log.js';
import type { LiveTokens } from '../tokens/live-tokens.js';
import { DensityBoardBuilder, type DensityBoard } from './density-board-builder.js';
import { Labels } from './labels.js';
import { LiveBoard } from './live-board.js';
import { PoolBoardBuilder } from './pool-board-builder.js';
import type { PoolBoard } from './pool-board.js';
import { RangeBook } from './range-book.js';
import type { RangeRequest } from './token-depth.js';

/** How often the clock is looked at. */
const TICK_MS = 1000;

export interface LpOptions {
  source: LpSource;
  depth: DepthSource;
  tokens: Pick<LiveTokens, 'table' | 'onLoad'>;
  pool: Pick<ComputePool, 'run'>;
  clock: Clock;
  log: Log;
  /** Mints, the one that is quote before all others first. */
  quotes: readonly string[];
}

export class LpTools {
  readonly labels: Labels;
  private readonly ranges: RangeBook;
  private readonly poolBuilder: PoolBoardBuilder;
  private readonly densityBuilder: DensityBoardBuilder;
  private readonly pools: LiveBoard<PoolBoard>;
  private readonly density: LiveBoard<DensityBoard>;
  private ticking: NodeJS.Timeout | null = null;
  /** Ids of the tokens of commits that the market has not loaded yet. */
  private readonly committed = new Set<number>();
  private started = false;

  constructor(private readonly options: LpOptions) {
    const { tokens, log } = options;
    const ranges = new RangeBook({ ...options, onChange: (request) => this.follow(request) });
    const services = { ...options, state: tokens.table, ranges };
    this.ranges = ranges;
    this.labels = new Labels(tokens.table);
    this.poolBuilder = new PoolBoardBuilder(services);
    this.densityBuilder = new DensityBoardBuilder(services);
    this.pools = new LiveBoard({
      name: 'the board of DLMM pools',
      build: () => this.poolBuilder.build(),
      log,
    });
    this.density = new LiveBoard({
      name: 'the boards of fee density',
      build: () => this.densityBuilder.build(),
      log,
    });
    tokens.onLoad((addresses) => this.load(addresses));
  }

  /** The board of DLMM pools as it stands; a promise only before the first one is built. */
  poolBoard(): PoolBoard | Promise<PoolBoard> {
    return this.pools.get();
  }

  /** The boards of fee density, likewise. */
  densityBoard(): DensityBoard | Promise<DensityBoard> {
    return this.density.get();
  }

  /** Begins with the first boards, once the market has been started, and follows from now on. */
  start(): void {
    this.started = true;
    this.ticking = setInterval(() => this.tick(), TICK_MS);
    this.ticking.unref();
    this.pools.request();
    this.density.request();
  }

  /** Takes note of a commit. */
  change(change: StoreChange): void {
    this.poolBuilder.change(change);
    if (change.tokenHours) this.densityBuilder.change();
    for (const tokenId of change.tokenIds) this.committed.add(tokenId);
    if (!this.started) return;
    if (change.dlmmPools || change.dlmmHours) this.pools.request();
    if (change.tokenHours) this.density.request();
  }

  /** Looks at the clock. */
  tick(): void {
    if (this.poolBuilder.isOfAnotherHour()) this.pools.request();
    if (this.densityBuilder.isOfAnotherHour()) this.density.request();
  }

  /** Resolves when the boards hold everything that they have been told of. */
  async settled(): Promise<void> {
    await Promise.all([this.pools.settled(), this.density.settled()]);
    await this.ranges.settled();
    await Promise.all([this.pools.settled(), this.density.settled()]);
  }

  /** Stops following, and waits for what is under way. */
  async close(): Promise<void> {
    if (this.ticking !== null) clearInterval(this.ticking);
    const ended = this.ranges.close();
    await Promise.all([ended, this.pools.close(), this.density.close()]);
  }

  /** Ranges of a token are known anew. */
  private follow({ pubkeys, wantsPrices }: RangeRequest): void {
    if (pubkeys.length > 0 && !this.poolBuilder.waitsForRanges) this.pools.request();
    if (wantsPrices && !this.densityBuilder.waitsForRanges) this.density.request();
  }

  /** The market has loaded tokens: after a commit, or because of what time has made visible. */
  private load(addresses: readonly string[]): void {
    this.labels.look(addresses);
    const { table: state } = this.options.tokens;
    const touched = addresses.filter((address) => {
      const token = state.token(address);
      if (token === null) return false;
      const isCommitted = this.committed.delete(token.details.tokenId);
      return isCommitted || this.ranges.isBefore(address, token.newest?.place.t ?? 0);
    });
    if (!this.started) return;
    this.ranges.touch(touched);
    // Where a look at the token's ranges is about to end, that one has the lists renewed.
    const isNew = (address: string): boolean =>
      this.densityBuilder.hasNewDepth(address) && !this.ranges.isNext(address);
    if (addresses.some(isNew)) this.density.request();
  }
}
