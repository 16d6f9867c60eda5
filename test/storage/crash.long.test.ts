import { afterAll, beforeAll, describe, it } from 'vitest';
import { StagedCommit } from '../support/killed-commits.js';
import {
  MINT,
  OTHER_MINT,
  binance,
  bundleOf,
  commitRows,
  commitTokens,
  deleteFrame,
  openStore,
  orca,
  segmentIds,
  snapshot,
  storedSnapshots,
  tokenOf,
} from '../support/stores.js';
import { prepareFlatRows } from '../../storage/ingest/flat.js';
import { commitFlat, dcaRow, flatContents } from '../support/flat.js';

const minute = (i: number) => 60_000 + i * 60;
const cells = (from: number) =>
  Array.from({ length: 100 }, (_, i) => [i - 50, from + i, i] as [number, number, number]);

/** All that the store holds, after reopening. */
async function contents(directory: string): Promise<unknown> {
  const store = await openStore(directory);
  const tokens = [MINT, OTHER_MINT].filter((a) => store.depth.token('mainchain', a) !== null);
  const found = await Promise.all(
    tokens.map(async (address) => ({
      token: store.depth.token('mainchain', address),
      markets: store.depth.markets(tokenOf(store, address)),
      segments: (await segmentIds(store, address)).length,
      snapshots: await storedSnapshots(store, tokenOf(store, address)),
    })),
  );
  await store.close();
  return found;
}

describe('A process killed in the middle of a commit', () => {
  const staged = new StagedCommit(contents);
  let bundle: string;

  beforeAll(async () => {
    const store = await openStore(staged.template.path);
    await commitTokens(store, [{ address: MINT, symbol: 'OLD' }]);
    await commitRows(
      store,
      Array.from({ length: 300 }, (_, i) => snapshot(minute(2 * i), [orca(cells(5))])),
    );
    // Replaces some snapshots, adds others in between, adds a market and a token, and deletes.
    const file = await bundleOf(
      store,
      [
        ...Array.from({ length: 600 }, (_, i) => snapshot(minute(i), [orca(cells(9)), binance()])),
        ...Array.from({ length: 600 }, (_, i) =>
          snapshot(minute(i), [binance(cells(3))], { address: OTHER_MINT }),
        ),
      ],
      {
        behind: [
          deleteFrame({ address: MINT, fromS: minute(100), toS: minute(200) }),
          deleteFrame({ address: MINT, fromS: minute(300), markets: ['Orca/pool-1'] }),
        ],
      },
    );
    bundle = file.name;
    await store.close();
  });
  afterAll(() => staged.remove());

  it('leaves all of it or nothing, and a store that opens', () =>
    staged.expectAllOrNothing(bundle));
});

describe('A process killed in the middle of a commit of orders', () => {
  const staged = new StagedCommit(async (directory) => {
    const store = await openStore(directory);
    const { dca } = await flatContents(store);
    await store.close();
    return dca;
  });
  let name: string;

  beforeAll(async () => {
    const store = await openStore(staged.template.path);
    const before = Array.from({ length: 3000 }, (_, i) => dcaRow({ dca_address: `dca-${i}` }));
    await commitFlat(store, 'dca_orders', before);
    const after = Array.from({ length: 20_000 }, (_, i) =>
      dcaRow({ dca_address: `dca-${i + 1000}`, token_address: OTHER_MINT, closed: i % 7 === 0 }),
    );
    const { bundle } = await prepareFlatRows(
      { directory: store.directory, file: 'test.ndjson', mode: 'replace' },
      'dca_orders',
      after.map((row, i) => ({ line: i + 1, row })),
    );
    name = bundle.name;
    await store.close();
  });
  afterAll(() => staged.remove());

  it('leaves all of it or nothing', () => staged.expectAllOrNothing(name));
});
