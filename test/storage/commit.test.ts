import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Market, MAX_MARKETS_PER_TOKEN } from '../../compute/market.js';
import { BUNDLE_VERSION } from '../../storage/bundle.js';
import { InputError, StoreChangedError } from '../../storage/errors.js';
import type { Store } from '../../storage/store.js';
import {
  binance,
  bundleOf,
  commitFrames,
  commitRows,
  commitTokens,
  DataDirectory,
  EVM_TOKEN,
  MINT,
  openStore,
  orca,
  OTHER_MINT,
  segmentIds,
  snapshot,
  type SnapshotRow,
  storedSnapshots,
  tokenOf,
} from '../support/stores.js';

let directory: DataDirectory;
let store: Store;

beforeEach(async () => {
  directory = new DataDirectory();
  store = await openStore(directory.path);
});
afterEach(async () => {
  await store.close();
  directory.remove();
});

const cellsOf = async (address = MINT) =>
  (await storedSnapshots(store, tokenOf(store, address))).map(({ cells }) => cells);
const marketsOf = async (address = MINT) => {
  const window = { fromS: 0, toS: 1, nowS: 1, maxSnapshots: 1 };
  return (await store.depth.plan({ tokenId: tokenOf(store, address), ...window })).markets;
};

/** Everything that a refused commit must leave as it was, in memory and, opened anew, on the disk. */
async function contents(): Promise<unknown> {
  const tokens = [MINT, OTHER_MINT, EVM_TOKEN].filter((address) => {
    const chain = address === EVM_TOKEN ? 'evmchain' : 'mainchain';
    return store.depth.token(chain, address) !== null;
  });
  return {
    summary: await store.summary(),
    tokens: await Promise.all(
      tokens.map(async (address) => ({
        record: store.depth.token(address === EVM_TOKEN ? 'evmchain' : 'mainchain', address),
        markets: await marketsOf(address),
        segments: await segmentIds(store, address),
        snapshots: await storedSnapshots(store, tokenOf(store, address)),
      })),
    ),
  };
}

async function expectRefused(commit: () => Promise<void>, message: RegExp): Promise<void> {
  const before = await contents();
  const refused = commit();
  await expect(refused).rejects.toBeInstanceOf(InputError);
  await expect(refused).rejects.toThrow(message);
  expect(await contents()).toEqual(before);
  await store.close();
  store = await openStore(directory.path);
  expect(await contents()).toEqual(before);
}

describe('A commit', () => {
  it('of the same bundle twice leaves content and segments as they are', async () => {
    const rows = Array.from({ length: 700 }, (_, i) =>
      snapshot(1000 + i * 60, [orca(), binance()]),
    );
    for (const mode of ['replace', 'merge'] as const) {
      await commitRows(store, rows, { mode });
      await store.settled();
      const ids = await segmentIds(store);
      const before = await contents();
      await commitRows(store, rows, { mode });
      expect(await segmentIds(store)).toEqual(ids);
      expect(await contents()).toEqual(before);
    }
  });

  it('of a part of what is stored, or of it cut otherwise, writes nothing', async () => {
    for (let i = 0; i < 5; i++) await commitRows(store, [snapshot(100 + i), snapshot(200 + i)]);
    const ids = await segmentIds(store);
    await commitRows(
      store,
      [0, 1, 2, 3, 4].map((i) => snapshot(200 + i)),
    );
    await commitRows(store, [snapshot(101)], { mode: 'merge' });
    expect(await segmentIds(store)).toEqual(ids);
  });

  it('leaves alone what lies between the snapshots of a file', async () => {
    for (const first of [1000, 2000, 3000]) {
      const rows = Array.from({ length: 288 }, (_, i) => snapshot(first + i));
      await commitRows(store, rows);
    }
    const before = await segmentIds(store);
    const far = [snapshot(1000, [orca([[0, 1, 1]])]), snapshot(3000, [orca([[0, 1, 1]])])];
    await commitRows(store, far);
    const after = await segmentIds(store);
    expect(after).toHaveLength(3);
    expect(after[1]).toBe(before[1]);
    expect([after[0], after[2]]).not.toContain(before[0]);
    const cells = await cellsOf();
    expect([cells[0], cells[1], cells[576]]).toEqual([
      [[0, 0, 100, 100]],
      [[0, 0, 500, 750]],
      [[0, 0, 100, 100]],
    ]);
  });

  it('stores a segment that is far wider than one value of the database', async () => {
    let seed = 1;
    const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 100;
    const markets = Array.from({ length: 200 }, (_, m) => ({
      ...orca(Array.from({ length: 475 }, (_, i) => [i - 232, 1 + random(), random()])),
      address: `wide-${m}`,
    }));
    const wide = snapshot(500, markets);
    await commitRows(store, [wide]);
    const [id] = await segmentIds(store);
    const [block] = await store.depth.readSegments([id]);
    expect(block.length).toBeGreaterThan(500_000);
    const [stored] = await storedSnapshots(store, tokenOf(store));
    expect(stored.cells).toEqual(
      markets.flatMap(({ cells }, m) =>
        cells.map(([bin, s, r]) => [m, bin, Math.floor(s * 100 + 0.5), Math.floor(r * 100 + 0.5)]),
      ),
    );
    await commitRows(store, [snapshot(500)]);
    expect(await cellsOf()).toEqual([[[200, 0, 500, 750]]]);
    expect((await store.summary()).cells).toBe(1);
  });

  it('numbers markets as the rows of a file name them, whatever their tiers', async () => {
    const named = (source: string) => ({ ...orca(), source });
    await commitRows(store, [
      snapshot(3600, [named('A')]),
      snapshot(3600, [named('B'), named('A')], { tier: '1h' }),
      snapshot(3601, [named('C')]),
      snapshot(900, [named('D')], { tier: '15m' }),
    ]);
    const rows = [snapshot(3602, [named('F'), named('B')]), snapshot(900, [named('E')])];
    await commitRows(store, rows, { cuts: [1] });
    expect((await marketsOf()).map(({ source }) => source)).toEqual([...'ABCDFE']);
  });
});

describe('A merge', () => {
  it('adds a market, replaces one, and takes away one that is named without any cell', async () => {
    await commitRows(store, [snapshot(1, [orca(), binance()]), snapshot(2, [orca()])]);
    const file = [
      snapshot(1, [orca([]), { ...orca([[3, 9, 0]]), source: 'Raydium' }]),
      snapshot(2, [
        binance([
          [0, 0.5, 0.2],
          [400, 7, 7],
        ]),
      ]),
      snapshot(3, [binance([])]),
    ];
    await commitRows(store, file, { mode: 'merge' });
    expect(await cellsOf()).toEqual([
      [
        [1, 1, 0, 1100],
        [2, 3, 900, 0],
      ],
      [[0, 0, 500, 750]],
      [],
    ]);
    expect((await store.summary()).cells).toBe(3);
    expect((await marketsOf()).map(({ source }) => source)).toEqual(['Orca', 'Binance', 'Raydium']);
  });

  it('takes away a market that a later row of the file empties, and brings it back', async () => {
    await commitRows(store, [snapshot(1, [orca(), binance()])]);
    const rows = [snapshot(1, [binance([[5, 1, 1]])]), snapshot(1, [binance([])])];
    for (const cuts of [[], [1]]) {
      await commitRows(store, rows, { mode: 'merge', cuts });
      expect(await cellsOf()).toEqual([[[0, 0, 500, 750]]]);
    }
    await commitRows(store, [...rows].reverse(), { mode: 'merge', cuts: [1] });
    expect(await cellsOf()).toEqual([
      [
        [0, 0, 500, 750],
        [1, 5, 100, 100],
      ],
    ]);
  });

  it('into an empty store leaves no cell without amounts behind', async () => {
    await commitRows(store, [snapshot(1, [orca([]), binance()])], { mode: 'merge' });
    expect(await cellsOf()).toEqual([[[1, 1, 0, 1100]]]);
    expect((await store.summary()).cells).toBe(1);
  });

  it('that would fill a snapshot beyond its limit is refused whole', async () => {
    const wide = (source: string): SnapshotRow =>
      snapshot(
        7,
        Array.from({ length: 150 }, (_, m) => ({
          ...orca(Array.from({ length: 400 }, (_, i) => [i - 200, 1, 1])),
          source,
          address: `pool-${m}`,
        })),
      );
    await commitRows(store, [wide('Orca')]);
    const file = [snapshot(1, [binance()]), wide('Raydium')];
    await expectRefused(
      () => commitRows(store, file, { mode: 'merge', file: 'more.ndjson' }),
      /^more\.ndjson: markets: the snapshot of So1\w+ \(mainchain\) at 7 \(raw\) would hold more than 100000 cells/,
    );
    // So is one that the file alone puts together from rows that lie far apart in it.
    const apart = [wide('Orca'), wide('Raydium')].map((row) => ({ ...row, t: 8 }));
    await expectRefused(
      () => commitRows(store, apart, { mode: 'merge', cuts: [1] }),
      /at 8 \(raw\) would hold more than 100000 cells/,
    );
  });

  it('is told to start anew where the snapshot got another price meanwhile', async () => {
    const file = await bundleOf(store, [snapshot(1, [binance()])], { mode: 'merge' });
    await commitRows(store, [snapshot(1, [orca()], { price_usd: 2.5 })]);
    const before = await contents();
    await expect(store.commit(file.name)).rejects.toBeInstanceOf(StoreChangedError);
    expect(await contents()).toEqual(before);
    await file.discard();
  });
});

describe('A commit is refused, and nothing of it stays,', () => {
  it('where a venue has another type in the store', async () => {
    await commitRows(store, [snapshot(1, [binance()])]);
    const perp = { ...binance(), source: 'BINANCE', type: 'cex_perp' };
    const rows = [
      snapshot(2, [orca()]),
      snapshot(2, [perp], { chain: 'evmchain', address: EVM_TOKEN }),
    ];
    await expectRefused(
      () => commitRows(store, rows),
      /^test\.ndjson:2: markets\[0\]\.type: venue binance is cex_spot in the store, not cex_perp$/,
    );
  });

  it('where a market has another exchange type in the store', async () => {
    await commitRows(store, [snapshot(1, [binance()])]);
    const moved = { ...binance(), exchange_type: 'DEX' as const, type: 'cex_spot' };
    await expectRefused(
      () => commitRows(store, [snapshot(2, [moved])]),
      /^test\.ndjson:1: markets\[0\]\.exchange_type: Binance A\/USDT is CEX in the store, not DEX$/,
    );
  });

  it('where an asset would have two legs of one chain', async () => {
    await commitTokens(store, [{ address: MINT, asset: 'sol' }]);
    await expectRefused(
      () =>
        commitTokens(store, [
          { address: OTHER_MINT, asset: 'usd' },
          { address: OTHER_MINT, asset: 'sol' },
        ]),
      new RegExp(
        `^tokens\\.ndjson:2: asset: sol would have two mainchain legs, ${MINT} and ${OTHER_MINT}$`,
      ),
    );
    await expectRefused(
      () =>
        commitTokens(store, [
          { address: MINT, asset: 'x' },
          { address: OTHER_MINT, asset: 'x' },
        ]),
      /^tokens\.ndjson:2: asset: x would have two mainchain legs/,
    );
  });

  it('where a token would have too many markets', async () => {
    const many = Array.from({ length: MAX_MARKETS_PER_TOKEN - 1 }, (_, i): Market => ({
      source: 'Orca',
      exchangeType: 'DEX',
      type: 'onchain_pool',
      address: `pool-${i}`,
      pair: null,
    }));
    const header = { kind: 'header', version: BUNDLE_VERSION, file: 'm', mode: 'replace' } as const;
    const token = { chain: 'mainchain', address: MINT } as const;
    await commitFrames(store, [header, { kind: 'markets', ...token, markets: many }]);
    await commitRows(store, [snapshot(1, [binance()])]);
    await expectRefused(
      () => commitRows(store, [snapshot(2, [orca(), { ...orca(), address: 'one too many' }])]),
      new RegExp(
        `^test\\.ndjson:1: markets: ${MINT} would have more than ${MAX_MARKETS_PER_TOKEN} markets$`,
      ),
    );
  });

  it('where the command is of another version', async () => {
    await expectRefused(
      () => commitFrames(store, [{ kind: 'header', version: 99, file: 'f', mode: 'replace' }]),
      /speaks version 99 of the hand-over, the store 3: run both with one version/,
    );
  });
});

describe('Legs of an asset', () => {
  it('may change places in one file, in any order of its rows', async () => {
    const [a, b] = [MINT, OTHER_MINT];
    await commitTokens(store, [
      { address: a, asset: 'x' },
      { address: b, asset: 'y' },
    ]);
    await commitTokens(store, [{ chain: 'evmchain', address: EVM_TOKEN, asset: 'x' }]);
    const leg = () => {
      const token = store.depth.token('evmchain', EVM_TOKEN);
      return token && (store.depth.mainchainLeg(token)?.address ?? null);
    };
    expect(leg()).toBe(a);
    await commitTokens(store, [
      { address: b, asset: 'x' },
      { address: a, asset: 'y' },
    ]);
    expect(leg()).toBe(b);
    await commitTokens(store, [
      { address: b, asset: null },
      { address: a, asset: 'x' },
    ]);
    expect(leg()).toBe(a);
    await commitTokens(store, [{ address: a, asset: 'z' }]);
    expect(leg()).toBeNull();
    await store.close();
    store = await openStore(directory.path);
    expect(leg()).toBeNull();
    expect(store.depth.token('mainchain', a)?.asset).toBe('z');
  });
});

describe('Rows of tokens', () => {
  it('replace what was known of a token as a whole, and keep its depth', async () => {
    await commitRows(store, [snapshot(1)]);
    await commitTokens(store, [{ symbol: 'A', name: 'Aaa', decimals: 9, price_usd: 1.25 }]);
    await commitTokens(store, [{ symbol: 'B', coverage: 'excluded', last_refresh: 5 }]);
    await store.close();
    store = await openStore(directory.path);
    const known = store.depth.token('mainchain', MINT);
    expect(known).toMatchObject({ symbol: 'B', name: null, asset: null });
    expect(await cellsOf()).toEqual([[[0, 0, 500, 750]]]);
  });

  it('come by the ten thousands in one file', async () => {
    const address = (i: number) => `${'1'.repeat(28)}${String(i + 111_111).replaceAll('0', 'z')}`;
    const rows = Array.from({ length: 10_000 }, (_, i) => ({
      address: address(i),
      symbol: `T${i}`,
    }));
    await commitTokens(store, rows);
    await commitTokens(
      store,
      rows.map((row) => ({ ...row, name: 'again' })),
    );
    expect((await store.summary()).tokens).toBe(10_000);
    await store.close();
    store = await openStore(directory.path);
    expect((await store.summary()).tokens).toBe(10_000);
    expect(store.depth.token('mainchain', address(9_999))).toMatchObject({
      symbol: 'T9999',
      name: 'again',
    });
  });
});
