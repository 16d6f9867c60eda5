/** What random histories over the wire (many-followers.test.ts) hardly meet. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { frozenClock } from '../../server/clock.js';
import { Cohorts, type Follower, type Message } from '../../server/live/cohorts.js';
import { DepthFeed, type News } from '../../server/live/depth-feed.js';
import { viewOf } from '../../server/replay/parameters.js';
import { SegmentColumns } from '../../server/replay/segment-columns.js';
import type { Store } from '../../storage/store.js';
import { sharedPool } from '../support/pool.js';
import { commitRows, DataDirectory, openStore, snapshot, tokenOf } from '../support/stores.js';
import { eventually } from '../support/waiting.js';

const T0 = 1_794_000_000;
const QUERY = viewOf({ group: 'all', min_pct: -50, max_pct: 50 } as never);
const clock = frozenClock(T0 + 86_400);

describe('Followers at the same place', () => {
  const directory = new DataDirectory();
  let store: Store;
  let feed: DepthFeed;
  /** What finds nothing to tell is held back until it opens. */
  let gate: Promise<void> = Promise.resolve();
  let onRead = (): void => undefined;
  let cohorts: Cohorts;

  beforeAll(async () => {
    store = await openStore(directory.path);
    await commitRows(store, [snapshot(T0)]);
    const { depth } = store;
    const pool = await sharedPool(1);
    feed = new DepthFeed({ depth, pool, clock, columns: new SegmentColumns(depth, 0) });
    const step: DepthFeed['step'] = async (...asked) => {
      const next = await feed.step(...asked);
      if (next.type === 'none') {
        onRead();
        await gate;
      }
      return next;
    };
    const held = { step, news: feed.news.bind(feed), retryAfterMs: feed.retryAfterMs.bind(feed) };
    cohorts = new Cohorts(held, () => clock.nowS());
  });
  afterAll(async () => {
    await store.close();
    directory.remove();
  });

  const commit = async (t: number): Promise<void> => {
    await commitRows(store, [snapshot(t)]);
    feed.touch();
    cohorts.touch(tokenOf(store), feed.committedMs);
  };

  /** A follower of all that comes. */
  async function join(more: Partial<Follower> = {}) {
    const tokenId = tokenOf(store);
    const view = await store.depth.view(tokenId);
    const nextFromS = (view.newestT(clock.nowS()) ?? 0) + 1;
    const follower = {
      ...{ tokenId, keyId: 'key', messageName: 'name', hasRoom: true },
      view: { query: QUERY, name: 'all', format: 'json' as const },
      standing: { position: view.position, nextFromS, fromS: 0, pending: null },
      /** Where each message has left it. */
      heard: [] as number[],
      isAlone: false,
      encode: ({ after }: News) => ({ bytes: new Uint8Array(), cursor: '', standing: after }),
      take(_: string, { standing }: Message) {
        follower.standing = standing;
        follower.heard.push(standing.nextFromS);
      },
      goAlone: () => void (follower.isAlone = true),
      ...more,
    };
    cohorts.join(follower, null);
    onTestFinished(() => cohorts.leave(follower));
    return follower;
  }

  it('hear of a commit that comes after they have looked, before they wait', async () => {
    const { heard } = await join();
    let open = (): void => undefined;
    gate = new Promise((resolve) => (open = resolve));
    const isRead = new Promise<void>((resolve) => (onRead = resolve));
    await commit(T0 + 60);
    await isRead;
    await commit(T0 + 120);
    open();
    await eventually('both', () => heard.includes(T0 + 121));
    expect(heard).toEqual([T0 + 61, T0 + 121]);
  });

  it('leave one behind that does not read, where it stood', async () => {
    const others = [await join(), await join({ hasRoom: false }), await join()];
    const { standing } = others[1];
    await commit(T0 + 180);
    await eventually('the others', () => others[2].heard.length > 0);
    expect(others.map(({ heard, isAlone }) => [heard, isAlone])).toEqual([
      ...[
        [[T0 + 181], false],
        [[], true],
      ],
      [[T0 + 181], false],
    ]);
    expect(others[1].standing).toBe(standing);
    await commit(T0 + 240);
    await eventually('the others', () => others[2].heard.length > 1);
    expect(others[1].heard).toEqual([]);
  });

  it('are not told once they have left, even while others are', async () => {
    const gone: Follower[] = [];
    const first = await join({
      take(_, { standing }) {
        first.standing = standing;
        first.heard.push(standing.nextFromS);
        for (const one of gone.splice(0)) cohorts.leave(one);
      },
    });
    const second = await join();
    const third = await join();
    gone.push(second);
    await commit(T0 + 300);
    await eventually('the last one', () => third.heard.length > 0);
    expect([first.heard, second.heard]).toEqual([[T0 + 301], []]);
  });

  it('go on by themselves when a message cannot be made, and later ones are sent', async () => {
    const encode = (): never => {
      throw new Error('no message');
    };
    const failing = await join({ encode });
    const other = await join();
    await commit(T0 + 360);
    await eventually('both', () => failing.isAlone && other.isAlone);
    const next = await join();
    await commit(T0 + 420);
    await eventually('the next one', () => next.heard.length > 0);
    expect(next.heard).toEqual([T0 + 421]);
  });
});
