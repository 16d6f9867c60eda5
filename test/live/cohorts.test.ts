/** Cases that random histories over the wire (many-followers.test.ts) rarely reach. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { frozenClock } from '../../server/clock.js';
import { Cohorts, type Follower, type Message } from '../../server/live/cohorts.js';
import { DepthFeed, type Update } from '../../server/live/depth-feed.js';
import { viewOf } from '../../server/replay/parameters.js';
import { SegmentBlocks } from '../../server/replay/segment-blocks.js';
import type { Store } from '../../storage/store.js';
import { sharedPool } from '../support/pool.js';
import {
  type Cell,
  commitRows,
  DataDirectory,
  openStore,
  orca,
  snapshot,
  tokenOf,
} from '../support/stores.js';
import { eventually } from '../support/waiting.js';

const T0 = 1_794_000_000;
const QUERY = viewOf({ group: 'all', min_pct: -50, max_pct: 50 } as never);
const clock = frozenClock(T0 + 86_400);

describe('Followers of equal progress', () => {
  const directory = new DataDirectory();
  let store: Store;
  let feed: DepthFeed;
  /** A step that finds nothing to send waits until this opens. */
  let gate: Promise<void> = Promise.resolve();
  let onRead = (): void => undefined;
  let cohorts: Cohorts;

  beforeAll(async () => {
    store = await openStore(directory.path);
    await commitRows(store, [snapshot(T0)]);
    const { depth } = store;
    const pool = await sharedPool(1);
    feed = new DepthFeed({
      depth,
      pool,
      clock,
      blocks: new SegmentBlocks(depth, 0),
      maxKeptBytes: 2 ** 20,
      maxNameBytes: Infinity,
    });
    const step: DepthFeed['step'] = async (...request) => {
      const next = await feed.step(...request);
      if (next.type === 'none') {
        onRead();
        await gate;
      }
      return next;
    };
    const held = {
      step,
      update: feed.update.bind(feed),
      retryAfterMs: feed.retryAfterMs.bind(feed),
    };
    cohorts = new Cohorts(held, () => clock.nowS());
  });
  afterAll(() => store.close());

  const commit = async (t: number, markets = [orca()]): Promise<void> => {
    await commitRows(store, [snapshot(t, markets)]);
    feed.touch();
    cohorts.touch(tokenOf(store), feed.committedMs);
  };

  /** Adds a follower of all new snapshots. */
  async function join(more: Partial<Follower> = {}) {
    const tokenId = tokenOf(store);
    const view = await store.depth.view(tokenId);
    const nextFromS = (view.newestT(clock.nowS()) ?? 0) + 1;
    const follower = {
      tokenId,
      keyId: 'key',
      messageName: 'name',
      hasRoom: true,
      view: { query: QUERY, name: 'all', format: 'json' as const },
      progress: {
        history: view.history,
        position: view.position,
        nextFromS,
        fromS: 0,
        pending: null,
      },
      /** `nextFromS` after each message. */
      received: [] as number[],
      isAlone: false,
      pays: () => true,
      encode: ({ after }: Update) => ({
        bytes: new Uint8Array(),
        cursor: '',
        progress: after,
        charged: null,
      }),
      take(_: string, { progress }: Message) {
        follower.progress = progress;
        follower.received.push(progress.nextFromS);
      },
      continueAlone: () => void (follower.isAlone = true),
      ...more,
    };
    cohorts.join(follower, null);
    onTestFinished(() => cohorts.leave(follower));
    return follower;
  }

  it('receive a commit that comes after their last step, before they wait', async () => {
    const { received } = await join();
    let open = (): void => undefined;
    gate = new Promise((resolve) => (open = resolve));
    const isRead = new Promise<void>((resolve) => (onRead = resolve));
    await commit(T0 + 60);
    await isRead;
    await commit(T0 + 120);
    open();
    await eventually('both', () => received.includes(T0 + 121));
    expect(received).toEqual([T0 + 61, T0 + 121]);
  });

  it('release a follower that does not read, and keep its progress', async () => {
    const others = [await join(), await join({ hasRoom: false }), await join()];
    const { progress } = others[1];
    await commit(T0 + 180);
    await eventually('the others', () => others[2].received.length > 0);
    expect(others.map(({ received, isAlone }) => [received, isAlone])).toEqual([
      [[T0 + 181], false],
      [[], true],
      [[T0 + 181], false],
    ]);
    expect(others[1].progress).toBe(progress);
    await commit(T0 + 240);
    await eventually('the others', () => others[2].received.length > 1);
    expect(others[1].received).toEqual([]);
  });

  it('receive nothing once they have left, even while a step is sent to others', async () => {
    const gone: Follower[] = [];
    const first = await join({
      take(_, { progress }) {
        first.progress = progress;
        first.received.push(progress.nextFromS);
        for (const one of gone.splice(0)) cohorts.leave(one);
      },
    });
    const second = await join();
    const third = await join();
    gone.push(second);
    await commit(T0 + 300);
    await eventually('the last one', () => third.received.length > 0);
    expect([first.received, second.received]).toEqual([[T0 + 301], []]);
  });

  it('continue alone when a message cannot be made, and later messages are sent', async () => {
    const encode = (): never => {
      throw new Error('no message');
    };
    const failing = await join({ encode });
    const other = await join();
    await commit(T0 + 360);
    await eventually('both', () => failing.isAlone && other.isAlone);
    const next = await join();
    await commit(T0 + 420);
    await eventually('the next one', () => next.received.length > 0);
    expect(next.received).toEqual([T0 + 421]);
  });

  /** A band that no other index has. */
  const viewOfIndex = (i: number): Follower['view'] => {
    const band = { first: -100 + (i % 100), last: 10 + Math.floor(i / 100) };
    return { query: { ...QUERY, group: 'market', band }, name: `view ${i}`, format: 'json' };
  };
  const wide = Array.from({ length: 9 }, (_, m) => ({
    ...orca(Array.from({ length: 100 }, (_, bin) => [bin - 80, 1e6 + bin, 1e6 + m] as Cell)),
    address: `pool${m}`,
  }));

  it('of many views are served in turns, between which the server answers requests', async () => {
    let polls = 0;
    let isOver = false;
    const poll = (): void => {
      polls++;
      if (!isOver) setImmediate(poll);
    };
    const receivedInPoll = new Map<number, number>();
    const views = 400;
    let left = views;
    for (let i = 0; i < views; i++) {
      const follower = await join({
        view: viewOfIndex(i),
        take(_, { progress }) {
          follower.progress = progress;
          left--;
          receivedInPoll.set(polls, (receivedInPoll.get(polls) ?? 0) + 1);
        },
      });
    }
    setImmediate(poll);
    onTestFinished(() => void (isOver = true));
    await commit(T0 + 480, wide);
    await eventually('all', () => left === 0);
    expect(Math.max(...receivedInPoll.values())).toBeLessThan(views / 4);
  });

  it('of one key with many views do not delay those of another', async () => {
    const received: string[] = [];
    const views = 400;
    for (let i = 0; i <= views; i++) {
      const keyId = i < views ? 'many' : 'few';
      const follower = await join({
        keyId,
        view: viewOfIndex(i),
        take(_, { progress }) {
          follower.progress = progress;
          received.push(keyId);
        },
      });
    }
    await commit(T0 + 540, wide);
    await eventually('all', () => received.length === views + 1);
    expect(received.indexOf('few')).toBeLessThan(views / 4);
  });

  it('of one view, however many, do not delay those of another', async () => {
    const received: string[] = [];
    const count = 400;
    for (let i = 0; i <= count; i++) {
      const keyId = i < count ? 'many' : 'few';
      const follower = await join({
        keyId,
        view: viewOfIndex(keyId === 'many' ? 0 : 1),
        take(_, { progress }) {
          follower.progress = progress;
          received.push(keyId);
          const untilMs = performance.now() + 1;
          while (performance.now() < untilMs);
        },
      });
    }
    await commit(T0 + 600);
    await eventually('all', () => received.length === count + 1);
    expect(received.indexOf('few')).toBeLessThan(count / 2);
  });
});
