import { MAX_BIN_STEP_BP } from '../../compute/ingest/limits.js';
import { humanAmount, readPoolHead, readPoolLevels, type PoolLayout } from './pool-state.js';

const INTEGER = /^[0-9]+$/;
const MAX_BIN_ID = 8_388_608;

/** Liquidity book pools (Trader Joe, Meteora DLMM): bin ids shifted so that id 0 has price 1. */
export const DLMM_BINS: PoolLayout = {
  readHead: (fields) => readPoolHead(fields, ['protocol', 'token_x', 'token_y']),
  readBody: (fields, head, token, quoteUsd) => {
    const [x, y] = head.tokens.map((side) => side.decimals);
    const binStep = fields.integer('bin_step', 1, MAX_BIN_STEP_BP);
    const activeId = fields.integer('active_id', -MAX_BIN_ID, MAX_BIN_ID);
    const bins = readPoolLevels(fields, 'bins', INTEGER, 2, (id, [amountX, amountY]) => [
      id,
      humanAmount(amountX, x),
      humanAmount(amountY, y),
    ]);
    const body = {
      dlmm: {
        bin_step: binStep,
        active_id: activeId,
        bins,
        decimals_x: x,
        decimals_y: y,
        token: token === 0 ? 'x' : 'y',
        quote_usd: quoteUsd,
      },
    };
    const priceXInY = (1 + binStep / 10_000) ** activeId * 10 ** (x - y);
    return { price: token === 0 ? priceXInY : 1 / priceXInY, body, levels: bins.length };
  },
};
