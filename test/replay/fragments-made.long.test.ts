/** Which fragments are made: those that pay off, and in idle time those of the newest segments. */
import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Market } from '../../compute/market.js';
import { FragmentFiller } from '../../server/replay/fragment-filler.js';
import type { FragmentsOrder } from '../../server/replay/fragment-orders.js';
import { FragmentsAdmission } from '../../server/replay/fragments-admission.js';
import { checkStore } from '../../storage/check/check.js';
import { FRAGMENT_FILES } from '../../storage/fragment-files.js';
import type { SegmentSource } from '../../storage/contract.js';
import type { Store } from '../../storage/store.js';
import { depthOf, FragmentsFixture, pageOf } from '../support/fragments.js';
import { MINT, NOW_S, steadyStore } from '../support/service.js';
import { eventually } from '../support/waiting.js';
import { commitDelete, commitRows, openStore, orca, snapshot } from '../support/stores.js';

const here = FragmentsFixture.forEach();

describe('admission', () => {
  it('lets fragments take free room, but evicts others only against what pages have saved', () => {
    const admission = new FragmentsAdmission();
    expect([admission.takes(true), admission.takes(false)]).toEqual([true, false]);
    admission.served(8);
    expect([1, 2, 3].map(() => admission.takes(false))).toEqual([true, true, false]);
  });

  it('costs at most 1/32 of the pool’s pages if no page is ever made from fragments', () => {
    const admission = new FragmentsAdmission();
    let made = 0;
    for (let page = 0; page < 1000; page++) {
      admission.missed(8);
      for (let i = 0; i < 8; i++) if (admission.takes(false)) made++;
    }
    // Making a segment's fragments costs as much as four of its pages.
    expect((4 * made) / (1000 * 8)).toBeLessThanOrEqual(1 / 32);
    expect(made).toBeGreaterThan(0);
  });

  it('does not keep making fragments that memory cannot hold', async () => {
    const { snapshots } = steadyStore(80, 20);
    const depth = depthOf(steadyStore(80, 20));
    // Room for about four of twenty segments.
    const fragments = here.open(depth, null, 40_000);
    let served = 0;
    const tasksOfRound = async () => {
      const before = here.pool.postedTasks;
      for (let s = 0; s < snapshots.length; s += 4) {
        const from = snapshots[s].t;
        if ((await pageOf(fragments, depth, { from, to: from + 240 })) !== null) served++;
        await fragments.idle();
      }
      return here.pool.postedTasks - before;
    };
    const tasks: number[] = [];
    for (let round = 0; round < 8; round++) tasks.push(await tasksOfRound());
    expect(fragments.store.memoryBytes).toBeGreaterThan(20_000);
    // Each page is of one segment: without the rule, every round after the first would make all twenty.
    expect(tasks[0]).toBe(0);
    const made = tasks.reduce((sum, own) => sum + own);
    const earned = served / 4 + (8 * 20) / 128;
    expect(made).toBeLessThanOrEqual(5 + earned);
    expect(made).toBeLessThan(30);
  });
});

describe('fragments made ahead', () => {
  /** A store whose segments are not tiny. */
  const rows = (from: number, count: number) =>
    Array.from({ length: count }, (_, i) => snapshot(NOW_S - 40_000 + 60 * (from + i)));

  async function serve(store: Store, maxBytes = 2 ** 30) {
    const stored = (ids: readonly number[]) => store.depth.storedSegments(ids);
    const files = await here.openFiles({ stored, maxBytes });
    const fragments = here.open(store.depth, files);
    const filler = new FragmentFiller({
      source: store.depth,
      orders: fragments.orders,
      files,
      logger: here.logger,
      restMs: 0,
    });
    store.events.on('segments', (removed) => {
      files.remove(removed);
      filler.scan();
    });
    filler.scan();
    const settled = async () => {
      await store.settled();
      await filler.idle();
      await files.settled();
    };
    await settled();
    return { files, fragments, filler, settled };
  }

  const idsOf = () => [
    ...new Set(here.names().map((name) => FRAGMENT_FILES.fileOf(name)?.segmentId)),
  ];

  it('serve the first page, and follow late data, merges and deletions', async () => {
    await here.withStore(async (store) => {
      await commitRows(store, rows(0, 320));
      const { fragments, filler, settled } = await serve(store);
      const before = idsOf();
      expect(before.length).toBe(2);
      expect(await pageOf(fragments, store.depth)).not.toBeNull();
      const changes: [string, () => Promise<unknown>][] = [
        ['late', () => commitRows(store, [snapshot(NOW_S - 39_990)])],
        ['corrected', () => commitRows(store, [snapshot(NOW_S - 40_000, [orca([[0, 99, 0]])])])],
        [
          'merged',
          () =>
            commitRows(store, [snapshot(NOW_S - 40_000, [orca([[1, 0, 7]])])], { mode: 'merge' }),
        ],
        ['deleted', () => commitDelete(store, { address: MINT, toS: NOW_S - 39_000 })],
      ];
      for (const [what, change] of changes) {
        const old = idsOf();
        await change();
        await settled();
        const ids = idsOf() as number[];
        expect([what, await store.depth.storedSegments(ids)]).toEqual([what, new Set(ids)]);
        expect([what, ids]).not.toEqual([what, old]);
        // A tiny segment left by a change is not made ahead.
        for (let i = 0; i < 2; i++) {
          await pageOf(fragments, store.depth);
          await fragments.idle();
        }
        expect([what, await pageOf(fragments, store.depth)]).not.toEqual([what, null]);
      }
      await commitDelete(store, { address: MINT });
      await settled();
      expect(here.names()).toEqual([]);
      await filler.close();
    });
  });

  it('of tiny segments wait until compaction would have joined those', async () => {
    await here.withStore(async (store) => {
      await commitRows(store, rows(0, 1));
      const { files, filler, settled } = await serve(store);
      // The segment was there at the start.
      expect(files.count).toBe(2);
      await commitRows(store, rows(10, 1));
      await settled();
      expect(files.count).toBe(2);
      await filler.close();
      const later = new FragmentFiller({
        source: store.depth,
        files,
        logger: here.logger,
        joinedWithinMs: 1,
        orders: here.open(store.depth, files).orders,
      });
      later.scan();
      await later.idle();
      expect(files.count).toBe(4);
      await commitRows(store, rows(20, 1));
      later.scan();
      await eventually('fragments of a tiny segment', () => files.count === 6);
      await later.close();
    });
  });

  it('are looked for only once in a while, however frequent the commits', async () => {
    await here.withStore(async (store) => {
      await commitRows(store, rows(0, 288));
      const files = await here.openFiles({
        stored: (ids) => store.depth.storedSegments(ids),
        maxBytes: 2 ** 30,
      });
      let listed = 0;
      const source: SegmentSource = {
        get lastSegmentId() {
          return store.depth.lastSegmentId;
        },
        segmentsBetween: (range, limit) => {
          listed++;
          return store.depth.segmentsBetween(range, limit);
        },
        storedSegments: (ids) => store.depth.storedSegments(ids),
      };
      const parts = {
        source,
        files,
        logger: here.logger,
        orders: here.open(store.depth, files).orders,
      };
      const resting = new FragmentFiller({ ...parts, restMs: 3_600_000 });
      resting.scan();
      await resting.idle();
      const atFirst = listed;
      for (const from of [300, 600, 900]) {
        await commitRows(store, rows(from, 288));
        resting.scan();
      }
      // Closing ends the pause.
      await resting.close();
      expect(listed).toBe(atFirst);
      const brisk = new FragmentFiller({ ...parts, restMs: 0 });
      brisk.scan();
      await brisk.idle();
      await brisk.close();
      expect(listed).toBeGreaterThan(atFirst);
    });
  });

  it('are not made of a token whose pages cannot use them: its names are too long', async () => {
    const name = (m: number) => `${m}`.padEnd(128, '.');
    const marketsOf = (count: number): Market[] =>
      Array.from({ length: count }, (_, m) => ({
        source: name(m),
        exchangeType: 'DEX',
        type: 'onchain_pool',
        address: name(m),
        pair: null,
      }));
    const segments = [
      { segmentId: 2, markets: marketsOf(4097) },
      { segmentId: 1, markets: marketsOf(4096) },
    ];
    const made: FragmentsOrder[] = [];
    const filler = new FragmentFiller({
      source: {
        lastSegmentId: 2,
        segmentsBetween: ({ below }) =>
          Promise.resolve(segments.filter(({ segmentId }) => segmentId < below)),
        storedSegments: (ids) => Promise.resolve(new Set(ids)),
      },
      files: await here.openFiles(),
      logger: here.logger,
      orders: {
        isDone: () => false,
        makeAhead: (orders) => Promise.resolve(void made.push(...orders)),
      },
    });
    filler.scan();
    await filler.idle();
    await filler.close();
    const names = new Set(made.map(({ key }) => FRAGMENT_FILES.textOf(key)));
    expect([...names].sort()).toEqual(['all-1', 'all-2', 'market-1']);
  });

  it('are those of the newest segments, within the bound', async () => {
    await here.withStore(async (store) => {
      await commitRows(store, rows(0, 288));
      const whole = await serve(store);
      const { bytes } = whole.files;
      await whole.filler.close();
      await here.closeAll();
      rmSync(here.folder, { recursive: true });
      const { files, filler, settled } = await serve(store, 1.5 * bytes);
      for (const from of [300, 600]) {
        await commitRows(store, rows(from, 288));
        await settled();
      }
      await filler.close();
      expect(files.bytes).toBeLessThanOrEqual(1.5 * bytes);
      const { lastSegmentId } = store.depth;
      expect(Math.max(...(idsOf() as number[]))).toBe(lastSegmentId);
    });
  });

  it('wait until the pool is idle', async () => {
    await here.withStore(async (store) => {
      await commitRows(store, rows(0, 288));
      const files = await here.openFiles();
      const fragments = here.open(store.depth, files);
      const filler = new FragmentFiller({
        source: store.depth,
        orders: fragments.orders,
        files,
        logger: here.logger,
      });
      let end = (): void => undefined;
      const page = here.pool.schedule(
        'page',
        'someone',
        () => new Promise<void>((done) => (end = done)),
      );
      filler.scan();
      // Without the wait, the work would have begun by now.
      await here.pool.run('ping', null);
      expect(files.count).toBe(0);
      end();
      await page;
      await filler.idle();
      expect(files.count).toBe(2);
      await filler.close();
    });
  });

  it('are checked: damaged and stray files are named', async () => {
    const store = await openStore(here.data.path);
    await commitRows(store, rows(0, 320));
    const { filler } = await serve(store);
    await filler.close();
    await here.closeAll();
    await store.close();
    const check = () => checkStore(here.data.path);
    expect(await check()).toMatchObject({ damages: [], strays: [] });
    const names = here.names();
    expect(names.length).toBe(4);
    writeFileSync(path.join(here.folder, `${names[0]}.3.new`), 'x');
    writeFileSync(path.join(here.folder, '77777-all-1.gzip'), 'x');
    writeFileSync(path.join(here.folder, names[1]), 'x');
    const found = await check();
    expect(found.strays).toEqual([`fragments/${names[0]}.3.new`, 'fragments/77777-all-1.gzip']);
    expect(found.damages.map(({ dataset, what }) => `${dataset}: ${what}`)).toEqual([
      `fragments: fragments/${names[1]} has 1 bytes, not ${FRAGMENT_FILES.fileOf(names[1])?.bytes}; delete it: the server makes it again`,
    ]);
  });
});
