/** Binance's historical order books of futures, compared with the stream of the same messages. */
import { describe, expect, it } from 'vitest';
import { importAll, Scratch, TOKEN } from './import-helpers.js';

const scratch = new Scratch();

const EXCERPT = 'test/fixtures/import/binance_t_depth_excerpt.csv';
const FLAGS = { ...TOKEN, every: '1s' };
const HEADER = 'symbol,timestamp,first_update_id,last_update_id,side,update_type,price,qty,pu';
const T0_MS = 1_667_347_199_500;

type Level = readonly [price: string, qty: string];
interface Step {
  ms: number;
  first: number;
  last: number;
  previous: number;
  bids: Level[];
  asks: Level[];
}

const SNAPSHOT: Step = {
  ms: T0_MS,
  first: 10,
  last: 10,
  previous: -1,
  bids: [
    ['99.5', '3'],
    ['99', '1'],
  ],
  asks: [['101', '2']],
};
const UPDATES: Step[] = [
  { ms: T0_MS + 400, first: 11, last: 14, previous: 10, bids: [['99.5', '0']], asks: [] },
  {
    ms: T0_MS + 1700,
    first: 20,
    last: 21,
    previous: 14,
    bids: [['98', '7']],
    asks: [['101', '5']],
  },
  { ms: T0_MS + 4100, first: 25, last: 30, previous: 21, bids: [], asks: [['102', '1']] },
];

const rowsOf = (kind: 'snap' | 'set', { ms, first, last, previous, bids, asks }: Step) =>
  [
    ...asks.map((level) => ['a', ...level] as const),
    ...bids.map((level) => ['b', ...level] as const),
  ].map(([side, price, qty]) => ['BTCUSDT', ms, first, last, side, kind, price, qty, previous]);
const csv = (rows: (string | number)[][], header = HEADER) =>
  scratch.file('t-depth.csv', [header, ...rows.map((row) => row.join(','))].join('\n'));
const ALL = [...rowsOf('snap', SNAPSHOT), ...UPDATES.flatMap((one) => rowsOf('set', one))];

const stream = () => {
  const { ms, last, bids, asks } = SNAPSHOT;
  const messages = [
    { E: ms, symbol: 'BTCUSDT', lastUpdateId: last, bids, asks },
    ...UPDATES.map((one) => ({
      e: 'depthUpdate',
      E: one.ms,
      s: 'BTCUSDT',
      U: one.first,
      u: one.last,
      pu: one.previous,
      b: one.bids,
      a: one.asks,
    })),
  ];
  const lines = messages.map((message) => `1700000000000000000 ${JSON.stringify(message)}`);
  return scratch.file('same.stream', lines.join('\n'));
};

describe('T_DEPTH files', () => {
  it('give the same as a stream of the same messages', async () => {
    const { rows, report } = await importAll('binance-t-depth', [csv(ALL)], FLAGS);
    const same = await importAll('binance-stream', [stream()], FLAGS);
    expect(rows).toEqual(same.rows);
    expect(rows.length).toBeGreaterThan(3);
    expect(report).toEqual(same.report);
    expect(rows[0].markets[0]).toMatchObject({ source: 'binance-futures', type: 'cex_perp' });
  });

  it('continue from a file of snapshots to one of updates, with or without pu', async () => {
    const split = rowsOf('snap', SNAPSHOT).length;
    const whole = await importAll('binance-t-depth', [csv(ALL)], FLAGS);
    const short = HEADER.replace(',pu', '');
    const cut = ALL.map((row) => row.slice(0, -1));
    const first = scratch.file('a.csv', [short, ...cut.slice(0, split).map(String)].join('\n'));
    const second = scratch.file('b.csv', [short, ...cut.slice(split).map(String)].join('\n'));
    const { rows } = await importAll('binance-t-depth', [first, second], FLAGS);
    expect(rows).toEqual(whole.rows);
  });

  it('report an update that does not follow, and use no book after it', async () => {
    const lost = ALL.filter((row) => row[3] !== 21);
    const { rows, report } = await importAll('binance-t-depth', [csv(lost)], FLAGS);
    expect(report.gaps.first[0].reason).toContain('does not follow 14');
    expect(rows).toEqual([]);
  });

  it('read the excerpt', async () => {
    const { rows } = await importAll('binance-t-depth', [EXCERPT], FLAGS);
    expect(rows.map(({ t }) => t)).toEqual([1667347200, 1667347201, 1667347202]);
    expect(rows[0].markets[0].book.bids[0]).toEqual([20377.1, 0.9]);
    expect(rows[0].markets[0].book.asks).toEqual([[20380, 0.25]]);
  });

  it('say that bids alone make no book', async () => {
    const bids = ALL.filter((row) => row[4] === 'b');
    const { nothing } = await importAll('binance-t-depth', [csv(bids)], FLAGS);
    expect(nothing).toContain('never has levels on both sides');
  });

  it.each([
    ['timestamp', 1, '1667347199'],
    ['timestamp', 1, 'noon'],
    ['last_update_id', 3, '-4'],
    ['side', 4, 'bid'],
    ['update_type', 5, 'delete'],
    ['price', 6, '0'],
    ['qty', 7, '-1'],
    ['pu', 8, 'x'],
    ['symbol', 0, ''],
  ] as const)('name %s where it is wrong', async (name, column, value) => {
    const row = ALL[1].map((one, i) => (i === column ? value : one));
    const wrong = importAll('binance-t-depth', [csv([ALL[0], row])], FLAGS);
    await expect(wrong).rejects.toThrow(`:3: ${name}: expected`);
  });

  it('name a column that is missing', async () => {
    const wrong = csv([ALL[0]], HEADER.replace('qty', 'quantity'));
    const refused = importAll('binance-t-depth', [wrong], FLAGS);
    await expect(refused).rejects.toThrow('qty: the header has no such column');
  });
});
