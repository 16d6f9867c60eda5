/** Pools of Uniswap v3 and v2 and their forks, as their contracts show them at a block. */
import { MAX_DECIMALS, MAX_TICK } from '../../compute/ingest/fields.js';
import type { PoolToken } from '../../storage/import/pool-states.js';
import {
  addressOf,
  type BlockCalls,
  ContractFault,
  type ContractFunction,
  intOf,
  uintOf,
} from './evm-node.js';
import type { PoolState } from './pool-state.js';
import { symbolOf } from './symbols.js';
import { closedTicks, heldAt, ticksInReach } from './tick-window.js';

const WORD_BITS = 256;
const MAX_SPACING = 32_767;
/** Initialised ticks within reach; the busiest pools have some 2,000. */
const MAX_TICKS = 20_000;

/** Ticks by which a price may seem to lie outside its own, for doubles' sake. */
const TICK_SLACK = 0.01;
const HALF_LN_TICK = Math.log1p(0.0001) / 2;

/** What of a pool never changes. */
interface PoolConstants {
  sides: readonly [PoolToken, PoolToken];
  /** Null for a pair of v2. */
  tickSpacing: number | null;
}

/** What a contract is that answers one of these functions, and what to do, where it is no pool of the kind asked for. */
const OTHERS: readonly (readonly [answers: ContractFunction, what: string])[] = [
  ['slot0', 'it is a pool of Uniswap v3 or a fork: expected "kind": "uniswap-v3" with "pool"'],
  [
    'getReserves',
    'it is a pair of Uniswap v2 or a fork: expected "kind": "uniswap-v2" with "pair"',
  ],
  [
    'globalState',
    'it is a pool of Algebra, which has globalState() for slot0(): these are not read',
  ],
  ['decimals', 'it is a token, or a pool of another kind, which is not read'],
];
/** Functions of pairs that have a curve of their own where they return 1: Solidly and its forks, Camelot. */
const STABLE = ['stable', 'stableSwap'] as const;

/** A pool or pair. What never changes is read once. */
export class UniswapPool {
  private constants: PoolConstants | null = null;

  constructor(
    private readonly address: string,
    private readonly version: 2 | 3,
  ) {}

  /** @throws ContractFault if the contract is none of this version; RpcError */
  async read(calls: BlockCalls): Promise<PoolState> {
    try {
      this.constants ??= await this.readConstants(calls);
      const { sides, tickSpacing } = this.constants;
      return tickSpacing === null
        ? { layout: 'constantProduct', sides, fields: await this.readReserves(calls) }
        : { layout: 'clmm', sides, fields: await this.readLiquidity(calls, tickSpacing) };
    } catch (error) {
      const isOwn = error instanceof ContractFault && error.contract === this.address;
      if (isOwn && error.call !== null) throw await this.explained(error, calls);
      throw error;
    }
  }

  /** A fault in words that say what to do. @throws RpcError */
  private async explained(fault: ContractFault, calls: BlockCalls): Promise<ContractFault> {
    if (!(await calls.hasCode(this.address))) {
      const chain = await calls.chainId();
      return this.fault(`chain ${chain} has no such contract: is rpc a node of the pool's chain?`);
    }
    for (const [name, what] of OTHERS) {
      if (name !== fault.call?.failed && (await answers(calls, this.address, name))) {
        const own = this.version === 3 ? 'slot0' : 'getReserves';
        return name === own ? fault : this.fault(what);
      }
    }
    return fault;
  }

  private async readConstants(calls: BlockCalls): Promise<PoolConstants> {
    const word = async (name: ContractFunction) => (await calls.words(this.address, name, 1))[0];
    const spacing = this.version === 3 ? word('tickSpacing').then(intOf) : null;
    const tokens = await Promise.all([word('token0'), word('token1'), spacing]);
    if (this.version === 2) await this.refuseStable(calls);
    const sides = await Promise.all([
      this.readSide(calls, addressOf(tokens[0])),
      this.readSide(calls, addressOf(tokens[1])),
    ]);
    const tickSpacing = tokens[2] === null ? null : Number(tokens[2]);
    if (tickSpacing !== null && !(tickSpacing >= 1 && tickSpacing <= MAX_SPACING)) {
      throw this.fault(`its tick spacing is ${tickSpacing}`);
    }
    return { sides, tickSpacing };
  }

  private async refuseStable(calls: BlockCalls): Promise<void> {
    const found = await Promise.all(
      STABLE.map((name) => calls.words(this.address, name, 1).catch(passing)),
    );
    if (!found.some((words) => words !== null && uintOf(words[0]) === 1n)) return;
    throw this.fault('it is a stable pair, whose curve is not x y = k: these are not read');
  }

  private async readSide(calls: BlockCalls, address: string): Promise<PoolToken> {
    const [[decimalsWord], symbol] = await Promise.all([
      calls.words(address, 'decimals', 1).catch((error: unknown) => {
        if (error instanceof ContractFault) throw this.fault(`its token ${error.message}`);
        throw error;
      }),
      readSymbol(calls, address),
    ]);
    const decimals = uintOf(decimalsWord);
    if (decimals <= MAX_DECIMALS) return { address, decimals: Number(decimals), symbol };
    throw this.fault(
      `its token ${address} has ${decimals} decimals: expected at most ${MAX_DECIMALS}`,
    );
  }

  private async readReserves(calls: BlockCalls): Promise<PoolState['fields']> {
    const [reserve0, reserve1] = await calls.words(this.address, 'getReserves', 2);
    return { reserve0_raw: String(uintOf(reserve0)), reserve1_raw: String(uintOf(reserve1)) };
  }

  private async readLiquidity(calls: BlockCalls, spacing: number): Promise<PoolState['fields']> {
    const [[sqrtPrice, tickWord], [liquidity]] = await Promise.all([
      calls.words(this.address, 'slot0', 2),
      calls.words(this.address, 'liquidity', 1),
    ]);
    const tick = Number(intOf(tickWord));
    this.checkPrice(uintOf(sqrtPrice), tick);
    const range = ticksInReach(tick, MAX_TICK);
    const initialised = await this.readBitmap(calls, range, spacing);
    const ticks = await Promise.all(
      initialised.map(async (at) => {
        const [, net] = await calls.words(this.address, 'ticks', 2, at);
        return [at, intOf(net)] as const;
      }),
    );
    const active = uintOf(liquidity);
    if (heldAt(ticks, tick) > active)
      throw this.fault('its ticks hold more than its liquidity: not as in Uniswap v3');
    const closed = closedTicks(range, ticks, tick, active);
    return { sqrt_price_x96: String(uintOf(sqrtPrice)), ticks: closed };
  }

  /** The initialised ticks of a range, ascending. */
  private async readBitmap(
    calls: BlockCalls,
    { low, high }: { low: number; high: number },
    spacing: number,
  ): Promise<number[]> {
    const wordAt = (tick: number) => Math.floor(Math.floor(tick / spacing) / WORD_BITS);
    const first = wordAt(low);
    const words = await Promise.all(
      Array.from({ length: wordAt(high) - first + 1 }, (_, i) =>
        calls.words(this.address, 'tickBitmap', 1, first + i),
      ),
    );
    const ticks: number[] = [];
    words.forEach(([word], i) => {
      const bits = uintOf(word);
      for (let bit = 0; bits >> BigInt(bit) > 0n; bit++) {
        const tick = ((first + i) * WORD_BITS + bit) * spacing;
        if ((bits >> BigInt(bit)) & 1n && tick >= low && tick <= high) ticks.push(tick);
      }
    });
    if (ticks.length > MAX_TICKS) throw this.fault(`more than ${MAX_TICKS} ticks`);
    return ticks;
  }

  /** A fork whose slot0() has other fields first is told by a price that does not lie in its tick. */
  private checkPrice(sqrtPriceX96: bigint, tick: number): void {
    if (sqrtPriceX96 === 0n) throw this.fault('it was created, but has no price yet');
    const at = Math.log(Number(sqrtPriceX96) / 2 ** 96) / HALF_LN_TICK;
    const isWithin = at >= tick - TICK_SLACK && at <= tick + 1 + TICK_SLACK;
    if (isWithin && Math.abs(tick) <= MAX_TICK) return;
    throw this.fault('slot0() does not begin with a square root of a price and its tick');
  }

  private fault(what: string): ContractFault {
    return new ContractFault(this.address, what);
  }
}

/** Null for a fault that stays as it is. @throws every other error */
function passing(error: unknown): null {
  if (error instanceof ContractFault && error.call?.error?.failure !== 'busy') return null;
  throw error;
}

async function answers(calls: BlockCalls, to: string, name: ContractFunction): Promise<boolean> {
  return (await calls.words(to, name, 1).catch(passing)) !== null;
}

/** A text, or bytes32 as old tokens have it; null if the token has none. */
async function readSymbol(calls: BlockCalls, address: string): Promise<string | null> {
  const words = await calls.words(address, 'symbol', 1).catch(passing);
  if (words === null) return null;
  const bytes = Buffer.from(words.slice(words.length > 2 ? 2 : 0).join(''), 'hex');
  const length = words.length > 2 ? Number(uintOf(words[1])) : bytes.length;
  return symbolOf(bytes.subarray(0, length));
}
