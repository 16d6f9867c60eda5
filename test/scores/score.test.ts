import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  FIRST_SCORE_BIN,
  isScored,
  LAST_SCORE_BIN,
  mergeLadders,
  type Score,
  scoreLadder,
  scoreOfLadder,
  scoreWeight,
} from '../../compute/scores/score.js';
import { marketMask } from '../../compute/segment/snapshots.js';
import { type PlainLadderMarket, type PlainLeg, referenceScore } from '../reference/score.js';
import { cellsOf, marketsOf, plainMarkets } from './ladders.js';

const T = 1_794_659_696;
const leg = (markets: PlainLadderMarket[], t = T): PlainLeg => ({ coverage: 'full', t, markets });

function kernelScore(legs: readonly PlainLeg[]): Score {
  const ladders = legs.map(({ markets }) =>
    scoreLadder(cellsOf(markets), marketMask(marketsOf(markets), isScored)),
  );
  return scoreOfLadder(mergeLadders(ladders));
}

const pool = (cells: PlainLadderMarket['cells']): PlainLadderMarket => ({
  source: 'Orca',
  exchangeType: 'DEX',
  type: 'onchain_pool',
  cells,
});

describe('the score', () => {
  it('equals the definition on any merged ladders', () => {
    fc.assert(
      fc.property(fc.array(plainMarkets(), { minLength: 1, maxLength: 3 }), (ladders) => {
        const legs = ladders.map((markets) => leg(markets));
        const expected = referenceScore(legs);
        const score = kernelScore(legs);
        expect(score.supportUsd).toBeCloseTo(expected?.support ?? NaN, 6);
        expect(score.resistanceUsd).toBeCloseTo(expected?.resistance ?? NaN, 6);
        expect(score.unrounded).toBeCloseTo(expected?.unrounded ?? NaN, 8);
        expect(score.message).toBe(expected?.message);
        // A score at the very edge of a tenth may round either way.
        expect(Math.abs(score.score - (expected?.score ?? NaN))).toBeLessThan(0.1001);
        expect(score.score).toBe(Math.floor(score.unrounded * 10 + 0.5) / 10);
      }),
      { numRuns: 300 },
    );
  });

  it('does not depend on the order of the legs or of their markets, to the last bit', () => {
    fc.assert(
      fc.property(plainMarkets(), plainMarkets(), (one, other) => {
        const forward = kernelScore([leg(one), leg(other)]);
        expect(kernelScore([leg(other), leg(one)])).toEqual(forward);
        expect(kernelScore([leg([...one].reverse()), leg([...other].reverse())])).toEqual(forward);
      }),
    );
  });

  it.each([
    ['nothing', [], 0, 'No liquidity within 25% of the price'],
    ['less than a dollar', [[0, 99, 0]], 0, 'No liquidity within 25% of the price'],
    ['depth out of reach', [[23, 9e9, 9e9]], 0, 'No liquidity within 25% of the price'],
    ['support alone', [[0, 100_000_00, 0]], 32, 'Only support within 25% of the price'],
    ['resistance alone', [[0, 0, 100_000_00]], 32, 'Only resistance within 25% of the price'],
    [
      'balance',
      [[0, 5e9, 5e9]],
      100,
      'Support and resistance are balanced within 25% of the price',
    ],
    [
      'more support',
      [[0, 231_00, 100_00]],
      12.1,
      'Support outweighs resistance 2.31x within 25% of the price',
    ],
    [
      'more resistance',
      [[0, 100_00, 125_00]],
      17.8,
      'Resistance outweighs support 1.25x within 25% of the price',
    ],
  ] as [string, [number, number, number][], number, string][])(
    'of %s',
    (_, cells, score, message) => {
      const plain = cells.map(([bin, support, resistance]) => ({ bin, support, resistance }));
      expect(kernelScore([leg([pool(plain)])])).toMatchObject({ score, message });
    },
  );

  it('weighs only bins -28 to 22, the price itself with 1', () => {
    expect([FIRST_SCORE_BIN, LAST_SCORE_BIN]).toEqual([-28, 22]);
    expect(scoreWeight(0)).toBe(1);
    for (const bin of [-232, -29, 23, 242]) expect(scoreWeight(bin)).toBe(0);
    for (const bin of [-28, 22]) expect(scoreWeight(bin)).toBeGreaterThan(0);
  });
});
