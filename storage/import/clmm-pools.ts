import type { JsonFields } from './json.js';
import { readPoolHead, readPoolLevels, type PoolLayout } from './pool-state.js';

const SIGNED_INTEGER = /^-?[0-9]+$/;
const Q96 = 2 ** 96;

/**
 * Concentrated liquidity (Uniswap v3 and v4, PancakeSwap v3, decoded Whirlpools). Liquidity is what
 * the ticks sum to, also where a pool stores another figure (`ticks_match_liquidity` false).
 */
export const CLMM_POOLS: PoolLayout = {
  readHead: (fields) => readPoolHead(fields, ['protocol', 'token0', 'token1']),
  readBody: (fields, head, token, quoteUsd) => {
    const sqrtPrice = fields.digits('sqrt_price_x96');
    const [decimals0, decimals1] = head.tokens.map((side) => side.decimals);
    const ticks = readTicks(fields);
    const body = {
      clmm: {
        sqrt_price_x96: sqrtPrice,
        ticks,
        decimals0,
        decimals1,
        token,
        quote_usd: quoteUsd,
      },
    };
    const price0In1 = (Number(sqrtPrice) / Q96) ** 2 * 10 ** (decimals0 - decimals1);
    return { price: token === 0 ? price0In1 : 1 / price0In1, body, levels: ticks.length };
  },
};

function readTicks(fields: JsonFields): [number, string][] {
  return readPoolLevels(fields, 'ticks', SIGNED_INTEGER, 1, (tick, [net]) => [tick, net]);
}
