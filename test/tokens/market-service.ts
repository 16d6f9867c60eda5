/** The service over a real store, with a clock that the test turns. */
import type { ComputePool } from '../../compute/pool.js';
import { type RunningServer, startServer } from '../../server/app.js';
import type { Clock } from '../../server/clock.js';
import { DEFAULT_NATIVE } from '../../server/cli/settings.js';
import { liveHandlers } from '../../server/endpoints.js';
import { TopScores } from '../../server/scores/top-scores.js';
import { HolderFlows } from '../../server/holders/holder-flows.js';
import { logInto } from '../support/log.js';
import { Limiter } from '../../server/limits/limiter.js';
import { LpTools } from '../../server/lp/lp-tools.js';
import { defaultQuoteTokens } from '../../compute/lp/dlmm-pool.js';
import { LiveOrders } from '../../server/orders/live-orders.js';
import { LiveTokens } from '../../server/tokens/live-tokens.js';
import type { KeyRecord, KeyTier } from '../../storage/contract.js';
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
    readonly tokens: LiveTokens,
    private readonly topScores: TopScores,
    readonly orders: LiveOrders,
    readonly holderFlows: HolderFlows,
    readonly lp: LpTools,
    readonly server: RunningServer,
    /** What the service logged, line by line. */
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
    const log = logInto(logged);
    const tokens = new LiveTokens({
      source: store.depth,
      pool,
      clock,
      log,
      staleAfterS: STALE_AFTER_S,
      maxHeldBytes,
    });
    const topScores = new TopScores(tokens, log);
    const orders = new LiveOrders({ source: store.orders, tokens, pool, clock, log });
    const quotes = defaultQuoteTokens(DEFAULT_NATIVE.mint);
    const lp = new LpTools({
      source: store.lp,
      depth: store.depth,
      tokens,
      workers: pool,
      clock,
      log,
      quotes,
    });
    const holderFlows = new HolderFlows({ source: store.holders, pool, clock, log });
    store.onChange((change) => {
      tokens.touch(change.tokenIds);
      lp.change(change);
      orders.touch(change);
      holderFlows.touch(change.holderTokens);
    });
    await tokens.start();
    await orders.start();
    lp.start();
    const isDelayed = ({ id }: KeyRecord): boolean => id === delayedId;
    const server = await startServer({
      depth: store.depth,
      keys,
      handlers: liveHandlers({
        depth: store.depth,
        limiter: new Limiter({ usage: store.usage }),
        tokens,
        topScores,
        orders,
        holderFlows,
        lp,
        quotes,
        queue: store.queue,
        clock,
        log,
        native: DEFAULT_NATIVE,
        isDelayed,
      }),
      pool,
      clock,
      host: '127.0.0.1',
      port: 0,
      log,
    });
    return new MarketService(
      directory,
      store,
      pool,
      tokens,
      topScores,
      orders,
      holderFlows,
      lp,
      server,
      logged,
      time,
    );
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
    await this.tokens.settled();
    await this.topScores.settled();
  }

  /** Turns the clock, and waits until all that follows it has followed. */
  async turnTo(nowS: number): Promise<void> {
    this.time.nowS = nowS;
    this.tokens.tick();
    await this.settled();
    this.orders.pressure.board.tick();
    await this.orders.settled();
    this.lp.poolBoard.tick();
    this.lp.feeDensity.tick();
    await this.lp.settled();
  }

  async stop({ keepDirectory = false } = {}): Promise<void> {
    await this.server.close();
    await this.tokens.close();
    await this.topScores.close();
    await this.orders.close();
    await this.holderFlows.close();
    await this.lp.close();
    await this.store.close();
    if (!keepDirectory) this.directory.remove();
  }
}
