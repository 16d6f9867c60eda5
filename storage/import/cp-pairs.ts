import { parseDecimal } from './decimal.js';
import type { JsonFields } from './json.js';
import { humanAmount, readPoolHead, type PoolLayout } from './pool-state.js';

/** Constant-product pairs (Uniswap v2), reserves in human (`reserve0`) or raw units (`_raw`). */
export const CP_PAIRS: PoolLayout = {
  readHead: (fields) => readPoolHead(fields, ['venue', 'token0', 'token1']),
  readBody: (fields, head, token, quoteUsd) => {
    const reserves = [0, 1].map((side) =>
      readReserve(fields, `reserve${side}`, head.tokens[side].decimals),
    );
    const [reserveToken, reserveQuote] = token === 0 ? reserves : reserves.reverse();
    const body = {
      constant_product: {
        reserve_token: reserveToken,
        reserve_quote: reserveQuote,
        quote_usd: quoteUsd,
      },
    };
    return { price: reserveQuote / reserveToken, body, levels: 2 };
  },
};

function readReserve(fields: JsonFields, field: string, decimals: number): number {
  if (fields.has(`${field}_raw`)) return humanAmount(fields.digits(`${field}_raw`), decimals);
  const reserve = parseDecimal(fields.text(field));
  if (Number.isNaN(reserve)) throw fields.fault(field, 'expected a number of at least 0');
  return reserve;
}
