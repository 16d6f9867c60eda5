/** What a revision of very many snapshots costs: a step as much as its message, and all followers share what they can. */
import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { frozenClock } from '../../server/clock.js';
import type { Progress } from '../../server/live/cursor.js';
import { DepthFeed } from '../../server/live/depth-feed.js';
import { nextStep } from '../../server/live/depth-steps.js';
import { viewOf } from '../../server/replay/parameters.js';
import { SegmentBlocks } from '../../server/replay/segment-blocks.js';
import type { DepthView } from '../../storage/contract.js';
import { bytesOf } from '../../storage/typed-arrays.js';
import { sharedPool } from '../support/pool.js';
import { commitRows, FreshStore, orca, snapshot, tokenOf } from '../support/stores.js';

const T0 = 1_794_000_000;
const COUNT = 2000;
const MOST_PER_STEP = 288;
const times = Array.from({ length: COUNT }, (_, i) => T0 + i);
const NOW_S = T0 + COUNT;
const held = new FreshStore();

const at = (position: number, fromS: number): Progress => ({
  history: held.store.depth.commitHistory,
  position,
  nextFromS: NOW_S,
  fromS,
  pending: null,
});

/** Changes all snapshots of a token. @returns the position before that */
async function reviseMany(): Promise<number> {
  await commitRows(
    held.store,
    times.map((t) => snapshot(t)),
  );
  const { position } = held.store.depth;
  await commitRows(
    held.store,
    times.map((t) => snapshot(t, [orca([[0, 9, 9]])])),
  );
  return position;
}

it('each step of a revision plans no more snapshots than its message may have', async () => {
  const position = await reviseMany();
  const view = await held.store.depth.view(tokenOf(held.store));
  let planned = 0;
  const planAt: DepthView['planAt'] = (asked) => {
    const list = [...asked];
    planned += list.length;
    return view.planAt(list);
  };
  let progress = at(position, T0);
  let heard = 0;
  for (let steps = 0; ; steps++) {
    planned = 0;
    const step = await nextStep(progress, { ...view, planAt }, NOW_S);
    if (step.type === 'none') break;
    if (step.type !== 'revised') throw new Error(step.type);
    expect([planned <= MOST_PER_STEP, steps < 20]).toEqual([true, true]);
    heard += step.plan.snapshots.length;
    progress = step.after(step.plan.snapshots.length);
  }
  expect(heard).toBe(COUNT);
});

it('what was revised is read once for all followers, and their messages are made once', async () => {
  const position = await reviseMany();
  const { depth } = held.store;
  const { database } = held.store['parts'];
  const read = vi.spyOn(database, 'streamChunks');
  const pool = await sharedPool(1);
  const schedule = vi.spyOn(pool, 'schedule');
  const feed = new DepthFeed({
    depth,
    pool,
    clock: frozenClock(NOW_S),
    blocks: new SegmentBlocks(depth, 0),
    maxKeptBytes: 2 ** 20,
    maxNameBytes: Infinity,
  });
  const query = viewOf({ group: 'all', min_pct: -50, max_pct: 50 } as never);
  const view = { query, name: 'all', format: 'json' as const };
  // Each has its own beginning, and therefore a first message of its own.
  const followers = [0, 1, 7, 300, 301].map((i) => ({ progress: at(position, T0 + i), heard: 0 }));
  for (let isOver = false; !isOver;) {
    isOver = true;
    for (const follower of followers) {
      const step = await feed.step(tokenOf(held.store), follower.progress);
      if (step.type !== 'revised') continue;
      isOver = false;
      const { made, after } = await feed.update(step, view, 'key', true);
      follower.heard += made?.snapshotCount ?? 0;
      follower.progress = after;
    }
  }
  expect(followers.map(({ heard }) => heard)).toEqual([2000, 1999, 1993, 1700, 1699]);
  // A span of twelve days ends somewhere, possibly within these times.
  expect(read.mock.calls.length).toBeLessThanOrEqual(2);
  const messages = Math.ceil(COUNT / MOST_PER_STEP) + 1;
  expect(schedule.mock.calls.length).toBeLessThanOrEqual(messages + followers.length);
  schedule.mockRestore();
});

const SPAN_S = 2 ** 20;
const START = Math.floor(T0 / SPAN_S) * SPAN_S;
const revisions = fc.array(
  fc.record({
    times: fc.uniqueArray(
      fc.tuple(fc.integer({ min: 0, max: 3 }), fc.constantFrom(0, 1, 31, 32, SPAN_S - 1)),
      { maxLength: 8, selector: String },
    ),
    lastT: fc.option(fc.integer({ min: -1, max: 3 * SPAN_S })),
  }),
  { minLength: 1, maxLength: 6 },
);

it('revised times are those of a plain search, whatever commits have revised', async () => {
  await commitRows(held.store, [snapshot(T0)]);
  const tokenId = tokenOf(held.store);
  await fc.assert(
    fc.asyncProperty(revisions, fc.nat(6), fc.nat(6), fc.nat(4 * 35), async (made, a, b, f) => {
      const { database } = held.store['parts'];
      await database.run('DELETE FROM depth_revisions');
      const rows = made.map(({ times: places, lastT }, i) => ({
        position: i + 1,
        times: places.map(([span, at]) => START + span * SPAN_S + at).sort((x, y) => x - y),
        lastT: lastT === null ? null : lastT < 0 ? -1 : START + lastT,
      }));
      for (const { position, times: list, lastT } of rows) {
        await database.run('INSERT INTO depth_revisions VALUES (?, ?, 0, ?, ?)', [
          position,
          tokenId,
          bytesOf(Uint32Array.from(list)),
          lastT,
        ]);
      }
      await held.reopen();
      const { depth } = held.store;
      const view = await depth.view(tokenId);
      const after = Math.min(a, b, made.length - 1);
      const upTo = Math.max(a, b, after + 1);
      const fromS = START + (f % 4) * SPAN_S + (f >> 2) - 2;
      const toS = START + 3 * SPAN_S + 20;
      const own = rows.filter(({ position }) => position > after && position <= upTo);
      const later = new Set(rows.slice(upTo).flatMap((row) => row.times));
      const lasts = own.flatMap(({ lastT }) => lastT ?? []);
      const lastT = lasts.length === 0 ? null : Math.min(...lasts);
      const wanted = new Set(
        own
          .flatMap((row) => row.times)
          .filter((t) => t >= fromS && t < toS)
          .filter((t) => !later.has(t) || (lastT !== null && t > lastT)),
      );
      const found: number[] = [];
      for (let s = fromS; s < Infinity;) {
        const part = await view.revised({ after, upTo, fromS: s, toS });
        expect(part?.lastT).toBe(lastT);
        found.push(...(part?.times.subarray(part.first, part.end) ?? []));
        s = part?.nextS ?? Infinity;
      }
      expect(found).toEqual([...wanted].sort((x, y) => x - y));
      return undefined;
    }),
    { numRuns: 25 },
  );
});
