/** The service over a real store, with a clock that the test sets. */
import type { ComputePool } from '../../compute/pool.js';
import { type RunningServer, startServer } from '../../server/app.js';
import type { Clock } from '../../server/clock.js';
import { DEFAULT_NATIVE } from '../../server/cli/settings.js';
import { handlersOf } from '../../server/endpoints.js';
import { loggerInto } from '../support/logger.js';
import { Limiter } from '../../server/limits/limiter.js';
import { LiveParts } from '../../server/live-parts.js';
import { DEFAULT_SHARES } from '../../server/memory.js';
import { defaultQuoteTokens } from '../../compute/lp/dlmm-pool.js';
import type { LiveOrders } from '../../server/orders/live-orders.js';
import { SegmentBlocks } from '../../server/replay/segment-blocks.js';
import type { LiveTokens } from '../../server/tokens/live-tokens.js';
import type { KeyTier } from '../../storage/contract.js';
import type { Store } from '../../storage/store.js';
import { checkedFetch, type Json } from '../support/conformance.js';
import { MemoryKeys } from '../support/memory-depth.js';
import { STALE_AFTER_S } from '../support/service.js';
import { sharedPool } from '../support/pool.js';
import { DataDirectory, openStore } from '../support/stores.js';

export const NOW_S = 1_794_659_696;
const KEY = 'fathom-test-key-of-an-enterprise-member';
const DELAYED_KEY = 'fathom-test-key-of-a-delayed-member';
const TIER: KeyTier = 'enterprise';

interface ServiceReply {
  status: number;
  headers: Headers;
  body: Json;
}

async function replyOf(response: Response): Promise<ServiceReply> {
  const { status, headers } = response;
  return { status, headers, body: (await response.json()) as Json };
}

export class MarketService {
  private constructor(
    readonly directory: DataDirectory,
    readonly store: Store,
    readonly pool: ComputePool,
    private readonly live: LiveParts,
    readonly server: RunningServer,
    /** The service's log, line by line. */
    readonly logged: readonly string[],
    private readonly time: { nowS: number },
  ) {}

  static async start({
    directory = new DataDirectory(),
    maxHeldBytes,
    before,
  }: {
    directory?: DataDirectory;
    maxHeldBytes?: number;
    before?: (store: Store) => Promise<void>;
  } = {}): Promise<MarketService> {
    const store = await openStore(directory.path);
    await before?.(store);
    const keys = new MemoryKeys();
    keys.add(KEY, TIER);
    keys.add(DELAYED_KEY, TIER);
    const delayedId = keys.verify(DELAYED_KEY)?.id;
    const pool = await sharedPool(1);
    const time = { nowS: NOW_S };
    const clock: Clock = { nowS: () => time.nowS };
    const logged: string[] = [];
    const logger = loggerInto(logged);
    const quotes = defaultQuoteTokens(DEFAULT_NATIVE.mint);
    const { depth, orders, holders, lp, queue } = store;
    const live = new LiveParts({
      sources: { market: depth, depth, orders, holders, lp },
      pool,
      clock,
      logger,
      staleAfterS: STALE_AFTER_S,
      quotes,
      memory: { ...DEFAULT_SHARES, ...(maxHeldBytes !== undefined && { ladders: maxHeldBytes }) },
    });
    store.events.on('change', (change) => live.touch(change));
    await live.start();
    const server = await startServer({
      keys,
      handlers: handlersOf({
        depth,
        live,
        pool,
        clock,
        logger,
        quotes,
        queue,
        native: DEFAULT_NATIVE,
        blocks: new SegmentBlocks(depth),
        limiter: new Limiter({ usage: store.usage }),
        isDelayed: ({ id }) => id === delayedId,
      }),
      host: '127.0.0.1',
      port: 0,
      logger,
    });
    return new MarketService(directory, store, pool, live, server, logged, time);
  }

  get tokens(): LiveTokens {
    return this.live.tokens;
  }

  get orders(): LiveOrders {
    return this.live.orders;
  }

  async get(path: string, key = KEY): Promise<ServiceReply> {
    const response = await checkedFetch(`${this.server.url}/api/v1${path}`, {
      headers: { 'x-api-key': key },
    });
    return replyOf(response);
  }

  getDelayed(path: string): Promise<ServiceReply> {
    return this.get(path, DELAYED_KEY);
  }

  async post(body: unknown): Promise<ServiceReply> {
    const response = await checkedFetch(`${this.server.url}/api/v1/score`, {
      method: 'POST',
      headers: { 'x-api-key': KEY, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return replyOf(response);
  }

  /** Resolves when tokens and the boards of scores have followed all commits. */
  async settled(): Promise<void> {
    await this.live.tokens.settled();
    await this.live.topScores.settled();
  }

  /** Sets the clock, and waits until everything has followed. */
  async turnTo(nowS: number): Promise<void> {
    this.time.nowS = nowS;
    this.live.tokens.tick();
    await this.settled();
    this.live.orders.pressure.board.tick();
    await this.live.orders.settled();
    this.live.lp.poolBoard.tick();
    this.live.lp.feeDensity.tick();
    await this.live.lp.settled();
  }

  async stop(): Promise<void> {
    await this.server.close();
    await this.live.close();
    await this.store.close();
  }
}
