/** Retention: what it deletes by age, and what it keeps of that in coarser tiers. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Tier, TIERS } from '../../compute/market.js';
import { cutoffsAt, tiersToMake, nextRetentionStep } from '../../storage/depth/retention-steps.js';
import { RetentionWorker } from '../../storage/retention.js';
import type { Store } from '../../storage/store.js';
import { retained } from '../reference/retention.js';
import { directoryOfTimes } from '../support/runs.js';
import {
  binance,
  commitRows,
  DataDirectory,
  MINT,
  openStore,
  orca,
  OTHER_MINT,
  snapshot,
  type StoredSnapshot,
  storedSnapshots,
  tokenOf,
} from '../support/stores.js';

const HOUR = 3600;
const DAY = 86_400;
/** Some midnight. */
const NOW = 1_795_132_800;

/** By tier, then time. */
const inOrder = <S extends { tier: Tier; t: number }>(list: readonly S[]): S[] =>
  [...list].sort((a, b) => TIERS.indexOf(a.tier) - TIERS.indexOf(b.tier) || a.t - b.t);

const keptFor = fc.option(
  fc.constantFrom(60, 1800, HOUR, 5 * HOUR, DAY - 1, DAY, 2 * DAY, 7 * DAY, 8 * DAY),
  { nil: undefined },
);
const retentions = fc.record({ raw: keptFor, '15m': keptFor, '1h': keptFor }).map((given) => {
  const known = Object.entries(given).filter(([, kept]) => kept !== undefined);
  return Object.fromEntries(known);
});
/** Many share a quarter of an hour; many lie on its ends, or one second off. */
const ages = fc.oneof(
  fc.integer({ min: -40, max: 9 * 96 }).map((i) => i * 900),
  fc
    .tuple(fc.integer({ min: 0, max: 9 * 96 }), fc.constantFrom(-1, 1, 60))
    .map(([i, s]) => i * 900 + s),
  fc.integer({ min: 0, max: 9 * DAY }),
  fc.integer({ min: 0, max: 120 }).map((i) => DAY + i * 60),
);
const snapshots = fc.uniqueArray(
  fc.record({
    tier: fc.oneof({ arbitrary: fc.constant('raw'), weight: 4 }, fc.constantFrom(...TIERS)),
    t: ages.map((age) => NOW - age),
  }),
  { selector: ({ tier, t }) => `${tier} ${t}`, maxLength: 60 },
);
const nows = fc.oneof(fc.constant(NOW), fc.integer({ min: NOW - DAY, max: NOW + 2 * DAY }));

interface Made {
  tier: Tier;
  t: number;
  /** The source of its content. */
  of: string;
}

describe('The steps of retention', () => {
  it('lead to what the reference keeps, however small they are', () => {
    const limit = fc.integer({ min: 1, max: 3 });
    fc.assert(
      fc.property(
        snapshots,
        retentions,
        nows,
        fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 4 }),
        fc.record({ deleted: limit, copied: limit }),
        (rows, retention, now, cuts, limits) => {
          const first: Made[] = rows.map((row) => ({ ...row, of: `${row.tier} ${row.t}` }));
          const cutoffs = cutoffsAt(retention, now);
          let left = first;
          for (let steps = 0; ; steps++) {
            // Segments are cut differently each time, as after a restart of the server.
            const directory = directoryOfTimes(left, cuts[steps % cuts.length]);
            const step = nextRetentionStep(directory, cutoffs, tiersToMake(retention), limits);
            if (step === null) break;
            expect(steps).toBeLessThan(200);
            const before = left.length;
            const copies = step.copies.map(({ from, row, tier, t }) => {
              const raw = left.find((one) => one.tier === 'raw' && one.t === from.times[row]);
              return { ...raw!, tier, t };
            });
            left = left.filter(({ tier, t }) => tier !== step.tier || t >= step.toS);
            expect(left.length).toBeLessThan(before);
            left = [...left, ...copies];
          }
          expect(inOrder(left)).toEqual(inOrder(retained(first, retention, now)));
        },
      ),
      { numRuns: Number(process.env.FATHOM_RUNS ?? 400) },
    );
  });

  it('end at whole bounds of a step', () => {
    const list = Array.from({ length: 1000 }, (_, i) => ({
      tier: 'raw' as const,
      t: NOW - 9 * DAY + i * 60,
      of: '',
    }));
    const directory = directoryOfTimes(list, 2);
    const cutoffs = cutoffsAt({ raw: DAY }, NOW);
    // Without coarser tiers there is nothing to read; with them, one segment in eight holds a newest snapshot.
    expect(nextRetentionStep(directory, cutoffs, [])?.toS).toBe(NOW - 9 * DAY + 512 * 60);
    const step = nextRetentionStep(directory, cutoffs, ['15m']);
    expect(new Set(step?.copies.map(({ from }) => from)).size).toBe(16);
  });
});

describe('A store with retention', () => {
  const data = new DataDirectory();
  let store: Store;
  beforeAll(async () => (store = await openStore(data.path)));
  afterAll(() => store.close());

  const stored = async (address: string): Promise<StoredSnapshot[]> =>
    inOrder(await storedSnapshots(store, tokenOf(store, address)));
  const name = (address: string) => ({ chain: 'mainchain', address }) as const;

  it('copies cells and prices unchanged, and replaces nothing that was ingested', async () => {
    const t = NOW - 2 * DAY;
    await commitRows(store, [
      // At the very start of the quarter, which belongs to the previous one, and at its end.
      ...[-900, -899, -1, 0].map((s) =>
        snapshot(t + s, [orca([[s % 100, 5, 6]])], { price_usd: 3 + s / 1000 }),
      ),
      snapshot(t + 1, [orca(), binance()]),
      snapshot(t + 900, [binance()], { tier: '15m', price_usd: 9 }),
      snapshot(t - 60, [orca()], { address: OTHER_MINT }),
    ]);
    const before = await stored(MINT);
    const retention = { raw: DAY, '15m': 30 * DAY };
    const cutoffs = cutoffsAt(retention, NOW);
    const changed: number[] = [];
    store.events.on('change', ({ tokenIds }) => changed.push(...tokenIds));
    const removed = await store.retire(name(MINT), cutoffs, tiersToMake(retention));
    expect(removed).toEqual({ snapshots: 5, changedSnapshots: 0, cells: 6 });
    const after = await stored(MINT);
    expect(after).toEqual(inOrder(retained(before, retention, NOW)));
    expect(after.map(({ tier, t: at, price }) => [tier, at - t, price])).toEqual([
      ['15m', -900, 2.1],
      ['15m', 0, 3],
      ['15m', 900, 9],
      ['1h', 0, 3],
      ['1h', 3600, 2],
    ]);
    expect(changed).toEqual([tokenOf(store)]);
    expect(await store.retire(name(MINT), cutoffs, tiersToMake(retention))).toBeNull();
    expect(await store.tokensBefore(cutoffs)).toEqual([name(OTHER_MINT)]);
  });

  it('ends the same if interrupted, and after the store is reopened', async () => {
    const address = '9n4nbM75f5Ui33ZbPYXn59EwSgE8CGsHtAeTH5YFeJ9E';
    const first = NOW - 20 * DAY;
    const rows = Array.from({ length: 900 }, (_, i) =>
      snapshot(first + i * 1700, [orca([[i % 40, i + 1, 0]])], { address, price_usd: i + 1 }),
    );
    await commitRows(store, rows);
    const before = await stored(address);
    const retention = { raw: 7 * DAY, '15m': 9 * DAY, '1h': 12 * DAY };
    const cutoffs = cutoffsAt(retention, NOW + 5 * HOUR);
    // An earlier run that was interrupted.
    await store.retire(name(address), { ...cutoffs, raw: first + DAY }, tiersToMake(retention));
    await store.close();
    store = await openStore(data.path);
    let end = (): Promise<void> => Promise.resolve();
    await new Promise<void>((resolve, reject) => {
      const retaining = new RetentionWorker({
        store,
        retention,
        nowS: () => NOW + 5 * HOUR,
        restShare: 0,
        newestT: () => null,
        allowedToS: () => Promise.resolve(Infinity),
        onWaiting: reject,
        onResume: reject,
        onRemoved: () => resolve(),
        onError: reject,
      });
      end = () => retaining.close();
    });
    expect(await stored(address)).toEqual(inOrder(retained(before, retention, NOW + 5 * HOUR)));
    await end();
  });
});
