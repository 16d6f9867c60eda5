/** The service with a few tokens in memory, and the orders given by a test. */
import type { DcaOrder } from '../../compute/orders/dca-orders.js';
import type { LimitOrder } from '../../compute/orders/limit-orders.js';
import type { PlainStore } from '../reference/replay.js';
import type { Json } from '../support/conformance.js';
import { MemoryDepth, type MemoryQueue } from '../support/memory-depth.js';
import { MARKETS, NOW_S, type TestService, heldService } from '../support/service.js';

export const MINT = 'A'.repeat(40);
export const LEG = `0x${'a'.repeat(40)}`;
/** A mint with neither legs, depth nor price. */
export const BARE = 'B'.repeat(40);
/** A mint whose other leg has no price. */
export const HALF = 'C'.repeat(40);
export const HALF_LEG = `0x${'c'.repeat(40)}`;
export const PRICE_USD = 2;
export const LEG_PRICE_USD = 1.9;

/** `[bin, support, resistance]` of all markets but perps. */
export const LADDER = [
  [-9, 700, 0],
  [-2, 300, 0],
  [-1, 0, 20],
  [0, 50, 60],
  [3, 0, 400],
  [12, 0, 90],
] as const;

const storeAt = (price: number): PlainStore => ({
  markets: MARKETS,
  snapshots: [
    {
      t: NOW_S - 7,
      tier: 'raw',
      price,
      cells: [
        ...LADDER.map(([bin, support, resistance]) => ({
          market: 0,
          bin,
          support: BigInt(support * 100),
          resistance: BigInt(resistance * 100),
        })),
        // Perps: flows do not use up their depth.
        { market: 4, bin: -5, support: 900_000n, resistance: 900_000n },
      ],
    },
  ],
});
const EMPTY: PlainStore = { markets: [], snapshots: [] };

export class OrderService {
  private constructor(private readonly service: TestService) {}

  /** Mints that wait for data. */
  get queue(): MemoryQueue {
    return this.service.queue;
  }

  /** One for the tests of a file. */
  static async held(): Promise<OrderService> {
    const depth = new MemoryDepth().add('mainchain', MINT, storeAt(PRICE_USD), { asset: 'one' });
    depth.add('evmchain', LEG, storeAt(LEG_PRICE_USD), { asset: 'one' });
    depth.add('mainchain', BARE, EMPTY);
    depth.add('mainchain', HALF, EMPTY, { asset: 'half' });
    depth.add('evmchain', HALF_LEG, EMPTY, { asset: 'half' });
    const details = {
      [MINT]: {
        symbol: 'AAA',
        name: 'Token A',
        icon: 'https://icons.example/a.png',
        mcap: 5_000_000,
        liquidity_usd: 40_000,
        last_refresh: 77,
      },
      [LEG]: { symbol: 'AAAe', name: 'Token A bridged', mcap: 9, last_refresh: 78 },
      [HALF]: { price_usd: 3, last_refresh: 79 },
    };
    return new OrderService(await heldService({ depth, details }));
  }

  async ask(path: string, parameters: Json): Promise<{ status: number; body: Json }> {
    const query = new URLSearchParams(parameters as Record<string, string>);
    const response = await this.service.get(`${path}?${query}`);
    return { status: response.status, body: (await response.json()) as Json };
  }

  limitOf(token: string, more: Json = {}): Promise<{ status: number; body: Json }> {
    return this.ask('/limit-orders', { token_address: token, ...more });
  }

  dcaOf(token: string, more: Json = {}): Promise<{ status: number; body: Json }> {
    return this.ask('/dca-orders', { token_address: token, ...more });
  }

  /** Makes the service have exactly these orders, and waits until it does. */
  async hold({ dca = [], limit = [] }: { dca?: DcaOrder[]; limit?: LimitOrder[] }): Promise<void> {
    const { orderSource, orders } = this.service;
    const before = [...orderSource.dca.orders, ...orderSource.limit.orders];
    orderSource.dca.orders = dca;
    orderSource.limit.orders = limit;
    const touched = [...before, ...dca, ...limit].map(({ tokenAddress }) => tokenAddress);
    const tokens = [...new Set(touched)];
    orders.touch({ dcaTokens: tokens, limitTokens: tokens });
    await orders.settled();
  }
}
