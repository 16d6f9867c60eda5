/** Reads the pools of a token at a node together, all at one block or slot. */
import { setImmediate } from 'node:timers/promises';
import { withTimeout } from '../timeout.js';
import { ContractFault, EvmNode } from './evm-node.js';
import type { JsonRpc } from './json-rpc.js';
import type { PoolState } from './pool-state.js';
import { SolanaNode } from './solana-node.js';
import { readSolanaPools, type SolanaPool } from './solana-pools.js';
import type { UniswapPool } from './uniswap.js';

/** The longest reading. */
const READ_TIMEOUT_MS = 60_000;
/** A node whose newest block is older does not follow its chain. */
const MAX_BEHIND_S = 300;
/** Intervals without a new block after which what a node answers is stale; never less than a minute: blocks take time. */
const STALE_INTERVALS = 3;
const MIN_STALE_MS = 60_000;

/** States of pools at a block or slot, in the order asked for; the reason in place of a state that cannot be read. */
export interface PoolsAtHeight {
  height: number;
  /** The block's time in epoch seconds. */
  timeS: number;
  states: (PoolState | Error)[];
}

/** Reads pools at the newest block or slot of a node. @throws RpcError */
export type ReadPools<Pool> = (
  pools: readonly Pool[],
  signal: AbortSignal,
) => Promise<PoolsAtHeight>;

export function evmReader(rpc: JsonRpc): ReadPools<UniswapPool> {
  const node = new EvmNode(rpc);
  return async (pools, signal) => {
    const { block, timeS, value } = await node.atNewestBlock(
      (calls) =>
        Promise.all(
          pools.map((pool) =>
            pool.read(calls).catch((error: unknown) => {
              if (error instanceof ContractFault) return error;
              throw error;
            }),
          ),
        ),
      signal,
    );
    return { height: block, timeS, states: value };
  };
}

export function solanaReader(rpc: JsonRpc): ReadPools<SolanaPool> {
  const node = new SolanaNode(rpc);
  return async (pools, signal) => {
    const { slot, timeS, states } = await readSolanaPools(node, pools, signal);
    return { height: slot, timeS, states };
  };
}

/** A pool's state, and when it was received by `performance.now()`. */
export interface ReceivedState {
  state: PoolState;
  receivedMs: number;
}

/** The pools of a token at a node. Their sources share each reading. */
export class ChainReader<Pool> {
  private readonly pools = new Set<Pool>();
  private current: Reading<Pool> | null = null;
  /** The greatest height yet, and when it was read. */
  private newest = { height: -1, atMs: 0 };

  /** @param nowS the time of day in epoch seconds */
  constructor(
    private readonly read: ReadPools<Pool>,
    private readonly everyS: number,
    private readonly nowS: () => number,
  ) {}

  add(pool: Pool): void {
    this.pools.add(pool);
  }

  /** Ends the reading that is in progress once no pool is left. */
  remove(pool: Pool): void {
    this.pools.delete(pool);
    if (this.pools.size === 0) this.current?.stop.abort();
  }

  /**
   * The state of a pool for the snapshot of `t`. The first one that asks has all pools read; a reading for another `t`
   * that is still in progress ends. A reading that failed begins anew.
   * @throws Error with the reason if it cannot be read, or the node is stale
   */
  async stateAt(pool: Pool, t: number): Promise<ReceivedState> {
    let reading = this.current;
    if (reading === null || reading.t !== t || reading.pools?.has(pool) === false) {
      reading?.stop.abort(new Error('not read within the interval'));
      this.current = reading = new Reading(t, (started) => this.readAll(started));
    }
    try {
      const { states, receivedMs } = await reading.result;
      const state = states.get(pool)!;
      if (state instanceof Error) throw state;
      return { state, receivedMs };
    } catch (error) {
      if (this.current === reading) this.current = null;
      throw error;
    }
  }

  private async readAll(reading: Reading<Pool>): Promise<ReadPoolStates<Pool>> {
    // Pools that are added, and asked for, at the same moment are read with it.
    await setImmediate();
    reading.stop.signal.throwIfAborted();
    reading.pools = new Set(this.pools);
    const pools = [...reading.pools];
    const { height, timeS, states } = await withTimeout(
      reading.stop.signal,
      READ_TIMEOUT_MS,
      (signal) => this.read(pools, signal),
    );
    const receivedMs = performance.now();
    if (height > this.newest.height) this.newest = { height, atMs: receivedMs };
    const stillMs = receivedMs - this.newest.atMs;
    if (stillMs > Math.max(MIN_STALE_MS, STALE_INTERVALS * this.everyS * 1000)) {
      throw new Error(`no block after ${this.newest.height} for ${Math.round(stillMs / 1000)} s`);
    }
    const behindS = this.nowS() - timeS;
    if (behindS > MAX_BEHIND_S) {
      throw new Error(`block ${height} is ${Math.round(behindS)} s old: the node does not follow`);
    }
    return { states: new Map(pools.map((pool, i) => [pool, states[i]])), receivedMs };
  }
}

interface ReadPoolStates<Pool> {
  states: ReadonlyMap<Pool, PoolState | Error>;
  receivedMs: number;
}

class Reading<Pool> {
  readonly stop = new AbortController();
  /** Those that it reads; null until it begins. */
  pools: ReadonlySet<Pool> | null = null;
  readonly result: Promise<ReadPoolStates<Pool>>;

  constructor(
    readonly t: number,
    read: (reading: Reading<Pool>) => Promise<ReadPoolStates<Pool>>,
  ) {
    this.result = read(this);
  }
}
