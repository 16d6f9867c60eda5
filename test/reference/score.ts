/**
 * Plain scores and market depth (docs/definitions.md#score, docs/definitions.md#market-depth). Shares
 * no code with Fathom.
 */

interface PlainCell {
  bin: number;
  /** Whole cents. */
  support: number;
  resistance: number;
}

export interface PlainLadderMarket {
  source: string;
  exchangeType: 'DEX' | 'CEX';
  type: 'onchain_pool' | 'onchain_limit_order' | 'cex_spot' | 'cex_perp';
  cells: PlainCell[];
}

export interface PlainLeg {
  coverage: 'full' | 'depth_only' | 'excluded';
  t: number;
  markets: PlainLadderMarket[];
}

interface PlainScore {
  support: number;
  resistance: number;
  unrounded: number;
  score: number;
  message: string;
}

/** The asset's score; null if no full leg has a snapshot. */
export function referenceScore(legs: readonly PlainLeg[]): PlainScore | null {
  const full = legs.filter((leg) => leg.coverage === 'full');
  if (full.length === 0) return null;
  const newest = Math.max(...full.map((leg) => leg.t));
  let support = 0;
  let resistance = 0;
  for (const leg of full) {
    if (newest - leg.t > 86_400) continue;
    for (const market of leg.markets) {
      if (market.type === 'cex_perp') continue;
      for (const cell of market.cells) {
        const weight = Math.max(0, 1 - Math.abs(1.01 ** cell.bin - 1) / 0.25);
        support += (weight * cell.support) / 100;
        resistance += (weight * cell.resistance) / 100;
      }
    }
  }
  const depth = support + resistance;
  let unrounded = 0;
  if (depth >= 1) {
    let size = Math.log10(depth / 1000) / 5;
    if (size < 0) size = 0;
    if (size > 1) size = 1;
    unrounded = 0.8 * 100 * size + 0.2 * 100 * (1 - Math.abs(support - resistance) / depth);
  }
  const score = Math.floor(unrounded * 10 + 0.5) / 10;
  return { support, resistance, unrounded, score, message: messageOf(support, resistance) };
}

function messageOf(support: number, resistance: number): string {
  const tail = ' within 25% of the price';
  if (support + resistance < 1) return 'No liquidity' + tail;
  if (resistance === 0) return 'Only support' + tail;
  if (support === 0) return 'Only resistance' + tail;
  if (support / resistance >= 1.25) {
    return `Support outweighs resistance ${(support / resistance).toFixed(2)}x` + tail;
  }
  if (resistance / support >= 1.25) {
    return `Resistance outweighs support ${(resistance / support).toFixed(2)}x` + tail;
  }
  return 'Support and resistance are balanced' + tail;
}

interface PlainDepthQuery {
  exchangeType: 'DEX' | 'CEX' | 'ALL';
  low: number;
  high: number;
  /** USD per unit of the currency. */
  unit: number;
}

interface PlainLevel {
  bin: number;
  price: number;
  support: number;
  resistance: number;
  constant_product: number;
}

/** Levels of a snapshot at `price`, and its totals by exchange type and source. */
export function referenceDepth(
  markets: readonly PlainLadderMarket[],
  price: number,
  { exchangeType, low, high, unit }: PlainDepthQuery,
) {
  const levels: PlainLevel[] = [];
  const byType: Record<string, number[]> = {};
  const bySource: Record<string, number[]> = {};
  let constantProduct = 0;
  for (let bin = -232; bin <= 242; bin++) {
    const factor = 1.01 ** bin;
    if (factor < (1 + low) * (1 - 1e-9) || factor > (1 + high) * (1 + 1e-9)) continue;
    const level = {
      bin,
      price: (price * factor) / unit,
      support: 0,
      resistance: 0,
      constant_product: 0,
    };
    let holds = false;
    for (const market of markets) {
      if (exchangeType !== 'ALL' && market.exchangeType !== exchangeType) continue;
      for (const cell of market.cells.filter((one) => one.bin === bin)) {
        holds = true;
        const support = cell.support / 100 / unit;
        const resistance = cell.resistance / 100 / unit;
        if (market.source === 'constant-product') {
          level.constant_product += support + resistance;
          constantProduct += support + resistance;
          continue;
        }
        level.support += support;
        level.resistance += resistance;
        for (const [totals, key] of [
          [byType, market.exchangeType],
          [bySource, market.source],
        ] as const) {
          totals[key] ??= [0, 0];
          totals[key][0] += support;
          totals[key][1] += resistance;
        }
      }
    }
    if (holds) levels.push(level);
  }
  return { levels, byType, bySource, constantProduct };
}
