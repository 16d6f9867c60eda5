/** Pools of Uniswap on a chain of their own, against what their positions make. */
import { beforeAll, describe, expect, it } from 'vitest';
import { evmReader } from '../../collect/chains/chain-reader.js';
import { JsonRpc } from '../../collect/chains/json-rpc.js';
import { UniswapPool } from '../../collect/chains/uniswap.js';
import { binClmm, binConstantProduct, roundLadder } from '../reference/binning.js';
import { ANVIL, Chain, Uniswap } from '../support/anvil.js';
import { cellsOf, reasonOf, seen } from '../support/collected.js';
import { RpcNode } from '../support/rpc-node.js';

const never = new AbortController().signal;

/** `[tick, liquidity_net]` of positions, ascending. */
function ticksOf(positions: [number, number, bigint][]): [number, string][] {
  const nets = new Map<number, bigint>();
  for (const [low, high, liquidity] of positions) {
    nets.set(low, (nets.get(low) ?? 0n) + liquidity);
    nets.set(high, (nets.get(high) ?? 0n) - liquidity);
  }
  return [...nets]
    .filter(([, net]) => net !== 0n)
    .sort(([a], [b]) => a - b)
    .map(([tick, net]) => [tick, String(net)]);
}

describe.skipIf(ANVIL === null)('pools of Uniswap', () => {
  let uniswap: Uniswap;
  let chain: Chain;
  const positions: [number, number, bigint][] = [];
  let pool: string;
  let pair: string;

  beforeAll(async () => {
    chain = await Chain.start();
    uniswap = await Uniswap.deploy(chain);
    // The square root of 150 is 12.247.
    pool = await uniswap.createPool(3000, (12_247n * 2n ** 96n) / 1000n);
    const ranges: [number, number, [number, number]][] = [
      [48_000, 52_200, [1_000, 150_000]],
      [49_500, 50_700, [500, 75_000]],
      // Beyond the ladder's ends, on one side, on the other, and on both.
      [-887_220, 887_220, [10, 1_500]],
      [-60_000, 49_980, [0, 40_000]],
      [50_220, 120_000, [900, 0]],
      [90_000, 100_020, [700, 0]],
    ];
    for (const [low, high, amounts] of ranges) {
      positions.push([low, high, await uniswap.mint(3000, low, high, amounts)]);
    }
    await uniswap.swap(3000, 1, 20_000);
    pair = await uniswap.createPair([100, 15_300]);
  });

  it.each([0, 1] as const)(
    'have the ladder of their positions, seen from token %i',
    async (token) => {
      const { states, height } = await evmReader(new JsonRpc(chain.url))(
        [new UniswapPool(pool, 3)],
        never,
      );
      expect(height).toBe(Number(await chain.request('eth_blockNumber')));
      const view = seen(states[0], uniswap.tokens[token]);
      const [sqrtPriceX96, tick] = await chain.call(pool, 'slot0()');
      const whole = {
        sqrt_price_x96: String(sqrtPriceX96),
        ticks: ticksOf(positions),
        decimals0: 18,
        decimals1: 18,
        token,
        quote_usd: 2,
      };
      const priceUsd = view.price * 2;
      const raw = (Number(sqrtPriceX96) / 2 ** 96) ** 2;
      expect(view.price).toBeCloseTo(token === 0 ? raw : 1 / raw, 10);
      const cells = cellsOf(priceUsd, view.body(2));
      expect(cells).toEqual(roundLadder(binClmm(priceUsd, whole)));
      // Down to the ladder's end, where only the widest positions reach.
      expect(cells[0][0]).toBe(-232);
      expect(cells.at(-1)![0]).toBe(242);
      expect(Number(tick)).toBeGreaterThan(50_000);
    },
  );

  it.each([0, 1] as const)(
    'have it with ticks below 0 too, at any tick of a word of the bitmap, from token %i',
    async (token) => {
      // At 1.0001^-20, in the middle of the ladder's range, with a spacing of 10: words are 2,560 ticks wide.
      const low = token === 0 ? 500 : 10_000;
      const spacing = token === 0 ? 10 : 200;
      const around = await uniswap.createPool(
        low,
        BigInt(Math.round(1.0001 ** -10 * 2 ** 48)) << 48n,
      );
      const held: [number, number, bigint][] = [];
      const ranges: [number, number][] = [
        [-256, 0],
        [-257, -1],
        [-1, 1],
        [-128, 255],
        [-3, 256],
        [-124, 126],
      ];
      for (const [from, to] of ranges) {
        const [start, end] = [from * spacing, to * spacing];
        held.push([start, end, await uniswap.mint(low, start, end, [1_000, 1_000])]);
      }
      const { states } = await evmReader(new JsonRpc(chain.url))(
        [new UniswapPool(around, 3)],
        never,
      );
      const view = seen(states[0], uniswap.tokens[token]);
      const [sqrtPriceX96] = await chain.call(around, 'slot0()');
      const whole = {
        sqrt_price_x96: String(sqrtPriceX96),
        ticks: ticksOf(held),
        decimals0: 18,
        decimals1: 18,
        token,
        quote_usd: 1,
      };
      const { clmm } = view.body(1) as { clmm: { ticks: [number, string][] } };
      const isWithin = ([at]: [number, string]) => at > -25_000 && at < 25_000;
      expect(clmm.ticks.filter(isWithin)).toEqual(whole.ticks.filter(isWithin));
      expect(cellsOf(view.price, view.body(1))).toEqual(roundLadder(binClmm(view.price, whole)));
    },
  );

  it('have the amounts of a pair of v2', async () => {
    const { states } = await evmReader(new JsonRpc(chain.url))([new UniswapPool(pair, 2)], never);
    const view = seen(states[0], uniswap.tokens[0]);
    expect(view.price).toBe(153);
    const body = { reserve_token: 100, reserve_quote: 15_300, quote_usd: 1 };
    expect(view.body(1)).toEqual({ constant_product: body });
    expect(cellsOf(153, view.body(1))).toEqual(roundLadder(binConstantProduct(153, [body])));
    expect(view.quote.address.toLowerCase()).toBe(uniswap.tokens[1].toLowerCase());
  });

  it('are named by their tokens where these have symbols, else by addresses', async () => {
    const { states } = await evmReader(new JsonRpc(chain.url))([new UniswapPool(pool, 3)], never);
    const view = seen(states[0], uniswap.tokens[0]);
    // The test's token is one of v2's own liquidity tokens.
    expect(view).toMatchObject({ pair: 'UNI-V2/UNI-V2' });
  });

  it('take five requests a reading, however many they are, and what never changes once', async () => {
    const node = await RpcNode.start();
    node.passOnTo(chain.url);
    const read = evmReader(new JsonRpc(node.url));
    const pools = [new UniswapPool(pool, 3), new UniswapPool(pair, 2)];
    await read(pools, never);
    const first = node.requests.splice(0).map((calls) => calls.length);
    await read(pools, never);
    const second = node.requests.map((calls) => calls.length);
    // Words of the bitmap for 25,475 ticks to each side with a spacing of 60, and the ticks of the positions in them.
    const ticks = positions
      .flatMap(([low, high]) => [low, high])
      .filter((at) => at > 24_000 && at < 76_000);
    expect(second).toEqual([1, 3, 4, new Set(ticks).size, 1]);
    // Head; tokens and spacing; stable(); decimals and symbols; then the same.
    expect(first.reduce((sum, calls) => sum + calls, 0)).toBe(
      second.reduce((sum, calls) => sum + calls, 0) + 5 + 2 + 8,
    );
  });

  it('do not stop the others where one is no pool', async () => {
    const [token, nobody] = [uniswap.tokens[0].toLowerCase(), chain.account.toLowerCase()];
    const pools = [
      new UniswapPool(pair, 3),
      new UniswapPool(pool, 2),
      new UniswapPool(token, 2),
      new UniswapPool(nobody, 3),
      new UniswapPool(pool, 3),
    ];
    const { states } = await evmReader(new JsonRpc(chain.url))(pools, never);
    expect(states.map(reasonOf)).toEqual([
      `${pair}: it is a pair of Uniswap v2 or a fork: expected "kind": "uniswap-v2" with "pair"`,
      `${pool}: it is a pool of Uniswap v3 or a fork: expected "kind": "uniswap-v3" with "pool"`,
      `${token}: it is a token, or a pool of another kind, which is not read`,
      `${nobody}: chain 31337 has no such contract: is rpc a node of the pool's chain?`,
      null,
    ]);
  });

  it('are read with the selectors of their functions', async () => {
    const { SELECTOR } = await import('../../collect/chains/evm-node.js');
    const words = { tickBitmap: 'int16', ticks: 'int24' } as Record<string, string>;
    for (const [name, selector] of Object.entries(SELECTOR)) {
      expect([name, selector]).toEqual([
        name,
        await chain.selector(`${name}(${words[name] ?? ''})`),
      ]);
    }
  });
});
