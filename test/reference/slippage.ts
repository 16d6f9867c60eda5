/**
 * What an order costs (docs/definitions.md#slippage) by numeric integration: cuts each bin into thin slices and
 * takes one after the other at the price of its middle. Shares no code with Fathom.
 */
import type { PlainLadderMarket } from './score.js';

interface PlainCost {
  filled: boolean;
  average: number;
  end: number;
  /** Tokens if each bin's amount is at its near end, and at its far end. */
  bestTokens: number;
  worstTokens: number;
  /** USD by market index. */
  taken: number[];
}

/** An amount of one market between two positions; at a single position if both are equal. */
interface Piece {
  market: number;
  usd: number;
  near: number;
  far: number;
}

const cut = (side: 'sell' | 'buy', position: number): number =>
  side === 'sell' ? Math.min(position, 0) : Math.max(position, 0);

/** The pieces of each bin, in the order in which an order takes them. */
function binsOf(markets: readonly PlainLadderMarket[], side: 'sell' | 'buy'): Piece[][] {
  const bins = new Map<number, Piece[]>();
  markets.forEach(({ cells }, market) => {
    for (const { bin, support, resistance } of cells) {
      const usd = (side === 'sell' ? support : resistance) / 100;
      if (usd === 0) continue;
      const outward = side === 'sell' ? -0.5 : 0.5;
      const [near, far] = [cut(side, bin - outward), cut(side, bin + outward)];
      bins.set(bin, [...(bins.get(bin) ?? []), { market, usd, near, far }]);
    }
  });
  const order = [...bins.keys()].sort((a, b) => (side === 'sell' ? b - a : a - b));
  return order.map((bin) => bins.get(bin) as Piece[]);
}

/** @param slices per bin */
export function referenceCost(
  markets: readonly PlainLadderMarket[],
  price: number,
  side: 'sell' | 'buy',
  usd: number,
  slices: number,
): PlainCost {
  const taken = markets.map(() => 0);
  const priceAt = (position: number) => price * 1.01 ** position;
  let left = usd;
  let [tokens, bestTokens, worstTokens, end] = [0, 0, 0, price];
  for (const pieces of binsOf(markets, side)) {
    const [{ near, far }] = pieces;
    const all = pieces.reduce((sum, piece) => sum + piece.usd, 0);
    for (let slice = 0; slice < slices && left > 0; slice++) {
      const part = Math.min(left, all / slices);
      // The order may take only part of the last slice.
      const reach = slice + (part * slices) / all;
      const position = near + ((far - near) * (slice + reach)) / (2 * slices);
      tokens += part / priceAt(position);
      bestTokens += part / priceAt(near);
      worstTokens += part / priceAt(far);
      for (const piece of pieces) taken[piece.market] += (part * piece.usd) / all;
      end = priceAt(near + ((far - near) * reach) / slices);
      left -= part;
    }
  }
  const filled = left <= 1e-9 * usd;
  return { filled, average: usd / tokens, end, bestTokens, worstTokens, taken };
}

/** USD between the price and the price `movePct` away. */
export function referenceMove(
  markets: readonly PlainLadderMarket[],
  side: 'sell' | 'buy',
  movePct: number,
  slices: number,
): number {
  const target = side === 'sell' ? 1 - movePct / 100 : 1 + movePct / 100;
  let usd = 0;
  for (const piece of binsOf(markets, side).flat()) {
    for (let slice = 0; slice < slices; slice++) {
      const position = piece.near + ((piece.far - piece.near) * (slice + 0.5)) / slices;
      const isBetween = side === 'sell' ? 1.01 ** position >= target : 1.01 ** position <= target;
      if (isBetween) usd += piece.usd / slices;
    }
  }
  return usd;
}
