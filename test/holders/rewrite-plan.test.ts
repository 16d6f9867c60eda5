import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { HolderBlockRef } from '../../storage/holders/holder-blocks.js';
import { planRewrites } from '../../storage/holders/rewrite-plan.js';

const FULL = { changes: 1_000_000_000, firstChanges: 1 };
const OPEN = { changes: 1, firstChanges: 1 };

/** Stored blocks, and each time with whether it is stored, added or both, and whether a stored one stays. */
const histories = fc
  .array(
    fc.record({
      isFull: fc.boolean(),
      snapshots: fc.array(
        fc.record({
          gap: fc.integer({ min: 1, max: 3 }),
          role: fc.constantFrom('stored', 'stored', 'added', 'both', 'dropped'),
        }),
        { maxLength: 5 },
      ),
    }),
    { maxLength: 6 },
  )
  .map((blocks) => {
    let t = 100;
    const refs: HolderBlockRef[] = [];
    const added: number[] = [];
    const kept = new Set<number>();
    for (const { isFull, snapshots } of blocks) {
      const stored: number[] = [];
      for (const { gap, role } of snapshots) {
        t += gap;
        if (role !== 'added') stored.push(t);
        if (role === 'added' || role === 'both') added.push(t);
        if (role !== 'dropped') kept.add(t);
      }
      if (stored.length === 0) continue;
      const size = isFull ? FULL : OPEN;
      refs.push({ blockId: refs.length, times: Uint32Array.from(stored), ...size });
    }
    return { refs, added, kept };
  });

/** The blocks' times after the rewrites. */
function applied(refs: readonly HolderBlockRef[], plan: ReturnType<typeof planRewrites>) {
  const blocks: number[][] = [];
  let next = 0;
  for (const { from, to, times } of plan) {
    for (; next < from; next++) blocks.push([...refs[next].times]);
    blocks.push(times);
    next = to;
  }
  return [...blocks, ...refs.slice(next).map(({ times }) => [...times])];
}

describe('A plan of rewrites', () => {
  it('leaves the kept snapshots, ascending, each once', () => {
    fc.assert(
      fc.property(histories, ({ refs, added, kept }) => {
        const left = applied(refs, planRewrites(refs, added, kept)).flat();
        expect(left).toEqual([...kept].sort((a, b) => a - b));
      }),
      { numRuns: 500 },
    );
  });

  it('rewrites a full block only if snapshots within it are added or dropped', () => {
    fc.assert(
      fc.property(histories, ({ refs, added, kept }) => {
        for (const { from, to } of planRewrites(refs, added, kept)) {
          for (const { times, changes } of refs.slice(from, to)) {
            if (changes === OPEN.changes) continue;
            const isWithin = (t: number): boolean => t >= times[0] && t <= times[times.length - 1];
            expect(added.some(isWithin) || times.some((t) => !kept.has(t))).toBe(true);
          }
        }
      }),
      { numRuns: 500 },
    );
  });

  it('says of each rewrite whether it adds and whether it drops', () => {
    fc.assert(
      fc.property(histories, ({ refs, added, kept }) => {
        for (const { from, to, times, adds, drops } of planRewrites(refs, added, kept)) {
          const stored = refs.slice(from, to).flatMap((ref) => [...ref.times]);
          expect(adds).toBe(times.some((t) => added.includes(t)));
          expect(drops).toBe(stored.some((t) => !kept.has(t)));
        }
      }),
      { numRuns: 500 },
    );
  });
});
