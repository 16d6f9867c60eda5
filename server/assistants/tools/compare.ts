/** `compare_tokens`: score, depth and cost of an order of several tokens side by side. */
import { nullable, number, text, usd } from '../../api/schemas.js';
import Type from '../../api/type.js';
import { at, timeText } from '../arguments.js';
import type { Call } from '../call.js';
import { ToolError } from '../failures.js';
import { SNAPSHOT_FIELDS, snapshotFields } from '../snapshot.js';
import { answeredToken, fullName, resolvedNotes } from '../tokens.js';
import { defineTool } from '../tool.js';
import { percent, price, score as scoreText, time, usd as usdText } from '../words.js';

/** Each costs three requests, or four by symbol at a past time. */
const MAX_TOKENS = 5;
const USUAL_USD = 100_000;
const MOVE_PCT = 2;

export const compareTokens = defineTool({
  name: 'compare_tokens',
  title: 'Compare tokens',
  description: `Compares 2 to ${MAX_TOKENS} tokens, now or at a past time: score, price, USD that move the price by ${MOVE_PCT}%, and the slippage of selling and of buying an amount.`,
  input: {
    tokens: Type.Array(text('A token.'), {
      maxItems: MAX_TOKENS,
      description: 'Symbols (SOL), CHAIN:SYMBOL, addresses, or CHAIN:ADDRESS.',
    }),
    usd: Type.Optional(
      Type.Number({ description: `Size of the order, USD. Default: ${USUAL_USD}.` }),
    ),
    at,
  },
  output: {
    order_usd: usd('Size of the order'),
    tokens: Type.Array(
      Type.Object({
        ...SNAPSHOT_FIELDS,
        score: nullable(number('Liquidity score, 0 to 100.'), 'null: not scored.'),
        sell_2pct_usd: nullable(usd('Sale that moves the price down by 2%')),
        buy_2pct_usd: nullable(usd('Purchase that moves the price up by 2%')),
        sell_slippage_pct: nullable(number('Percent.'), 'null: the markets cannot fill the order.'),
        buy_slippage_pct: nullable(number('Percent.'), 'null: the markets cannot fill the order.'),
      }),
    ),
  },
  async run({ tokens, usd: size = USUAL_USD, at: when }, call) {
    if (tokens.length < 2) {
      throw new ToolError(
        `tokens: expected 2 to ${MAX_TOKENS} tokens; for one, ask token_score and slippage.`,
      );
    }
    const compared = [];
    // One after the other: a key's rate is limited.
    for (const token of tokens) compared.push(await figuresOf(token, size, timeText(when), call));
    return {
      head: [`Order of ${usdText(size)}:`],
      list: {
        field: 'tokens',
        noun: 'tokens',
        less: 'fewer tokens',
        columns: [
          'token',
          'score of 100',
          'price',
          `sale for -${MOVE_PCT}%`,
          `purchase for +${MOVE_PCT}%`,
          'slippage of the sale',
          'slippage of the purchase',
          'snapshot',
        ],
        rows: compared.map(({ line }) => line),
      },
      foot: [
        ...compared.flatMap(({ notes }) => notes),
        'Slippage is against the price of the snapshot, without fees; "not filled": there is less depth than that.',
        'Perps (cex_perp) do not count.',
      ],
      data: { order_usd: size, tokens: compared.map(({ data }) => data) },
    };
  },
});

async function figuresOf(text: string, size: number, when: string | undefined, call: Call) {
  const { client } = call;
  const found = await client.findToken(text, call);
  const { address } = found;
  const { service_score } = found;
  // The search for a symbol has found the current score, too.
  const scored =
    when === undefined && service_score !== undefined
      ? { service_score, symbol: found.symbol ?? null }
      : await client.getScore({ address, at: when }, call);
  const order = { address, usd: [size], move_pct: [MOVE_PCT], at: when };
  const sale = await client.getSlippage({ ...order, side: 'sell' }, call);
  const purchase = await client.getSlippage({ ...order, side: 'buy' }, call);
  const token = { ...answeredToken(found, sale), symbol: scored.symbol };
  const [sold] = sale.quotes;
  const [bought] = purchase.quotes;
  const data = {
    ...snapshotFields(token, sale),
    score: scored.service_score,
    sell_2pct_usd: sale.moves.at(0)?.usd ?? null,
    buy_2pct_usd: purchase.moves.at(0)?.usd ?? null,
    sell_slippage_pct: sold?.slippage_pct ?? null,
    buy_slippage_pct: bought?.slippage_pct ?? null,
  };
  const unknown = sale.t === null ? 'no depth' : 'not filled';
  const filled = (pct: number | null): string => (pct === null ? unknown : percent(pct));
  const line = [
    fullName(token),
    scoreText(data.score),
    price(sale.price_usd),
    usdText(data.sell_2pct_usd),
    usdText(data.buy_2pct_usd),
    filled(data.sell_slippage_pct),
    filled(data.buy_slippage_pct),
    sale.t === null ? 'none' : time(sale.t),
  ];
  return { data, line, notes: resolvedNotes(found, sale) };
}
