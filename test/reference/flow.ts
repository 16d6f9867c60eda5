/** Plain DCA flows (docs/definitions.md#dca-cycles): cycle by cycle, bin by bin. */
import type { PlainLadderMarket } from './score.js';

export interface PlainDcaOrder {
  address: string;
  direction: 'BUY' | 'SELL';
  remaining: number;
  cycle: number;
  frequency: number;
  nextCycleAt: number;
  min: number | null;
  max: number | null;
}

export interface PlainFlowToken {
  address: string;
  price: number | null;
  /** null without a snapshot. */
  markets: PlainLadderMarket[] | null;
  mcap: number | null;
  orders: PlainDcaOrder[];
}

const PLAIN_TIMEFRAMES = {
  '5_min': 5 * 60,
  '30_min': 30 * 60,
  '1_hr': 60 * 60,
  '6_hr': 6 * 60 * 60,
  '24_hr': 24 * 60 * 60,
} as const;
export type PlainTimeframe = keyof typeof PLAIN_TIMEFRAMES;
const PLAIN_TIMEFRAME_NAMES = Object.keys(PLAIN_TIMEFRAMES) as PlainTimeframe[];

export function plainInRange({ min, max }: PlainDcaOrder, price: number | null): boolean {
  if (price === null) return false;
  if (min !== null && price < min) return false;
  return max === null || price <= max;
}

function plainUsdNext(
  order: PlainDcaOrder,
  price: number | null,
  now: number,
  horizon: number,
): number {
  if (!plainInRange(order, price)) return 0;
  let cycles = 0;
  for (let at = order.nextCycleAt; at <= now + horizon; at += order.frequency) {
    if (at > now) cycles++;
  }
  return Math.min(order.remaining, order.cycle * cycles);
}

/** Support and resistance in USD by bin, of the kept markets. */
function plainLadder(
  markets: readonly PlainLadderMarket[],
  keep: (market: PlainLadderMarket) => boolean,
): Map<number, { support: number; resistance: number }> {
  const ladder = new Map<number, { support: number; resistance: number }>();
  for (const market of markets.filter(keep)) {
    for (const { bin, support, resistance } of market.cells) {
      const sum = ladder.get(bin) ?? { support: 0, resistance: 0 };
      sum.support += support / 100;
      sum.resistance += resistance / 100;
      ladder.set(bin, sum);
    }
  }
  return ladder;
}

/** A flow ends at an amount that it exceeds by less than this share of itself: subtracting leaves rests. */
const ROUNDING = 1e-12;

/**
 * Where the price stands, in percent, after a flow has eaten its way up or down; null if nothing is there to eat. Each
 * bin's amount is spread over the bin's part on the flow's side of the price: all of bin 0 over half of it.
 */
export function plainMove(
  bins: readonly { bin: number; amount: number }[],
  up: boolean,
  flow: number,
): number | null {
  const outward = bins
    .filter(({ amount }) => amount > 0)
    .sort((a, b) => (up ? a.bin - b.bin : b.bin - a.bin));
  if (outward.length === 0) return null;
  const onSide = (position: number) => (up ? Math.max(position, 0) : Math.min(position, 0));
  let left = flow;
  let stand = 0;
  for (const { bin, amount } of outward) {
    const [low, high] = [onSide(bin - 0.5), onSide(bin + 0.5)];
    const eaten = Math.min(left / amount, 1) * (high - low);
    stand = up ? low + eaten : high - eaten;
    left -= amount;
    if (left <= ROUNDING * flow) break;
  }
  return 100 * (1.01 ** stand - 1);
}

export function plainImpact(
  markets: readonly PlainLadderMarket[] | null,
  net: number,
): number | null {
  if (net === 0) return 0;
  if (markets === null) return null;
  const up = net > 0;
  const ladder = plainLadder(markets, ({ type }) => type !== 'cex_perp');
  const amounts = [...ladder].map(([bin, { support, resistance }]) => ({
    bin,
    amount: up ? resistance : support,
  }));
  return plainMove(amounts, up, Math.abs(net));
}

export function plainSupportLiquidity(markets: readonly PlainLadderMarket[] | null): number | null {
  if (markets === null) return null;
  let sum = 0;
  for (const [bin, { support }] of plainLadder(markets, (one) => one.exchangeType === 'DEX')) {
    if (1.01 ** bin >= 0.75 && 1.01 ** bin <= 1.25) sum += support;
  }
  return sum;
}

export interface PlainPressure {
  address: string;
  buyCount: number;
  sellCount: number;
  totalBuy: number;
  totalSell: number;
  netUsd: Record<PlainTimeframe, number>;
  netPct: Record<PlainTimeframe, number | null>;
  /** Addresses of all orders, largest flow first. */
  orders: Record<PlainTimeframe, string[]>;
}

export function plainPressure(token: PlainFlowToken, now: number): PlainPressure {
  const { orders, price } = token;
  const sideOf = (direction: string) => orders.filter((order) => order.direction === direction);
  const sum = (list: PlainDcaOrder[], of: (order: PlainDcaOrder) => number) =>
    list.reduce((total, order) => total + of(order), 0);
  const flow = (timeframe: PlainTimeframe) => (order: PlainDcaOrder) =>
    plainUsdNext(order, price, now, PLAIN_TIMEFRAMES[timeframe]);
  const each = <T>(make: (timeframe: PlainTimeframe) => T) =>
    Object.fromEntries(PLAIN_TIMEFRAME_NAMES.map((name) => [name, make(name)])) as Record<
      PlainTimeframe,
      T
    >;
  const netUsd = each((name) => sum(sideOf('BUY'), flow(name)) - sum(sideOf('SELL'), flow(name)));
  return {
    address: token.address,
    buyCount: sideOf('BUY').length,
    sellCount: sideOf('SELL').length,
    totalBuy: sum(sideOf('BUY'), ({ remaining }) => remaining),
    totalSell: sum(sideOf('SELL'), ({ remaining }) => remaining),
    netUsd,
    netPct: each((name) => plainImpact(token.markets, netUsd[name])),
    orders: each((name) =>
      [...orders]
        .sort((a, b) => flow(name)(b) - flow(name)(a) || (a.address < b.address ? -1 : 1))
        .map(({ address }) => address),
    ),
  };
}

/** The order of a board; null is last in either direction, ties by address. */
export function plainRank(
  tokens: readonly PlainPressure[],
  sort: 'usd' | 'impact',
  direction: 'asc' | 'desc',
  timeframe: PlainTimeframe,
): PlainPressure[] {
  const valueOf = (token: PlainPressure) =>
    sort === 'usd' ? token.netUsd[timeframe] : token.netPct[timeframe];
  return [...tokens].sort((a, b) => {
    const x = valueOf(a);
    const y = valueOf(b);
    if (x !== y) {
      if (x === null) return 1;
      if (y === null) return -1;
      return direction === 'asc' ? x - y : y - x;
    }
    return a.address < b.address ? -1 : 1;
  });
}
