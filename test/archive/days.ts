/** Days of a store with an archive: some midnights, and random changes around them. */
import fc from 'fast-check';
import type { Tier } from '../../compute/market.js';
import { DAY_S } from '../../compute/time.js';
import {
  binance,
  type Cell,
  MINT,
  orca,
  OTHER_MINT,
  snapshot,
  type SnapshotRow,
} from '../support/stores.js';

/** Some midnight. */
export const T0 = 1_794_009_600;
export const TOKENS = [MINT, OTHER_MINT];
/** In which most snapshots are. */
const DAYS = 6;
/** Long after all of them. */
export const NOW = T0 + 100 * DAY_S;

const amount = fc.integer({ min: 100, max: 90_000 }).map((cents) => cents / 100);
const cells = fc.uniqueArray(
  fc.tuple(fc.integer({ min: -40, max: 40 }), amount, amount).map((cell): Cell => cell),
  { selector: ([bin]) => bin, minLength: 1, maxLength: 3 },
);
const tier = fc.constantFrom<Tier>('raw', 'raw', 'raw', '15m', '1h');
const time = fc.oneof(
  fc.integer({ min: 0, max: DAYS * 96 }).map((i) => T0 + i * 900),
  // At the ends of days, and one second off.
  fc
    .tuple(fc.integer({ min: 0, max: DAYS }), fc.constantFrom(-1, 0, 1))
    .map(([day, s]) => T0 + day * DAY_S + s),
);
/** Snapshots far apart, and long series of one token. */
const rows = fc.oneof(
  fc.uniqueArray(fc.record({ address: fc.constantFrom(...TOKENS), t: time, tier, cells }), {
    selector: ({ address, t, tier: own }) => `${address} ${own} ${t}`,
    minLength: 1,
    maxLength: 8,
  }),
  fc
    .record({
      address: fc.constantFrom(...TOKENS),
      tier,
      first: time,
      everyS: fc.constantFrom(60, 600, 3600),
      count: fc.integer({ min: 2, max: 400 }),
      cells,
    })
    .map(({ first, everyS, count, ...row }) =>
      Array.from({ length: count }, (_, i) => ({ ...row, t: first + i * everyS })),
    ),
);
type Made<A> = A extends fc.Arbitrary<infer T> ? T : never;

/** Snapshots of one market: 0 is orca, 1 binance. */
export const upload = fc.record({
  kind: fc.constantFrom('replace' as const, 'merge' as const),
  market: fc.constantFrom(0, 1),
  rows,
});
export type Upload = Made<typeof upload>;

const MARKETS = [orca, binance];

/** Rows of the dataset `snapshots`. */
export const rowsOf = ({ market, rows: sent }: Upload): SnapshotRow[] =>
  sent.map(({ cells: held, t, ...more }) => snapshot(t, [MARKETS[market]([...held])], more));

export const deletion = fc.record({
  kind: fc.constant('delete' as const),
  address: fc.constantFrom(...TOKENS),
  fromS: time,
  lengthS: fc.constantFrom(1, 900, DAY_S, 2 * DAY_S),
});
export type Deletion = Made<typeof deletion>;
