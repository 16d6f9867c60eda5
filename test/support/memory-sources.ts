/** What a store serves besides depth, kept in memory: orders, holders, pools and hours, with counts of calls. */
import type { PoolHours } from '../../compute/lp/dlmm-board.js';
import type { TokenHours } from '../../compute/lp/fee-density.js';
import type { HolderSnapshot } from '../../compute/holders/block-format.js';
import type { OwnerNames } from '../../compute/holders/owners.js';
import type { DlmmPool } from '../../compute/lp/dlmm-pool.js';
import type { DcaOrder } from '../../compute/orders/dca-orders.js';
import type { LimitOrder } from '../../compute/orders/limit-orders.js';
import type {
  ActiveOrders,
  CallCounter,
  DayUsage,
  HolderBlocks,
  HolderSource,
  KeyDayUsage,
  LpSource,
  OrderSource,
  UsageSource,
} from '../../storage/contract.js';
import type { HolderRow } from '../reference/holders.js';
import { encodeHolderBlock, holderSnapshot, namesOf } from './holders.js';

/** Orders in a single batch. */
const BATCH = 1000;

class MemoryActiveOrders<T extends DcaOrder | LimitOrder> implements ActiveOrders<T> {
  orders: T[] = [];
  /** The addresses requested, query by query. */
  readonly requests: (readonly string[])[] = [];
  /** The error of the next queries for some tokens' orders. */
  readonly failures: Error[] = [];

  async of(addresses: readonly string[]): Promise<T[]> {
    this.requests.push(addresses);
    await Promise.resolve();
    const failure = this.failures.shift();
    if (failure !== undefined) throw failure;
    return this.orders.filter(({ tokenAddress }) => addresses.includes(tokenAddress));
  }

  all(): AsyncGenerator<T[]> {
    return batches(this.orders);
  }
}

export class MemoryOrders implements OrderSource {
  readonly dca = new MemoryActiveOrders<DcaOrder>();
  readonly limit = new MemoryActiveOrders<LimitOrder>();
}

async function* batches<T>(orders: readonly T[]): AsyncGenerator<T[]> {
  await Promise.resolve();
  for (let from = 0; from < orders.length; from += BATCH) yield orders.slice(from, from + BATCH);
}

/** Small enough for a flow to need several blocks, and not all of any. */
const SNAPSHOTS_PER_BLOCK = 3;

interface History {
  names: OwnerNames;
  times: Uint32Array;
  blocks: { times: readonly number[]; block: Uint8Array }[];
}

export class MemoryHolders implements HolderSource {
  /** Mints whose blocks were read, in order. */
  readonly reads: string[] = [];
  /** Called before blocks are returned. */
  beforeRead: (tokenAddress: string) => Promise<void> | void = () => undefined;
  private readonly histories = new Map<string, History>();

  /** Replaces all of a mint's rows. */
  set(tokenAddress: string, rows: readonly HolderRow[]): void {
    this.histories.set(tokenAddress, historyOf(rows));
  }

  times(tokenAddress: string): Promise<Uint32Array> {
    return Promise.resolve(this.histories.get(tokenAddress)?.times ?? new Uint32Array(0));
  }

  async read(tokenAddress: string, times: readonly number[]): Promise<HolderBlocks> {
    this.reads.push(tokenAddress);
    await this.beforeRead(tokenAddress);
    const history = this.histories.get(tokenAddress);
    if (history === undefined) throw new Error(`${tokenAddress} has no holders`);
    const wanted = history.blocks.filter((block) => block.times.some((t) => times.includes(t)));
    return { names: history.names, blocks: wanted.map(({ block }) => block.slice()) };
  }
}

function historyOf(rows: readonly HolderRow[]): History {
  const ids = new Map<string, number>();
  const held = new Map<number, Map<number, number>>();
  for (const { t, owner, balance } of rows) {
    const id = ids.get(owner) ?? ids.size;
    ids.set(owner, id);
    held.set(t, (held.get(t) ?? new Map<number, number>()).set(id, balance));
  }
  const snapshots = [...held].map(([t, balances]) => holderSnapshot(t, balances));
  snapshots.sort((a, b) => a.t - b.t);
  return {
    names: namesOf([...ids.keys()]),
    times: Uint32Array.from(snapshots, ({ t }) => t),
    blocks: blocksOf(snapshots),
  };
}

function blocksOf(snapshots: readonly HolderSnapshot[]): History['blocks'] {
  const blocks: History['blocks'] = [];
  for (let from = 0; from < snapshots.length; from += SNAPSHOTS_PER_BLOCK) {
    const part = snapshots.slice(from, from + SNAPSHOTS_PER_BLOCK);
    blocks.push({ times: part.map(({ t }) => t), block: encodeHolderBlock(part) });
  }
  return blocks;
}

interface PoolHour {
  pubkey: string;
  hour: number;
  feesUsd: number;
  volumeUsd: number;
  tvlUsd: number;
}

interface TokenHour {
  address: string;
  hour: number;
  organicVolumeUsd: number;
}

export class MemoryLp implements LpSource {
  pools: DlmmPool[] = [];
  poolHours: PoolHour[] = [];
  mintHours: TokenHour[] = [];
  /** Calls so far, of any kind. */
  reads = 0;
  /** Awaited before every read, so tests can delay reads or make them fail. */
  beforeRead: () => Promise<void> = async () => {};

  async dlmmPools(): Promise<DlmmPool[]> {
    await this.read();
    return this.pools.map((pool) => ({ ...pool }));
  }

  async dlmmHours(fromHourS: number, toHourS: number): Promise<PoolHours> {
    await this.read();
    const rows = this.poolHours.filter(({ hour }) => hour >= fromHourS && hour <= toHourS);
    const pubkeys = [...new Set(rows.map(({ pubkey }) => pubkey))];
    return {
      pubkeys,
      pool: Uint32Array.from(rows, ({ pubkey }) => pubkeys.indexOf(pubkey)),
      hour: Uint32Array.from(rows, ({ hour }) => hour),
      feesUsd: Float64Array.from(rows, ({ feesUsd }) => feesUsd),
      volumeUsd: Float64Array.from(rows, ({ volumeUsd }) => volumeUsd),
      tvlUsd: Float64Array.from(rows, ({ tvlUsd }) => tvlUsd),
    };
  }

  async tokenHours(fromHourS: number, toHourS: number): Promise<TokenHours> {
    await this.read();
    const rows = this.mintHours.filter(({ hour }) => hour >= fromHourS && hour <= toHourS);
    const addresses = [...new Set(rows.map(({ address }) => address))];
    return {
      addresses,
      token: Uint32Array.from(rows, ({ address }) => addresses.indexOf(address)),
      hour: Uint32Array.from(rows, ({ hour }) => hour),
      organicVolumeUsd: Float64Array.from(rows, ({ organicVolumeUsd }) => organicVolumeUsd),
    };
  }

  private read(): Promise<void> {
    this.reads++;
    return this.beforeRead();
  }
}

export class MemoryUsage implements UsageSource {
  private readonly calls: KeyDayUsage[] = [];
  /** By key and month. */
  readonly months = new Map<string, { calls: number }>();
  /** Keys that were used, and the hours. */
  readonly uses: [string, number][] = [];

  month(keyId: string, month: number): { calls: number } {
    const name = `${keyId} ${month}`;
    const known = this.months.get(name) ?? { calls: 0 };
    this.months.set(name, known);
    return known;
  }

  counter(keyId: string, day: number, endpoint: string): CallCounter {
    const add = (calls: number): void => {
      this.month(keyId, Math.floor(day / 100)).calls += calls;
      this.calls.push({ keyId, day, endpoint, calls });
    };
    return { add };
  }

  ofMonth(keyId: string, month: number): Promise<DayUsage[]> {
    return Promise.resolve(
      this.calls.filter((one) => one.keyId === keyId && Math.floor(one.day / 100) === month),
    );
  }

  use(keyId: string, hourS: number): void {
    this.uses.push([keyId, hourS]);
  }
}
