/**
 * The LP tools: the boards of DLMM pools and of fee density, rebuilt in the background when the
 * store, the tokens or the hour change.
 */
import type { LpSource, StoreChange, TokenRecord } from '../../storage/contract.js';
import { LargeMap } from '../../compute/large-map.js';
import type { Clock } from '../clock.js';
import { Board } from '../board.js';
import type { LiveTokens } from '../tokens/live-tokens.js';
import { FeeDensityBuilder, type FeeDensityBoard } from './fee-density-board.js';
import { PoolBoardBuilder, type PoolBoard } from './pool-board.js';
import { RangeBook } from './range-book.js';
import type { RangeRequest, TokenDepthServices } from './token-depth.js';

/** Fields of a token that the boards show. */
const LABEL = ['symbol', 'name', 'icon'] as const;

interface LpOptions extends TokenDepthServices {
  source: LpSource;
  tokens: Pick<LiveTokens, 'table' | 'onLoad'>;
  clock: Clock;
  /** Mints of quote tokens, highest rank first. */
  quotes: readonly string[];
}

export class LpTools {
  readonly poolBoard: Board<PoolBoard>;
  readonly feeDensity: Board<FeeDensityBoard>;
  private readonly ranges: RangeBook;
  private readonly poolBuilder: PoolBoardBuilder;
  private readonly feeDensityBuilder: FeeDensityBuilder;
  /** Ids of committed tokens that are not loaded yet. */
  private readonly committed = new LargeMap<number, true>();
  /** Each token's details when it was last loaded; only its symbol, name and icon matter. */
  private readonly labels = new LargeMap<string, TokenRecord>();
  /** Grows with every change of a token's symbol, name or icon. */
  labelRevision = 0;
  private started = false;

  constructor(private readonly options: LpOptions) {
    const { tokens, logger } = options;
    const ranges = new RangeBook({ ...options, onChange: (request) => this.useRanges(request) });
    const services = { ...options, tokens: tokens.table, ranges };
    this.ranges = ranges;
    this.poolBuilder = new PoolBoardBuilder(services);
    this.feeDensityBuilder = new FeeDensityBuilder(services);
    this.poolBoard = new Board({
      build: () => this.poolBuilder.build(),
      isOutOfDate: () => this.poolBuilder.hours.isOfAnotherHour(),
      failure: 'the board of DLMM pools could not be built',
      logger,
    });
    this.feeDensity = new Board({
      build: () => this.feeDensityBuilder.build(),
      isOutOfDate: () => this.feeDensityBuilder.hours.isOfAnotherHour(),
      failure: 'the boards of fee density could not be built',
      logger,
    });
    tokens.onLoad((addresses) => this.load(addresses));
  }

  /** Builds the first boards, and follows changes from now on. Call it when the tokens are loaded. */
  start(): void {
    this.started = true;
    for (const board of [this.poolBoard, this.feeDensity]) {
      board.followClock();
      board.request();
    }
  }

  /** Rebuilds the boards that a commit changes. */
  change({ dlmmPools, dlmmHours, tokenHours, tokenIds }: StoreChange): void {
    if (dlmmPools) this.poolBuilder.changePools();
    if (dlmmHours) this.poolBuilder.hours.change();
    if (tokenHours) this.feeDensityBuilder.hours.change();
    for (const tokenId of tokenIds) this.committed.set(tokenId, true);
    if (!this.started) return;
    if (dlmmPools || dlmmHours) this.poolBoard.request();
    if (tokenHours) this.feeDensity.request();
  }

  /** Whether boards with the ranges of all tokens are built, as far as their data allow. */
  get isReady(): boolean {
    const { poolBoard, feeDensity, poolBuilder, feeDensityBuilder } = this;
    const isReady = (
      board: Pick<Board<object>, 'current' | 'isSettled'>,
      { isWhole }: { isWhole: boolean },
    ): boolean => board.isSettled && (board.current === null || isWhole);
    return isReady(poolBoard, poolBuilder) && isReady(feeDensity, feeDensityBuilder);
  }

  /** Resolves when the boards show every change so far. */
  async settled(): Promise<void> {
    await Promise.all([this.poolBoard.settled(), this.feeDensity.settled()]);
    await this.ranges.settled();
    await Promise.all([this.poolBoard.settled(), this.feeDensity.settled()]);
  }

  /** Stops rebuilding, and waits for the current work. */
  async close(): Promise<void> {
    await Promise.all([this.ranges.close(), this.poolBoard.close(), this.feeDensity.close()]);
  }

  /** Rebuilds the boards that use a token's new ranges, unless a build already waits for ranges. */
  private useRanges({ pubkeys, wantsPrices }: RangeRequest): void {
    if (pubkeys.length > 0 && !this.poolBuilder.waitsForRanges) this.poolBoard.request();
    if (wantsPrices && !this.feeDensityBuilder.waitsForRanges) this.feeDensity.request();
  }

  /** Follows loaded tokens: after a commit, or when snapshots have become visible. */
  private load(addresses: readonly string[]): void {
    const { table } = this.options.tokens;
    const touched: string[] = [];
    for (const address of addresses) {
      const token = table.token(address);
      if (token === null) continue;
      const { tokenId } = token.details;
      this.noteLabel(token.details);
      const isCommitted = this.committed.delete(tokenId);
      if (isCommitted || this.ranges.isBefore(address, token.newest?.ref.t ?? 0)) {
        touched.push(address);
      }
    }
    if (!this.started) return;
    this.ranges.touch(touched);
    // A token whose ranges are next in the queue needs none here: reading them requests a rebuild.
    const needsRebuild = (address: string): boolean =>
      this.feeDensityBuilder.hasNewDepth(address) && !this.ranges.isNext(address);
    if (addresses.some(needsRebuild)) this.feeDensity.request();
  }

  private noteLabel(details: TokenRecord): void {
    const before = this.labels.get(details.address);
    this.labels.set(details.address, details);
    const isSame = LABEL.every((field) => before?.[field] === details[field]);
    if (before === undefined || !isSame) this.labelRevision++;
  }
}
