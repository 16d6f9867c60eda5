import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Cursors, type Progress } from '../../server/live/cursor.js';
import { nextStep } from '../../server/live/depth-steps.js';
import type { PagePlan } from '../../storage/contract.js';
import type { Store } from '../../storage/store.js';
import {
  commitDelete,
  commitRows,
  DataDirectory,
  MINT,
  openStore,
  snapshot,
  tokenOf,
} from '../support/stores.js';

const T0 = 1_794_000_000;
const TOKEN = { chain: 'mainchain' as const, address: MINT };
/** FATHOM_RUNS=500 makes a longer search. */
const RUNS = Number(process.env.FATHOM_RUNS ?? 5);

/** The progress of a client that has nothing before a time, and what a store shows from then on. */
const progressFrom = ({ depth: { commitHistory: history, position } }: Store, fromS: number) => ({
  ...{ history, position, nextFromS: fromS, fromS },
  pending: null,
});

/** What a client has: each snapshot by its time, as text. */
class Client {
  readonly held = new Map<number, string>();
  now = T0;

  constructor(
    readonly store: Store,
    public progress: Progress,
  ) {}

  /** Takes the next message, of which a slow or disconnected reader may get a part; false if there is none. */
  async take(most: number): Promise<boolean> {
    const view = await this.store.depth.view(tokenOf(this.store));
    const step = await nextStep(this.progress, view, this.now);
    switch (step.type) {
      case 'behind':
      case 'forgotten':
        throw new Error(`no client of this store is ${step.type}`);
      case 'none':
        this.progress = step.after;
        return false;
      case 'deleted':
        for (const t of step.times) this.held.delete(t);
        this.progress = step.after;
        break;
      default: {
        const count = Math.min(most, step.plan.snapshots.length);
        for (const [t, text] of textsOf(step.plan).slice(0, count)) {
          // A new snapshot is not one that the client has: nothing is repeated.
          if (step.type === 'snapshots') expect(this.held.has(t)).toBe(false);
          this.held.set(t, text);
        }
        this.progress = step.after(count);
      }
    }
    this.reconnect();
    return true;
  }

  /** Continues with the text of its cursor. */
  reconnect(): void {
    const cursors = new Cursors(TOKEN);
    const read = cursors.read(cursors.write(this.progress), this.store.depth.commitHistory);
    expect(read).toEqual(this.progress);
    this.progress = read as Progress;
  }

  /** Takes everything, and then has what the store shows. */
  async settle(): Promise<void> {
    while (await this.take(Infinity));
    const { fromS } = this.progress;
    const view = await this.store.depth.view(tokenOf(this.store));
    const shown = view.plan({ fromS, nowS: this.now, maxSnapshots: 10_000 });
    expect([...this.held].sort(([a], [b]) => a - b)).toEqual(textsOf(shown));
  }
}

const textsOf = ({ snapshots }: PagePlan): [number, string][] =>
  snapshots.map(({ t, tier, digest }) => [t, `${tier} ${digest}`]);

const time = fc.integer({ min: 0, max: 40 }).map((i) => T0 + i * 300);
const change = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom('replace' as const, 'merge' as const),
      rows: fc.uniqueArray(
        fc.record({
          t: time,
          tier: fc.constantFrom('raw' as const, 'raw' as const, '15m' as const, '1h' as const),
          support: fc.integer({ min: 1, max: 3 }),
        }),
        { selector: ({ t, tier }) => `${t} ${tier}`, minLength: 1, maxLength: 6 },
      ),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('delete' as const),
      fromS: time,
      lengthS: fc.constantFrom(1, 900, 5000, 60_000),
      tier: fc.constantFrom(null, 'raw' as const),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'reopen' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'settle' as const }) },
);
const act = fc.record({
  change,
  /** How many messages the client takes afterwards, and how much of each it gets. */
  takes: fc.integer({ min: 0, max: 4 }),
  most: fc.constantFrom(1, 2, Infinity),
  passS: fc.constantFrom(0, 0, 300, 3600),
});

describe('A client that follows a token', () => {
  it('has what the store shows, each change once, whatever is committed and however it reads', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(act, { minLength: 1, maxLength: 14 }),
        fc.integer({ min: 0, max: 20 }),
        async (acts, from) => {
          const directory = new DataDirectory();
          let store = await openStore(directory.path);
          await commitRows(store, [snapshot(T0 - 600), snapshot(T0)]);
          const fromS = T0 - 600 + from * 300;
          const client = new Client(store, progressFrom(store, fromS));
          for (const { change: next, takes, most, passS } of acts) {
            client.now += passS;
            switch (next.kind) {
              case 'replace':
              case 'merge': {
                const rows = next.rows.map(({ t, tier, support }) => {
                  const cells: [number, number, number][] = [[-1, support, 0]];
                  const orca = { source: 'Orca', exchange_type: 'DEX' as const, cells };
                  return snapshot(t, [{ ...orca, address: 'pool-1' }], { tier });
                });
                await commitRows(store, rows, { mode: next.kind });
                break;
              }
              case 'delete':
                await commitDelete(store, {
                  address: MINT,
                  fromS: next.fromS,
                  toS: next.fromS + next.lengthS,
                  tier: next.tier,
                  needsAny: false,
                });
                break;
              case 'reopen':
                await store.close();
                store = await openStore(directory.path);
                Object.assign(client, { store });
                break;
              case 'settle':
                await client.settle();
            }
            for (let i = 0; i < takes; i++) await client.take(most);
          }
          client.now += 40 * 300;
          await client.settle();
          await store.close();
        },
      ),
      { numRuns: RUNS },
    );
  });

  it.each([1, 7, Infinity])(
    'is told of a prune in few messages, of which it reads %s snapshots at most',
    async (most) => {
      const store = await openStore(new DataDirectory().path);
      const minutes = Array.from({ length: 1500 }, (_, i) => T0 + 60 * i);
      const coarse = minutes.filter((t) => t % 900 === 0);
      // At the end of one of them.
      const toS = coarse[92];
      await commitRows(
        store,
        minutes.map((t) => snapshot(t)),
      );
      await commitRows(
        store,
        coarse.map((t) => snapshot(t, undefined, { tier: '15m' })),
      );
      const client = new Client(store, progressFrom(store, T0));
      client.now = T0 + 86_400 * 2;
      await client.settle();
      expect(client.held.size).toBe(minutes.length);
      await commitDelete(store, { address: MINT, tier: 'raw', toS });
      expect(await client.take(most)).toBe(true);
      const left = coarse.filter((t) => t < toS);
      const deleted = minutes.filter((t) => t < toS && t % 900 !== 0);
      // All deletions come first, and the coarser snapshots after them.
      expect(client.held.size).toBe(minutes.length - deleted.length);
      let messages = 0;
      while (await client.take(most)) messages++;
      expect(messages).toBe(Math.ceil(left.length / Math.min(most, 288)));
      await client.settle();
      await store.close();
    },
  );

  it('waits at a node that is behind the previous one, and then continues', async () => {
    const [ahead, behind] = await Promise.all(
      [0, 1].map(async () => {
        const directory = new DataDirectory();
        const store = await openStore(directory.path);
        await commitRows(store, [snapshot(T0), snapshot(T0 + 300), snapshot(T0 + 600)]);
        return store;
      }),
    );
    const { position } = ahead.depth;
    const client = new Client(ahead, progressFrom(ahead, T0));
    client.now += 3600;
    await client.settle();
    const revise = (store: Store) => {
      const orca = { source: 'Orca', exchange_type: 'DEX' as const, address: 'pool-1' };
      const times = [T0, T0 + 300];
      return commitRows(
        store,
        times.map((t) => snapshot(t, [{ ...orca, cells: [[-1, 9, 0]] }])),
      );
    };
    await revise(ahead);
    // It leaves after the first of the two, or after both.
    for (const most of [1, Infinity]) {
      await client.take(most);
      const view = await behind.depth.view(tokenOf(behind));
      const elsewhere = { ...client.progress, history: view.history };
      expect(await nextStep(elsewhere, view, client.now)).toEqual({ type: 'behind' });
    }
    const { held } = client;
    const progress = { ...client.progress, history: behind.depth.commitHistory };
    const pending = { upTo: position + 1, doneT: T0, deletedT: T0 };
    const first = new Client(behind, { ...progress, position, pending });
    for (const [t, text] of held) first.held.set(t, text);
    first.now = client.now;
    await revise(behind);
    expect(await first.take(Infinity)).toBe(true);
    await first.settle();
    await Promise.all([ahead.close(), behind.close()]);
  });
});
