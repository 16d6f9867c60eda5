import { beforeEach, describe, expect, it } from 'vitest';
import type { StoreChange } from '../../storage/contract.js';
import { InputError } from '../../storage/errors.js';
import { FLAT_TABLES } from '../../storage/flat-tables.js';
import {
  collected,
  commitFlat,
  dcaRow,
  flatContents,
  HOUR,
  limitRow,
  poolHourRow,
  poolRow,
  tokenHourRow,
} from '../support/flat.js';
import {
  commitRows,
  EVM_TOKEN,
  MINT,
  FreshStore,
  OTHER_MINT,
  snapshot,
} from '../support/stores.js';

const held = new FreshStore();
let changes: StoreChange[];

beforeEach(() => {
  changes = [];
  held.store.events.on('change', (change) => changes.push(change));
});

describe('Orders', () => {
  it('and hours do not create a record of their token', async () => {
    await commitFlat(held.store, 'dca_orders', [dcaRow()]);
    await commitFlat(held.store, 'token_hours', [tokenHourRow()]);
    expect(held.store.depth.token('mainchain', MINT)).toBeNull();
    expect(changes.flatMap(({ tokenIds }) => tokenIds)).toEqual([]);
    await commitRows(held.store, [snapshot(60)]);
    expect(changes[2]).toMatchObject({ tokenIds: [0], dcaTokens: [], tokenHours: false });
  });

  it('are found for more tokens than one query names', async () => {
    const many = Array.from({ length: 1500 }, (_, i) => `unknown-${i}`);
    await commitFlat(held.store, 'dca_orders', [
      dcaRow(),
      dcaRow({ dca_address: 'x', token_address: OTHER_MINT }),
    ]);
    expect(await held.store.orders.dca.of([...many, MINT])).toMatchObject([{ tokenAddress: MINT }]);
  });
});

describe('A file of many rows', () => {
  const MANY = 10_000;
  const rows = () =>
    Array.from({ length: MANY }, (_, i) =>
      dcaRow({ dca_address: `dca-${i}`, remaining_usd: i + 1 }),
    );

  it('is read piece by piece, and the last row of a key wins, however far behind', async () => {
    const last = [
      dcaRow({ dca_address: 'dca-0', remaining_usd: 7 }),
      dcaRow({ dca_address: 'dca-1', closed: true }),
    ];
    await commitFlat(held.store, 'dca_orders', [...rows(), ...last]);
    const sizes: number[] = [];
    const amounts = new Map<string, number>();
    for await (const orders of held.store.orders.dca.all()) {
      sizes.push(orders.length);
      for (const { dcaAddress, remainingUsd } of orders) amounts.set(dcaAddress, remainingUsd);
    }
    expect(amounts.size).toBe(MANY - 1);
    expect(sizes.reduce((a, b) => a + b)).toBe(MANY - 1);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(2048);
    expect([amounts.get('dca-0'), amounts.get('dca-1'), amounts.get(`dca-${MANY - 1}`)]).toEqual([
      7,
      undefined,
      MANY,
    ]);
    // A reader sees the state at its start, whatever is committed meanwhile.
    let seen = 0;
    for await (const orders of held.store.orders.dca.all()) {
      if (seen === 0) {
        await commitFlat(
          held.store,
          'dca_orders',
          rows().map((row) => ({ ...row, closed: true })),
        );
        await held.store.settled();
      }
      seen += orders.length;
    }
    expect(seen).toBe(MANY - 1);
    expect(await collected(held.store.orders.dca.all())).toEqual([]);
  });
});

describe('A table', () => {
  const limits = FLAT_TABLES as Record<string, { limit?: { rows: number } }>;
  it.each([
    ['dca_orders', 'active orders', (i: number) => dcaRow({ dca_address: `d${i}` })],
    ['limit_orders', 'active orders', (i: number) => limitRow({ order_address: `o${i}` })],
    ['dlmm_pools', 'pools', (i: number) => poolRow({ pubkey: `p${i}` })],
  ] as const)('of %s holds no more than it may', async (dataset, what, row) => {
    const { limit } = limits[dataset];
    if (limit === undefined) throw new Error('no limit');
    const { rows } = limit;
    limit.rows = 3;
    try {
      await commitFlat(held.store, dataset, [0, 1, 2].map(row));
      const before = await flatContents(held.store);
      for (const rehearse of [false, true]) {
        const refused = commitFlat(held.store, dataset, [row(0), row(3)], { rehearse });
        await expect(refused).rejects.toThrow(InputError);
        await expect(refused).rejects.toThrow(
          `test.ndjson: ${dataset}: the store would hold more than 3 ${what}`,
        );
      }
      const changed = [0, 1, 2].map((i) => ({ ...row(i), remaining_usd: 5, reserve_x: 5 }));
      await commitFlat(held.store, dataset, changed, { rehearse: true });
      expect(await flatContents(held.store)).toEqual(before);
      expect(changes).toHaveLength(1);
    } finally {
      limit.rows = rows;
    }
  });
});

it('Hours are read by range, only for mainchain tokens', async () => {
  const hours = [0, 1, 2, 3].map((i) => HOUR + i * 3600);
  await commitFlat(
    held.store,
    'dlmm_hours',
    hours.map((hour) => poolHourRow({ hour })),
  );
  await commitFlat(held.store, 'token_hours', [
    ...hours.map((hour) => tokenHourRow({ hour })),
    tokenHourRow({ hour: hours[1], chain: 'evmchain', address: EVM_TOKEN }),
  ]);
  expect(changes.map(({ dlmmHours, tokenHours }) => [dlmmHours, tokenHours])).toEqual([
    [true, false],
    [false, true],
  ]);
  const some = await held.store.lp.dlmmHours(hours[1], hours[2]);
  expect([...some.hour].sort()).toEqual(hours.slice(1, 3));
  expect([some.pubkeys, [...some.pool], [...some.volumeUsd]]).toEqual([
    ['pool-1'],
    [0, 0],
    [1e6 / 3, 1e6 / 3],
  ]);
  const tokens = await held.store.lp.tokenHours(hours[1], 2 ** 32 - 1);
  expect([tokens.addresses, tokens.hour.length, tokens.organicVolumeUsd.length]).toEqual([
    [MINT],
    3,
    3,
  ]);
  const none = await held.store.lp.dlmmHours(hours[3] + 1, hours[3] + 2);
  expect([none.pubkeys, none.hour.length, none.tvlUsd.length]).toEqual([[], 0, 0]);
});
