/** A really started service over data in memory, for tests that use it over sockets. */
import { afterAll } from 'vitest';
import { Metrics } from '../../server/operations/metrics.js';
import { defaultQuoteTokens } from '../../compute/lp/dlmm-pool.js';
import { type ComputePool, startPool } from '../../compute/pool.js';
import type { WorkLimits } from '../../compute/scheduler.js';
import { type Handlers, RATE_BUCKETS } from '../../server/api/endpoint.js';
import { startServer, type RunningServer } from '../../server/app.js';
import { type Clock, frozenClock } from '../../server/clock.js';
import { DEFAULT_NATIVE } from '../../server/cli/settings.js';
import { type ENDPOINTS, handlersOf } from '../../server/endpoints.js';
import type { HolderFlows } from '../../server/holders/holder-flows.js';
import type { EngineName, HttpEngine } from '../../server/http/engine.js';
import { loadEngine } from '../../server/http/load-engine.js';
import { HTTP_LIMITS, type HttpLimits } from '../../server/http/server.js';
import { Limiter } from '../../server/limits/limiter.js';
import type { Plan, Plans } from '../../server/limits/plans.js';
import { loggerInto } from './logger.js';
import { LiveParts } from '../../server/live-parts.js';
import type { LpTools } from '../../server/lp/lp-tools.js';
import type { LiveOrders } from '../../server/orders/live-orders.js';
import { Fragments } from '../../server/replay/fragments.js';
import { SegmentBlocks } from '../../server/replay/segment-blocks.js';
import type { PlainMarket, PlainSnapshot, PlainStore } from '../reference/replay.js';
import { PATIENT, sharedPool } from './pool.js';
import { checkedFetch } from './conformance.js';
import {
  type DetailsOf,
  MemoryDepth,
  MemoryKeys,
  MemoryMarket,
  MemoryQueue,
} from './memory-depth.js';
import { MemoryHolders, MemoryLp, MemoryOrders, MemoryUsage } from './memory-sources.js';

export const MINT = 'So11111111111111111111111111111111111111112';
/** A token whose page holds 288 snapshots of 347 cells. */
export const WIDE_MINT = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
export const EVM_LEG = '0x00000000000000000000000000000000000000aa';
export const KEY = 'fathom-test-key-of-a-premium-member';
export const ENTERPRISE_KEY = 'fathom-test-key-of-an-enterprise-member';
export const NOW_S = 1_794_659_696;
/** The default of `--stale-after`. */
export const STALE_AFTER_S = 3600;

/** The real limiter, with the same rate in each bucket of both plans. */
export function limiterOf(requests: number, periodS = 60, monthlyQuota = Infinity): Limiter {
  const rate = { requests, periodS };
  const rates = Object.fromEntries(RATE_BUCKETS.map((bucket) => [bucket, rate])) as Plan['rates'];
  const plan = { monthlyQuota, rates };
  const plans: Plans = {
    premium: { tier: 'premium', ...plan },
    enterprise: { tier: 'enterprise', ...plan },
  };
  return new Limiter({ usage: new MemoryUsage(), plans });
}

export const MARKETS: PlainMarket[] = [
  { source: 'Orca', exchangeType: 'DEX', type: 'onchain_pool', address: 'pool-1', pair: 'A/USDC' },
  {
    source: 'constant-product',
    exchangeType: 'DEX',
    type: 'onchain_pool',
    address: null,
    pair: null,
  },
  {
    source: 'Phoenix v1',
    exchangeType: 'DEX',
    type: 'onchain_limit_order',
    address: 'book-1',
    pair: 'A/USDC',
  },
  { source: 'Binance', exchangeType: 'CEX', type: 'cex_spot', address: null, pair: 'A/USDT' },
  { source: 'Binance Perps', exchangeType: 'CEX', type: 'cex_perp', address: null, pair: 'A/USDT' },
];

/** `snapshots` raw ones, the last at `lastT`; market `m` has cells in bins -`reach`..`reach`. */
export function steadyStore(
  snapshots: number,
  reach: number,
  { everyS = 60, lastT = NOW_S, markets = MARKETS } = {},
): PlainStore {
  const list: PlainSnapshot[] = [];
  for (let s = 0; s < snapshots; s++) {
    const cells = [];
    for (let market = 0; market < markets.length; market++) {
      for (let bin = -reach; bin <= reach; bin++) {
        const cents = 100 + ((s * 7919 + market * 104_729 + (bin + 300) * 1299) % 900_000);
        const below = bin < 0 ? cents : 0;
        cells.push({ market, bin, support: BigInt(below), resistance: BigInt(cents - below) });
      }
    }
    list.push({ t: lastT - (snapshots - 1 - s) * everyS, tier: 'raw', price: 1.5 + s, cells });
  }
  return { markets, snapshots: list };
}

export interface TestService {
  server: RunningServer;
  pool: ComputePool;
  fragments: Fragments | undefined;
  depth: MemoryDepth;
  keys: MemoryKeys;
  queue: MemoryQueue;
  handlers: Handlers<typeof ENDPOINTS>;
  /** Notified by `change`. */
  lpTools: LpTools;
  /** The input of holders' flows; `holderFlows.touch` notifies them. */
  holderSource: MemoryHolders;
  holderFlows: HolderFlows;
  /** The input of order books; `orders.touch` notifies them. */
  orderSource: MemoryOrders;
  orders: LiveOrders;
  /** The service's log, line by line. */
  logged: string[];
  /** Requests a path below /api/v1 with the test's key. */
  get(path: string, init?: RequestInit): Promise<Response>;
  /** Posts a document as JSON with an enterprise key. */
  post(path: string, document: unknown, init?: RequestInit): Promise<Response>;
  stop(): Promise<void>;
}

export interface TestServiceOptions {
  threads?: number;
  limits?: Partial<HttpLimits>;
  /** Replaces the usual limits of pages in the pool. */
  pageLimits?: Partial<WorkLimits>;
  /** Memory for segments' columns; 0: every page reads its segments. */
  blockBytes?: number;
  depth?: MemoryDepth;
  /** Of tokens' rows, by address. */
  details?: DetailsOf;
  orderSource?: MemoryOrders;
  holderSource?: MemoryHolders;
  lpSource?: MemoryLp;
  /** Replaces the clock that stands still at NOW_S. */
  clock?: Clock;
  /** Replaces the limiter without limits: suites send more requests than plans allow. */
  limiter?: Limiter;
  /** Origins of pages that may read replies. */
  corsOrigins?: readonly string[];
  addressLimit?: { requestsPerS: number; proxyHops: number };
  engine?: EngineName | HttpEngine;
  /** What /readyz answers; without it there are no routes for operators. */
  isReady?: () => boolean;
  /** Keeps fragments; otherwise the pool makes every page. */
  fragments?: boolean;
}

/** Starts a service for the tests of a file, and stops it after them. */
export async function heldService(options: TestServiceOptions = {}): Promise<TestService> {
  const service = await startTestService(options);
  afterAll(() => service.stop());
  return service;
}

export async function startTestService(options: TestServiceOptions = {}): Promise<TestService> {
  const { threads = 1, limits = {}, depth = new MemoryDepth() } = options;
  const logged: string[] = [];
  const logger = loggerInto(logged);
  const keys = new MemoryKeys();
  keys.add(KEY, 'premium');
  keys.add(ENTERPRISE_KEY, 'enterprise');
  const onError = (error: Error) => logger.error('pool', {}, error);
  const { pageLimits } = options;
  const pool =
    pageLimits === undefined
      ? await sharedPool(threads)
      : await startPool({ threads, pageLimits: { ...PATIENT, ...pageLimits }, onError });
  const clock = options.clock ?? frozenClock(NOW_S);
  const queue = new MemoryQueue();
  const source = new MemoryMarket(depth, options.details);
  const orderSource = options.orderSource ?? new MemoryOrders();
  const holderSource = options.holderSource ?? new MemoryHolders();
  const quotes = defaultQuoteTokens(DEFAULT_NATIVE.mint);
  const live = new LiveParts({
    sources: {
      market: source,
      depth,
      orders: orderSource,
      holders: holderSource,
      lp: options.lpSource ?? new MemoryLp(),
    },
    pool,
    clock,
    logger,
    staleAfterS: STALE_AFTER_S,
    quotes,
  });
  await live.start();
  depth.reads.length = 0;
  const fragments = options.fragments ? new Fragments({ pool, depth, logger }) : undefined;
  const limiter = options.limiter ?? limiterOf(Infinity);
  const metrics = new Metrics();
  const handlers = handlersOf({
    depth,
    live,
    pool,
    fragments,
    limiter,
    clock,
    logger,
    quotes,
    queue,
    blocks: new SegmentBlocks(depth, options.blockBytes),
    native: DEFAULT_NATIVE,
    onAnswered: (source) => metrics.pageAnswered(source),
  });
  const server = await startServer({
    keys,
    handlers,
    checkPlan: limiter.check,
    host: '127.0.0.1',
    port: 0,
    logger,
    limits: { ...HTTP_LIMITS, ...limits },
    corsOrigins: options.corsOrigins,
    addressLimit: options.addressLimit,
    operations: options.isReady && {
      metrics,
      checks: { store: options.isReady },
      admin: null,
    },
    ...(typeof options.engine === 'string'
      ? { engine: await loadEngine(options.engine, logger) }
      : options.engine && { engine: options.engine }),
  });
  return {
    server,
    handlers,
    pool,
    fragments,
    depth,
    keys,
    queue,
    lpTools: live.lp,
    holderSource,
    holderFlows: live.holderFlows,
    orderSource,
    orders: live.orders,
    logged,
    get: (path, init = {}) =>
      checkedFetch(`${server.url}/api/v1${path}`, {
        ...init,
        headers: { 'x-api-key': KEY, ...(init.headers as Record<string, string>) },
      }),
    post: (path, document, init = {}) =>
      checkedFetch(`${server.url}/api/v1${path}`, {
        method: 'POST',
        body: JSON.stringify(document),
        ...init,
        headers: {
          'x-api-key': ENTERPRISE_KEY,
          'content-type': 'application/json',
          ...(init.headers as Record<string, string>),
        },
      }),
    async stop() {
      await server.close();
      await fragments?.close();
      await live.close();
      if (pageLimits !== undefined) await pool.close();
    },
  };
}
