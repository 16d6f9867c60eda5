/** The kernel of holder flow, compared with a plain implementation of its definition. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DAY_S } from '../../compute/time.js';
import { flowPlan, neededTimes, nextVisibleS } from '../../compute/holders/flow-plan.js';
import { holderFlow, largestHolders } from '../../compute/holders/flow.js';
import {
  FLOW_SECTIONS,
  flowDocument,
  type FlowDocument,
} from '../../server/holders/whale-activity.js';
import { type HolderRow, plainHolderFlow } from '../reference/holders.js';
import { holderSnapshot, namesOf } from '../support/holders.js';
import { MemoryHolders } from '../support/memory-sources.js';

const MINT = 'So11111111111111111111111111111111111111112';
const NOW_S = 1_794_659_696;
const EVERYTHING = {
  sections: new Set(FLOW_SECTIONS),
  walletLimit: 100,
  walletActivity: true,
};

/** Everything that a reply may show, by the kernel from blocks; null without coverage. */
async function activityOf(rows: readonly HolderRow[], nowS: number): Promise<FlowDocument | null> {
  const holders = new MemoryHolders();
  holders.set(MINT, rows);
  const plan = flowPlan(await holders.times(MINT), nowS);
  if (plan === null) return null;
  const stored = await holders.read(MINT, neededTimes(plan));
  return flowDocument(MINT, holderFlow({ plan, ...stored }), EVERYTHING);
}

async function expectAsDefined(rows: readonly HolderRow[], nowS = NOW_S): Promise<void> {
  const expected = plainHolderFlow(rows, nowS);
  const actual = await activityOf(rows, nowS);
  if (expected === null || actual === null) {
    expect(actual).toBe(expected);
    return;
  }
  const { newestT, ...sections } = expected;
  expect(actual.last_snapshot_at).toBe(new Date(newestT * 1000).toISOString());
  expect({
    summary: actual.summary,
    sparkline: actual.sparkline,
    wallets: actual.wallets,
  }).toEqual(sections);
}

const owner = (id: number) => `Owner${String(id * 7919).padStart(8, '0')}`;
/** A few different amounts, so that holders tie. */
const amount = fc.oneof(
  fc.constantFrom(0.1, 1, 2, 1000),
  fc.double({ min: 1e-9, max: 1e9, noNaN: true }),
);

/** Snapshots at any times around the ends of windows and days. */
const times = fc.uniqueArray(
  fc.oneof(
    fc.integer({ min: NOW_S - 40 * DAY_S, max: NOW_S + DAY_S }),
    // Exactly one window before the newest, and a second on either side.
    fc
      .tuple(fc.constantFrom(0, 1, 7, 14, 30), fc.integer({ min: -1, max: 1 }))
      .map(([days, off]) => NOW_S - days * DAY_S + off),
    // The first and the last second of a UTC day.
    fc
      .tuple(fc.integer({ min: 0, max: 32 }), fc.constantFrom(0, 1))
      .map(([days, off]) => NOW_S - (NOW_S % DAY_S) - days * DAY_S - off),
  ),
  { maxLength: 25 },
);

const histories = fc
  .tuple(times, fc.constantFrom(3, 19, 21, 60, 130))
  .chain(([all, owners]) =>
    fc.tuple(
      ...all.map((t) =>
        fc
          .uniqueArray(fc.tuple(fc.nat(owners), amount), {
            selector: ([id]) => id,
            minLength: 1,
            maxLength: owners,
            size: 'max',
          })
          .map((held) => held.map(([id, balance]) => ({ t, owner: owner(id), balance }))),
      ),
    ),
  )
  .map((snapshots): HolderRow[] => snapshots.flat());

describe('holder flow', () => {
  it('equals its definition, whatever the history', async () => {
    await fc.assert(
      fc.asyncProperty(histories, (rows) => expectAsDefined(rows)),
      { numRuns: 120 },
    );
  });

  it('equals its definition for a month of a hundred and thirty wallets', async () => {
    const rows: HolderRow[] = [];
    for (let hour = 0; hour < 32 * 24; hour++) {
      // Two of its days have no snapshot.
      if (Math.floor(hour / 24) % 13 === 5) continue;
      for (let id = 0; id < 130; id++) {
        const balance = ((id * 7919 + hour * 31 + ((id * hour) % 17) * 1000) % 5000) / 8;
        if (balance > 20) rows.push({ t: NOW_S - hour * 3600, owner: owner(id), balance });
      }
    }
    await expectAsDefined(rows);
    await expectAsDefined(rows, NOW_S - 1);
  });

  it('is given up if a block lacks a snapshot of the plan', async () => {
    const holders = new MemoryHolders();
    holders.set(MINT, [{ t: NOW_S, owner: 'A', balance: 1 }]);
    const plan = flowPlan(Uint32Array.of(NOW_S - DAY_S, NOW_S), NOW_S);
    if (plan === null) throw new Error('no plan');
    const stored = await holders.read(MINT, [NOW_S]);
    expect(holderFlow({ plan, ...stored })).toBeNull();
  });
});

it('the plan of a flow needs few of many snapshots, and no later ones', () => {
  const all = Uint32Array.from({ length: 20_000 }, (_, i) => NOW_S - 180 * (19_000 - i));
  const plan = flowPlan(all, NOW_S);
  if (plan === null) throw new Error('no plan');
  const needed = neededTimes(plan);
  expect(needed.length).toBeLessThanOrEqual(1 + 4 + 30 + 1);
  expect(needed).toEqual([...new Set(needed)].sort((a, b) => a - b));
  expect(needed.at(-1)).toBe(NOW_S);
  expect(nextVisibleS(all, NOW_S)).toBe(NOW_S + 180);
  expect(nextVisibleS(all, all[all.length - 1])).toBeNull();
  expect(flowPlan(all, all[0] - 1)).toBeNull();
  expect(flowPlan(new Uint32Array(0), NOW_S)).toBeNull();
});

it('the ranking of holders equals the beginning of all holders sorted', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.constantFrom(1, 2, 3), fc.double({ min: 1e-9, max: 10, noNaN: true })), {
        maxLength: 400,
      }),
      fc.integer({ min: 1, max: 30 }),
      (balances, limit) => {
        // Numbers in a different order from the addresses, some of which are prefixes of others.
        const addresses = balances.map((_, i) =>
          i % 2 === 0 ? 'a'.repeat(balances.length - i) : `b${(i * 577) % 1009}`,
        );
        const ranked = largestHolders(
          holderSnapshot(NOW_S, balances.entries()),
          namesOf(addresses),
          limit,
        );
        const sorted = [...balances.keys()].sort(
          (a, b) => balances[b] - balances[a] || (addresses[a] < addresses[b] ? -1 : 1),
        );
        expect([...ranked.owner]).toEqual(sorted.slice(0, limit));
        expect([...ranked.balance]).toEqual(sorted.slice(0, limit).map((i) => balances[i]));
      },
    ),
  );
});
