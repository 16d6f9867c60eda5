/** Pools of Uniswap v3 and v2 and their forks, as their contracts show them at a block. */
import { MAX_DECIMALS, MAX_TICK } from '../../compute/ingest/fields.js';
import { type BlockCalls, ContractFault, addressOf, intOf, uintOf } from './evm-node.js';
import type { PoolSide, PoolState } from './pool-state.js';
import { symbolOf } from './symbols.js';
import { closedTicks, heldAt, ticksInReach } from './tick-window.js';

/** The first four bytes of each function's hash. */
export const SELECTOR = {
  decimals: '313ce567',
  getReserves: '0902f1ac',
  liquidity: '1a686502',
  slot0: '3850c7bd',
  symbol: '95d89b41',
  tickBitmap: '5339c296',
  tickSpacing: 'd0c93a7c',
  ticks: 'f30dba93',
  token0: '0dfe1681',
  token1: 'd21220a7',
} as const;

const WORD_BITS = 256;
const MAX_SPACING = 32_767;
/** Initialised ticks within reach; the busiest pools have some 2,000. */
const MAX_TICKS = 20_000;

/** What of a pool never changes. */
interface PoolConstants {
  sides: readonly [PoolSide, PoolSide];
  /** Null for a pair of v2. */
  tickSpacing: number | null;
}

/** A pool or pair. What never changes is read once. */
export class UniswapPool {
  private constants: PoolConstants | null = null;

  constructor(
    private readonly address: string,
    private readonly version: 2 | 3,
  ) {}

  /** @throws ContractFault if the contract is none of this version; RpcError */
  async read(calls: BlockCalls): Promise<PoolState> {
    this.constants ??= await this.readConstants(calls);
    const { sides, tickSpacing } = this.constants;
    return tickSpacing === null
      ? { layout: 'constantProduct', sides, fields: await this.readReserves(calls) }
      : { layout: 'clmm', sides, fields: await this.readLiquidity(calls, tickSpacing) };
  }

  private async readConstants(calls: BlockCalls): Promise<PoolConstants> {
    const word = async (selector: string) => (await calls.words(this.address, selector, 1))[0];
    const spacing = this.version === 3 ? word(SELECTOR.tickSpacing).then(intOf) : null;
    const tokens = await Promise.all([word(SELECTOR.token0), word(SELECTOR.token1), spacing]);
    const [side0, side1] = await Promise.all([
      readSide(calls, addressOf(tokens[0])),
      readSide(calls, addressOf(tokens[1])),
    ]);
    const tickSpacing = tokens[2] === null ? null : Number(tokens[2]);
    if (tickSpacing !== null && !(tickSpacing >= 1 && tickSpacing <= MAX_SPACING)) {
      throw this.fault(`tick spacing ${tickSpacing}`);
    }
    return { sides: [side0, side1], tickSpacing };
  }

  private async readReserves(calls: BlockCalls): Promise<PoolState['fields']> {
    const [reserve0, reserve1] = await calls.words(this.address, SELECTOR.getReserves, 2);
    return { reserve0_raw: String(uintOf(reserve0)), reserve1_raw: String(uintOf(reserve1)) };
  }

  private async readLiquidity(calls: BlockCalls, spacing: number): Promise<PoolState['fields']> {
    const [[sqrtPrice, tickWord], [liquidity]] = await Promise.all([
      calls.words(this.address, SELECTOR.slot0, 2),
      calls.words(this.address, SELECTOR.liquidity, 1),
    ]);
    const tick = Number(intOf(tickWord));
    if (Math.abs(tick) > MAX_TICK) throw this.fault(`tick ${tick}`);
    const range = ticksInReach(tick, MAX_TICK);
    const initialised = await this.readBitmap(calls, range, spacing);
    const ticks = await Promise.all(
      initialised.map(async (at) => {
        const [, net] = await calls.words(this.address, SELECTOR.ticks, 2, at);
        return [at, intOf(net)] as const;
      }),
    );
    const active = uintOf(liquidity);
    if (heldAt(ticks, tick) > active) throw this.fault('its ticks hold more than its liquidity');
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
        calls.words(this.address, SELECTOR.tickBitmap, 1, first + i),
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

  private fault(what: string): ContractFault {
    return new ContractFault(`${this.address}: ${what}`);
  }
}

async function readSide(calls: BlockCalls, address: string): Promise<PoolSide> {
  const [[decimalsWord], symbol] = await Promise.all([
    calls.words(address, SELECTOR.decimals, 1),
    readSymbol(calls, address),
  ]);
  const decimals = Number(uintOf(decimalsWord));
  if (decimals > MAX_DECIMALS) throw new ContractFault(`${address}: ${decimals} decimals`);
  return { address, decimals, symbol };
}

/** A text, or bytes32 as old tokens have it; null if the token has none. */
async function readSymbol(calls: BlockCalls, address: string): Promise<string | null> {
  try {
    const words = await calls.words(address, SELECTOR.symbol, 1);
    const bytes = Buffer.from(words.slice(words.length > 2 ? 2 : 0).join(''), 'hex');
    const length = words.length > 2 ? Number(uintOf(words[1])) : bytes.length;
    return symbolOf(bytes.subarray(0, length));
  } catch (error) {
    if (error instanceof ContractFault) return null;
    throw error;
  }
}
