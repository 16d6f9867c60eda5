/** Cases that random histories over the wire (many-followers.test.ts) rarely reach. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { frozenClock } from '../../server/clock.js';
import { DepthFeed, type Update } from '../../server/live/depth-feed.js';
import { DepthSubscription } from '../../server/live/depth-subscription.js';
import { type Follower, type Message, Rooms } from '../../server/live/rooms.js';
import { viewOf } from '../../server/replay/parameters.js';
import { SegmentBlocks } from '../../server/replay/segment-blocks.js';
import type { Store } from '../../storage/store.js';
import { sharedPool } from '../support/pool.js';
import {
  type Cell,
  commitRows,
  DataDirectory,
  MINT,
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
  /** The revisions of the next step are forgotten. */
  let forgetsNext = false;
  /** Why the next messages cannot be made. */
  const failures: Error[] = [];
  /** Each view that was rendered, and the key for which. */
  const rendered: [view: string, keyId: string][] = [];
  let rooms: Rooms;

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
      if (forgetsNext && next.type === 'snapshots') {
        forgetsNext = false;
        return { type: 'forgotten', after: request[1] };
      }
      if (next.type === 'none') {
        onRead();
        await gate;
      }
      return next;
    };
    const held = {
      step,
      update: (...request: Parameters<DepthFeed['update']>) => {
        const [, { name }, keyId] = request;
        rendered.push([name, keyId]);
        const failure = failures.shift();
        return failure === undefined ? feed.update(...request) : Promise.reject(failure);
      },
      retryAfterMs: feed.retryAfterMs.bind(feed),
      nextCommit: feed.nextCommit.bind(feed),
      get commits() {
        return feed.commits;
      },
    };
    rooms = new Rooms(held, () => clock.nowS());
  });
  afterAll(() => store.close());

  const commit = async (t: number, markets = [orca()]): Promise<void> => {
    await commitRows(store, [snapshot(t, markets)]);
    feed.touch();
    rooms.touch(tokenOf(store), feed.committedMs);
  };

  /** Adds a follower of all new snapshots. @param onTake called for each of its messages */
  async function join({
    onTake = () => undefined,
    ...more
  }: Partial<Follower> & { onTake?: () => void } = {}) {
    const tokenId = tokenOf(store);
    const view = await store.depth.view(tokenId);
    const nextFromS = (view.newestT(clock.nowS()) ?? 0) + 1;
    const follower = {
      tokenId,
      keyId: 'key',
      messageName: 'name',
      isLive: false,
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
      /** The time of the commit of each message. */
      committedMs: [] as (number | null)[],
      isAlone: false,
      failure: null as unknown,
      ready() {
        if (follower.hasRoom) return;
        follower.isAlone = true;
        return new Promise<void>(() => undefined);
      },
      pays: () => true,
      charge: () => undefined,
      encode: ({ after }: Update) => ({ bytes: new Uint8Array(), cursor: '', progress: after }),
      take(_: string, { progress }: Message, committedMs: number | null) {
        follower.progress = progress;
        follower.committedMs.push(committedMs);
        follower.received.push(progress.nextFromS);
        onTake();
      },
      nextCommit: () => Promise.resolve(),
      reset: () => undefined,
      fail(error: unknown) {
        follower.failure = error;
        rooms.leave(follower);
      },
      ...more,
    };
    rooms.join(follower);
    onTestFinished(() => rooms.leave(follower));
    await eventually('it waits', () => follower.isLive);
    return follower;
  }

  const joinAll = (count: number, moreOf: (i: number) => Parameters<typeof join>[0]) =>
    Promise.all(Array.from({ length: count }, (_, i) => join(moreOf(i))));

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

  it('measure the lag from the first of two commits', async () => {
    const { committedMs } = await join();
    await commitRows(store, [snapshot(T0 + 150)]);
    feed.touch();
    rooms.touch(tokenOf(store), 1);
    rooms.touch(tokenOf(store), 2);
    await eventually('a message', () => committedMs.length > 0);
    expect(committedMs).toEqual([1]);
  });

  it('release a follower that does not read, and keep its progress', async () => {
    const others = [await join(), await join(), await join()];
    const { progress } = others[1];
    others[1].hasRoom = false;
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

  it('receive nothing from before their own beginning, also after they have waited with others', async () => {
    const early = await join();
    const fromS = T0 + 100;
    const late = await join({
      messageName: 'late',
      progress: { ...early.progress, fromS },
      encode: ({ after }) => {
        return { bytes: new Uint8Array(), cursor: '', progress: { ...after, fromS } };
      },
    });
    await commit(T0 + 250);
    await eventually('both', () => [early, late].every(({ received }) => received.length === 1));
    await eventually('both wait', () => early.progress.position === late.progress.position);
    await commit(T0 + 90);
    await eventually('the one that has it', () => early.received.length === 2);
    await commit(T0 + 260);
    await eventually('both', () =>
      [early, late].every(({ received }) => received.includes(T0 + 261)),
    );
    expect([early.received.length, late.received.length, late.progress.fromS]).toEqual([
      3,
      2,
      fromS,
    ]);
  });

  const many = Array.from({ length: 32 }, (_, i) => `name ${i}`);
  it.each([
    ['32 messages', 0, [...many, many[0], 'one more', many[0]], [...many, 'one more', many[0]]],
    ['a mebibyte', 600_000, ['a', 'a', 'b', 'a'], ['a', 'b', 'a']],
  ])(
    'share what is made for equal names, of which at most %s are kept',
    async (_, bytes, names, made) => {
      const encoded: string[] = [];
      const all: Awaited<ReturnType<typeof join>>[] = [];
      for (const name of names) {
        const encode: Follower['encode'] = ({ after }) => {
          encoded.push(name);
          return { bytes: new Uint8Array(bytes), cursor: '', progress: after };
        };
        all.push(await join({ messageName: name, encode }));
      }
      await commit(T0 + 270 + bytes / 100_000);
      await eventually('all', () => all.every(({ received }) => received.length === 1));
      expect(encoded).toEqual(made);
    },
  );

  it('receive nothing once they have left, even while a step is sent to others', async () => {
    const gone: Follower[] = [];
    const onTake = (): void => {
      for (const one of gone.splice(0)) rooms.leave(one);
    };
    const first = await join({ onTake });
    const second = await join();
    const third = await join();
    gone.push(second);
    await commit(T0 + 300);
    await eventually('the last one', () => third.received.length > 0);
    expect([first.received, second.received]).toEqual([[T0 + 301], []]);
  });

  it('end alone when their message cannot be made, and the others get theirs', async () => {
    const failure = new Error('no message');
    const encode = (): never => {
      throw failure;
    };
    const failing = await join({ encode, messageName: 'failing' });
    const other = await join();
    await commit(T0 + 360);
    await eventually('both', () => failing.failure !== null && other.received.length > 0);
    expect([failing.failure, failing.received, other.failure]).toEqual([failure, [], null]);
    await commit(T0 + 420);
    await eventually('the next one', () => other.received.length > 1);
    expect([failing.received, other.received]).toEqual([[], [T0 + 361, T0 + 421]]);
  });

  it('end alone when their key cannot pay, and wait alone while it may not', async () => {
    const failure = new Error('no quota');
    const pays = (): never => {
      throw failure;
    };
    const failing = await join({ pays });
    const waiting = await join({ pays: () => false });
    const other = await join();
    // A late snapshot costs something.
    await commit(T0 - 60);
    await eventually('the other', () => other.received.length > 0);
    expect([failing.failure, failing.received, waiting.received]).toEqual([failure, [], []]);
    expect(waiting.failure).toBeNull();
  });

  it('continue alone when a message cannot be made, and later messages are sent', async () => {
    const both = [await join(), await join()];
    const failure = new Error('no update');
    failures.push(failure);
    await commit(T0 + 422);
    await eventually('both', () => both.every(({ received }) => received.length > 0));
    // The second failure is that of a single one.
    failures.push(failure, failure);
    await commit(T0 + 424);
    await eventually('one', () => both.some(({ received }) => received.length > 1));
    await eventually('the other', () => both.some((one) => one.failure === failure));
    const left = both.filter((one) => one.failure === null);
    expect(left.map(({ received }) => received)).toEqual([[T0 + 423, T0 + 425]]);
    // One that is by itself tries once more, too.
    failures.push(failure);
    await commit(T0 + 426);
    await eventually('the next one', () => left[0].received.length > 2);
    expect(left[0].failure).toBeNull();
  });

  it('all end when no message can be made, and later ones go on', async () => {
    const ended = [await join(), await join()];
    const failure = new Error('no update');
    failures.push(failure, failure, failure);
    await commit(T0 + 430);
    await eventually('both', () => ended.every((one) => one.failure === failure));
    const next = await join();
    await commit(T0 + 440);
    await eventually('the next one', () => next.received.length > 0);
    expect(next.received).toEqual([T0 + 441]);
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
    const views = 150;
    let left = views;
    const onTake = (): void => {
      left--;
      receivedInPoll.set(polls, (receivedInPoll.get(polls) ?? 0) + 1);
    };
    await joinAll(views, (i) => ({ view: viewOfIndex(i), onTake }));
    setImmediate(poll);
    onTestFinished(() => void (isOver = true));
    await commit(T0 + 480, wide);
    await eventually('all', () => left === 0);
    expect(Math.max(...receivedInPoll.values())).toBeLessThan(views / 4);
  });

  it('are reset in turns, except for one that does not read', async () => {
    let polls = 0;
    let isOver = false;
    const poll = (): void => {
      polls++;
      if (!isOver) setImmediate(poll);
    };
    const resetInPoll = new Map<number, number>();
    const count = 100;
    const reset = (): void => {
      resetInPoll.set(polls, (resetInPoll.get(polls) ?? 0) + 1);
      const untilMs = performance.now() + 0.1;
      while (performance.now() < untilMs);
    };
    const all = await joinAll(count, () => ({ reset }));
    let isReset = false;
    const slow = await join({ reset: () => void (isReset = true) });
    slow.hasRoom = false;
    forgetsNext = true;
    setImmediate(poll);
    onTestFinished(() => void (isOver = true));
    await commit(T0 + 500);
    await eventually('all', () => all.every(({ received }) => received.length > 0));
    const counts = [...resetInPoll.values()];
    expect(counts.reduce((sum, some) => sum + some, 0)).toBe(count);
    expect(Math.max(...counts)).toBeLessThan(count / 4);
    expect([isReset, slow.isAlone, slow.received]).toEqual([false, true, []]);
  });

  it('of one key with many views do not delay those of another', async () => {
    const received: string[] = [];
    const views = 150;
    await joinAll(views + 1, (i) => {
      const keyId = i < views ? 'many' : 'few';
      return { keyId, view: viewOfIndex(i), onTake: () => void received.push(keyId) };
    });
    await commit(T0 + 540, wide);
    await eventually('all', () => received.length === views + 1);
    expect(received.indexOf('few')).toBeLessThan(views / 4);
  });

  it('of one key with many views, first in a shared one, do not delay those of another', async () => {
    const received: string[] = [];
    const [views, firstInShared] = [150, 17];
    const shared = viewOfIndex(views);
    const of = (keyId: string, view: Follower['view']) => {
      return join({ keyId, view, onTake: () => void received.push(keyId) });
    };
    for (let i = 0; i < views; i++) await of('many', viewOfIndex(i));
    for (let i = 0; i < firstInShared; i++) await of('many', shared);
    await of('few', shared);
    rendered.length = 0;
    await commit(T0 + 570, wide);
    await eventually('all', () => received.length === views + firstInShared + 1);
    expect(received.indexOf('few')).toBeLessThan(views / 4);
    expect(new Map(rendered).get(shared.name)).toBe('few');
  });

  it('of one view, however many, do not delay those of another', async () => {
    const received: string[] = [];
    const count = 400;
    await joinAll(count + 1, (i) => {
      const keyId = i < count ? 'many' : 'few';
      const onTake = (): void => {
        received.push(keyId);
        const untilMs = performance.now() + 1;
        while (performance.now() < untilMs);
      };
      return { keyId, view: viewOfIndex(keyId === 'many' ? 0 : 1), onTake };
    });
    await commit(T0 + 600);
    await eventually('all', () => received.length === count + 1);
    expect(received.indexOf('few')).toBeLessThan(count / 2);
  });

  it('of one view and one key, however many, do not delay those of another key', async () => {
    const received: string[] = [];
    const [count, steps] = [200, 3];
    const times = Array.from({ length: steps * 288 }, (_, i) => T0 - 20_000 + 10 * i);
    const commitAll = (markets: ReturnType<typeof orca>[]) =>
      commitRows(
        store,
        times.map((t) => snapshot(t, markets)),
      );
    await commitAll([orca()]);
    feed.touch();
    const of = (keyId: string) => ({ keyId, onTake: () => void received.push(keyId) });
    await joinAll(count, () => of('many'));
    await join(of('few'));
    await commitAll([orca([[0, 9, 9]])]);
    feed.touch();
    rooms.touch(tokenOf(store), feed.committedMs);
    await eventually('all', () => received.length >= steps * (count + 1));
    // Both get the last message when it is made, and that is after `count` ones each of the steps before.
    const last = received.lastIndexOf('few');
    expect(last).toBeLessThan((steps - 0.5) * count);
  });
});

it('A subscription finds a token that is added while it begins', async () => {
  const directory = new DataDirectory();
  const store = await openStore(directory.path);
  onTestFinished(() => store.close());
  const joined: Follower[] = [];
  const rooms = { join: (one: Follower) => joined.push(one), leave: () => undefined };
  const feed = { commits: 0, nextCommit: () => new Promise<void>(() => undefined) };
  const subscription = new DepthSubscription({
    id: 'id',
    connection: { send: () => undefined, hasRoom: true } as never,
    account: { keyId: 'key' } as never,
    token: { chain: 'mainchain', address: MINT },
    view: { query: QUERY, name: 'all', format: 'json' },
    beginning: { fromS: null, isClamped: false, cursor: null },
    feed: feed as never,
    rooms: rooms as never,
    depth: store.depth,
    nowS: () => clock.nowS(),
    onMessage: () => undefined,
    onError: () => undefined,
    onFailed: () => undefined,
  });
  await commitRows(store, [snapshot(T0)]);
  await subscription.begin();
  expect(joined.map(({ tokenId }) => tokenId)).toEqual([tokenOf(store)]);
});
