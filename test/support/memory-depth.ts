/** Depth, keys and tokens kept in memory: the simplest implementation of the storage contract. */
import { keyRecord } from '../limits/key-record.js';
import { crc32 } from 'node:zlib';
import { binsOfBand } from '../../compute/ladder.js';
import { type Chain, type Market, type Tier, TIERS } from '../../compute/market.js';
import { encodeSample } from '../../compute/segment/sample.js';
import {
  decodeSegment,
  digestsOf,
  encodeSegment,
  type StoredBlock,
} from '../../compute/segment/segment.js';
import {
  type DepthSource,
  type KeyRecord,
  type KeySource,
  type KeyTier,
  type MarketSource,
  type NewestSnapshots,
  type PagePlan,
  type PlanRequest,
  type QueuedToken,
  SegmentGoneError,
  type StoredHistory,
  type StoredTimes,
  type SnapshotRef,
  type TierKey,
  type TokenQueue,
  type TokenRecord,
} from '../../storage/contract.js';
import { bareTokenRow } from '../../storage/depth/catalog.js';
import { runOf } from '../compute/replay-stores.js';
import {
  newestOfSteps,
  type PlainSnapshot,
  type PlainStore,
  visibleSnapshots,
} from '../reference/replay.js';

interface Place {
  segmentId: number;
  row: number;
}

interface MemoryToken {
  record: TokenRecord;
  store: PlainStore;
  places: Map<PlainSnapshot, Place>;
}

export class MemoryDepth implements DepthSource {
  private readonly ownTokens: MemoryToken[] = [];
  private readonly segments = new Map<number, Uint8Array>();
  private nextSegmentId = 1;
  /** Ids of every read, in order. */
  readonly reads: number[][] = [];
  /** Awaited before every read, so tests can hold up requests. */
  beforeRead: () => Promise<void> = async () => {};

  /** Adds a token with its snapshots, in segments of `perSegment` snapshots of one tier. */
  add(
    chain: Chain,
    address: string,
    store: PlainStore,
    { asset = null, perSegment = 4 }: { asset?: string | null; perSegment?: number } = {},
  ): this {
    const tokenId = this.ownTokens.length + 1;
    const record = { ...bareTokenRow(chain, address), tokenId, asset };
    this.ownTokens.push({ record, store, places: this.write(store, perSegment) });
    return this;
  }

  /** Every token with the segments and rows of its snapshots. */
  tokens(): { record: TokenRecord; store: PlainStore; places: Map<PlainSnapshot, Place> }[] {
    return this.ownTokens;
  }

  /** Rewrites all segments of a token under new ids, as compaction does. */
  compact(address: string, perSegment: number): void {
    const token = this.ownTokens.find(({ record }) => record.address === address) as MemoryToken;
    for (const { segmentId } of token.places.values()) this.segments.delete(segmentId);
    token.places = this.write(token.store, perSegment);
  }

  token(chain: Chain, address: string): TokenRecord | null {
    const found = this.ownTokens.find(
      (t) => t.record.chain === chain && t.record.address === address,
    );
    return found?.record ?? null;
  }

  mainchainLeg({ chain, asset }: TokenRecord): TokenRecord | null {
    if (chain === 'mainchain' || asset === null) return null;
    const legs = this.ownTokens.map(({ record }) => record);
    return legs.find((leg) => leg.chain === 'mainchain' && leg.asset === asset) ?? null;
  }

  plan(request: PlanRequest): Promise<PagePlan> {
    return Promise.resolve(this.ownPlan(request));
  }

  markets(tokenId: number): readonly Market[] {
    return this.ownTokens[tokenId - 1].store.markets;
  }

  directory(tokenId: number): object {
    return this.ownTokens[tokenId - 1].places;
  }

  firstSnapshotT(tokenId: number, nowS: number): Promise<number | null> {
    const first = Math.min(...this.ownTokens[tokenId - 1].store.snapshots.map(({ t }) => t));
    return Promise.resolve(first <= nowS ? first : null);
  }

  snapshotTimes({ chain, address, tier }: TierKey): Promise<Uint32Array> {
    const found = this.ownTokens.find(
      ({ record }) => record.chain === chain && record.address === address,
    );
    const own = found?.store.snapshots.filter((one) => one.tier === tier) ?? [];
    return Promise.resolve(Uint32Array.from(own.map(({ t }) => t)).sort());
  }

  times(tokenId: number, nowS: number): Promise<StoredTimes> {
    const { snapshots } = this.ownTokens[tokenId - 1].store;
    const timesOf = (tier: Tier) => {
      const own = snapshots.filter((one) => one.tier === tier && one.t <= nowS);
      return own.length === 0 ? [] : [Uint32Array.from(own.map(({ t }) => t)).sort()];
    };
    return Promise.resolve({ raw: timesOf('raw'), '15m': timesOf('15m'), '1h': timesOf('1h') });
  }

  async history(tokenId: number, nowS: number): Promise<StoredHistory> {
    const { store } = this.ownTokens[tokenId - 1];
    const visible = store.snapshots.filter(({ t }) => t <= nowS);
    const markets = store.markets.flatMap((market, index) => {
      const own = visible.filter(({ cells }) => cells.some((cell) => cell.market === index));
      const times = own.map(({ t }) => t);
      return times.length === 0
        ? []
        : [{ market, firstT: Math.min(...times), lastT: Math.max(...times) }];
    });
    return { times: await this.times(tokenId, nowS), markets };
  }

  private ownPlan({ tokenId, fromS, toS, nowS, stepS, maxSnapshots }: PlanRequest): PagePlan {
    const { store, places } = this.ownTokens[tokenId - 1];
    const window = visibleSnapshots(store.snapshots, nowS).filter(({ t }) => t >= fromS && t < toS);
    const visible = stepS === undefined ? window : newestOfSteps(window, stepS);
    const planned = visible.slice(0, maxSnapshots);
    const placeOf = (snapshot: PlainSnapshot) => places.get(snapshot) as Place;
    const segmentIds = [...new Set(planned.map((snapshot) => placeOf(snapshot).segmentId))];
    const { first, last } = binsOfBand(-50, 100);
    return {
      segmentIds,
      snapshots: planned.map((snapshot) => ({
        segment: segmentIds.indexOf(placeOf(snapshot).segmentId),
        row: placeOf(snapshot).row,
        t: snapshot.t,
        tier: snapshot.tier,
        bandCells: snapshot.cells.filter(({ bin }) => bin >= first && bin <= last).length,
        digest: digestOf(snapshot),
      })),
      nextT: visible[maxSnapshots]?.t ?? null,
      markets: store.markets,
    };
  }

  async readSegments(ids: readonly number[]): Promise<Uint8Array[]> {
    this.reads.push([...ids]);
    await this.beforeRead();
    return ids.map((id) => {
      const block = this.segments.get(id);
      if (block === undefined) throw new SegmentGoneError(`segment ${id} is gone`);
      return new Uint8Array(block);
    });
  }

  readSamples(ids: readonly number[]): Promise<Map<number, StoredBlock>> {
    const samples = new Map<number, StoredBlock>();
    for (const segmentId of ids) {
      const segment = this.segments.get(segmentId);
      const block = segment === undefined ? null : encodeSample(decodeSegment(segment));
      if (block !== null)
        samples.set(segmentId, { segmentId, block: new Uint8Array(block), crc32: crc32(block) });
    }
    return Promise.resolve(samples);
  }

  private write(store: PlainStore, perSegment: number): Map<PlainSnapshot, Place> {
    const places = new Map<PlainSnapshot, Place>();
    for (const tier of TIERS) {
      const ofTier = store.snapshots.filter((snapshot) => snapshot.tier === tier);
      for (let first = 0; first < ofTier.length; first += perSegment) {
        const segmentId = this.nextSegmentId++;
        const part = ofTier.slice(first, first + perSegment);
        this.segments.set(segmentId, blockOf(tier, part));
        part.forEach((snapshot, row) => places.set(snapshot, { segmentId, row }));
      }
    }
    return places;
  }
}

const DIGESTS = new WeakMap<PlainSnapshot, number>();

function digestOf(snapshot: PlainSnapshot): number {
  let digest = DIGESTS.get(snapshot);
  if (digest === undefined) {
    [digest] = digestsOf(runOf(snapshot.tier, [snapshot]));
    DIGESTS.set(snapshot, digest);
  }
  return digest;
}

/** Blocks by the first snapshot that they hold, kept because many tests store the same snapshots. */
const BLOCKS = new WeakMap<PlainSnapshot, { part: PlainSnapshot[]; block: Uint8Array }[]>();

function blockOf(tier: PlainSnapshot['tier'], part: PlainSnapshot[]): Uint8Array {
  const made = BLOCKS.get(part[0]) ?? [];
  const isSame = (other: PlainSnapshot[]) =>
    other.length === part.length && other.every((snapshot, i) => snapshot === part[i]);
  const found = made.find((one) => isSame(one.part));
  if (found !== undefined) return found.block;
  const block = encodeSegment(runOf(tier, part));
  BLOCKS.set(part[0], [...made, { part, block }]);
  return block;
}

/** Keys in memory, by their text. */
export class MemoryKeys implements KeySource {
  private readonly keys = new Map<string, KeyRecord>();

  add(key: string, tier: KeyTier): void {
    const id = `id-${this.keys.size + 1}`;
    this.keys.set(key, keyRecord({ id, tier, hint: key.slice(-4) }));
  }

  revoke(key: string): void {
    this.keys.delete(key);
  }

  verify(key: string): KeyRecord | null {
    return this.keys.get(key) ?? null;
  }
}

/** Fields that a test may set in a tokens row. */
export type DetailsOf = Readonly<Record<string, Partial<TokenRecord>>>;

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

  token(chain: Chain, address: string): TokenRecord | null {
    return this.depth.token(chain, address);
  }

  tokenById(tokenId: number): TokenRecord {
    const { record } = this.depth.tokens()[tokenId - 1];
    return { ...record, ...this.details[record.address] };
  }

  markets(tokenId: number): readonly Market[] {
    return this.depth.markets(tokenId);
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

  newestShownAt(tokenId: number, atS: number, nowS: number): Promise<SnapshotRef | null> {
    const { store, places } = this.depth.tokens()[tokenId - 1];
    const shown = visibleSnapshots(store.snapshots, nowS).filter(({ t }) => t <= atS);
    const newest = shown.at(-1);
    if (newest === undefined) return Promise.resolve(null);
    const place = places.get(newest) as Place;
    return Promise.resolve({ ...place, t: newest.t, tier: newest.tier });
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
