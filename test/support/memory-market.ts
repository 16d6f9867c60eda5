/** What the market is made of, kept in memory beside a MemoryDepth. */
import { TIERS, type Chain } from '../../compute/market.js';
import type {
  MarketSource,
  NewestSnapshots,
  QueuedToken,
  SnapshotRef,
  TokenDetails,
  TokenQueue,
} from '../../storage/contract.js';
import type { MemoryDepth } from './memory-depth.js';

/** Fields that a tokens row of a test may set. */
export type DetailsOf = Readonly<Record<string, Partial<TokenDetails>>>;

export class MemoryMarket implements MarketSource {
  private readonly depth: MemoryDepth;
  private readonly details: DetailsOf;

  /** @param details by address */
  constructor(depth: MemoryDepth, details: DetailsOf = {}) {
    this.depth = depth;
    this.details = details;
  }

  tokenIds(): number[] {
    return this.depth.tokens().map(({ record }) => record.tokenId);
  }

  hasRecord(chain: Chain, address: string): boolean {
    return this.depth.token(chain, address) !== null;
  }

  tokenDetails(tokenId: number): TokenDetails {
    const { record } = this.depth.tokens()[tokenId - 1];
    return {
      ...record,
      icon: null,
      decimals: null,
      coverage: 'full',
      priceUsd: null,
      mcap: null,
      liquidityUsd: null,
      lastRefreshS: null,
      ...this.details[record.address],
    };
  }

  markets(tokenId: number) {
    return this.depth.tokens()[tokenId - 1].store.markets;
  }

  newestSnapshots(tokenId: number, nowS: number, delayS: number): Promise<NewestSnapshots> {
    const { places } = this.depth.tokens()[tokenId - 1];
    const all = [...places].map(([{ t, tier }, place]): SnapshotRef => ({ ...place, t, tier }));
    all.sort((a, b) => b.t - a.t || TIERS.indexOf(a.tier) - TIERS.indexOf(b.tier));
    const newestBy = (atS: number) => all.find(({ t }) => t <= atS) ?? null;
    const next = all.filter(({ t }) => t > nowS).at(-1);
    return Promise.resolve({
      newest: newestBy(nowS),
      delayed: newestBy(nowS - delayS),
      nextChangeS: next?.t ?? null,
    });
  }

  async *allNewestSnapshots(nowS: number, delayS: number) {
    const all = new Map<number, NewestSnapshots>();
    for (const id of this.tokenIds()) all.set(id, await this.newestSnapshots(id, nowS, delayS));
    yield all;
  }

  readSegments(ids: readonly number[]): Promise<Uint8Array[]> {
    return this.depth.readSegments(ids);
  }
}

/** A queue in memory. */
export class MemoryQueue implements TokenQueue {
  private readonly waiting = new Map<string, QueuedToken>();

  request(chain: Chain, address: string): boolean {
    const key = `${chain}:${address}`;
    const before = this.waiting.get(key);
    if (before) before.requests++;
    else this.waiting.set(key, { chain, address, requestedAtS: 0, requests: 1 });
    return before === undefined;
  }

  list(): QueuedToken[] {
    return [...this.waiting.values()];
  }
}
