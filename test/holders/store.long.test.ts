import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BUNDLE_VERSION } from '../../storage/bundle.js';
import type { StoreChange } from '../../storage/contract.js';
import { keptReference } from '../reference/holder-retention.js';
import { commitHolders, held, type Held, storedHolders } from '../support/holders.js';
import { commitFrames, DataDirectory, MINT, openStore, OTHER_MINT } from '../support/stores.js';

const HOUR_S = 3600;
const START = 1_794_600_000 - (1_794_600_000 % HOUR_S);

const directory = (): string => new DataDirectory().path;

const snapshotsOf = fc.array(
  fc.record({
    t: fc.oneof(
      fc.integer({ min: 0, max: 600 }).map((minute) => START + minute * 60),
      fc.integer({ min: 0, max: 900 }).map((hour) => START - hour * HOUR_S),
    ),
    count: fc.nat(12),
    seed: fc.nat(100),
    from: fc.nat(4),
  }),
  { minLength: 1, maxLength: 50 },
);

describe('Stored holder snapshots', () => {
  it('are the committed ones, thinned, whatever the order of the commits', async () => {
    const store = await openStore(directory());
    let n = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(snapshotsOf, { minLength: 1, maxLength: 6 }), async (commits) => {
        const mint = `${MINT.slice(0, -3)}${(100 + n++).toString(9).replaceAll('0', 'x')}`;
        const expected = new Map<number, Held>();
        const dropped = new Set<number>();
        for (const commit of commits) {
          const snapshots = new Map<number, Held>();
          for (const { t, count, seed, from } of commit) snapshots.set(t, held(count, seed, from));
          await commitHolders(store, [[mint, snapshots]]);
          for (const [t, holders] of snapshots) expected.set(t, holders);
          const kept = new Set(keptReference([...expected.keys()]));
          for (const t of expected.keys()) if (!kept.has(t)) dropped.add(t);
          for (const t of dropped) expected.delete(t);
        }
        const stored = await storedHolders(store.holders, mint);
        expect([...stored.keys()]).toEqual([...expected.keys()].sort((a, b) => a - b));
        for (const [t, holders] of expected) expect(stored.get(t)).toEqual(holders);
      }),
      { numRuns: 6 },
    );
    await store.close();
  });

  it('are gone after a deletion, and no others', async () => {
    const store = await openStore(directory());
    let n = 0;
    const windows = fc
      .tuple(fc.integer({ min: -900, max: 12 }), fc.nat(300))
      .map(([from, hours]) => ({
        fromS: START + from * HOUR_S,
        toS: START + (from + 1 + hours) * HOUR_S,
      }));
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(snapshotsOf, windows), { maxLength: 12 }),
        async (changes) => {
          const mint = `${MINT.slice(0, -3)}${(100 + n++).toString(9).replaceAll('0', 'y')}`;
          let expected = new Map<number, Held>();
          for (const change of changes) {
            if (Array.isArray(change)) {
              const added = change.map(
                ({ t, count, seed, from }) => [t, held(count, seed, from)] as const,
              );
              await commitHolders(store, [[mint, new Map(added)]]);
              const all = new Map([...expected, ...added]);
              expected = new Map(keptReference([...all.keys()]).map((t) => [t, all.get(t)!]));
            } else {
              const gone = [...expected.keys()].filter((t) => t >= change.fromS && t < change.toS);
              const deleted = commitFrames(store, [
                { kind: 'header', version: BUNDLE_VERSION, file: 'delete', mode: 'replace' },
                { kind: 'delete-holders', chain: 'mainchain', address: mint, ...change },
              ]);
              if (gone.length === 0) await expect(deleted).rejects.toThrow(/^nothing to delete: /);
              else expect((await deleted).deleted.snapshots).toBe(gone.length);
              for (const t of gone) expected.delete(t);
            }
            expect(await storedHolders(store.holders, mint)).toEqual(expected);
          }
        },
      ),
      { numRuns: 12 },
    );
    await store.close();
  });

  it('remain after the store was closed, for each token separately', async () => {
    const data = directory();
    let store = await openStore(data);
    const one = new Map([[START, held(3, 1)]]);
    const other = new Map([
      [START, held(5, 2, 2)],
      [START + 60, new Map()],
    ]);
    await commitHolders(store, [
      [MINT, one],
      [OTHER_MINT, other],
    ]);
    await store.close();
    store = await openStore(data);
    expect(await storedHolders(store.holders, MINT)).toEqual(one);
    expect(await storedHolders(store.holders, OTHER_MINT)).toEqual(other);
    const later = new Map([[START + 120, held(4, 3, 9)]]);
    await commitHolders(store, [[OTHER_MINT, later]]);
    expect(await storedHolders(store.holders, OTHER_MINT)).toEqual(new Map([...other, ...later]));
    expect(await store.holders.times('nobody')).toEqual(new Uint32Array(0));
    expect((await store.holders.read('nobody', [START])).blocks).toEqual([]);
    expect((await store.holders.read(MINT, [START + 1])).blocks).toEqual([]);
    await store.close();
  });

  it('are reported if they change, and only then', async () => {
    const data = directory();
    const store = await openStore(data);
    const changes: StoreChange[] = [];
    store.events.on('change', (change) => changes.push(change));
    const hours = new Map(Array.from({ length: 300 }, (_, i) => [START + i * HOUR_S, held(4, i)]));
    const tokens = [[MINT, hours]] as const;
    await commitHolders(store, tokens);
    await commitHolders(store, tokens);
    await commitHolders(store, [[OTHER_MINT, new Map([[START, held(2, 0)]])], ...tokens]);
    await commitHolders(store, [[MINT, new Map([[START + 299 * HOUR_S, held(4, 1)]])]]);
    expect(changes.map(({ holderTokens }) => holderTokens)).toEqual([
      [MINT],
      [],
      [OTHER_MINT],
      [MINT],
    ]);
    expect(changes.every(({ tokenIds }) => tokenIds.length === 0)).toBe(true);
    await store.close();
  });

  it('are read while commits replace them', async () => {
    const store = await openStore(directory());
    const at = (round: number) => new Map([[START, held(300, round)]]);
    await commitHolders(store, [[MINT, at(0)]]);
    let isDone = false;
    const commits = (async () => {
      for (let round = 1; round < 25; round++) await commitHolders(store, [[MINT, at(round)]]);
    })().finally(() => (isDone = true));
    const rounds = Array.from({ length: 13 }, (_, seed) => JSON.stringify([...held(300, seed)]));
    while (!isDone) {
      const stored = await storedHolders(store.holders, MINT);
      expect(rounds).toContain(JSON.stringify([...(stored.get(START) ?? [])]));
    }
    await commits;
    await store.close();
  });
});
