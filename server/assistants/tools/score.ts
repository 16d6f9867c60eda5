/** `token_score`: a token's liquidity score, and what it is made of. */
import { isoOf } from '../../../compute/time.js';
import { nullable, number, text, usd } from '../../api/schemas.js';
import Type from '../../api/type.js';
import { at, timeText, token } from '../arguments.js';
import { TOKEN_FIELDS, tokenFields } from '../snapshot.js';
import { defineTool } from '../tool.js';
import { name, price, score as scoreText, time, usd as usdText } from '../words.js';

export const tokenScore = defineTool({
  name: 'token_score',
  title: 'Liquidity score',
  description:
    'The liquidity score of a token, 0 to 100, now or at a time, with its explanation: depth near the price (up to 80 ' +
    'points) and balance of support and resistance (up to 20). One score covers all chains of an asset.',
  input: { token, at },
  output: {
    ...TOKEN_FIELDS,
    name: nullable(text('Name of the token.')),
    status: text('available, pending, unsupported, unscored or price_unavailable.'),
    score: nullable(number('Liquidity score, 0 to 100.'), 'null: no score.'),
    message: text('Balance of support and resistance, in words.'),
    price_usd: nullable(usd('Price of one token')),
    time: nullable(text('Time of the newest snapshot that the score rests on, RFC 3339.')),
    stale: Type.Boolean({ description: 'Whether that snapshot is older than the server allows.' }),
    explanation: nullable(
      Type.Object({
        depth_points: number('Points for depth, 0 to 80.'),
        balance_points: number('Points for balance, 0 to 20.'),
        weighted_support_usd: usd('Support within 25%, weighted by its distance from the price'),
        weighted_resistance_usd: usd(
          'Resistance within 25%, weighted by its distance from the price',
        ),
        chains: Type.Array(Type.String(), { description: 'Chains whose depth was added.' }),
      }),
      'null: no score.',
    ),
  },
  async run(given, call) {
    const { address } = await call.client.findToken(given.token, call);
    const when = timeText(given.at);
    const found = await call.client.getScore({ address, explain: true, at: when }, call);
    const { explain = null, stale = false, status, service_score, score_msg } = found;
    const { data_time } = found;
    const explanation = explain && {
      depth_points: explain.components.depth.points,
      balance_points: explain.components.balance.points,
      weighted_support_usd: explain.support,
      weighted_resistance_usd: explain.resistance,
      chains: explain.legs.map(({ chain }) => chain),
    };
    const head = [
      `${name(found.symbol)} (${name(found.name)}) ${found.chain}:${found.address}`,
      `Liquidity score: ${scoreText(service_score)}${service_score === null ? '' : ' of 100'}. ${score_msg}.`,
      `Price: ${price(found.service_current_price)}. Newest snapshot used: ${time(data_time)}.`,
    ];
    if (explanation !== null) {
      head.push(
        `Depth: ${explanation.depth_points.toFixed(1)} of 80 points. Balance: ${explanation.balance_points.toFixed(1)} of 20.`,
        `Weighted support ${usdText(explanation.weighted_support_usd)}, weighted resistance ` +
          `${usdText(explanation.weighted_resistance_usd)}, on ${explanation.chains.join(' and ')}.`,
      );
    }
    return {
      head,
      foot: [
        ...(explanation === null
          ? []
          : [
              'Depth within 25% of the price counts, less the farther it is; 80 points need $100,000,000. Perps do not count.',
            ]),
        ...(stale
          ? ['The score is stale: its newest snapshot is old. Do not take it for current.']
          : []),
      ],
      data: {
        ...tokenFields(found),
        name: found.name,
        status,
        score: service_score,
        message: score_msg,
        price_usd: found.service_current_price,
        time: data_time === null ? null : isoOf(data_time),
        stale,
        explanation,
      },
    };
  },
});
