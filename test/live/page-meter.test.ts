/** What history costs, message by message, against replay's pages of the same snapshots. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { PAGE_LIMITS } from '../../compute/replay/page.js';
import { type Account, PageMeter } from '../../server/live/account.js';

const { maxSnapshots, maxCells } = PAGE_LIMITS;

/** Splits snapshots, given by their cells, greedily; a first snapshot always fits. */
function split(snapshots: readonly number[], mostSnapshots: number, mostCells: number): number[][] {
  const parts: number[][] = [];
  let cells = 0;
  for (const one of snapshots) {
    const part = parts.at(-1);
    if (part === undefined || part.length === mostSnapshots || cells + one > mostCells) {
      parts.push([one]);
      cells = one;
    } else {
      part.push(one);
      cells += one;
    }
  }
  return parts;
}

const sizes = fc.oneof(
  fc.integer({ min: 0, max: 100 }),
  fc.integer({ min: 0, max: 5_000 }),
  fc.integer({ min: 0, max: 95_000 }),
);

it('history costs no more than its replay pages, and no less than what it fills', () => {
  fc.assert(
    fc.property(
      fc.array(sizes, { minLength: 1, maxLength: 1_500 }),
      fc.integer({ min: 1, max: 20_000 }),
      fc.infiniteStream(fc.integer({ min: 0, max: 3 })),
      (snapshots, messageCells, refusals) => {
        let requests = 0;
        const account = { tryToPay: () => (refusals.next().value > 2 ? 5 : (requests++, 0)) };
        const meter = new PageMeter(account as unknown as Account);
        for (const message of split(snapshots, maxSnapshots, messageCells)) {
          // A key that has to wait tries again; so does a client that had no room for the message.
          while (meter.pay() > 0);
          expect(meter.pay()).toBe(0);
          meter.sent({
            snapshotCount: message.length,
            rowCount: message.reduce((sum, cells) => sum + cells, 0),
          });
        }
        const cells = snapshots.reduce((sum, one) => sum + one, 0);
        const longest = Math.max(messageCells, ...snapshots);
        expect(requests).toBeLessThanOrEqual(split(snapshots, maxSnapshots, maxCells).length);
        expect(requests * maxSnapshots).toBeGreaterThan(snapshots.length - maxSnapshots);
        expect(requests * maxCells).toBeGreaterThanOrEqual(cells - longest);
      },
    ),
  );
});
