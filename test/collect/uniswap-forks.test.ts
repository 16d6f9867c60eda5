/** Contracts that are almost pools of Uniswap, and tokens that are strange, on a chain of their own. */
import { beforeAll, describe, expect, it } from 'vitest';
import { evmReader } from '../../collect/chains/chain-reader.js';
import { JsonRpc } from '../../collect/chains/json-rpc.js';
import type { PoolState } from '../../collect/chains/pool-state.js';
import { viewOf } from '../../collect/chains/pool-state.js';
import { UniswapPool } from '../../collect/chains/uniswap.js';
import { ANVIL, Chain, Uniswap } from '../support/anvil.js';
import { reasonOf, seen } from '../support/collected.js';

const never = new AbortController().signal;
const Q96 = 2n ** 96n;
/** Of a price of 4, which is in tick 13863. */
const [SQRT_PRICE, TICK] = [2n * Q96, 13_863];
/** A text as an ABI has it. */
const text = (value: string) => [
  32,
  value.length,
  BigInt(`0x${Buffer.from(value).toString('hex').padEnd(64, '0')}`),
];

describe.skipIf(ANVIL === null)('forks of Uniswap', () => {
  let chain: Chain;
  const tokens: string[] = [];

  beforeAll(async () => {
    chain = await Chain.start('--chain-id', '56');
    for (const symbol of ['AAA', 'BBB']) {
      tokens.push(await chain.put({ 'decimals()': [18], 'symbol()': text(symbol) }));
    }
  });

  async function read(address: string, version: 2 | 3): Promise<PoolState | Error> {
    const { states } = await evmReader(new JsonRpc(chain.url))(
      [new UniswapPool(address, version)],
      never,
    );
    return states[0];
  }

  /** A pool whose liquidity is the same at every price. */
  const pool = (
    functions: Readonly<Record<string, (number | bigint | string)[]>>,
    sides = tokens,
  ) =>
    chain.put({
      'token0()': [sides[0]],
      'token1()': [sides[1]],
      'tickSpacing()': [10],
      'liquidity()': [10n ** 24n],
      'tickBitmap(int16)': [0],
      ...functions,
    });

  it.each([
    ['Uniswap v3', [SQRT_PRICE, TICK, 1, 1, 1, 0, 1]],
    // Two shares of 32%, each in 16 bits.
    ['PancakeSwap v3', [SQRT_PRICE, TICK, 1, 1, 1, 209_718_400, 1]],
    ['Slipstream, without a fee', [SQRT_PRICE, TICK, 1, 1, 1, 1]],
  ])('are read where slot0 begins alike: %s', async (_name, slot0) => {
    const view = seen(await read(await pool({ 'slot0()': slot0 }), 3), tokens[0]);
    expect(view).toMatchObject({ price: 4, pair: 'AAA/BBB' });
    expect(view.body(1)).toMatchObject({
      clmm: {
        ticks: [
          [TICK - 25_475, String(10n ** 24n)],
          [TICK + 25_475, String(-(10n ** 24n))],
        ],
      },
    });
  });

  it.each([
    [
      'Algebra',
      { 'globalState()': [SQRT_PRICE, TICK, 100, 0, 0, 0, 1] },
      'it is a pool of Algebra, which has globalState() for slot0(): these are not read',
    ],
    [
      'a slot0 with the tick first',
      { 'slot0()': [TICK, SQRT_PRICE, 1, 1] },
      'slot0() does not begin with a square root of a price and its tick',
    ],
    ['a slot0 of a single word', { 'slot0()': [SQRT_PRICE] }, 'slot0() returns 32 bytes'],
    [
      'a pool that was never initialised',
      { 'slot0()': [0, 0, 0, 0, 0, 0, 0] },
      'it was created, but has no price yet',
    ],
    [
      'a spacing of 0',
      { 'slot0()': [SQRT_PRICE, TICK], 'tickSpacing()': [0] },
      'its tick spacing is 0',
    ],
    [
      'ticks that hold more than the liquidity',
      { 'slot0()': [SQRT_PRICE, TICK], 'tickBitmap(int16)': [1], 'ticks(int24)': [1, 10n ** 25n] },
      'its ticks hold more than its liquidity: not as in Uniswap v3',
    ],
  ])('are refused where they are other: %s', async (_name, functions, reason) => {
    const address = await pool(functions);
    expect(reasonOf(await read(address, 3))).toBe(`${address}: ${reason}`);
  });

  it('of v2 are read, but for pairs with another curve', async () => {
    const pair = (functions: Readonly<Record<string, number[]>>) =>
      chain.put({
        'token0()': [tokens[0]],
        'token1()': [tokens[1]],
        'getReserves()': [10n ** 20n, 4n * 10n ** 20n, 1],
        ...functions,
      });
    const others: Record<string, number[]>[] = [{}, { 'stable()': [0] }, { 'stableSwap()': [0] }];
    for (const functions of others) {
      expect(seen(await read(await pair(functions), 2), tokens[0]).price).toBe(4);
    }
    for (const name of ['stable()', 'stableSwap()']) {
      const address = await pair({ [name]: [1] });
      expect(reasonOf(await read(address, 2))).toBe(
        `${address}: it is a stable pair, whose curve is not x y = k: these are not read`,
      );
    }
  });

  describe('tokens', () => {
    const pairOf = (token0: string, token1: string, reserves: [bigint, bigint]) =>
      chain.put({ 'token0()': [token0], 'token1()': [token1], 'getReserves()': [...reserves, 1] });

    it('may have 0 decimals, or 24, or 36', async () => {
      const none = await chain.put({ 'decimals()': [0] });
      const many = await chain.put({ 'decimals()': [24] });
      const most = await chain.put({ 'decimals()': [36] });
      const pair = await pairOf(none, many, [7n, 21n * 10n ** 24n]);
      const view = seen(await read(pair, 2), none);
      expect(view.price).toBe(3);
      expect(view.body(1)).toMatchObject({
        constant_product: { reserve_token: 7, reserve_quote: 21 },
      });
      // A whole token of 36 decimals for one of none.
      const tick = Math.floor(Math.log(1e-36) / Math.log(1.0001));
      const slot0 = [BigInt(Math.round(1e-18 * 2 ** 96)), tick];
      const state = await read(await pool({ 'slot0()': slot0 }, [most, none]), 3);
      expect(seen(state, most).price).toBeCloseTo(1, 8);
      expect(seen(state, none).price).toBeCloseTo(1, 8);
    });

    it('may have more than 36, or none: such pools are refused', async () => {
      const many = await chain.put({ 'decimals()': [37] });
      const huge = await chain.put({ 'decimals()': [2n ** 255n] });
      const silent = await chain.put({ 'symbol()': text('X') });
      const reasons = [];
      for (const token of [many, huge, silent]) {
        const pair = await pairOf(tokens[0], token, [1n, 1n]);
        reasons.push(
          reasonOf(await read(pair, 2))!
            .replace(pair, 'PAIR')
            .replace(token, 'TOKEN'),
        );
      }
      expect(reasons).toEqual([
        'PAIR: its token TOKEN has 37 decimals: expected at most 36',
        `PAIR: its token TOKEN has ${2n ** 255n} decimals: expected at most 36`,
        expect.stringMatching(/^PAIR: its token TOKEN: decimals\(\) fails: .*revert/),
      ]);
    });

    it('may have a symbol of 32 bytes, a strange one, or none', async () => {
      const word = (value: string) =>
        BigInt(`0x${Buffer.from(value).toString('hex').padEnd(64, '0')}`);
      const symbols: [string, (number | bigint)[]][] = [
        ['MKR', [word('MKR')]],
        ['', text('two\nlines')],
        // Longer than what is returned.
        ['ABC', [32, 2n ** 200n, word('ABC')]],
        ['', []],
      ];
      for (const [symbol, words] of symbols) {
        const token = await chain.put({ 'decimals()': [18], 'symbol()': words });
        const pair = await pairOf(token, tokens[1], [1n, 1n]);
        expect(seen(await read(pair, 2), token).pair).toBe(`${symbol || token}/BBB`);
      }
    });
  });

  it('name the chain of a node that has no such contract', async () => {
    const address = `0x${'ab'.repeat(20)}`;
    expect(reasonOf(await read(address, 3))).toBe(
      `${address}: chain 56 has no such contract: is rpc a node of the pool's chain?`,
    );
  });

  it('have no sample without liquidity: the price of such a pool is whatever its maker said', async () => {
    const uniswap = await Uniswap.deploy(chain);
    const empty = await uniswap.createPool(500, Q96);
    const state = await read(empty, 3);
    if (state instanceof Error) throw state;
    expect(viewOf(state, empty, uniswap.tokens[0].toLowerCase())).toBe(
      `${empty}: holds nothing within the ladder: its price means nothing`,
    );
    await uniswap.mint(500, 1_000, 2_000, [10, 0]);
    expect(seen(await read(empty, 3), uniswap.tokens[0].toLowerCase()).price).toBe(1);
  });
});
