/** The formulas shown by the explorer add up, and end with the number that they explain. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DlmmPoolRow, FeeDensity, Slippage, TokenPressure } from '../../client/index.js';
import type { Ladder } from '../../explorer/ladder/ladder.js';
import * as formulas from '../../explorer/views/formulas.js';

const cents = fc.integer({ min: 0, max: 1e12 }).map((amount) => amount / 100);

/** The amounts of a step in cents. */
function centsIn(step: string): number[] {
  const found = step.replaceAll(',', '').match(/-?\$\d+\.\d\d(?!\d)/g) ?? [];
  return found.map((text) => Math.round(100 * Number(text.replace('$', ''))));
}

/** Expects the terms of a step to add up to its last amount. */
function expectSum(step: string, total: number): void {
  const amounts = centsIn(step);
  const [last, ...terms] = amounts.toReversed();
  expect(last).toBe(Math.round(total * 100));
  if (total > 0) expect(terms.reduce((sum, one) => sum + one, 0)).toBe(last);
}

describe('formulas', () => {
  it('of a score have its legs, and weighted sums that anyone can make again', () => {
    const bins = Array.from({ length: 51 }, (_, i) => i - 28);
    const amounts = fc.array(cents, { minLength: bins.length, maxLength: bins.length });
    const leg = { tier: 'raw' as const, t: 1_795_353_613, price_usd: 2 };
    const legs = [
      {
        ...leg,
        chain: 'mainchain' as const,
        address: 'So11111111111111111111111111111111111111112',
      },
      { ...leg, chain: 'evmchain' as const, address: `0x${'0'.repeat(39)}7`, price_usd: 2.01 },
    ];
    fc.assert(
      fc.property(amounts, amounts, (below, above) => {
        const weights = bins.map((bin, i) => ({
          bin,
          weight: Math.max(0, 1 - Math.abs(1.01 ** bin - 1) / 0.25),
          support: bin > 0 ? 0 : below[i],
          resistance: bin < 0 ? 0 : above[i],
        }));
        const total = (side: 'support' | 'resistance'): number =>
          weights.reduce((sum, step) => sum + step.weight * step[side], 0);
        const [support, resistance] = [total('support'), total('resistance')];
        const part = { value: 0.5, points: 10 };
        const explanation = {
          formula_version: 'fathom.score.1' as const,
          weights,
          legs,
          unrounded: 20,
          support,
          resistance,
          depth: support + resistance,
          components: { depth: { ...part, points: 40 }, balance: part },
        };
        const steps = formulas.scoreSteps(explanation, 20);
        expect(steps).toContain('Mainchain So1111…1112: price $2.0000 at 2026-11-22 13:20:13 UTC');
        expect(steps).toContain('EVM 0x0000…0007: price $2.0100 at 2026-11-22 13:20:13 UTC');
        for (const [name, side] of [
          ['support', support],
          ['resistance', resistance],
        ] as const) {
          const step = steps.find((one) => one.startsWith(`Weighted ${name} = `)) ?? '';
          const terms = [...step.matchAll(/w\((-?\d+)\) x \$([\d,]+\.\d\d)/g)];
          const again = terms.reduce(
            (sum, [, bin, usd]) =>
              sum +
              (1 - Math.abs(1.01 ** Number(bin) - 1) / 0.25) * Number(usd.replaceAll(',', '')),
            0,
          );
          expect(Math.abs(100 * again - (centsIn(step).at(-1) ?? NaN))).toBeLessThan(1);
          expect(Math.abs(again - side)).toBeLessThan(0.01);
        }
      }),
    );
  });

  it('of the ladder add up its venues, however many', () => {
    const parts = fc.array(fc.record({ supportUsd: cents, resistanceUsd: cents }), {
      maxLength: 12,
    });
    fc.assert(
      fc.property(parts, (list) => {
        const ladder = {
          parts: list.map((part, i) => ({ key: `v${i}`, label: `Venue ${i}`, ...part })),
        } as Ladder;
        const [, support, resistance] = formulas.ladderSteps(ladder);
        // A venue's number is not an amount.
        const total = (of: 'supportUsd' | 'resistanceUsd') =>
          list.reduce((sum, part) => sum + Math.round(100 * part[of]), 0) / 100;
        expectSum(support, total('supportUsd'));
        expectSum(resistance, total('resistanceUsd'));
      }),
    );
  });

  it('of an order have its venues, its average price and its slippage', () => {
    const venues = [
      { key: 'orca', label: 'Orca', type: 'onchain_pool' as const, usd: 300.25 },
      { key: 'binance', label: 'Binance', type: 'cex_spot' as const, usd: 249.75 },
    ];
    // The example of docs/definitions.md#slippage.
    const average = (2 * 550) / 556.6367;
    const quote = { usd: 550, filled: true, average_price_usd: average, slippage_pct: -1.1923 };
    const answer = { side: 'sell', price_usd: 2, quotes: [{ ...quote, venues }] };
    const [walk, averaged, slippage, cost] = formulas.orderSteps(answer as unknown as Slippage);
    expect(walk).toContain('takes support from the price down');
    expectSum(walk, 550);
    expect(averaged).toContain('$550.00 / 278.3184 = $1.976154');
    expect(slippage).toContain('1 - 1.976154 / 2 = 1.1923%');
    expect(cost).toContain('278.3184 x $2 - $550.00 = $6.64');
    const unfilled = { ...quote, filled: false, average_price_usd: null, slippage_pct: null };
    const none = { side: 'buy', price_usd: 2, quotes: [{ ...unfilled, venues }] };
    const steps = formulas.orderSteps(none as unknown as Slippage);
    expect(steps).toHaveLength(1);
    expect(steps[0]).toContain('takes resistance from the price up');
  });

  it('of boards end with the number of the row', () => {
    fc.assert(
      fc.property(cents, cents, (buy, sell) => {
        const net = (Math.round(100 * buy) - Math.round(100 * sell)) / 100;
        const impact = { net_usd_24_hr: net, net_pct_24_hr: null };
        const row = { total_buy_usd: buy, total_sell_usd: sell, net_usd: net, impact };
        const [all, , moved] = formulas.pressureSteps(
          row as unknown as TokenPressure,
          '24_hr',
          '24h',
        );
        const [bought, sold, left] = centsIn(all);
        expect(bought - sold).toBe(left);
        expect(moved).toBe(
          `Impact 24h: none, since no ${net < 0 ? 'support' : 'resistance'} is known`,
        );
      }),
    );
    const impact = { net_usd_5_min: -150, net_pct_5_min: -0.7491 };
    const row = { total_buy_usd: 50, total_sell_usd: 200, net_usd: -150, impact };
    const [, , moved] = formulas.pressureSteps(row as unknown as TokenPressure, '5_min', '5m');
    expect(moved).toMatch(/^Impact 5m = /);
    expect(moved).toContain('-$150.00 ends, which takes support from the price down');
    expect(moved).toMatch(/= \u221274\.9 bp$/);
    // The example of docs/definitions.md#fee-density.
    const density = { organic_volume: 58_000, denom_liquidity_usd: 14_500, fee_density: 4 };
    expect(formulas.densitySteps(density as FeeDensity)[0]).toMatch(
      /\$58,000\.00 \/ \$14,500\.00 = 400%$/,
    );
    const pool = { fees: 30, tvl: 60_000, volume: 12_000, rangeTvl: 15_000, rangeYield: 0.002 };
    const ratios = { feesPerAvgTvl: 0.0005, effectiveFeeBps: 25 };
    expect(formulas.poolSteps({ ...pool, ...ratios } as DlmmPoolRow)).toEqual([
      expect.stringMatching(/\$30\.00 \/ \$15,000\.00 = 0\.2%$/),
      'Fees / TVL = $30.00 / $60,000.00 = 0.05%',
      'Fee paid = fees / volume = $30.00 / $12,000.00 = 25 bp',
    ]);
    const none = { ...pool, rangeTvl: null, rangeYield: null, feesPerAvgTvl: null };
    expect(formulas.poolSteps({ ...none, effectiveFeeBps: null } as DlmmPoolRow)).toHaveLength(1);
    expect(formulas.flowSteps(-1234.5, 2)[1]).toBe('Net 24h = -1,234.5 tokens x $2 = -$2,469.00');
  });
});
