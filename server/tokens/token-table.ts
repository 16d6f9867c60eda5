/** Every token with its price and standing, which are computed when it is loaded, so requests only look them up. */
import { binsOfBand } from '../../compute/ladder.js';
import type { Chain, Market } from '../../compute/market.js';
import { isScored, scoreLadder, type ScoreLadder } from '../../compute/scores/score.js';
import {
  binSums,
  type BinSums,
  centsNear,
  marketMask,
  type NearCents,
  supportUsdWithin,
} from '../../compute/segment/snapshots.js';
import type { SnapshotRef, TokenRecord } from '../../storage/contract.js';
import { LargeMap } from '../../compute/large-map.js';
import { isSameSnapshot, type LoadedToken } from './newest-depth.js';
import { type AssetScore, scoreAsset, type Standing, standingOf } from './standing.js';

/** The data of a token's newest snapshot that scores, prices, orders and LP tools need. */
export interface NewestSnapshot {
  ref: SnapshotRef;
  priceUsd: number;
  ladder: ScoreLadder;
  /** Of the score's markets, within 2% of the price. */
  within2Pct: NearCents;
  /** All markets but perps, for price impact; null except for mainchain tokens. */
  spot: BinSums | null;
  /** On-chain pools; null except for mainchain tokens. */
  pools: BinSums | null;
  /** DEX markets' support within 25% of the price (docs/definitions.md#support-liquidity). */
  supportLiquidityUsd: number;
}

export interface LiveToken {
  readonly details: TokenRecord;
  readonly newest: NewestSnapshot | null;
  /** Why its newest snapshot cannot be read; undefined: it can. */
  readonly damage?: Error;
  readonly standing: Standing;
  /** Grows with every change of the token's data. */
  readonly revision: number;
}

/** Bins with `0.75 <= 1.01^b <= 1.25`. */
const SUPPORT_LIQUIDITY_BINS = binsOfBand(-25, 25);
const WITHIN_2_PCT = binsOfBand(-2, 2);

type Row = { -readonly [K in keyof LiveToken]: LiveToken[K] } & {
  /** Whether the newest snapshot is too old (docs/definitions.md#age); false without one. */
  isStale: boolean;
};

/** `price_usd` of the newest snapshot, else of the token's row; null without either. */
export function currentPriceUsd({ newest, details }: LiveToken): number | null {
  return newest?.priceUsd ?? details.price_usd;
}

/** Time of the token's newest snapshot; null: it has none. */
export function dataTime({ newest }: LiveToken): number | null {
  return newest?.ref.t ?? null;
}

export class TokenTable {
  /** By canonical address: no two chains share one. */
  private readonly byAddress = new LargeMap<string, Row>();
  private readonly byId = new LargeMap<number, Row>();
  private readonly assets = new LargeMap<string, Map<Chain, Row>>();
  private revisions = 0;
  /** How many tokens have a snapshot. */
  snapshotCount = 0;
  /** How many tokens' newest snapshots are stale. */
  staleCount = 0;
  /** The time of the newest snapshot of all, and the number of tokens that have one of that time. */
  private readonly newest = { t: 0, tokens: 0 };

  /** @param staleAfterS greatest age of a snapshot that is not stale */
  constructor(private readonly staleAfterS: number) {}

  token(address: string): LiveToken | null {
    return this.byAddress.get(address) ?? null;
  }

  tokenById(tokenId: number): LiveToken | null {
    return this.byId.get(tokenId) ?? null;
  }

  /** The asset's leg on `chain`, which may be the token itself; null: none. */
  leg(token: LiveToken, chain: Chain): LiveToken | null {
    const { asset, chain: own } = token.details;
    if (own === chain) return token;
    return asset === null ? null : (this.assets.get(asset)?.get(chain) ?? null);
  }

  /** The legs of the token's asset; the token alone if it has none. */
  legs(token: LiveToken): LiveToken[] {
    const { asset } = token.details;
    return asset === null ? [token] : [...(this.assets.get(asset)?.values() ?? [token])];
  }

  /** @throws Error if a newest snapshot of the token's asset is damaged */
  checkReadable(token: LiveToken): void {
    const { asset } = token.details;
    const legs = asset === null ? undefined : this.assets.get(asset);
    if (legs === undefined) {
      if (token.damage !== undefined) throw token.damage;
      return;
    }
    for (const { damage } of legs.values()) if (damage !== undefined) throw damage;
  }

  /** `t` of the newest snapshot of all tokens; null without one. */
  get newestT(): number | null {
    if (this.snapshotCount === 0) return null;
    // This happens only after the newest snapshots have been deleted.
    if (this.newest.tokens === 0) {
      this.newest.t = 0;
      for (const token of this.all()) this.noteTime(null, dataTime(token));
    }
    return this.newest.t;
  }

  private noteTime(before: number | null, after: number | null): void {
    const { newest } = this;
    if (before === after) return;
    if (before === newest.t) newest.tokens--;
    if (after === null || after < newest.t) return;
    if (after > newest.t) Object.assign(newest, { t: after, tokens: 0 });
    newest.tokens++;
  }

  all(): Iterable<LiveToken> {
    return this.byId.values();
  }

  /** When the token's newest snapshot becomes stale; null: it is, or the token has none. */
  staleFromS(tokenId: number): number | null {
    const token = this.byId.get(tokenId);
    if (!token?.newest || token.isStale) return null;
    return token.newest.ref.t + this.staleAfterS + 1;
  }

  /** Stores a token loaded at `nowS`, and updates its asset's scores. */
  put(token: LoadedToken, nowS: number): void {
    const scored = new Set<Row>();
    for (const entry of this.putToken(token, nowS)) {
      if (scored.has(entry)) continue;
      const legs = this.legsOf(entry);
      const score = scoreAsset(legs, (t) => this.isStale(t, nowS));
      for (const leg of legs) {
        scored.add(leg);
        leg.standing = standingOf(leg.details, currentPriceUsd(leg), score);
        leg.revision = ++this.revisions;
      }
    }
  }

  /** @returns tokens whose assets' scores have to be updated */
  private putToken({ details, held, damage }: LoadedToken, nowS: number): Row[] {
    const before = this.byId.get(details.tokenId);
    const newest =
      held === null ? (before?.newest ?? null) : newestOf(details, held, before?.newest);
    const isStale = newest !== null && this.isStale(newest.ref.t, nowS);
    this.snapshotCount += Number(newest !== null) - Number((before?.newest ?? null) !== null);
    this.staleCount += Number(isStale) - Number(before?.isStale ?? false);
    this.noteTime(before?.newest?.ref.t ?? null, newest?.ref.t ?? null);
    const entry: Row = before ?? {
      details,
      newest,
      isStale,
      standing: standingOf(details, null, null),
      revision: 0,
    };
    const moved = before !== undefined && before.details.asset !== details.asset;
    const changed =
      before === undefined ||
      before.newest !== newest ||
      before.isStale !== isStale ||
      before.damage !== damage ||
      moved ||
      before.details.coverage !== details.coverage;
    const toScore = moved ? this.leave(before) : [];
    entry.details = details;
    entry.newest = newest;
    entry.damage = damage;
    entry.isStale = isStale;
    this.byAddress.set(details.address, entry);
    this.byId.set(details.tokenId, entry);
    this.join(entry);
    if (changed) toScore.push(entry);
    else {
      entry.standing = standingOf(details, currentPriceUsd(entry), assetOf(this.legsOf(entry)));
      entry.revision = ++this.revisions;
    }
    return toScore;
  }

  private isStale(t: number, nowS: number): boolean {
    return nowS - t > this.staleAfterS;
  }

  private legsOf(entry: Row): Row[] {
    const { asset } = entry.details;
    return asset === null ? [entry] : [...(this.assets.get(asset)?.values() ?? [])];
  }

  private join(entry: Row): void {
    const { asset, chain } = entry.details;
    if (asset === null) return;
    const legs = this.assets.get(asset) ?? new Map<Chain, Row>();
    legs.set(chain, entry);
    this.assets.set(asset, legs);
  }

  /** Removes a token from its asset. @returns the remaining legs */
  private leave(entry: Row): Row[] {
    const { asset, chain } = entry.details;
    const legs = asset === null ? undefined : this.assets.get(asset);
    if (asset === null || legs === undefined) return [];
    // Another token may already have replaced it.
    if (legs.get(chain) === entry) legs.delete(chain);
    if (legs.size === 0) this.assets.delete(asset);
    return [...legs.values()];
  }
}

/** The newest snapshot's data; `before` if it is the same snapshot. */
function newestOf(
  details: TokenRecord,
  { newest, markets }: NonNullable<LoadedToken['held']>,
  before: NewestSnapshot | null | undefined,
): NewestSnapshot | null {
  if (newest === null) return null;
  if (before && isSameSnapshot(before.ref, newest.ref)) return before;
  const { ref, cells } = newest;
  const sums = (keep: (market: Market) => boolean) => binSums(cells, marketMask(markets, keep));
  const isMain = details.chain === 'mainchain';
  const scored = marketMask(markets, isScored);
  const { first, last } = SUPPORT_LIQUIDITY_BINS;
  return {
    ref,
    priceUsd: cells.priceUsd,
    ladder: scoreLadder(cells, scored),
    within2Pct: centsNear(cells, scored, WITHIN_2_PCT),
    spot: isMain ? binSums(cells, scored) : null,
    pools: isMain ? sums(({ type }) => type === 'onchain_pool') : null,
    supportLiquidityUsd: supportUsdWithin(
      cells,
      marketMask(markets, ({ exchangeType }) => exchangeType === 'DEX'),
      first,
      last,
    ),
  };
}

/** The score of the asset with these legs; null: none. */
function assetOf(legs: readonly Row[]): AssetScore | null {
  return legs.find(({ standing }) => standing.asset !== null)?.standing.asset ?? null;
}
