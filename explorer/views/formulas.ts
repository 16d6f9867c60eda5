/** How numbers are computed, with their amounts filled in so that what is shown adds up: docs/definitions.md. */
import type {
  DlmmPoolRow,
  FeeDensity,
  Score,
  Slippage,
  TokenPressure,
} from '../../client/index.js';
import type { Difference } from '../difference/difference.js';
import { BIN_RATIO, isWithin, type Ladder, NEAR_PCT } from '../ladder/ladder.js';
import {
  absoluteTime,
  CHAIN_LABELS,
  price,
  shortAddress,
  signedBasisPoints,
  percent,
  signedPercent,
} from '../state/format.js';

type Explanation = NonNullable<Score['explain']>;

/** docs/definitions.md#score. Amounts to the cent and points to 4 decimals, so that what is shown adds up. */
export function scoreSteps(
  { support, resistance, components, unrounded, weights, legs }: Explanation,
  score: number,
): string[] {
  const supportCents = Math.round(support * 100);
  const resistanceCents = Math.round(resistance * 100);
  const depth = cents(supportCents + resistanceCents);
  const points = [components.depth.points, components.balance.points].map((one) => one.toFixed(4));
  const weighted = (side: 'support' | 'resistance'): string =>
    weights
      .filter((step) => step[side] > 0)
      .toSorted((a, b) => Math.abs(a.bin) - Math.abs(b.bin))
      .map((step) => `w(${step.bin}) x ${dollars(step[side])}`)
      .join(' + ') || cents(0);
  return [
    'The newest snapshot of each chain counts. Perps are left out.',
    ...legs.map(
      (leg) =>
        `${CHAIN_LABELS[leg.chain]} ${shortAddress(leg.address)}: price ${price(leg.price_usd)} at ${absoluteTime(leg.t)}`,
    ),
    `${legs.length > 1 ? 'The chains are added up by 1% steps b of their prices' : 'Amounts are added up by 1% steps b of the price'}, and weighted by distance: w(b) = 1 - |1.01^b - 1| / 0.25: 1 at the price, 0 at 25% from it.`,
    `Weighted support = ${weighted('support')} = ${cents(supportCents)}`,
    `Weighted resistance = ${weighted('resistance')} = ${cents(resistanceCents)}`,
    `D = ${cents(supportCents)} + ${cents(resistanceCents)} = ${depth}`,
    `Depth = 80 x log10(D / 1,000) / 5, between 0 and 80 = 80 x ${components.depth.value.toFixed(6)} = ${points[0]}`,
    `Balance = 20 x (1 - |${cents(supportCents)} - ${cents(resistanceCents)}| / D) = 20 x ${components.balance.value.toFixed(6)} = ${points[1]}`,
    `Score = ${points[0]} + ${points[1]} = ${unrounded.toFixed(4)}, rounded to ${score.toFixed(1)}`,
  ];
}

/** docs/explorer.md: the change of a price in 24 hours. */
export function changeSteps(
  now: { t: number; usd: number },
  before: { t: number; usd: number },
): string[] {
  return [
    `Change = price / price of 24 hours before - 1 = ${plain(now.usd)} / ${plain(before.usd)} - 1 = ${signedPercent(now.usd / before.usd - 1, 4)}`,
    `The snapshot of ${absoluteTime(now.t)}, and the newest one at least 24 hours before it: of ${absoluteTime(before.t)}.`,
  ];
}

/** docs/explorer.md: the difference of two moments. */
export function differenceSteps({ price: moved, within }: Difference): string[] {
  const steps = within.flatMap(({ pct, support, resistance }) =>
    (
      [
        ['Support', support],
        ['Resistance', resistance],
      ] as const
    ).map(
      ([name, { fromUsd, toUsd }]) =>
        `${name} within ${pct}% = ${dollars(toUsd)} - ${dollars(fromUsd)} = ${cents(Math.round(toUsd * 100) - Math.round(fromUsd * 100))}`,
    ),
  );
  return [
    `Price = ${plain(moved.toUsd)} / ${plain(moved.fromUsd)} - 1 = ${signedPercent(moved.toUsd / moved.fromUsd - 1, 4)}`,
    'Each moment counts the 1% steps within the percent of its own price, without weights. So a step is compared with the step at the same distance from the price, not at the same price.',
    ...steps,
  ];
}

/** Parts named in a sum; the others are combined. */
const NAMED_PARTS = 6;

/**
 * docs/definitions.md#ladder: depth near the price, by venue; within other percents than NEAR_PCT, by step.
 * @param pct the ladder's reach
 */
export function ladderSteps(ladder: Ladder, pct = NEAR_PCT): string[] {
  const { parts, perps } = ladder;
  const sum = (name: string, of: 'supportUsd' | 'resistanceUsd'): string => {
    const own =
      pct === NEAR_PCT
        ? parts.map((part): Part => ({ label: part.label, usd: part[of] }))
        : stepsWithin(ladder, pct, of);
    return `${name} = ${sumOf(own)}`;
  };
  return [
    `Each bin is a step of 1% of the price. Bins whose price is within ${pct}% of it are added up, ${perps}, without weights.`,
    sum('Support', 'supportUsd'),
    sum('Resistance', 'resistanceUsd'),
  ];
}

function stepsWithin(ladder: Ladder, pct: number, of: 'supportUsd' | 'resistanceUsd'): Part[] {
  return [...ladder.bins.entries()].flatMap(([at, bin]) => {
    const usd = ladder[of][at];
    if (usd === 0 || !isWithin(bin, pct)) return [];
    return [{ label: bin === 0 ? 'at the price' : signedPercent(BIN_RATIO ** bin - 1, 1), usd }];
  });
}

/** docs/definitions.md#slippage, for the first requested amount. */
export function orderSteps({ side, price_usd: price, quotes: [quote] }: Slippage): string[] {
  const [taken, way] = takenBy(side);
  const walk = `The order takes ${taken} from the price ${way}, bin by bin, of each venue in proportion to what it has there: ${sumOf(quote.venues)}.`;
  const { average_price_usd: average, usd } = quote;
  if (average === null || price === null) return [walk];
  const tokens = usd / average;
  return [
    walk,
    `Average price = USD / tokens = ${dollars(usd)} / ${plain(tokens)} = $${plain(average)}`,
    side === 'sell'
      ? `Slippage = 1 - average / price = 1 - ${plain(average)} / ${plain(price)} = ${percent(1 - average / price, 4)}`
      : `Slippage = average / price - 1 = ${plain(average)} / ${plain(price)} - 1 = ${percent(average / price - 1, 4)}`,
    side === 'sell'
      ? `Cost = tokens x price - USD = ${plain(tokens)} x $${plain(price)} - ${dollars(usd)} = ${dollars(tokens * price - usd)}, without fees`
      : `Cost = USD - tokens x price = ${dollars(usd)} - ${plain(tokens)} x $${plain(price)} = ${dollars(usd - tokens * price)}, without fees`,
    'Best and worst case: the same, with the whole amount of each bin at its near end or at its far end.',
  ];
}

type Span = '5_min' | '30_min' | '1_hr' | '6_hr' | '24_hr';

/** docs/definitions.md#dca-pressure. @param label the span's name */
export function pressureSteps(
  { impact, ...row }: TokenPressure,
  span: Span,
  label: string,
): string[] {
  const { [`net_usd_${span}` as const]: flow, [`net_pct_${span}` as const]: movedPct } = impact;
  const [taken, way] = takenBy(flow < 0 ? 'sell' : 'buy');
  return [
    `All orders: ${dollars(row.total_buy_usd)} to buy - ${dollars(row.total_sell_usd)} to sell = ${dollars(row.net_usd)}`,
    'Net of a span = what buyers trade in it - what sellers do. An order in its price range trades its cycles of the span, at most what is left of it.',
    movedPct === null
      ? `Impact ${label}: none, since no ${taken} is known`
      : `Impact ${label} = where an order for the net flow of ${dollars(flow)} ends, which takes ${taken} from the price ${way}, without perps = ${signedBasisPoints(movedPct / 100)}`,
  ];
}

/** docs/definitions.md#fee-density. */
export function densitySteps(row: FeeDensity): string[] {
  const { organic_volume: volume, denom_liquidity_usd: liquidity } = row;
  return [
    `Fee density = organic volume of the window / liquidity of on-chain pools near the price = ${dollars(volume)} / ${dollars(liquidity)} = ${plain(100 * row.fee_density)}%`,
  ];
}

/** docs/definitions.md#dlmm-pools. */
export function poolSteps(row: DlmmPoolRow): string[] {
  const { fees, tvl, volume, rangeTvl, rangeYield, feesPerAvgTvl, effectiveFeeBps } = row;
  return [
    rangeTvl === null || rangeYield === null
      ? 'Range yield: none, since the pool has no known depth where the price has been'
      : `Range yield = fees of the period / mean liquidity where the price has been = ${dollars(fees)} / ${dollars(rangeTvl)} = ${plain(100 * rangeYield)}%`,
    ...(feesPerAvgTvl === null
      ? []
      : [`Fees / TVL = ${dollars(fees)} / ${dollars(tvl)} = ${plain(100 * feesPerAvgTvl)}%`]),
    ...(effectiveFeeBps === null
      ? []
      : [
          `Fee paid = fees / volume = ${dollars(fees)} / ${dollars(volume)} = ${plain(effectiveFeeBps)} bp`,
        ]),
  ];
}

/** docs/definitions.md#holder-flow. @param netTokens of the 50 largest holders in 24 hours */
export function flowSteps(netTokens: number, priceUsd: number): string[] {
  return [
    'Net flow = what the 50 largest holders hold now - what they held then, added up, in tokens.',
    `Net 24h = ${plain(netTokens)} tokens x $${plain(priceUsd)} = ${dollars(netTokens * priceUsd)}`,
  ];
}

/** The side that an order takes, and its direction from the price. */
const takenBy = (side: 'sell' | 'buy'): [taken: string, way: string] =>
  side === 'sell' ? ['support', 'down'] : ['resistance', 'up'];

interface Part {
  label: string;
  usd: number;
}

/** `A $2.00 + B $1.00 = $3.00`, in cents. */
function sumOf(parts: readonly Part[]): string {
  const ofCents = parts.map(({ label, usd }) => ({ label, amount: Math.round(usd * 100) }));
  const some = ofCents.filter(({ amount }) => amount > 0).toSorted((a, b) => b.amount - a.amount);
  const total = some.reduce((sum, { amount }) => sum + amount, 0);
  if (some.length === 0) return cents(0);
  const named = some.slice(0, NAMED_PARTS);
  const rest = total - named.reduce((sum, { amount }) => sum + amount, 0);
  const others = some.length - named.length;
  const terms = named.map(({ label, amount }) => `${label} ${cents(amount)}`);
  if (others > 0) terms.push(`${others} more ${cents(rest)}`);
  return `${terms.join(' + ')} = ${cents(total)}`;
}

const dollars = (usd: number): string => cents(Math.round(usd * 100));

/** Seven significant digits. */
const plain = (value: number): string =>
  value.toLocaleString('en-US', { maximumSignificantDigits: 7 });

function cents(amount: number): string {
  const options = { minimumFractionDigits: 2, maximumFractionDigits: 2 };
  return `${amount < 0 ? '-' : ''}$${Math.abs(amount / 100).toLocaleString('en-US', options)}`;
}
