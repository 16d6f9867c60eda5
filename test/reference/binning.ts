/**
 * The ladder (docs/definitions.md#ladder) computed slowly, bin by bin and range by range, in prices (not square roots) and
 * with 1.0001^tick in exact arithmetic. It shares no code with compute/binning.
 */

const FIRST_BIN = -232;
const LAST_BIN = 242;

export interface Ladder {
  support: Map<number, number>;
  resistance: Map<number, number>;
  dropped: number;
}

export interface ClmmBody {
  sqrt_price_x96: string;
  ticks: [number, string][];
  decimals0: number;
  decimals1: number;
  token: 0 | 1;
  quote_usd: number;
}

export interface DlmmBody {
  bin_step: number;
  active_id: number;
  bins: [number, number, number][];
  decimals_x: number;
  decimals_y: number;
  token: 'x' | 'y';
  quote_usd: number;
}

export const emptyLadder = (): Ladder => ({
  support: new Map(),
  resistance: new Map(),
  dropped: 0,
});

const add = (column: Map<number, number>, bin: number, usd: number) =>
  column.set(bin, (column.get(bin) ?? 0) + usd);

/** The position of a price on the ladder, before rounding to a bin: a bin's edges are at .5. */
export const ladderPlace = (price: number, priceUsd: number) =>
  Math.log(price / priceUsd) / Math.log(1.01);

function addLevel(
  ladder: Ladder,
  side: 'support' | 'resistance',
  snapshotUsd: number,
  price: number,
  amount: number,
  usd: number,
) {
  const bin = Math.floor(ladderPlace(price, snapshotUsd) + 0.5);
  if (amount === 0) return;
  if (bin < FIRST_BIN || bin > LAST_BIN) ladder.dropped++;
  else add(ladder[side], bin, usd);
}

export function binBook(
  snapshotUsd: number,
  body: { bids: [number, number][]; asks: [number, number][] },
): Ladder {
  const ladder = emptyLadder();
  for (const [price, size] of body.bids)
    addLevel(ladder, 'support', snapshotUsd, price, size, price * size);
  for (const [price, size] of body.asks)
    addLevel(ladder, 'resistance', snapshotUsd, price, size, price * size);
  return ladder;
}

/** Adds `usdPerRoot * (sqrt(c) - sqrt(a))` of one price range to every bin that it meets. */
function addRange(
  ladder: Ladder,
  snapshotPrice: number,
  low: number,
  high: number,
  poolPrice: number,
  usdPerRoot: number,
) {
  for (let bin = FIRST_BIN; bin <= LAST_BIN; bin++) {
    const a = Math.max(low, snapshotPrice * 1.01 ** (bin - 0.5));
    const c = Math.min(high, snapshotPrice * 1.01 ** (bin + 0.5));
    const below = Math.min(c, poolPrice);
    const above = Math.max(a, poolPrice);
    if (a < below) add(ladder.support, bin, usdPerRoot * (Math.sqrt(below) - Math.sqrt(a)));
    if (above < c) add(ladder.resistance, bin, usdPerRoot * (Math.sqrt(c) - Math.sqrt(above)));
  }
}

export function binConstantProduct(
  snapshotUsd: number,
  pools: { reserve_token: number; reserve_quote: number; quote_usd: number }[],
): Ladder {
  const ladder = emptyLadder();
  for (const { reserve_token: x, reserve_quote: y, quote_usd: q } of pools) {
    if (x > 0 && y > 0)
      addRange(ladder, snapshotUsd, 0, Infinity, (y * q) / x, Math.sqrt(x * y * q));
  }
  return ladder;
}

const SCALE = 1n << 256n;

/** 1.0001^tick as a fraction of SCALE, by squaring; accurate to 60 digits. */
function tickPower(tick: number): bigint {
  let result = SCALE;
  let square = (SCALE * 10001n) / 10000n;
  for (let n = Math.abs(tick); n > 0; n = Math.floor(n / 2)) {
    if (n % 2 === 1) result = (result * square) / SCALE;
    square = (square * square) / SCALE;
  }
  return tick < 0 ? (SCALE * SCALE) / result : result;
}

const asNumber = (fraction: bigint) => Number(fraction) / 2 ** 256;

export function binClmm(snapshotUsd: number, body: ClmmBody): Ladder {
  const ladder = emptyLadder();
  const unit = 10 ** (body.decimals0 - body.decimals1);
  const root = Number(body.sqrt_price_x96) / 2 ** 96;
  const turn = (price: number) => (body.token === 0 ? price : 1 / price);
  const poolPrice = turn(root * root * unit);
  const prices = body.ticks.map(([tick]) => turn(asNumber(tickPower(tick)) * unit));
  for (let i = 0; i + 1 < body.ticks.length; i++) {
    let liquidity = 0n;
    for (let k = 0; k <= i; k++) liquidity += BigInt(body.ticks[k][1]);
    if (liquidity <= 0n) continue;
    const human = Number(liquidity) / 10 ** ((body.decimals0 + body.decimals1) / 2);
    const [low, high] = [prices[i], prices[i + 1]].sort((a, b) => a - b);
    addRange(ladder, snapshotUsd / body.quote_usd, low, high, poolPrice, human * body.quote_usd);
  }
  return ladder;
}

/** A DLMM bin's price in USD. */
export function dlmmPrice(body: DlmmBody, id: number): number {
  const inY = (1 + body.bin_step / 10000) ** id * 10 ** (body.decimals_x - body.decimals_y);
  return (body.token === 'x' ? inY : 1 / inY) * body.quote_usd;
}

export function binDlmm(snapshotUsd: number, body: DlmmBody): Ladder {
  const ladder = emptyLadder();
  for (const [id, x, y] of body.bins) {
    const price = dlmmPrice(body, id);
    const [token, quote] = body.token === 'x' ? [x, y] : [y, x];
    addLevel(ladder, 'support', snapshotUsd, price, quote, quote * body.quote_usd);
    addLevel(ladder, 'resistance', snapshotUsd, price, token, token * price);
  }
  return ladder;
}

/** `[bin, support in cents, resistance in cents]` as a snapshot keeps them. */
export function roundLadder(ladder: Ladder): [number, number, number][] {
  const cells: [number, number, number][] = [];
  for (let bin = FIRST_BIN; bin <= LAST_BIN; bin++) {
    const support = Math.floor((ladder.support.get(bin) ?? 0) * 100 + 0.5);
    const resistance = Math.floor((ladder.resistance.get(bin) ?? 0) * 100 + 0.5);
    if (support + resistance >= 100) cells.push([bin, support, resistance]);
  }
  return cells;
}
