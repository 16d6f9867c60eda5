/** Reads a mint's depth in sight, and computes its price range in the pool. */
import { hoursInSight } from '../../compute/lp/hours.js';
import { HOUR_S } from '../../compute/time.js';
import { poolsOfMarkets, type PoolRanges } from '../../compute/lp/pool-range.js';
import type { HourPrices, PriceHoursInput } from '../../compute/lp/price-range.js';
import type { ComputePool } from '../../compute/pool.js';
import type { Market } from '../../compute/market.js';
import { readStored, type DepthSource } from '../../storage/contract.js';
import type { Logger } from '../logger.js';

/** Snapshots planned at once. */
const SNAPSHOTS_AT_ONCE = 2_000;
/** A token with more cells of the default band in its day has no ranges: about 200 MB of blocks. */
const MAX_DAY_CELLS = 50_000_000;

export interface TokenDepthServices {
  depth: DepthSource;
  workers: Pick<ComputePool, 'run'>;
  logger: Logger;
}

/** The data that boards need of a token. */
export interface RangeRequest {
  address: string;
  /** Pools whose base token it is. */
  pubkeys: readonly string[];
  /** Hours that may be 'this hour' of the pools. */
  thisHours: readonly number[];
  /** Whether its prices are needed, even without pools. */
  wantsPrices: boolean;
  nowS: number;
}

/** A token's price ranges, and its pools' depth there. */
export interface TokenDepth {
  request: RangeRequest;
  /** null: no snapshot in sight, or no prices needed. */
  prices: HourPrices | null;
  /** By this hour; pool i is `request.pubkeys[i]`. Empty if no market is one of the pools. */
  ranges: ReadonlyMap<number, PoolRanges>;
}

export async function readTokenDepth(
  services: TokenDepthServices,
  request: RangeRequest,
): Promise<TokenDepth> {
  const nothing: TokenDepth = { request, prices: null, ranges: new Map() };
  return readStored(async () => {
    const planned = await planSight(services, request);
    if (planned === null) return nothing;
    const { markets, segmentIds, ...input } = planned;
    const poolOfMarket = poolsOfMarkets(markets, request.pubkeys);
    const hasPools = poolOfMarket.some((pool) => pool >= 0);
    if (!hasPools && !request.wantsPrices) return nothing;
    const blocks = await services.depth.readSegments(segmentIds);
    const pools = hasPools ? poolOfMarket : null;
    return computeRanges(services, request, { ...input, blocks }, pools);
  });
}

/** @param poolOfMarket null if none of the markets is a pool */
async function computeRanges(
  { workers }: TokenDepthServices,
  request: RangeRequest,
  input: PriceHoursInput,
  poolOfMarket: Int32Array | null,
): Promise<TokenDepth> {
  if (poolOfMarket === null) {
    return { request, prices: await workers.run('priceHours', input), ranges: new Map() };
  }
  const ranges = new Map<number, PoolRanges>();
  let prices: HourPrices | null = null;
  for (const thisHourS of request.thisHours) {
    const poolCount = request.pubkeys.length;
    const more = { poolOfMarket, poolCount, thisHourS };
    const found = await workers.run('poolRanges', { ...input, ...more });
    ranges.set(thisHourS, found);
    prices = found.prices;
  }
  return { request, prices, ranges };
}

type PlannedSight = Omit<PriceHoursInput, 'blocks'> & {
  segmentIds: number[];
  markets: readonly Market[];
};

/** The snapshots in sight as replay serves them; null: none. */
async function planSight(
  { depth, logger }: TokenDepthServices,
  { address, nowS }: RangeRequest,
): Promise<PlannedSight | null> {
  const record = depth.token('mainchain', address);
  if (record === null) return null;
  const { firstHourS, lastHourS } = hoursInSight(nowS);
  const runs: number[] = [];
  const rows: number[] = [];
  const runOf = new Map<number, number>();
  let markets: readonly Market[] = [];
  let cells = 0;
  for (let fromS: number | null = firstHourS; fromS !== null;) {
    const window = { fromS, toS: lastHourS + HOUR_S, nowS, maxSnapshots: SNAPSHOTS_AT_ONCE };
    const plan = await depth.plan({ tokenId: record.tokenId, ...window });
    for (const { segment, row, bandCells } of plan.snapshots) {
      const id = plan.segmentIds[segment];
      const run = runOf.get(id) ?? runOf.size;
      runOf.set(id, run);
      runs.push(run);
      rows.push(row);
      cells += bandCells;
    }
    ({ markets } = plan);
    fromS = plan.nextT;
  }
  if (cells > MAX_DAY_CELLS) {
    logger.error('too much depth for ranges', { address, cells, at_most: MAX_DAY_CELLS });
    return null;
  }
  if (rows.length === 0) return null;
  const selection = { run: Uint32Array.from(runs), row: Uint32Array.from(rows) };
  return { selection, firstHourS, segmentIds: [...runOf.keys()], markets };
}
