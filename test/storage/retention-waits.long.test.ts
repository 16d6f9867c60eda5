/** When retention waits and asks: before it deletes because of a wrong clock or a new setting. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DiskFullError, StoreUnavailableError } from '../../storage/errors.js';
import {
  MAX_CLOCK_LEAD_S,
  RetentionWorker,
  type RetentionWait,
  USUAL_OVERDUE_S,
} from '../../storage/retention.js';
import type { Store } from '../../storage/store.js';
import {
  commitRows,
  freshDirectory,
  MINT,
  openStore,
  orca,
  OTHER_MINT,
  snapshot,
  storedSnapshots,
  tokenOf,
} from '../support/stores.js';
import { eventually } from '../support/waiting.js';

const DAY = 86_400;
const KEPT = 30 * DAY;
/** Some midnight. */
const NOW = 1_795_132_800;
const YEAR_2036 = 2_085_000_000;
const MINTS = [
  MINT,
  OTHER_MINT,
  '9n4nbM75f5Ui33ZbPYXn59EwSgE8CGsHtAeTH5YFeJ9E',
  'JUPyiwrYJFskUPiHa7hkeR8VUtAeFoSYbKedZNsDvCN',
  'DezXAZ8z7PnrnRzjz3wXBoRgixCa6xjnB7YaB1pPB263',
];

const data = freshDirectory();
let store: Store;
let nowS = NOW;
let newestT: number | null = NOW;
let doubt: string | null = null;
let events: string[] = [];
let waits: RetentionWait[] = [];
let failures: unknown[] = [];
let removed = 0;
let retaining: RetentionWorker | null = null;

beforeEach(async () => {
  store = await openStore(data.path);
  [nowS, newestT, doubt] = [NOW, NOW, null];
  [events, waits, failures, removed] = [[], [], [], 0];
});
afterEach(async () => {
  await retaining?.close();
  await store.close();
});

/** A token's snapshots, at these numbers of days before NOW. */
async function put(address: string, ...daysBefore: number[]): Promise<void> {
  const rows = daysBefore.map((days) => snapshot(NOW - days * DAY, [orca()], { address }));
  await commitRows(store, rows);
}

/** Days before NOW of a token's raw snapshots. */
async function left(address = MINT): Promise<number[]> {
  const stored = await storedSnapshots(store, tokenOf(store, address));
  return stored.flatMap(({ tier, t }) => (tier === 'raw' ? [(NOW - t) / DAY] : []));
}

/** How many looks it has taken. */
let looks = 0;

function begin(retire: Store['retire'] = (...step) => store.retire(...step)): void {
  looks = 0;
  retaining = new RetentionWorker({
    retention: { raw: KEPT },
    nowS: () => (looks++, nowS),
    newestT: () => newestT,
    store: {
      tokensBefore: (times) => store.tokensBefore(times),
      snapshotTimes: (key) => store.snapshotTimes(key),
      retire,
    },
    allowedToS: () => store.retentionAllowance(),
    clockDoubt: () => Promise.resolve(doubt),
    restShare: 0,
    everyMs: 1,
    onWaiting: (wait) => {
      events.push('waits');
      waits.push(wait);
    },
    onResume: () => events.push('goes on'),
    onRemoved: ({ snapshots }) => (removed += snapshots),
    onError: (error) => failures.push(error),
  });
}

/** Waits until it has finished this many looks from now. */
async function looked(times = 3): Promise<void> {
  const until = looks + times + 1;
  await eventually('it has looked', () => looks >= until, 1);
}

describe('Retention', () => {
  it('deletes nothing if the clock is far ahead of the newest data, says so once, and continues when it is right', async () => {
    await put(MINT, 31.5, 30.5, 29.5, 0);
    nowS = YEAR_2036;
    begin();
    await looked();
    expect(await left()).toEqual([31.5, 30.5, 29.5, 0]);
    expect(events).toEqual(['waits']);
    expect(retaining?.waits).toBe(true);
    expect(waits[0]).toEqual({
      why: 'the clock says 2036-01-26T22:40:00Z, and the newest snapshot is of 2026-11-20T00:00:00Z: more than 2 days apart',
      allowToS: YEAR_2036,
    });
    nowS = NOW;
    await looked();
    expect(await left()).toEqual([29.5, 0]);
    expect(events).toEqual(['waits', 'goes on']);
    expect([removed, retaining?.waits]).toEqual([2, false]);
  });

  it('trusts a clock within its bound, but none without data to compare it with', async () => {
    await put(MINT, 29.5, 28.5);
    nowS = NOW + MAX_CLOCK_LEAD_S;
    begin();
    await looked();
    expect([events, await left()]).toEqual([[], []]);
    await retaining?.close();
    await put(MINT, 31);
    newestT = null;
    begin();
    await looked();
    expect(waits[0].why).toContain('the newest snapshot there is none');
    expect(await left()).toEqual([31]);
  });

  it('waits if it would delete more than usual, as if collectors have the same wrong clock', async () => {
    await put(MINT, 40, 1);
    await put(OTHER_MINT, 40, 1);
    nowS = newestT = YEAR_2036;
    begin();
    await looked();
    expect(events).toEqual(['waits']);
    expect(waits[0]).toEqual({
      why: '2 of 2 tokens have snapshots that have been due for more than 2 days, and none that became due since',
      allowToS: YEAR_2036,
    });
    // The permission is a time: it covers what was due by then, not what a wrong clock adds.
    await store.allowRetention(NOW);
    await looked();
    expect([await left(), await left(OTHER_MINT)]).toEqual([[1], [1]]);
    expect(events).toEqual(['waits', 'goes on', 'waits']);
    await store.allowRetention(YEAR_2036);
    await looked();
    expect([await left(), await left(OTHER_MINT)]).toEqual([[], []]);
    expect(events).toEqual(['waits', 'goes on', 'waits', 'goes on']);
    // It is stored: a restart in between would not have asked again.
    expect(await store.retentionAllowance()).toBe(YEAR_2036);
  });

  it('deletes what is long due if snapshots continue, as after an outage or a new setting', async () => {
    await put(MINT, 60, 50, 40, 31, 20, 1);
    await put(OTHER_MINT, 60, 31, 1);
    begin();
    await looked();
    expect(events).toEqual([]);
    expect([await left(), await left(OTHER_MINT)]).toEqual([[20, 1], [1]]);
  });

  it('deletes what is long due of a few tokens, such as one whose old files were loaded', async () => {
    for (const [i, mint] of MINTS.entries()) await put(mint, ...(i === 0 ? [400, 33] : []), 32, 1);
    begin();
    await looked();
    expect([events, await left()]).toEqual([[], [1]]);
    expect(USUAL_OVERDUE_S).toBe(2 * DAY);
    // A second one of five is more than a quarter.
    await retaining?.close();
    for (const mint of MINTS.slice(0, 2)) await put(mint, 33);
    begin();
    await looked();
    expect(waits.map(({ why }) => why)).toEqual([expect.stringContaining('2 of 5 tokens')]);
    expect(await left()).toEqual([33, 1]);
  });

  it('deletes nothing, whatever was allowed, while other nodes contradict its clock', async () => {
    await put(MINT, 31, 1);
    await store.allowRetention(YEAR_2036);
    doubt = 'it is late';
    begin();
    await looked();
    expect([events, waits]).toEqual([['waits'], [{ why: 'it is late', allowToS: null }]]);
    expect(await left()).toEqual([31, 1]);
    doubt = null;
    await looked();
    expect([events, await left()]).toEqual([['waits', 'goes on'], [1]]);
  });

  it.each([
    [
      'its log is unreachable',
      new StoreUnavailableError('JetStream is unreachable'),
      'JetStream is unreachable',
    ],
    ['the disk is full', new DiskFullError('it'), 'it cannot grow: its disk is full'],
  ])(
    'reports once that %s, whatever the number of tokens, and once that it is over',
    async (_, error, why) => {
      for (const mint of MINTS) await put(mint, 31, 1);
      let isAway = true;
      let tries = 0;
      begin((token, cutoffs, made) => {
        tries++;
        return isAway ? Promise.reject(error) : store.retire(token, cutoffs, made);
      });
      await looked(4);
      expect([events, failures]).toEqual([['waits'], []]);
      expect(waits[0].why).toContain(why);
      // The first token of each look is enough.
      expect(tries).toBeLessThanOrEqual(looks);
      isAway = false;
      await looked();
      expect([events, failures, removed]).toEqual([['waits', 'goes on'], [], 5]);
    },
  );

  it('reports a failure of one token, and deletes what is due of the others', async () => {
    await put(MINT, 31, 1);
    await put(OTHER_MINT, 31, 1);
    const broken = new Error('broken');
    begin((token, ...step) =>
      token.address === MINT ? Promise.reject(broken) : store.retire(token, ...step),
    );
    await looked();
    expect(failures[0]).toBe(broken);
    expect([events, await left(), await left(OTHER_MINT)]).toEqual([[], [31, 1], [1]]);
  });
});
