/** `depth_series`: how depth, price and score went over a window. */
import type { DepthSeries } from '../../../client/index.js';
import { isoOf } from '../../../compute/time.js';
import { number, nullable, text, usd, word } from '../../api/schemas.js';
import Type from '../../api/type.js';
import { STEP_NAMES } from '../../replay/parameters.js';
import { from, MARKETS, timeText, to, token } from '../arguments.js';
import { TOKEN_FIELDS, tokenFields } from '../snapshot.js';
import { answeredToken, fullName, resolvedNotes } from '../tokens.js';
import { defineTool } from '../tool.js';
import { percent, price, score as scoreText, time, usd as usdText } from '../words.js';
import { marketNotes } from './slippage.js';

/** The most points of an answer; of more, every second, third ... is shown. */
const MAX_POINTS = 48;
const USUAL_PCT = 2;

interface Point {
  time: string;
  price_usd: number;
  support_usd: number;
  resistance_usd: number;
  score: number | null;
}

const point = Type.Object({
  time: text('End of the step, RFC 3339.'),
  price_usd: usd('Price of one token'),
  support_usd: usd('Support within pct of the price'),
  resistance_usd: usd('Resistance within pct of the price'),
  score: nullable(number('Liquidity score, 0 to 100.'), 'null: no score, or not asked for.'),
});

export const depthSeries = defineTool({
  name: 'depth_series',
  title: 'Depth over time',
  description:
    `Depth within some percent of the price, price and score over a window of up to a year: lowest, highest, mean, and up to ${MAX_POINTS} points. ` +
    'For trends, and for when depth was thin.',
  input: {
    token,
    from,
    to,
    step: Type.Optional(
      word(STEP_NAMES, {
        description: 'Time between points. Default: by the length of the window.',
      }),
    ),
    pct: Type.Optional(
      Type.Number({
        description: `Distance from the price, percent, up to 100. Default: ${USUAL_PCT}.`,
      }),
    ),
    score: Type.Optional(Type.Boolean({ description: 'Adds the score at each point.' })),
    ...MARKETS,
  },
  output: {
    ...TOKEN_FIELDS,
    from: text('Start of the window, RFC 3339.'),
    to: text('End of the window, RFC 3339.'),
    step: text('Time between the points that were read.'),
    within_pct: number('Distance from the price, percent.'),
    point_count: Type.Integer({
      description: 'Points that were read; the extremes are of all of them.',
    }),
    lowest_support: nullable(point),
    highest_support: nullable(point),
    lowest_resistance: nullable(point),
    highest_resistance: nullable(point),
    mean_support_usd: nullable(usd('Mean support of all points')),
    mean_resistance_usd: nullable(usd('Mean resistance of all points')),
    points: Type.Array(point),
  },
  async run({ step, types, venues, pct = USUAL_PCT, score, ...given }, call) {
    const requested = await call.client.findToken(given.token, call);
    const reply = await call.client.getDepthSeries(
      {
        address: requested.address,
        from: timeText(given.from),
        to: timeText(given.to),
        step,
        pct: [pct],
        score,
        types,
        venues,
      },
      call,
    );
    const found = answeredToken(requested, reply);
    const { window, next_from } = reply;
    const all = pointsOf(reply);
    const every = Math.ceil(all.length / MAX_POINTS) || 1;
    // Counted from the end: the newest is shown.
    const points = all.filter((_, i) => (all.length - 1 - i) % every === 0);
    const extremes = {
      lowest_support: extreme(all, 'support_usd', -1),
      highest_support: extreme(all, 'support_usd', 1),
      lowest_resistance: extreme(all, 'resistance_usd', -1),
      highest_resistance: extreme(all, 'resistance_usd', 1),
      mean_support_usd: mean(all.map(({ support_usd }) => support_usd)),
      mean_resistance_usd: mean(all.map(({ resistance_usd }) => resistance_usd)),
    };
    const [first] = all;
    const last = all.at(-1);
    const head = [
      `${fullName(found)}, depth within ${percent(pct)} of the price`,
      `Window ${time(window.from)} to ${time(window.to)}, step ${reply.step}: ${all.length} points.`,
    ];
    if (first === undefined || last === undefined) {
      head.push(
        'There is no snapshot in the window; find_tokens says since when there is history.',
      );
    } else {
      const { lowest_support: ls, highest_support: hs } = extremes;
      const { lowest_resistance: lr, highest_resistance: hr } = extremes;
      head.push(
        `Price: ${price(first.price_usd)} at first, ${price(last.price_usd)} at last (${percent(100 * (last.price_usd / first.price_usd - 1))}).`,
        `Support (bids): mean ${usdText(extremes.mean_support_usd)}, ${lowHigh(ls, hs, 'support_usd')}.`,
        `Resistance (asks): mean ${usdText(extremes.mean_resistance_usd)}, ${lowHigh(lr, hr, 'resistance_usd')}.`,
      );
    }
    return {
      head,
      list: {
        field: 'points',
        noun: 'points',
        less: 'a longer step or a shorter window',
        columns: ['time', 'price', 'support', 'resistance', ...(score === true ? ['score'] : [])],
        rows: points.map((each) => [
          each.time,
          price(each.price_usd),
          usdText(each.support_usd),
          usdText(each.resistance_usd),
          ...(score === true ? [scoreText(each.score)] : []),
        ]),
      },
      foot: [
        ...resolvedNotes(requested, reply),
        ...(every === 1
          ? []
          : [
              `Of ${all.length} points one in ${every} is shown, the newest included; lowest, highest and mean are of all. For all points ask for a longer step or a shorter window.`,
            ]),
        ...(next_from === null
          ? []
          : [
              `The window is too long for step ${reply.step}: the points end before ${time(next_from)}. Ask for a longer step, or from=${next_from} for the rest.`,
            ]),
        ...(window.clamped ? ['History reaches back 365 days: the window was cut.'] : []),
        'Each point is the newest snapshot of its step; a step without a snapshot has no point.',
        ...marketNotes(types, venues),
      ],
      data: {
        ...tokenFields(found),
        from: isoOf(window.from),
        to: isoOf(window.to),
        step: reply.step,
        within_pct: pct,
        point_count: all.length,
        ...extremes,
        points,
      },
    };
  },
});

function pointsOf(reply: DepthSeries): Point[] {
  const [support] = reply.support_usd as number[][];
  const [resistance] = reply.resistance_usd as number[][];
  return reply.t.map((t, i) => ({
    time: isoOf(t),
    price_usd: reply.price_usd[i],
    support_usd: support[i],
    resistance_usd: resistance[i],
    score: reply.score?.[i] ?? null,
  }));
}

type Side = 'support_usd' | 'resistance_usd';

/** @param sign 1: the highest, -1: the lowest; the first of several */
function extreme(points: readonly Point[], side: Side, sign: number): Point | null {
  let best: Point | null = null;
  for (const one of points) if (best === null || sign * (one[side] - best[side]) > 0) best = one;
  return best;
}

function lowHigh(low: Point | null, high: Point | null, side: Side): string {
  if (low === null || high === null) return '';
  return `lowest ${usdText(low[side])} at ${low.time}, highest ${usdText(high[side])} at ${high.time}`;
}

const mean = (values: readonly number[]): number | null =>
  values.length === 0 ? null : values.reduce((sum, one) => sum + one, 0) / values.length;
