/** An export that follows random changes has what a fresh one has: scores, which rest on other tokens, and holders. */
import path from 'node:path';
import fc from 'fast-check';
import { it } from 'vitest';
import { VIEW_OF_REPLAY } from '../../server/cli/export-run.js';
import { BUNDLE_VERSION } from '../../storage/bundle.js';
import { RefusalError } from '../../storage/errors.js';
import { exportStore, Seen } from '../../storage/export/export.js';
import { ExportFolder } from '../../storage/export/folder.js';
import type { Store } from '../../storage/store.js';
import { temporaryDirectory } from '../support/folders.js';
import { commitHolders, held } from '../support/holders.js';
import {
  commitDelete,
  commitFrames,
  commitRows,
  commitTokens,
  openStore,
  orca,
  snapshot,
} from '../support/stores.js';
import { expectSameExport } from './exports.js';

const DATASETS = ['snapshots', 'scores', 'holders'] as const;
const ADDRESSES = ['A'.repeat(43), `0x${'a'.repeat(40)}`, 'B'.repeat(43)] as const;
const [MINT, LEG] = ADDRESSES;
const HOLDING = 'H'.repeat(43);
const HALF_HOUR_S = 1800;
const DAY_S = 86_400;
const FIRST_S = 20_700 * DAY_S;
const DAYS = 8;
/** FATHOM_RUNS=200 makes a longer search, with FATHOM_SEED=N. */
const RUNS = Number(process.env.FATHOM_RUNS ?? 12);
const SEED = process.env.FATHOM_SEED;

/** What a run of changes acts on. */
interface World {
  store: Store;
  /** Later snapshots are not shown. */
  nowS: number;
  seen: Seen;
}

const time = fc.oneof(
  fc.nat(48 * DAYS - 1).map((half) => FIRST_S + half * HALF_HOUR_S),
  // Around midnight.
  fc
    .tuple(fc.nat(DAYS - 1), fc.integer({ min: -2, max: 2 }))
    .map(([day, quarter]) => FIRST_S + (day + 1) * DAY_S + quarter * 900),
);
const span = fc
  .tuple(time, fc.constantFrom(HALF_HOUR_S, DAY_S, 3 * DAY_S, 2 * DAYS * DAY_S))
  .map(([fromS, length]) => ({ fromS, toS: fromS + length }));
const address = fc.constantFrom(...ADDRESSES);
const tier = fc.constantFrom('raw', 'raw', '15m', '1h');
const coverage = fc.constantFrom('full', 'full', 'full', 'depth_only');

const put = fc.record({
  address,
  tier,
  times: fc.array(time, { minLength: 1, maxLength: 4 }),
  usd: fc.nat(9),
});
const record = fc.record({
  mint: fc.boolean(),
  asset: fc.constantFrom('one', 'one', 'one', null),
  coverage,
  price_usd: fc.constantFrom(null, null, 7),
});
const holders = fc.record({
  times: fc.array(time, { minLength: 1, maxLength: 3 }),
  from: fc.nat(3),
  seed: fc.nat(2),
});

type Change = readonly [what: string, make: (world: World) => Promise<unknown>];
const named = (what: string, given: unknown, make: Change[1]): Change => [
  `${what} ${JSON.stringify(given)}`,
  make,
];

const rowsOfPut = ({
  address: of,
  tier: kind,
  times,
  usd,
}: typeof put extends fc.Arbitrary<infer T> ? T : never) =>
  [...new Set(times)]
    .sort((a, b) => a - b)
    .map((t) =>
      snapshot(
        t,
        [
          orca([
            [-1, 4000 + 900 * usd, 0],
            [2, 0, 7000],
          ]),
        ],
        { address: of, tier: kind as 'raw' },
      ),
    );

const tokenOf = ({ mint, ...more }: typeof record extends fc.Arbitrary<infer T> ? T : never) =>
  ({ chain: mint ? 'mainchain' : 'evmchain', address: mint ? MINT : LEG, ...more }) as never;

const holdersOf = ({
  times,
  from,
  seed,
}: typeof holders extends fc.Arbitrary<infer T> ? T : never) =>
  [HOLDING, new Map(times.map((t) => [t, held(4, seed, 10 * from)]))] as const;

const deleteHolders = (store: Store, { fromS, toS }: { fromS: number; toS: number }) =>
  commitFrames(store, [
    { kind: 'header', version: BUNDLE_VERSION, file: 'delete', mode: 'replace' },
    { kind: 'delete-holders', chain: 'mainchain', address: HOLDING, fromS, toS },
  ]);

const change: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 5,
    arbitrary: put.map((given) =>
      named('put', given, ({ store }) => commitRows(store, rowsOfPut(given))),
    ),
  },
  {
    weight: 3,
    arbitrary: fc
      .record({ address, span })
      .map((given) =>
        named('delete', given, ({ store }) =>
          commitDelete(store, { address: given.address, ...given.span }),
        ),
      ),
  },
  {
    weight: 2,
    arbitrary: record.map((given) =>
      named('record', given, ({ store }) => commitTokens(store, [tokenOf(given)])),
    ),
  },
  {
    weight: 3,
    arbitrary: holders.map((given) =>
      named('holders', given, ({ store }) => commitHolders(store, [holdersOf(given)])),
    ),
  },
  {
    weight: 3,
    arbitrary: span.map((given) =>
      named('delete holders', given, ({ store }) => deleteHolders(store, given)),
    ),
  },
  {
    weight: 2,
    arbitrary: time.map((nowS) =>
      named('now', nowS, (world) => Promise.resolve((world.nowS = Math.max(world.nowS, nowS)))),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constant(
      named('another process', null, (world) => Promise.resolve((world.seen = new Seen()))),
    ),
  },
);

async function exportTo(out: string, { store, nowS }: World, seen: Seen): Promise<void> {
  const folder = await ExportFolder.open(out, VIEW_OF_REPLAY);
  const whole = { fromS: 0, toS: 2 ** 32, tier: null, tokens: null };
  const request = { ...whole, nowS, folder, view: VIEW_OF_REPLAY, datasets: DATASETS };
  await exportStore(request, store, seen).finally(() => folder.close());
}

it('after any changes, has what a fresh export has', { timeout: 3_600_000 }, async () => {
  const batches = fc.array(fc.array(change, { minLength: 1, maxLength: 3 }), {
    minLength: 4,
    maxLength: 12,
  });
  const follows = fc.asyncProperty(batches, async (given) => {
    const store = await openStore(path.join(temporaryDirectory(), 'data'));
    try {
      const world: World = { store, nowS: FIRST_S + 5 * DAY_S, seen: new Seen() };
      await commitTokens(store, [
        { address: MINT, asset: 'one' },
        { chain: 'evmchain', address: LEG, asset: 'one' },
      ]);
      const out = path.join(temporaryDirectory(), 'export');
      const done: string[] = [];
      for (const batch of given) {
        for (const [what, make] of batch) {
          done.push(what);
          // A deletion of nothing is refused.
          await make(world).catch((error: unknown) => {
            if (!(error instanceof RefusalError)) throw error;
          });
        }
        done.push('export');
        await exportTo(out, world, world.seen);
        const fresh = path.join(temporaryDirectory(), 'fresh');
        await exportTo(fresh, world, new Seen());
        await expectSameExport(done, out, fresh, DATASETS);
      }
    } finally {
      await store.close();
    }
  });
  await fc.assert(follows, { numRuns: RUNS, ...(SEED !== undefined && { seed: Number(SEED) }) });
});
