import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FlatDataset, StoreChange } from '../../storage/contract.js';
import { PlainFlatStore } from '../reference/flat-store.js';
import { commitFlat, FLAT_ROWS, flatContents, HOUR, noChange } from '../support/flat.js';
import { DataDirectory, EVM_TOKEN, MINT, openStore, OTHER_MINT } from '../support/stores.js';
import type { Json } from '../support/tables.js';

/** Use more for a long search: FATHOM_RUNS=500. */
const RUNS = Number(process.env.FATHOM_RUNS ?? 8);

const mint = fc.constantFrom(MINT, OTHER_MINT);
const amount = fc.oneof(fc.constantFrom(0, 1, 1e-9), fc.double({ min: 0, max: 1e12, noNaN: true }));
const key = fc.constantFrom('a', 'b', 'c', 'd', 'e f', 'Ω', `"'`);
const hour = fc.integer({ min: 0, max: 5 }).map((i) => HOUR + i * 3600);
const closed = fc.oneof({ arbitrary: fc.constant(false), weight: 3 }, fc.boolean());
const bound = fc.option(fc.constantFrom(0, 1.5, 2));

const FIELDS: Record<FlatDataset, fc.Arbitrary<Json>> = {
  dca_orders: fc.record({
    dca_address: key,
    token_address: mint,
    direction: fc.constantFrom('BUY', 'SELL'),
    remaining_usd: amount,
    min_usd: bound,
    max_usd: fc.option(fc.constantFrom(2, 1e300)),
    next_cycle_at: fc.constantFrom(0, 2 ** 32 - 1),
    cycle_frequency: fc.constantFrom(1, 2 ** 53 - 1),
    closed,
  }),
  limit_orders: fc
    .record({
      order_address: key,
      token_address: fc.constantFrom(MINT, EVM_TOKEN),
      remaining_usd: amount,
      pct_complete: fc.constantFrom(0, 0.5, 1),
      usd_price: fc.constantFrom(5e-324, 1, 1e308),
      closed,
    })
    .map((row) => ({ ...row, chain: row.token_address === MINT ? 'mainchain' : 'evmchain' })),
  dlmm_pools: fc.record({ pubkey: key, token_x_mint: mint, reserve_x: amount }),
  dlmm_hours: fc.record({ pubkey: key, hour, fees_usd: amount, tvl_usd: amount }),
  token_hours: fc.record({ address: mint, hour, organic_volume_usd: amount }),
};

const commit = fc.constantFrom(...(Object.keys(FIELDS) as FlatDataset[])).chain((dataset) =>
  fc.record({
    dataset: fc.constant(dataset),
    rows: fc.array(FIELDS[dataset].map(FLAT_ROWS[dataset]), { maxLength: 12 }),
    after: fc.oneof(
      { arbitrary: fc.constant('nothing' as const), weight: 4 },
      {
        arbitrary: fc.constantFrom('again' as const, 'reopen' as const, 'rehearse' as const),
        weight: 1,
      },
    ),
  }),
);

function changeOf(dataset: FlatDataset, tokens: string[], changed: boolean): StoreChange {
  const change = noChange();
  switch (dataset) {
    case 'dca_orders':
      return { ...change, dcaTokens: tokens };
    case 'limit_orders':
      return { ...change, limitTokens: tokens };
    case 'dlmm_pools':
      return { ...change, dlmmPools: changed };
    case 'dlmm_hours':
      return { ...change, dlmmHours: changed };
    case 'token_hours':
      return { ...change, tokenHours: changed };
  }
}

describe('The flat datasets of a store', () => {
  it('hold what plain maps of rows would, and report what a commit changed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(commit, { minLength: 1, maxLength: 8 }), async (commits) => {
        const directory = new DataDirectory();
        const model = new PlainFlatStore();
        let store = await openStore(directory.path);
        let changes: StoreChange[] = [];
        const listen = () => store.events.on('change', (change) => changes.push(change));
        listen();
        try {
          for (const { dataset, rows, after } of commits) {
            changes = [];
            if (after === 'rehearse') {
              await commitFlat(store, dataset, rows, { rehearse: true });
              expect(await flatContents(store)).toEqual(model.contents());
            }
            await commitFlat(store, dataset, rows);
            const { tokens, changed } = model.commit(dataset, rows);
            expect(changes).toHaveLength(1);
            const { dcaTokens, limitTokens, ...rest } = changes[0];
            const sorted = {
              ...rest,
              dcaTokens: [...dcaTokens].sort(),
              limitTokens: [...limitTokens].sort(),
            };
            expect(sorted).toEqual(changeOf(dataset, tokens, changed));
            expect(await flatContents(store)).toEqual(model.contents());
            if (after === 'again') {
              await commitFlat(store, dataset, rows);
              expect(changes[1]).toEqual(noChange());
              expect(await flatContents(store)).toEqual(model.contents());
            }
            if (after === 'reopen') {
              await store.close();
              store = await openStore(directory.path);
              listen();
            }
            const { orders, lp } = store;
            const all = model.contents();
            expect((await orders.dca.of([MINT])).length).toBe(
              all.dca.filter(({ tokenAddress }) => tokenAddress === MINT).length,
            );
            expect((await orders.limit.of([EVM_TOKEN, 'unknown'])).length).toBe(
              all.limit.filter(({ tokenAddress }) => tokenAddress === EVM_TOKEN).length,
            );
            const some = await lp.dlmmHours(HOUR + 3600, HOUR + 7200);
            expect([...some.hour].every((t) => t >= HOUR + 3600 && t <= HOUR + 7200)).toBe(true);
            const keys = all.hours.map(keyHour);
            expect(some.hour.length).toBe(
              keys.filter((t) => t >= HOUR + 3600 && t <= HOUR + 7200).length,
            );
          }
        } finally {
          await store.close();
          directory.remove();
        }
      }),
      { numRuns: RUNS, endOnFailure: true },
    );
  });
});

const keyHour = ({ key: text }: { key: string }): number => Number(text.split(' ').at(-1));
