/** Alerts without a browser: when they fire, and what a browser keeps of them. */
import { describe, expect, it } from 'vitest';
import {
  bounded,
  type Kept,
  keptOf,
  markedRead,
  MAX_FIRED,
  MAX_RULES,
  MAX_TOKENS,
  NOTHING,
  only,
  refusal,
  textOf,
} from '../../explorer/alerts/kept-text.js';
import { Pauses } from '../../explorer/alerts/pauses.js';
import {
  assess,
  type Condition,
  MAX_WALLS,
  type Rule,
  type Seen,
  type Shot,
  UNSEEN,
} from '../../explorer/alerts/rules.js';
import { shotOf } from '../../explorer/alerts/shot.js';

/** A snapshot with amounts by bin. */
function shot(
  t: number,
  priceUsd: number,
  cells: Record<number, [support: number, resistance: number]>,
): Shot {
  const bins = Int32Array.from({ length: 151 }, (_, i) => i - 50);
  const of = (side: 0 | 1) => Float64Array.from(bins, (bin) => cells[bin]?.[side] ?? 0);
  return { t, priceUsd, bins, supportUsd: of(0), resistanceUsd: of(1) };
}

/** What a rule fires over a series of snapshots or scores; null where it does not. */
function firings(rule: Condition, series: readonly (Shot | number)[]): (string | null)[] {
  let seen: Seen = UNSEEN;
  return series.map((shown) => {
    const outcome = assess(rule, seen, shown);
    seen = outcome?.seen ?? seen;
    return outcome?.fired ?? null;
  });
}

describe('what the page keeps of tokens and alerts that come and go', () => {
  it('goes with them', () => {
    const readings = { a: 1, b: 2 };
    expect(only(readings, new Set(['b', 'c']))).toEqual({ b: 2 });
    // Nobody is told of a change that is none.
    expect(only(readings, new Set(['a', 'b', 'c']))).toBe(readings);
  });

  it('is when they were announced, for as long as it counts', () => {
    const pauses = new Pauses(5000);
    expect(['a', 'a', 'b'].map((one) => pauses.begin(one, 0))).toEqual([true, false, true]);
    for (let i = 1; i <= 500; i++) {
      expect(pauses.begin(`t${i}`, 1000 * i)).toBe(true);
      expect(pauses.atMs.size).toBeLessThanOrEqual(6);
    }
    expect(pauses.begin('t499', 500_000)).toBe(false);
    expect(pauses.begin('a', 500_000)).toBe(true);
  });
});

describe('an alert about depth', () => {
  const rule: Condition = { kind: 'depth', side: 'both', pct: 2, belowUsd: 1000 };
  const near = (usd: number) => shot(0, 100, { [-1]: [usd / 2, 0], 1: [0, usd / 2], 3: [0, 9e9] });

  it('fires when the depth falls below its bound, and again only after it has clearly risen', () => {
    const amounts = [1200, 999, 1001, 990, 1049, 999, 1051, 999, 1200];
    expect(firings(rule, amounts.map(near)).map((one) => one !== null)).toEqual([
      false,
      true,
      false,
      false,
      false,
      false,
      false,
      true,
      false,
    ]);
    expect(firings(rule, [1200, 999].map(near))[1]).toBe('Depth within 2% is $999, below $1.00K');
  });

  it('does not fire if it held from the first', () => {
    expect(firings(rule, [900, 800, 1100, 900].map(near)).map((one) => one !== null)).toEqual([
      false,
      false,
      false,
      true,
    ]);
  });

  it('counts the steps within the percent, of its side alone', () => {
    // 1.01^-2 is 1.97% below the price, 1.01^2 is 2.01% above it.
    const cells = { [-3]: [1, 0], [-2]: [10, 0], 0: [100, 1000], 2: [0, 10_000] } as const;
    const value = (side: 'both' | 'support' | 'resistance', pct: number) =>
      assess({ ...rule, side, pct }, UNSEEN, shot(0, 1, cells as never))?.now;
    expect(value('support', 2)).toBe('$110');
    expect(value('support', 3)).toBe('$111');
    expect(value('resistance', 2)).toBe('$1.00K');
    expect(value('both', 2)).toBe('$1.11K');
    expect(value('both', 2.1)).toBe('$11.1K');
  });

  it('fires as often as a plain count of crossings says', () => {
    let state = 7;
    const random = () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
    for (let run = 0; run < 8; run++) {
      const amounts = Array.from({ length: 200 }, () => 900 + 200 * random());
      let [isArmed, expected] = [false, 0];
      for (const [i, usd] of amounts.entries()) {
        const isBelow = usd < 1000;
        if (i === 0) isArmed = !isBelow;
        else if (isBelow && isArmed) [isArmed, expected] = [false, expected + 1];
        else if (!isBelow && usd >= 1050) isArmed = true;
      }
      const fired = firings(rule, amounts.map(near)).filter((one) => one !== null);
      expect(fired).toHaveLength(expected);
    }
  });
});

it('an alert about a score fires below its bound, and again after a whole point above it', () => {
  const rule: Condition = { kind: 'score', below: 80 };
  const fired = firings(rule, [81, 79.9, 80.5, 79, 81, 79.9]);
  expect(fired.map((one) => one !== null)).toEqual([false, true, false, false, false, true]);
  expect(fired[1]).toBe('Score is 79.9, below 80');
  expect(assess(rule, UNSEEN, shot(0, 1, {}))).toBeNull();
  expect(assess({ kind: 'wall', side: 'both', usd: 1 }, UNSEEN, 80)).toBeNull();
});

describe('an alert about walls', () => {
  const rule: Condition = { kind: 'wall', side: 'both', usd: 1000 };

  it('fires when a wall appears and when it goes, with amount, price and distance', () => {
    const series = [
      shot(1, 100, {}),
      shot(2, 100, { 10: [0, 1500] }),
      shot(3, 100, { 10: [0, 1400], [-10]: [1000, 0] }),
      shot(4, 100, { 10: [0, 600], [-10]: [499, 0] }),
      shot(5, 100, { 10: [0, 499] }),
    ];
    expect(firings(rule, series)).toEqual([
      null,
      'Wall appeared: $1.50K of resistance at $110.46 (+10.5%)',
      'Wall appeared: $1.00K of support at $90.529 (\u22129.5%)',
      'Wall went: $1.00K of support at $90.529 (\u22129.5%)',
      'Wall went: $600 of resistance at $110.46 (+10.5%)',
    ]);
    expect(
      firings({ ...rule, side: 'support' }, series).filter((one) => one !== null),
    ).toHaveLength(2);
  });

  it('does not fire about walls that were there from the first', () => {
    expect(firings(rule, [shot(1, 100, { 5: [0, 2000] }), shot(2, 100, { 5: [0, 2000] })])).toEqual(
      [null, null],
    );
  });

  it('knows a wall again while the price moves, and when it lies in two steps', () => {
    // A wall at 110 of the price of 100: its bin, and its part of the step, change with the price.
    const wall = (t: number, priceUsd: number) => {
      const at = Math.log(110 / priceUsd) / Math.log(1.01);
      const low = Math.floor(at);
      const part = at - low;
      return shot(t, priceUsd, { [low]: [0, 2000 * (1 - part)], [low + 1]: [0, 2000 * part] });
    };
    const moving = Array.from({ length: 120 }, (_, i) => wall(i, 100 + 3 * Math.sin(i / 5)));
    expect(firings(rule, moving).filter((one) => one !== null)).toEqual([]);
    // It is gone at last, once.
    expect(firings(rule, [...moving, shot(200, 100, {}), shot(201, 100, {})]).slice(-2)).toEqual([
      expect.stringMatching(/^Wall went: /),
      null,
    ]);
  });

  it('says nothing about walls beyond the ends of the ladder', () => {
    const all = shot(1, 100, { 90: [0, 5000] });
    const cut = { ...shot(2, 100, {}), bins: all.bins.slice(0, 80) };
    expect(firings(rule, [all, cut])).toEqual([null, null]);
  });

  it('knows of a reply that its ladder reaches as far as the usual band, whatever has depth', () => {
    const page = (t: number, cells: [bin: number, support: number, resistance: number][]) =>
      shotOf({
        ...{ t, price_usd: 100, tier: 'raw' as const },
        bin: cells.map(([bin]) => bin),
        support_usd: cells.map(([, support]) => support),
        resistance_usd: cells.map(([, , resistance]) => resistance),
      });
    const whole = page(1, [
      [-69, 1, 0],
      [-3, 2000, 0],
      [69, 0, 1],
    ]);
    expect(whole.bins).toHaveLength(139);
    expect([whole.bins[0], whole.supportUsd[0], whole.resistanceUsd[138]]).toEqual([-69, 1, 1]);
    // The farthest step with depth goes: no cell is left there.
    const series = [
      page(1, [
        [-1, 5, 0],
        [-3, 2000, 0],
      ]),
      page(2, [[-1, 5, 0]]),
      page(3, []),
    ];
    expect(firings(rule, series)).toEqual([null, expect.stringMatching(/^Wall went: /), null]);
  });

  it('names the three largest of many, and refuses an amount that makes a wall of everything', () => {
    const cells: Record<number, [number, number]> = {
      2: [0, 1001],
      6: [0, 1002],
      10: [0, 1003],
      14: [0, 1004],
    };
    const [, fired] = firings(rule, [shot(1, 100, {}), shot(2, 100, cells)]);
    expect(fired).toMatch(/^Walls appeared: \$1\.00K .*\$1\.00K .*\$1\.00K .* and 1 more$/);
    const everywhere = shot(
      1,
      100,
      Object.fromEntries(Array.from({ length: 151 }, (_, i) => [i - 50, [2000, 2000]])),
    );
    expect(assess(rule, UNSEEN, everywhere)).toEqual({
      seen: UNSEEN,
      now: `more than ${MAX_WALLS} walls: name a larger amount`,
      fired: null,
    });
  });
});

describe('what a browser keeps', () => {
  const rule = (id: string, address = 'a'): Rule => ({
    kind: 'score',
    below: 80,
    id,
    address,
    symbol: 'SOL',
  });
  const fired = {
    id: 'x',
    address: 'a',
    symbol: null,
    text: 'Score',
    dataT: 1,
    seenT: 2,
    isRead: false,
  };
  const walls = [{ side: 'support', priceUsd: 90, usd: 5 }] as const;

  it('is read as it was written', () => {
    const all = bounded({
      ...NOTHING,
      rules: [
        rule('1'),
        { kind: 'wall', side: 'both', usd: 5, id: '2', address: 'b', symbol: null },
      ],
      seen: { 1: { isOn: true, walls: null }, 2: { isOn: null, walls } },
      fired: [fired],
      hasSound: true,
    });
    expect(keptOf(textOf(all))).toEqual(all);
  });

  it('is read without what is not as it should be', () => {
    for (const text of [null, '', '{', '[]', '{"version": 2}', '1'])
      expect(keptOf(text)).toBeNull();
    const bad = [
      null,
      1,
      {},
      { ...rule('1'), below: -1 },
      { ...rule('1'), kind: 'x' },
      { ...rule('1'), address: 1 },
    ];
    const text = JSON.stringify({
      version: 1,
      rules: [...bad, rule('2')],
      // One of a version that kept no `isRead`.
      fired: [null, {}, fired, { ...fired, id: 'y', isRead: undefined }],
      seen: 5,
    });
    expect(keptOf(text)).toEqual({
      ...NOTHING,
      rules: [rule('2')],
      seen: { 2: UNSEEN },
      fired: [fired, { ...fired, id: 'y', isRead: true }],
    });
    expect(keptOf('{"version": 1}')).toEqual(NOTHING);
    const odd = JSON.stringify({
      version: 1,
      rules: [rule('2')],
      seen: { 2: { isOn: 'yes', walls: [{ side: 'x' }] } },
    });
    expect(keptOf(odd)?.seen).toEqual({ 2: UNSEEN });
  });

  it('has what fired as read, one by one or all', () => {
    const both = { ...NOTHING, fired: [fired, { ...fired, id: 'y' }] };
    const areRead = ({ fired: all }: Kept) => all.map(({ isRead }) => isRead);
    const one = markedRead(both, 'y');
    expect(areRead(one)).toEqual([false, true]);
    expect(areRead(markedRead(both))).toEqual([true, true]);
    expect(markedRead(one, 'y')).toBe(one);
  });

  it('has bounds', () => {
    const many = bounded({
      ...NOTHING,
      rules: Array.from({ length: 50 }, (_, i) => rule(String(i))),
      seen: { 49: { isOn: true, walls: null } },
      fired: Array.from({ length: 500 }, () => fired),
    });
    expect([many.rules.length, Object.keys(many.seen).length, many.fired.length]).toEqual([
      MAX_RULES,
      MAX_RULES,
      MAX_FIRED,
    ]);
    expect(refusal(many, 'a')).toMatch(/^This browser keeps 20 alerts/);
    const wide = {
      ...NOTHING,
      rules: Array.from({ length: MAX_TOKENS }, (_, i) => rule('1', `a${i}`)),
    };
    expect(refusal(wide, 'a0')).toBeNull();
    expect(refusal(wide, 'z')).toMatch(/^Alerts can be about 5 tokens/);
  });
});
