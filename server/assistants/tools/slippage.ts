/** `slippage`: what an order of some size costs, with bounds, and what moves the price. */
import { nullable, number, text, usd, word } from '../../api/schemas.js';
import Type from '../../api/type.js';
import { tableLines } from '../answer.js';
import { at, MARKETS, timeText, token } from '../arguments.js';
import { SNAPSHOT_FIELDS, snapshotFields, snapshotLine } from '../snapshot.js';
import { answeredToken, resolvedNotes } from '../tokens.js';
import { defineTool } from '../tool.js';
import { name, percent, price, usd as usdText } from '../words.js';

const MAX_AMOUNTS = 10;
/** Venues of an order that the answer names. */
const SHOWN_VENUES = 4;
const USUAL_ORDERS_USD = [10_000, 100_000, 1_000_000];
const USUAL_MOVES_PCT = [1, 2, 5];

export const slippage = defineTool({
  name: 'slippage',
  title: 'Slippage of an order',
  description:
    'What a market order of given sizes in USD would cost now or at a past time: average price, slippage with its bounds, ' +
    'where the price ends, which venues fill it; and how many USD move the price by some percent.',
  input: {
    token,
    side: word(['sell', 'buy'], {
      description: 'sell takes support (bids), buy takes resistance (asks).',
    }),
    usd: Type.Optional(
      Type.Array(Type.Number(), {
        maxItems: MAX_AMOUNTS,
        description: `Sizes of the order, USD, each above 0. Default: ${USUAL_ORDERS_USD.join(', ')}.`,
      }),
    ),
    move_pct: Type.Optional(
      Type.Array(Type.Number(), {
        maxItems: MAX_AMOUNTS,
        description: `Moves of the price, percent, each above 0. Default: ${USUAL_MOVES_PCT.join(', ')}.`,
      }),
    ),
    at,
    ...MARKETS,
  },
  output: {
    ...SNAPSHOT_FIELDS,
    side: text('sell or buy.'),
    fillable_usd: nullable(usd('The largest order that the markets can fill')),
    orders: Type.Array(
      Type.Object({
        usd: usd('Size of the order'),
        filled: Type.Boolean({ description: 'false: there is not that much depth.' }),
        average_price_usd: nullable(usd('Average price')),
        slippage_pct: nullable(number('Average price against the snapshot price, percent.')),
        best_pct: nullable(number('Slippage at best, percent.')),
        worst_pct: nullable(number('Slippage at worst, percent.')),
        end_price_usd: nullable(usd('Price after the order')),
        venues: Type.Array(Type.Object({ venue: Type.String(), usd: usd('Part of the order') })),
      }),
    ),
    moves: Type.Array(
      Type.Object({
        move_pct: number('Move of the price, percent.'),
        usd: usd('Size of the order that moves the price so far'),
      }),
    ),
  },
  async run({ side, types, venues, ...given }, call) {
    const requested = await call.client.findToken(given.token, call);
    const { usd: sizes = USUAL_ORDERS_USD, move_pct = USUAL_MOVES_PCT } = given;
    const asked = {
      address: requested.address,
      side,
      usd: sizes.length === 0 ? undefined : sizes,
      move_pct: move_pct.length === 0 ? undefined : move_pct,
      at: timeText(given.at),
      types,
      venues,
    };
    const reply = await call.client.getSlippage(asked, call);
    const found = answeredToken(requested, reply);
    const { quotes, moves, fillable_usd } = reply;
    const direction = side === 'sell' ? 'down' : 'up';
    const moved = moves.map(
      ({ move_pct: pct, usd: size }) => `${percent(pct)} ${direction}: ${usdText(size)}`,
    );
    return {
      head: [
        `${side === 'sell' ? 'Selling' : 'Buying'} ${snapshotLine(found, reply)}`,
        ...(quotes.length === 0
          ? []
          : tableLines({
              columns: [
                'order',
                'average price',
                'slippage',
                'at best',
                'at worst',
                'ends at',
                'venues',
              ],
              rows: quotes.map((quote) => [
                usdText(quote.usd),
                ...(quote.filled
                  ? [
                      price(quote.average_price_usd),
                      percent(quote.slippage_pct),
                      percent(quote.best_pct),
                      percent(quote.worst_pct),
                      price(quote.end_price_usd),
                    ]
                  : ['not filled', '-', '-', '-', '-']),
                quote.venues
                  .slice(0, SHOWN_VENUES)
                  .map(({ label, usd: part }) => `${name(label)} ${usdText(part)}`)
                  .join(', '),
              ]),
            })),
        ...(moved.length === 0 ? [] : [`To move the price ${moved.join('; ')}.`]),
        ...(fillable_usd === null ? [] : [`The markets fill at most ${usdText(fillable_usd)}.`]),
      ],
      foot:
        reply.t === null
          ? []
          : [
              ...resolvedNotes(requested, reply),
              side === 'sell'
                ? 'Slippage is against the price of the snapshot; below 0 the seller gets less. Fees are not in it.'
                : 'Slippage is against the price of the snapshot; above 0 the buyer pays more. Fees are not in it.',
              'Depth is known in steps of 1%: the true value lies between best and worst.',
              ...(venues === undefined || fillable_usd === 0
                ? []
                : ['A venue that token_depth does not list has no depth, or another name.']),
              ...(fillable_usd === 0
                ? ['There is no depth on this side of these markets; token_depth lists the venues.']
                : []),
              ...marketNotes(types, venues),
            ],
      data: {
        ...snapshotFields(found, reply),
        side,
        fillable_usd,
        orders: quotes.map(({ venues: parts, ...quote }) => ({
          ...quote,
          venues: parts
            .slice(0, SHOWN_VENUES)
            .map(({ label, usd: part }) => ({ venue: name(label), usd: part })),
        })),
        moves,
      },
    };
  },
});

/** Which markets are not in the numbers. */
export function marketNotes(
  types: readonly string[] | undefined,
  venues: readonly string[] | undefined,
): string[] {
  return types === undefined && venues === undefined
    ? ['Perps (cex_perp) do not count; name types or venues to include them.']
    : [];
}
