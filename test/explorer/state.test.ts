/** The explorer's state without a browser: addresses of views, numbers, requests, ladders, sorting. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ReplayPage } from '../../client/index.js';
import { ALL, flipped, isShown } from '../../explorer/state/choices.js';
import { type Compared, linesOf, newestHole, valueAt } from '../../explorer/compare/compared.js';
import {
  coverText,
  depthCurve,
  type Ladder,
  type LadderPart,
  NEAR_PCT,
  newestLadder,
  partUsd,
  totalsWithin,
} from '../../explorer/ladder/ladder.js';
import {
  absoluteTime,
  age,
  compact,
  percent,
  price,
  shortAddress,
  signedBasisPoints,
  signedFinePercent,
  signedPercent,
  signedPoints,
  signedUsd,
  usd,
} from '../../explorer/state/format.js';
import { curlText, replayRequest, windowTimes } from '../../explorer/state/requests.js';
import {
  AXES,
  BOARDS,
  COMPARE_PCTS,
  COST_UNITS,
  DEFAULT_VIEW,
  FULL_BAND,
  GROUPS,
  hashOf,
  keyOf,
  METRICS,
  ORDER_KINDS,
  PARTS,
  PRESETS,
  REACHES_PCT,
  SCALES,
  SIDES,
  tokenView,
  TYPES,
  type View,
  viewOf,
} from '../../explorer/state/url.js';
import { isLater, spokenTime } from '../../explorer/state/spoken-time.js';
import { Value } from '../../explorer/state/value.js';
import { fieldTime, offsetS, zone } from '../../explorer/state/zone.js';
import { amountOf, amountText } from '../../explorer/views/amount.js';
import { hoursText } from '../../explorer/views/boards/hours.js';
import { nextSort, sortedRows } from '../../explorer/views/sort.js';

/** The amounts of orders. */
const orderUsd = fc.oneof(
  fc.double({ min: 0.01, max: 1e13, noNaN: true }),
  fc.integer({ min: 1, max: 1e13 }),
);

const MINT = 'So11111111111111111111111111111111111111112';

describe('what is compared', () => {
  const seriesOf = (t: number[], support: number[], price: number[]): Compared['series'] => ({
    token: MINT,
    chain: 'mainchain',
    step: '1h',
    pct: [2],
    next_from: null,
    window: { from: 0, to: 9, clamped: false },
    t,
    snapshot_t: t,
    price_usd: price,
    score: t.map((time) => (time === 2 ? null : time)),
    support_usd: [support],
    resistance_usd: [support.map((usd) => 2 * usd)],
  });
  const compared: Compared[] = [
    { address: 'a', label: 'A', gaps: [], series: seriesOf([1, 2, 4], [10, 20, 30], [2, 1, 4]) },
    { address: 'b', label: 'B', gaps: [], series: seriesOf([2, 3], [5, 6], [8, 10]) },
  ];

  it.each([
    ['depth', [30, 60, undefined, 90], [null, 15, 18, undefined]],
    ['score', [1, null, undefined, 4], [null, null, 3, undefined]],
    ['price', [0, -0.5, undefined, 1], [null, 0, 0.25, undefined]],
  ] as const)('has its %s on one time axis', (metric, a, b) => {
    expect(linesOf(compared, metric)).toEqual({
      t: [1, 2, 3, 4],
      lines: [
        { key: 'a', label: 'A', values: a },
        { key: 'b', label: 'B', values: b },
      ],
    });
  });

  it('breaks where the history has a gap, and nowhere else', () => {
    const series = seriesOf([60, 120, 300, 900], [1, 2, 3, 4], [1, 1, 1, 1]);
    const gaps = [{ from: 300, to: 880, intervalS: 60 }];
    const other = {
      address: 'b',
      label: 'B',
      gaps: [],
      series: seriesOf([60, 600], [1, 2], [1, 1]),
    };
    // Its snapshots end 5 usual intervals before the newest one.
    const ended = {
      address: 'c',
      label: 'C',
      gaps: [],
      series: { ...seriesOf([60, 180, 300], [1, 2, 3], [1, 1, 1]), step: '1m' as const },
    };
    const { t, lines } = linesOf(
      [{ address: 'a', label: 'A', gaps, series }, other, ended],
      'depth',
    );
    expect(t).toEqual([60, 120, 180, 300, 301, 600, 900]);
    const [{ values }, { values: others }, { values: old }] = lines;
    expect(values).toEqual([3, 6, undefined, 9, null, undefined, 12]);
    expect(others).toEqual([3, undefined, undefined, undefined, undefined, 6, undefined]);
    expect(old).toEqual([3, undefined, 6, 9, null, null, null]);
    expect(t.map((_, at) => valueAt(values, at))).toEqual([3, 6, 6, 9, null, null, 12]);
    // The newest value counts while the next one is not late.
    expect(t.map((_, at) => valueAt(others, at))).toEqual([3, 3, 3, 3, 3, 6, 6]);
    expect(t.map((_, at) => valueAt(old, at))).toEqual([3, 3, 6, 9, null, null, null]);
  });

  it('is of the venues or types that are ticked: at first all, also those that appear later', () => {
    const all = ['a', 'b', 'c'];
    const withoutB = flipped(all, ALL, 'b');
    expect(withoutB).toEqual({ chosen: [], leftOut: ['b'] });
    expect([...all, 'later'].filter((one) => isShown(withoutB, one))).toEqual(['a', 'c', 'later']);
    expect(flipped(all, withoutB, 'b')).toEqual(ALL);
    const two = { chosen: ['a', 'c'], leftOut: [] };
    expect(flipped(all, two, 'c')).toEqual({ chosen: ['a'], leftOut: [] });
    expect(flipped(all, two, 'b')).toEqual(ALL);
  });

  it('asks for gaps only if a step has no point', () => {
    const step = '1m' as const;
    expect(newestHole({ ...seriesOf([60, 120, 180], [], []), step })).toBeNull();
    expect(newestHole({ ...seriesOf([60, 180, 240, 420], [], []), step })).toBe(420);
  });

  it('ends with the newest snapshot, whose step is not over', () => {
    const series = { ...seriesOf([60, 120], [1, 2], [1, 1]), snapshot_t: [58, 77] };
    const older = { ...seriesOf([60, 120], [0.1, 4], [1, 1]), snapshot_t: [55, 71] };
    const { t, lines } = linesOf(
      [
        { address: 'a', label: 'A', gaps: [], series },
        { address: 'b', label: 'B', gaps: [], series: older },
      ],
      'depth',
    );
    expect(t).toEqual([60, 77]);
    expect(lines.map(({ values }) => values)).toEqual([
      [3, 6],
      [0.3, 12],
    ]);
  });

  it('is the venues with the most depth of a single token', () => {
    const count = 10;
    const places = Array.from({ length: count }, (_, at) => at);
    const groups = places.map((at) => ({
      key: `v${at}`,
      label: `V${at}`,
      type: 'cex_spot',
    }));
    const amounts = places.map((at) => [[100 - at, at]]);
    const series = {
      ...seriesOf([1, 2], [], [1, 1]),
      groups,
      support_usd: amounts,
      resistance_usd: amounts,
    } as Compared['series'];
    const { lines } = linesOf([{ address: 'a', label: 'A', gaps: [], series }], 'depth');
    expect(lines.map(({ key }) => key)).toEqual(
      places
        .toReversed()
        .slice(0, 8)
        .map((at) => `v${at}`),
    );
    expect(lines[0].values).toEqual([182, 18]);
  });

  it('is null without a point', () => {
    const series = seriesOf([], [], []);
    expect(linesOf([{ address: 'a', label: 'A', gaps: [], series }], 'price')).toEqual({
      t: [],
      lines: [{ key: 'a', label: 'A', values: [] }],
    });
  });
});

describe('a typed time', () => {
  // A Monday.
  const NOW = Date.parse('2026-11-23T10:30:00Z') / 1000;
  it.each([
    ['yesterday 12:00', '2026-11-22T12:00:00Z'],
    ['Yesterday', '2026-11-22T00:00:00Z'],
    ['today 9:05', '2026-11-23T09:05:00Z'],
    ['10:30', '2026-11-23T10:30:00Z'],
    ['10:31', '2026-11-22T10:31:00Z'],
    ['2026-11-20', '2026-11-20T00:00:00Z'],
    ['2026-11-20 23:59', '2026-11-20T23:59:00Z'],
    ['2026-11-20T23:59', '2026-11-20T23:59:00Z'],
    ['2026-11-20 23:59:07', '2026-11-20T23:59:07Z'],
    ['sat 8:00', '2026-11-21T08:00:00Z'],
    ['monday', '2026-11-16T00:00:00Z'],
    ['-2h', '2026-11-23T08:30:00Z'],
    ['3 days ago', '2026-11-20T10:30:00Z'],
    ['1 min ago', '2026-11-23T10:29:00Z'],
    ['Nov 20 3:00', '2026-11-20T03:00:00Z'],
    ['nov 20, 03:00:59', '2026-11-20T03:00:59Z'],
    ['November 20 2025 3:00', '2025-11-20T03:00:00Z'],
    ['Nov 20, 2025', '2025-11-20T00:00:00Z'],
    ['20 nov 23:59', '2026-11-20T23:59:00Z'],
    ['20 Nov 2025, 3:00', '2025-11-20T03:00:00Z'],
    ['Sept 1', '2026-09-01T00:00:00Z'],
    ['May 2', '2026-05-02T00:00:00Z'],
    // The last one until now: without a year, a day to come is last year's.
    ['nov 23 10:30', '2026-11-23T10:30:00Z'],
    ['nov 23 10:31', '2025-11-23T10:31:00Z'],
    ['Dec 31', '2025-12-31T00:00:00Z'],
  ])('%s is %s', (text, expected) => {
    expect(spokenTime(text, NOW, () => 0)).toBe(Date.parse(expected) / 1000);
  });

  it.each([
    '',
    'sol',
    't',
    '24:00',
    '12:60',
    '9:00:60',
    'today 11:00',
    '2026-11-31',
    '2026-02-29',
    'su',
    '3 ago',
    'nov',
    'nov 31',
    'nov 0',
    'feb 29',
    'no 20',
    'ma 2',
    'mars 2',
    'nov 20 2027',
    'nov 2026',
    'nov 20 3',
    'nov 20 25:00',
    '3:00 nov 20',
    'nov 20 25',
    '11 20',
    'nov 20 yesterday',
    '2027-01-01',
    'yesterday noon',
    '-2y',
    '12:00 yesterday',
    '99999h ago',
  ])('"%s" is invalid', (text) => {
    expect(spokenTime(text, NOW, () => 0)).toBeNull();
  });

  it.each([
    ['2027-01-01', true],
    ['today 23:00', true],
    ['nov 20 2027', true],
    ['23:00', false],
    ['nov 30', false],
    ['3 h ago', false],
    ['sol', false],
    ['2026-11-31', false],
  ])('"%s" has not come yet: %s', (text, expected) => {
    expect(isLater(text, NOW, () => 0)).toBe(expected);
  });

  it('is in the chosen zone', () => {
    const [offset, at] = [19_800, Date.parse('2026-11-21T18:30:00Z') / 1000];
    expect(spokenTime('2026-11-22', NOW, () => offset)).toBe(at);
    // By then it is Tuesday there.
    expect(spokenTime('today', Date.parse('2026-11-23T19:00:00Z') / 1000, () => offset)).toBe(
      Date.parse('2026-11-23T18:30:00Z') / 1000,
    );
  });
});

describe('the address of a view', () => {
  const windows = fc.oneof(
    fc.constantFrom(...PRESETS, 'all' as const),
    fc.record({ fromS: fc.nat(1e9), toS: fc.integer({ min: 1_000_000_001, max: 2e9 }) }),
  );
  const word = fc.stringMatching(/^[a-z][a-z0-9-]{0,12}$/);
  const order = fc.record({
    side: fc.constantFrom(...SIDES),
    usd: fc.option(orderUsd),
    unit: fc.constantFrom(...COST_UNITS),
  });
  const tokens = fc.record({
    name: fc.constant('token' as const),
    address: fc.constantFrom(MINT, '0x00000000000000000000000000000000000000aa', 'a/b?c#d&e=%'),
    window: windows,
    group: fc.constantFrom(...GROUPS),
    types: fc.subarray([...TYPES]),
    venues: fc.uniqueArray(word, { maxLength: 4 }),
    excludedVenues: fc.constant([]),
    band: fc.record({
      minPct: fc.integer({ min: -90, max: 0 }),
      maxPct: fc.integer({ min: 1, max: 1000 }),
    }),
    atS: fc.option(fc.nat(2e9)),
    vsS: fc.option(fc.nat(2e9)),
    axis: fc.constantFrom(...AXES),
    colours: fc.option(fc.constant({ lowUsd: 0.5, highUsd: 2_000_000 })),
    order,
    marks: fc.subarray([...ORDER_KINDS]),
    reachPct: fc.constantFrom(null, ...REACHES_PCT),
    pool: fc.option(word),
    zoom: fc.option(
      fc.record({
        fromS: fc.nat(1e9),
        toS: fc.integer({ min: 1_000_000_001, max: 2e9 }),
        prices: fc.option(fc.constant({ lowUsd: 0.00012345, highUsd: 1234.5 })),
      }),
    ),
  });
  const boards = fc.record({
    name: fc.constantFrom(...BOARDS),
    choices: fc.dictionary(
      word.filter((name) => !['order', 'find'].includes(name)),
      word,
      { noNullPrototype: true },
    ),
    sort: fc.option(fc.constantFrom('price', '-price')),
    find: fc.constantFrom('', 'so l&', '#?=%'),
  });

  const comparisons = fc.record({
    name: fc.constant('compare' as const),
    tokens: fc.uniqueArray(word, { maxLength: 6 }),
    metric: fc.constantFrom(...METRICS),
    pct: fc.constantFrom(...COMPARE_PCTS),
    scale: fc.constantFrom(...SCALES),
    window: fc.constantFrom(...PRESETS),
    parts: fc.constantFrom(null, ...PARTS),
    order,
  });

  it('gives the same view again', () => {
    fc.assert(
      fc.property(fc.oneof(tokens, boards, comparisons), (view: View) => {
        expect(viewOf(hashOf(view))).toEqual(view);
      }),
    );
  });

  it('names a zoom by its times, or by a time before now', () => {
    const view = { ...tokenView(MINT), zoom: { fromS: -3600, toS: null, prices: null } };
    expect(hashOf(view)).toBe(`#/token/${MINT}?zoom=-3600,now`);
    expect(viewOf(hashOf(view))).toEqual(view);
    expect(replayRequest(view, null).query).toMatchObject({ from: '-3600s', to: 'now' });
    for (const wrong of ['5,1', '-0,now', 'now', '-5,9', 'x,y']) {
      expect(viewOf(`#/token/${MINT}?zoom=${wrong}&prices=2,1`)).toEqual(tokenView(MINT));
    }
  });

  it('shows a time in the chosen zone as it can be typed, by summer and winter clocks', () => {
    const { TZ } = process.env;
    process.env.TZ = 'Europe/Berlin';
    for (const chosen of ['utc', 'local'] as const) {
      zone.set(chosen);
      expect(fieldTime(1_794_659_696)).toBe(
        chosen === 'utc' ? '2026-11-14 12:34:56' : '2026-11-14 13:34:56',
      );
      for (const t of [1_794_659_696, Date.parse('2026-07-01T12:34:56Z') / 1000]) {
        expect(spokenTime(fieldTime(t), 1_794_700_000, offsetS)).toBe(t);
      }
    }
    zone.set('utc');
    if (TZ === undefined) delete process.env.TZ;
    else process.env.TZ = TZ;
  });

  it('omits defaults, and is readable', () => {
    expect(hashOf(DEFAULT_VIEW)).toBe('#/');
    expect(hashOf(tokenView(MINT))).toBe(`#/token/${MINT}`);
    const filtered = { ...tokenView(MINT), window: '6h', venues: ['binance', 'orca'] } as const;
    expect(hashOf(filtered)).toBe(`#/token/${MINT}?window=6h&venues=binance,orca`);
    const without = { ...tokenView(MINT), excludedVenues: ['binance', 'orca'] };
    expect(hashOf(without)).toBe(`#/token/${MINT}?exclude_venues=binance,orca`);
    expect(viewOf(hashOf(without))).toEqual(without);
    expect(replayRequest(without, null).query).toMatchObject({ exclude_venues: 'binance,orca' });
  });

  it.each([
    ['', DEFAULT_VIEW],
    ['#/nowhere?a=b', { name: 'unknown' as const, path: '/nowhere' }],
    ['#/token/%zz', tokenView('%zz')],
    [
      `#/token/${MINT}?window=2y&group=x&types=a,cex_spot&min_pct=-99&max_pct=x`,
      { ...tokenView(MINT), types: ['cex_spot'] },
    ],
    [`#/token/${MINT}?from=20&to=10`, tokenView(MINT)],
    [`#/token/${MINT}?min_pct=50&max_pct=20`, tokenView(MINT)],
  ])('uses defaults for the invalid parts of %s, and recognizes an unknown view', (hash, view) => {
    expect(viewOf(hash)).toEqual(view);
  });

  it('may hold a key, if it has the form of one', () => {
    const key = 'fathom_a-B9';
    expect(keyOf(`#key=${key}`)).toEqual({ key, isKept: false });
    expect(keyOf(`#key=${key}&remember`)).toEqual({ key, isKept: true });
    for (const other of ['', '#/', '#key=', '#key=a b', '#key=a&remember=', '#/token/key=a'])
      expect(keyOf(other)).toBeNull();
  });
});

describe('numbers', () => {
  it.each([
    [0, '0'],
    [0.0123, '0.01'],
    [9.994, '9.99'],
    [9.996, '10.0'],
    [99.96, '100'],
    [999.4, '999'],
    [999.9, '1.00K'],
    [45_210, '45.2K'],
    [1_239_000, '1.24M'],
    [2.52e9, '2.52B'],
    [7.1e12, '7.10T'],
    [-1234, '\u22121.23K'],
    [null, '\u2013'],
    [NaN, '\u2013'],
  ])('%s is shortened to %s', (value, text) => expect(compact(value)).toBe(text));

  it.each([
    [61_824.005, '$61,824.01'],
    [137.535467, '$137.54'],
    [13.454549, '$13.455'],
    [2.0739, '$2.0739'],
    [0.233, '$0.2330'],
    [0.0011523, '$0.001152'],
    [0.00001685, '$0.0₄1685'],
    [1.5e-12, '$0.0₁₁1500'],
    [0, '$0'],
    [null, '\u2013'],
  ])('the price %s is %s', (value, text) => expect(price(value)).toBe(text));

  it('show their sign if it matters', () => {
    expect([usd(-5), signedUsd(5000), signedUsd(-5000), signedUsd(0)]).toEqual([
      '\u2212$5.00',
      '+$5.00K',
      '\u2212$5.00K',
      '$0',
    ]);
    expect([0.00585, 0.0000012, -0.02, 1e-9, 0, null].map(signedBasisPoints)).toEqual([
      '+58.5 bp',
      '+0.012 bp',
      '\u2212200 bp',
      '+<0.001 bp',
      '0 bp',
      '\u2013',
    ]);
    expect([1.25, -0.4, 0.01, null].map(signedPoints)).toEqual([
      '+1.3',
      '\u22120.4',
      '0.0',
      '\u2013',
    ]);
    expect([percent(0.1234), signedPercent(0.021), signedPercent(-0.021)]).toEqual([
      '12.3%',
      '+2.1%',
      '\u22122.1%',
    ]);
    // A small slippage is not 0.
    const slippages = [-0.0124, 0.1, -0.00036, -0.0000072, 0.00001, 0, null];
    expect(slippages.map(signedFinePercent)).toEqual([
      '\u22121.24%',
      '+10.00%',
      '\u22120.036%',
      '\u22120.00072%',
      '+0.0010%',
      '0.00%',
      '\u2013',
    ]);
  });

  it('are read as people type them', () => {
    const texts = [
      '500000',
      '$500,000',
      '500k',
      '1.5 M',
      '.5b',
      '2B',
      '1e6',
      '-5',
      '0',
      'x',
      '',
      '1.2.3',
      '0.001',
      '20000b',
    ];
    expect(texts.map(amountOf)).toEqual([
      500_000,
      500_000,
      500_000,
      1_500_000,
      500_000_000,
      2_000_000_000,
      ...texts.slice(6).map(() => null),
    ]);
    fc.assert(
      fc.property(orderUsd, (usd) => {
        expect(amountOf(amountText(usd))).toBe(usd);
      }),
    );
  });

  it('convert times to ages and UTC', () => {
    expect([-3, 12, 99, 100, 5_000, 7_200, 200_000].map(age)).toEqual([
      '0 s',
      '12 s',
      '99 s',
      '2 min',
      '83 min',
      '2 h',
      '2 d',
    ]);
    expect(absoluteTime(1_795_353_613)).toBe('2026-11-22 13:20:13 UTC');
    const { TZ } = process.env;
    process.env.TZ = 'Asia/Kolkata';
    zone.set('local');
    expect(absoluteTime(1_795_353_613)).toBe('2026-11-22 18:50:13 GMT+5:30');
    zone.set('utc');
    if (TZ === undefined) delete process.env.TZ;
    else process.env.TZ = TZ;
    expect(shortAddress(MINT)).toBe('So1111…1112');
  });
});

describe('the request of a view', () => {
  it('is a command without the key', () => {
    const view = { ...tokenView(MINT), types: ['cex_spot' as const], venues: ['a', 'b'] };
    expect(curlText('http://host:8080', replayRequest(view, null))).toBe(
      `curl --compressed -H "x-api-key: $FATHOM_KEY" \\\n  'http://host:8080/api/v1/replay/${MINT}?from=-24h&to=now&group=venue&types=cex_spot&venues=a,b&min_pct=-50&max_pct=100'`,
    );
    const post = { method: 'POST', path: '/x', query: {}, body: { it: "isn't" } } as const;
    expect(curlText('http://h', post)).toBe(
      `curl --compressed -H "x-api-key: $FATHOM_KEY" \\\n  -H 'content-type: application/json' \\\n  -d '{"it":"isn'\\''t"}' \\\n  'http://h/api/v1/x'`,
    );
  });

  it('has the window in the API’s form', () => {
    expect(windowTimes('7d', 5)).toEqual({ from: '-7d', to: 'now' });
    expect(windowTimes('all', 5)).toEqual({ from: '5', to: 'now' });
    expect(windowTimes('all', null)).toEqual({ from: '-365d', to: 'now' });
    expect(windowTimes({ fromS: 5, toS: 9 }, null)).toEqual({ from: '5', to: '9' });
    expect(FULL_BAND).toEqual({ minPct: -50, maxPct: 100 });
  });
});

describe('the newest ladder', () => {
  const snapshot = {
    t: 7,
    tier: 'raw',
    price_usd: 2,
    group_idx: [0, 0, 1, 1, 2],
    bin: [-2, 0, 0, 30, 30],
    support_usd: [10, 1, 2, 0, 0],
    resistance_usd: [0, 4, 8, 15, 1],
  };
  const groups = [
    { key: 'small', label: 'Small', type: 'cex_spot' },
    { key: 'other', label: 'Other', type: 'cex_perp' },
    { key: 'far', label: 'Far', type: 'cex_spot' },
    { key: 'absent', label: 'Absent', type: 'cex_spot' },
  ];
  const types = [
    { key: 'cex_spot', label: 'CEX spot' },
    { key: 'cex_perp', label: 'CEX perps' },
  ];
  const page = {
    groups,
    facets: { types, venues: groups },
    snapshots: [{ ...snapshot, t: 6, bin: [] }, snapshot],
  } as unknown as ReplayPage;
  const ladder = newestLadder(page, {});

  it('is the last snapshot, summed by bin, and near the price by venue', () => {
    if (ladder === null) throw new Error('no ladder');
    expect([ladder.t, ladder.priceUsd, ladder.bins[0], ladder.bins.length]).toEqual([7, 2, -2, 33]);
    expect([ladder.supportUsd[2], ladder.resistanceUsd[2]]).toEqual([3, 12]);
    // Bin 30 is 35% away.
    expect(totalsWithin(ladder, NEAR_PCT)).toEqual({ supportUsd: 13, resistanceUsd: 12 });
    const parts = ladder.parts.map(({ key, supportUsd, resistanceUsd }) => [
      key,
      supportUsd,
      resistanceUsd,
    ]);
    expect(parts).toEqual([
      ['small', 11, 4],
      ['other', 2, 8],
    ]);
    expect(newestLadder({ ...page, snapshots: [] }, {})).toBeNull();
  });

  it('is limited to types and venues, and offers all of them with the same amounts', () => {
    const amounts = (parts: readonly LadderPart[] = []) =>
      parts.map((part) => [part.label, partUsd(part)]);
    for (const [filter, shown, sums, perps] of [
      [{}, ['Small', 'Other'], [13, 12], 'incl. perps'],
      [{ venues: ['other', 'none'] }, ['Other'], [2, 8], 'incl. perps'],
      [{ venues: ['small', 'none'] }, ['Small'], [11, 4], 'without perps'],
      [{ types: ['cex_spot'] }, ['Small'], [11, 4], 'without perps'],
      [{ types: ['cex_spot'], venues: ['other'] }, [], [0, 0], 'nothing matches'],
      [{ venues: ['none'] }, [], [0, 0], 'nothing matches'],
    ] as const) {
      const limited = newestLadder(page, filter) ?? undefined;
      expect(limited?.perps).toBe(perps);
      expect(limited?.parts.map(({ label }) => label)).toEqual(shown);
      expect(Object.values(totalsWithin(limited!, NEAR_PCT))).toEqual(sums);
      expect(amounts(limited?.choices.venues)).toEqual([
        ['Small', 15],
        ['Other', 10],
        ['Far', 0],
      ]);
      expect(amounts(limited?.choices.types)).toEqual([
        ['CEX spot', 15],
        ['CEX perps', 10],
      ]);
    }
  });

  it('has what an order can take: all of a side, but perps only if the filter names them', () => {
    for (const [filter, support, resistance] of [
      [{}, 11, 5],
      [{ types: ['cex_perp'] }, 2, 23],
      [{ types: ['cex_spot', 'cex_perp'] }, 13, 28],
      [{ venues: ['other'] }, 2, 23],
      [{ venues: ['small', 'other'] }, 13, 27],
      [{ types: ['cex_spot'], venues: ['other'] }, 0, 0],
    ] as const) {
      expect(newestLadder(page, filter)?.takenUsd).toEqual({ support, resistance });
    }
  });

  it('adds up outwards from the price', () => {
    if (ladder === null) throw new Error('no ladder');
    const { pct, supportUsd, resistanceUsd } = depthCurve(ladder, 50);
    expect([...pct].sort((a, b) => a - b)).toEqual(pct);
    expect([supportUsd[0], resistanceUsd.at(-1)]).toEqual([13, 28]);
    expect(
      pct.map((at, i) => (at < 0 ? resistanceUsd[i] : supportUsd[i])).every((one) => one === null),
    ).toBe(true);
    expect(depthCurve(ladder, 25).resistanceUsd.at(-1)).toBe(12);
  });

  it('adds up the same whole steps as the sums, and says how far they reach', () => {
    const bins = Int32Array.from({ length: 141 }, (_, i) => i - 70);
    const supportUsd = Float64Array.from(bins, (bin) => (bin <= 0 ? 1 : 0));
    const all = { bins, supportUsd, resistanceUsd: supportUsd.toReversed() };
    for (const pct of [1, ...REACHES_PCT]) {
      const curve = depthCurve({ ...(ladder as Ladder), ...all }, pct);
      const sums = totalsWithin(all, pct);
      expect([curve.supportUsd[0], curve.resistanceUsd.at(-1)]).toEqual([
        sums.supportUsd,
        sums.resistanceUsd,
      ]);
      const [from, to] = [curve.pct[0], curve.pct[curve.pct.length - 1]];
      expect(coverText(pct)).toBe(`${signedPercent(from / 100)} to ${signedPercent(to / 100)}`);
    }
    // Bin 1 is at exactly 1%, within the tolerance of a band.
    expect(totalsWithin(all, 1)).toEqual({ supportUsd: 2, resistanceUsd: 2 });
    expect(coverText(2)).toBe('\u22122.5% to +1.5%');
  });
});

describe('the hours of a period', () => {
  it('end with this hour', () => {
    // 12:34:56 UTC on November 14.
    expect(hoursText('1h', 'pool', 1_794_659_696)).toBe(
      '1h: this hour, since 12:00 UTC; until any pool has data of it, the hour before.',
    );
    expect(hoursText('24h', 'token', 1_794_659_696)).toBe(
      '24h: this hour and the 23 before it, since 11-13 13:00 UTC; an hour earlier until any token has data of this hour.',
    );
  });
});

it('tells no listener an older value after a newer one', () => {
  const value = new Value(0);
  value.follow((now) => {
    if (now === 1) value.set(2);
  });
  const heard: number[] = [];
  value.follow((now) => heard.push(now));
  value.set(1);
  expect(heard).toEqual([2]);
});

describe('rows', () => {
  const columns = [
    { name: 'n', by: (row: { n: number | null; s: string }) => row.n },
    { name: 's', by: (row: { n: number | null; s: string }) => row.s },
  ];
  const rows = [
    { n: 2, s: 'b' },
    { n: null, s: 'a' },
    { n: 3, s: 'c' },
  ];
  it.each([
    [null, [2, null, 3]],
    ['other', [2, null, 3]],
    ['n', [3, 2, null]],
    ['-n', [2, 3, null]],
    ['s', [null, 2, 3]],
    ['-s', [3, 2, null]],
  ])('are sorted by %s, nulls last', (sort, numbers) => {
    expect(sortedRows(rows, columns, sort).map(({ n }) => n)).toEqual(numbers);
  });

  it.each([
    ['n', 's', ['n', '-n', null, 'n']],
    ['n', 'n', ['-n', null, '-n']],
    ['n', '-n', ['n', null, 'n']],
  ])('are sorted by clicks on %s, on a board ranked by %s', (name, ranking, sorts) => {
    let sort: string | null = null;
    for (const next of sorts) {
      sort = nextSort(name, sort, ranking);
      expect(sort).toBe(next);
    }
  });
});
