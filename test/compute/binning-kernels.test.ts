import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as reference from '../reference/binning.js';
import { LadderAccumulator } from '../../compute/ingest/accumulator.js';
import { addBook } from '../../compute/ingest/book.js';
import { addClmm, readClmm } from '../../compute/ingest/clmm.js';
import { addConstantProduct, readConstantProduct } from '../../compute/ingest/constant-product.js';
import { addDlmm, readDlmm } from '../../compute/ingest/dlmm.js';
import { FaultLog, type Fields } from '../../compute/ingest/fields.js';
import { NumberLists } from '../../compute/ingest/number-lists.js';
import { binOfPrice, MIN_BIN } from '../../compute/ladder.js';

const positive = (min: number, max: number) =>
  fc.double({ min: Math.log(min), max: Math.log(max), noNaN: true }).map(Math.exp);
const amount = fc.oneof(fc.constant(0), positive(1e-6, 1e9));

function ladderOf(priceUsd: number, fill: (into: LadderAccumulator, faults: FaultLog) => void) {
  const into = new LadderAccumulator();
  const faults = new FaultLog();
  into.reset(priceUsd);
  fill(into, faults);
  expect(faults.faults).toEqual([]);
  return into;
}

const book = (priceUsd: number, body: object) =>
  ladderOf(priceUsd, (into, faults) =>
    addBook(into, body as Fields, 'book', faults, new NumberLists()),
  );
const pools = (priceUsd: number, bodies: object[]) =>
  ladderOf(priceUsd, (into, faults) => {
    for (const body of bodies)
      addConstantProduct(into, readConstantProduct(body as Fields, 'pool', faults)!);
  });
const clmm = (priceUsd: number, body: object) =>
  ladderOf(priceUsd, (into, faults) => addClmm(into, readClmm(body as Fields, 'clmm', faults)!));
const dlmm = (priceUsd: number, body: object) =>
  ladderOf(priceUsd, (into, faults) =>
    addDlmm(into, readDlmm(body as Fields, 'dlmm', faults, new NumberLists())!),
  );

const total = (column: ArrayLike<number>) => Array.from(column).reduce((a, b) => a + b, 0);

/** `slackUsd`: allowed deviation of a cell if two large roots nearly cancel. */
function expectSame(into: LadderAccumulator, ladder: reference.Ladder, slackUsd = 0) {
  expect(into.droppedLevels).toBe(ladder.dropped);
  for (const side of ['support', 'resistance'] as const) {
    const column = into[`${side}Usd`];
    column.forEach((usd, i) => {
      const expected = ladder[side].get(MIN_BIN + i) ?? 0;
      const allowed = 1e-9 * Math.max(usd, expected) + slackUsd;
      if (!(Math.abs(usd - expected) <= allowed)) {
        expect.fail(`${side} of bin ${MIN_BIN + i}: ${usd}, the reference says ${expected}`);
      }
    });
  }
}

/** Excludes levels so close to a bin's edge that a logarithm's last digit decides: another test has them. */
const offEdges = (prices: number[], priceUsd: number) =>
  prices.every((price) => {
    const place = reference.ladderPlace(price, priceUsd) + 0.5;
    return Math.abs(place - Math.round(place)) > 1e-7;
  });

const level = fc.tuple(positive(1e-4, 1e4), amount);
const books = fc.record({ bids: fc.array(level), asks: fc.array(level) });

it('order books on the ladder agree with the reference', () => {
  fc.assert(
    fc.property(positive(1e-3, 1e3), books, (priceUsd, body) => {
      expectSame(book(priceUsd, body), reference.binBook(priceUsd, body));
    }),
  );
});

const pool = fc.record({
  reserve_token: amount,
  reserve_quote: amount,
  quote_usd: positive(0.1, 1e4),
});

it('constant-product pools on the ladder agree with the reference when several are summed', () => {
  fc.assert(
    fc.property(positive(1e-6, 1e6), fc.array(pool, { maxLength: 4 }), (priceUsd, bodies) => {
      const slack = bodies.reduce(
        (sum, p) => sum + Math.sqrt(p.reserve_token * p.reserve_quote * p.quote_usd),
        0,
      );
      const near = slack * Math.sqrt(priceUsd) * 1e-14;
      const expected = reference.binConstantProduct(priceUsd, bodies);
      expectSame(pools(priceUsd, bodies), expected, near);
    }),
  );
});

const clmmBody = fc
  .record({
    ticks: fc.uniqueArray(fc.integer({ min: -3000, max: 3000 }), { maxLength: 30 }),
    centre: fc.integer({ min: -200_000, max: 200_000 }),
    // The running sum sometimes falls below zero, and recovers.
    nets: fc.array(fc.bigInt({ min: -(10n ** 25n) * 8n, max: 10n ** 26n }), {
      minLength: 30,
      maxLength: 30,
    }),
    drift: fc.double({ min: -0.2, max: 0.2, noNaN: true }),
    decimals0: fc.integer({ min: 0, max: 18 }),
    decimals1: fc.integer({ min: 0, max: 18 }),
    token: fc.constantFrom(0 as const, 1 as const),
    quote_usd: positive(0.01, 1e4),
  })
  .map(({ ticks, centre, nets, drift, ...rest }) => ({
    ...rest,
    ticks: ticks
      .sort((a, b) => a - b)
      .map((tick, i): [number, string] => [tick * 10 + centre, String(nets[i])]),
    sqrt_price_x96: String(BigInt(Math.floor(Math.exp(centre * 0.00005 + drift) * 2 ** 96))),
  }));

/** The pool's own price in USD. */
function clmmPriceUsd(body: reference.ClmmBody): number {
  const root = Number(body.sqrt_price_x96) / 2 ** 96;
  const price = root * root * 10 ** (body.decimals0 - body.decimals1);
  return (body.token === 0 ? price : 1 / price) * body.quote_usd;
}

describe('concentrated liquidity on the ladder', () => {
  it('agrees with the reference, on either side of the pair', () => {
    fc.assert(
      fc.property(clmmBody, positive(0.2, 5), (body, away) => {
        const priceUsd = clmmPriceUsd(body) * away;
        const most = Math.max(0, ...Array.from(readClmm(body, '', new FaultLog())!.liquidity));
        const human = most / 10 ** ((body.decimals0 + body.decimals1) / 2);
        const slack = human * Math.sqrt(priceUsd * body.quote_usd) * 1e-13;
        expectSame(clmm(priceUsd, body), reference.binClmm(priceUsd, body), slack);
      }),
      { numRuns: 150 },
    );
  });

  it('sums liquidity exactly where doubles would not', () => {
    const huge = 2n ** 120n;
    const body = {
      sqrt_price_x96: String(1n << 96n),
      ticks: [
        [-1000, String(huge)],
        [-990, '1000000000'],
        [-980, String(-huge)],
        [1000, '-1000000000'],
      ],
      decimals0: 6,
      decimals1: 6,
      token: 0,
      quote_usd: 1,
    };
    const expected = 1000 * (1.0001 ** 500 - 1);
    expect(total(clmm(1, body).resistanceUsd)).toBeCloseTo(expected, 6);
  });
});

const dlmmBody = fc
  .record({
    bin_step: fc.integer({ min: 1, max: 400 }),
    centre: fc.integer({ min: -500, max: 500 }),
    bins: fc.uniqueArray(fc.tuple(fc.integer({ min: -300, max: 300 }), amount, amount), {
      selector: ([id]) => id,
      maxLength: 40,
    }),
    decimals_x: fc.integer({ min: 0, max: 18 }),
    decimals_y: fc.integer({ min: 0, max: 18 }),
    token: fc.constantFrom('x' as const, 'y' as const),
    quote_usd: positive(0.01, 1e4),
  })
  .map(({ centre, bins, ...rest }) => ({
    ...rest,
    active_id: centre,
    bins: bins.map(([id, x, y]): [number, number, number] => [id + centre, x, y]),
  }));

describe('discrete bins on the ladder', () => {
  it('agree with the reference, on either side of the pair', () => {
    fc.assert(
      fc.property(dlmmBody, positive(0.2, 5), (body, away) => {
        const priceUsd = reference.dlmmPrice(body, body.active_id) * away;
        const prices = body.bins.map(([id]) => reference.dlmmPrice(body, id));
        fc.pre(offEdges(prices, priceUsd));
        expectSame(dlmm(priceUsd, body), reference.binDlmm(priceUsd, body));
      }),
    );
  });

  it('drop and count bins whose price does not fit a double', () => {
    const rest = { bin_step: 10_000, active_id: 0, decimals_x: 0, decimals_y: 0, quote_usd: 1 };
    const bins = [
      [-5000, 1, 1],
      [5000, 1, 0],
      [9_000_000, 0, 0],
      [0, 3, 2],
    ];
    for (const token of ['x', 'y']) {
      const into = dlmm(1, { ...rest, bins, token });
      expect(into.droppedLevels).toBe(3);
      expect(total(into.supportUsd)).toBe(token === 'x' ? 2 : 3);
      expect(total(into.resistanceUsd)).toBe(token === 'x' ? 3 : 2);
    }
  });
});

it('levels of a book are in the bin given by the logarithm, whatever the previous level', () => {
  const ratio = fc.oneof(
    fc.double({ min: 0.05, max: 20, noNaN: true }),
    // The edges of bins, and their neighbours.
    fc
      .tuple(fc.integer({ min: -240, max: 245 }), fc.constantFrom(0, 1, -1, 5, -5))
      .map(([bin, steps]) => 1.01 ** (bin + 0.5) * (1 + steps * 2 ** -52)),
  );
  const price = fc.double({ min: 1e-300, max: 1e300, noNaN: true, noDefaultInfinity: true });
  fc.assert(
    fc.property(price, fc.array(ratio, { maxLength: 40 }), (priceUsd, ratios) => {
      const ladder = new LadderAccumulator();
      ladder.reset(priceUsd);
      const expected = new LadderAccumulator();
      for (const at of ratios.flatMap((r) => [r, r])) {
        ladder.addLevel(ladder.supportUsd, priceUsd * at, 1);
        const index = binOfPrice(priceUsd * at, priceUsd) - MIN_BIN;
        if (index >= 0 && index < expected.supportUsd.length) expected.supportUsd[index]++;
        else expected.droppedLevels++;
      }
      expect(ladder.supportUsd).toStrictEqual(expected.supportUsd);
      expect(ladder.droppedLevels).toBe(expected.droppedLevels);
    }),
  );
});

/** The lines of a shared file; none if the shared material is absent, in which case no test runs on them. */
function poolsOf(name: string) {
  const file = path.resolve('..', 'shared', 'data', name);
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
  return lines.map((line) => JSON.parse(line));
}
/** Cells of real pools differ by a factor of a million million. */
const slackOf = ({ supportUsd, resistanceUsd }: LadderAccumulator) => {
  const most = Math.max(...supportUsd, ...resistanceUsd);
  expect(most).toBeGreaterThan(0);
  return 1e-12 * most;
};

it.each(poolsOf('clmm/evm/clmm_pools.ndjson'))(
  'a real pool of concentrated liquidity agrees with the reference: $pool',
  (state) => {
    for (const token of [0, 1] as const) {
      const body = {
        sqrt_price_x96: state.sqrt_price_x96,
        ticks: state.ticks.map(([tick, net]: [number, string]) => [tick, String(net)]),
        decimals0: state.token0.decimals,
        decimals1: state.token1.decimals,
        token,
        quote_usd: 1,
      };
      const into = clmm(clmmPriceUsd(body), body);
      expectSame(into, reference.binClmm(into.priceUsd, body), slackOf(into));
    }
  },
);

it.each(poolsOf('dlmm/dlmm_bins.ndjson'))(
  'a real pool of discrete bins agrees with the reference: $pool',
  (state) => {
    const { decimals: decimals_x } = state.token_x;
    const { decimals: decimals_y } = state.token_y;
    for (const token of ['x', 'y'] as const) {
      const body = {
        bin_step: state.bin_step,
        active_id: state.active_id,
        bins: state.bins.map(([id, x, y]: [number, string, string]) => [
          id,
          Number(x) / 10 ** decimals_x,
          Number(y) / 10 ** decimals_y,
        ]),
        decimals_x,
        decimals_y,
        token,
        quote_usd: 1,
      };
      // A little off the pool's price: otherwise bins of 100 bp would be on the ladder's edges.
      const into = dlmm(reference.dlmmPrice(body, body.active_id) * 1.0007, body);
      expectSame(into, reference.binDlmm(into.priceUsd, body), slackOf(into));
    }
  },
);
