import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Market, MAX_MARKETS_PER_TOKEN } from '../../compute/market.js';
import { BUNDLE_VERSION } from '../../storage/bundle.js';
import { DATABASE_FILE } from '../../storage/data-directory.js';
import { InputError, StoreChangedError } from '../../storage/errors.js';
import { commitHolders, storedHolders } from '../support/holders.js';
import {
  amounts,
  binance,
  type Cell,
  bundleOf,
  commitDelete,
  commitFrames,
  commitRows,
  commitTokens,
  type Deletion,
  EVM_TOKEN,
  MINT,
  FreshStore,
  orca,
  OTHER_MINT,
  segmentIds,
  snapshot,
  type SnapshotRow,
  storedSnapshots,
  tokenOf,
} from '../support/stores.js';
import { expectSame } from '../support/same.js';

const held = new FreshStore();

const cellsOf = async (address = MINT) =>
  (await storedSnapshots(held.store, tokenOf(held.store, address))).map(({ cells }) => cells);
const marketsOf = async (address = MINT) => {
  const window = { fromS: 0, toS: 1, nowS: 1, maxSnapshots: 1 };
  return (await held.store.depth.plan({ tokenId: tokenOf(held.store, address), ...window }))
    .markets;
};

/** Everything that a refused commit must leave unchanged: in memory and, after reopening, on disk. */
async function contents(): Promise<unknown> {
  const tokens = [MINT, OTHER_MINT, EVM_TOKEN].filter((address) => {
    const chain = address === EVM_TOKEN ? 'evmchain' : 'mainchain';
    return held.store.depth.token(chain, address) !== null;
  });
  return {
    summary: await held.store.summary(),
    tokens: await Promise.all(
      tokens.map(async (address) => ({
        record: held.store.depth.token(address === EVM_TOKEN ? 'evmchain' : 'mainchain', address),
        markets: await marketsOf(address),
        segments: await segmentIds(held.store, address),
        snapshots: await storedSnapshots(held.store, tokenOf(held.store, address)),
      })),
    ),
  };
}

async function expectRefused(commit: () => Promise<unknown>, message: RegExp): Promise<void> {
  const before = await contents();
  const refused = commit();
  await expect(refused).rejects.toBeInstanceOf(InputError);
  await expect(refused).rejects.toThrow(message);
  expectSame(await contents(), before);
  await held.reopen();
  expectSame(await contents(), before);
}

describe('A commit', () => {
  it('of the same bundle twice changes neither content nor segments', async () => {
    const rows = Array.from({ length: 700 }, (_, i) =>
      snapshot(1000 + i * 60, [orca(), binance()]),
    );
    for (const mode of ['replace', 'merge'] as const) {
      await commitRows(held.store, rows, { mode });
      await held.store.settled();
      const ids = await segmentIds(held.store);
      const before = await contents();
      await commitRows(held.store, rows, { mode });
      expect(await segmentIds(held.store)).toEqual(ids);
      expectSame(await contents(), before);
    }
  });

  it('does not touch what lies between the snapshots of a file', async () => {
    for (const first of [1000, 2000, 3000]) {
      const rows = Array.from({ length: 288 }, (_, i) => snapshot(first + i));
      await commitRows(held.store, rows);
    }
    const before = await segmentIds(held.store);
    const far = [snapshot(1000, [orca([[0, 1, 1]])]), snapshot(3000, [orca([[0, 1, 1]])])];
    await commitRows(held.store, far);
    const after = await segmentIds(held.store);
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

  it('stores a segment far larger than one value of the database', async () => {
    const random = amounts();
    const markets = Array.from({ length: 200 }, (_, m) => ({
      ...orca(Array.from({ length: 475 }, (_, i) => [i - 232, 1 + random(), random()])),
      address: `wide-${m}`,
    }));
    const wide = snapshot(500, markets);
    await commitRows(held.store, [wide]);
    const [id] = await segmentIds(held.store);
    const [block] = await held.store.depth.readSegments([id]);
    expect(block.length).toBeGreaterThan(500_000);
    const [stored] = await storedSnapshots(held.store, tokenOf(held.store));
    expectSame(
      stored.cells,
      markets.flatMap(({ cells }, m) =>
        cells.map(([bin, s, r]) => [m, bin, Math.floor(s * 100 + 0.5), Math.floor(r * 100 + 0.5)]),
      ),
    );
    await commitRows(held.store, [snapshot(500)]);
    expect(await cellsOf()).toEqual([[[200, 0, 500, 750]]]);
    expect((await held.store.summary()).cells).toBe(1);
  });

  it("copies a token's markets if it adds one, and leaves the readers' list unchanged", async () => {
    await commitRows(held.store, [snapshot(900, [orca()])]);
    const markets = held.store.depth.markets(tokenOf(held.store));
    await commitTokens(held.store, [{ symbol: 'A' }, { address: OTHER_MINT }]);
    await commitRows(held.store, [snapshot(1800, [orca()])]);
    expect(held.store.depth.markets(tokenOf(held.store))).toBe(markets);
    expect(held.store.depth.markets(tokenOf(held.store, OTHER_MINT))).toEqual([]);
    await commitRows(held.store, [
      snapshot(2700, [orca(), binance()]),
      snapshot(2700, [binance()], { address: OTHER_MINT }),
    ]);
    expect(markets).toHaveLength(1);
    expect(held.store.depth.markets(tokenOf(held.store))).toHaveLength(2);
    expect(held.store.depth.markets(tokenOf(held.store, OTHER_MINT))).toHaveLength(1);
    expect(await cellsOf()).toHaveLength(3);
  });
});

describe('A merge', () => {
  it('that would exceed the limit of a snapshot is refused', async () => {
    const wide = (source: string): SnapshotRow =>
      snapshot(
        7,
        Array.from({ length: 150 }, (_, m) => ({
          ...orca(Array.from({ length: 400 }, (_, i) => [i - 200, 1, 1])),
          source,
          address: `pool-${m}`,
        })),
      );
    await commitRows(held.store, [wide('Orca')]);
    const file = [snapshot(1, [binance()]), wide('Raydium')];
    await expectRefused(
      () => commitRows(held.store, file, { mode: 'merge', file: 'more.ndjson' }),
      /^more\.ndjson: markets: the snapshot of So1\w+ \(mainchain\) at 7 \(raw\) would hold more than 100000 cells/,
    );
    // The limit also holds for a snapshot put together from distant rows of one file.
    const apart = [wide('Orca'), wide('Raydium')].map((row) => ({ ...row, t: 8 }));
    await expectRefused(
      () => commitRows(held.store, apart, { mode: 'merge', cuts: [1] }),
      /at 8 \(raw\) would hold more than 100000 cells/,
    );
  });

  it('must start over if the snapshot’s price has changed meanwhile', async () => {
    const file = await bundleOf(held.store, [snapshot(1, [binance()])], { mode: 'merge' });
    await commitRows(held.store, [snapshot(1, [orca()], { price_usd: 2.5 })]);
    const before = await contents();
    await expect(held.store.commit(file.name)).rejects.toBeInstanceOf(StoreChangedError);
    expectSame(await contents(), before);
    await file.discard();
  });
});

describe('Snapshots that a commit replaces', () => {
  const cells = (count: number): Cell[] => Array.from({ length: count }, (_, i) => [i, 1, 1]);

  it('may lose half of a market’s cells, and no more if that is refused', async () => {
    const days = (orcas: number[], binances: number[]) =>
      orcas.map((count, i) => snapshot(i + 1, [orca(cells(count)), binance(cells(binances[i]))]));
    await commitRows(held.store, days([10, 10], [10, 30]));
    const merged = { mode: 'merge', refusesLoss: true } as const;
    // One snapshot may lose all of them; the market's sum counts.
    await commitRows(held.store, days([10, 0], [1, 19]), merged);
    await expectRefused(
      () => commitRows(held.store, days([9, 1], [0, 9]), merged),
      /^Binance\/A\/USDT of mainchain:So1\w+: 2 stored snapshots with 20 cells would be replaced by ones with 9, less than half$/,
    );
    // Neither another market's gain nor a time that was empty makes up for it.
    await expectRefused(
      () => commitRows(held.store, [...days([200, 200], [0, 0]), snapshot(3, [binance()])], merged),
      /^Binance\/A\/USDT of .* with 20 cells would be replaced by ones with 0,/,
    );
    const { replaced } = await commitRows(held.store, days([1, 1], [0, 0]), { mode: 'merge' });
    expect(replaced).toEqual({ snapshots: 2, cellsBefore: 30, cellsAfter: 1 });
  });
});

describe('A rehearsal', () => {
  const rehearse = true;

  it('leaves no row, and gives its room in the file back at the next checkpoint', async () => {
    const file = path.join(held.directory.path, DATABASE_FILE);
    await commitTokens(held.store, [{ address: MINT }]);
    await commitHolders(held.store, [[MINT, new Map([[1, new Map([['a', 1]])]])]]);
    const log = readFileSync(`${file}.wal`);
    // Incompressible, and more than a row group of parts.
    const amount = amounts();
    const rows = Array.from({ length: 3600 }, (_, i) =>
      snapshot(
        i + 1,
        [orca(Array.from({ length: 250 }, (_, bin): Cell => [bin - 120, amount(), amount()]))],
        { address: OTHER_MINT },
      ),
    );
    const rehearsed = await commitRows(held.store, rows, { rehearse });
    expect(rehearsed).toMatchObject({ tokens: 1, replaced: { snapshots: 0 } });
    expect(held.store.depth.token('mainchain', OTHER_MINT)).toBe(null);
    const later = new Map([[2, new Map([['b', 2]])]]);
    await commitHolders(
      held.store,
      [
        [MINT, later],
        [OTHER_MINT, later],
      ],
      { rehearse },
    );
    expect(readFileSync(`${file}.wal`)).toEqual(log);
    const written = statSync(file).size;
    expect([...(await storedHolders(held.store.holders, MINT)).keys()]).toEqual([1]);
    expect((await held.store.summary()).segments).toBe(0);
    // The next commit runs as if there had been no rehearsal.
    await commitHolders(held.store, [[MINT, later]]);
    await held.reopen();
    expect([...(await storedHolders(held.store.holders, MINT)).keys()]).toEqual([1, 2]);
    expect(held.store.depth.token('mainchain', OTHER_MINT)).toBe(null);
    await held.reopen();
    expect(statSync(file).size).toBeLessThan(written - 1e6);
  });

  it('is refused as the commit would be', async () => {
    await commitRows(held.store, [snapshot(1, [binance()])]);
    const perp = snapshot(2, [{ ...binance(), type: 'cex_perp' }]);
    await expectRefused(
      () => commitRows(held.store, [perp], { rehearse }),
      /venue binance is cex_spot/,
    );
    const less = { mode: 'merge', refusesLoss: true, rehearse } as const;
    await expectRefused(
      () => commitRows(held.store, [snapshot(1, [binance([])])], less),
      /less than half/,
    );
  });
});

describe('A deletion', () => {
  const at = (...times: number[]) => times.map((t) => snapshot(t, [orca(), binance()]));

  it('selects a market by address, pair or venue key, unless that is ambiguous', async () => {
    const pools = [1, 2].map((n) => ({
      ...orca(),
      source: 'Orca Whirlpools',
      address: `pool-${n}`,
      pair: 'A/B',
    }));
    const summed = {
      source: 'constant-product',
      exchange_type: 'DEX' as const,
      cells: binance().cells,
    };
    await commitRows(held.store, [snapshot(1, [...pools, summed, binance()])]);
    const refused = (market: string, message: RegExp) =>
      expectRefused(() => commitDelete(held.store, { address: MINT, markets: [market] }), message);
    await refused(
      'Orca Whirlpools/A/B',
      /stands for several of mainchain:So1.* expected one of Orca Whirlpools\/pool-1, Orca Whirlpools\/pool-2$/,
    );
    await refused(
      'Orca/pool-1',
      /has no market Orca\/pool-1; expected one of Orca Whirlpools\/pool-1, /,
    );
    const names = ['orca-whirlpools/pool-2', 'constant-product', 'Binance/A/USDT'];
    for (const [i, name] of names.entries()) {
      const { deleted } = await commitDelete(held.store, { address: MINT, markets: [name] });
      expect([i, deleted]).toEqual([i, { snapshots: 0, changedSnapshots: 1, cells: 1 }]);
    }
    expect(await cellsOf()).toEqual([[[0, 0, 500, 750]]]);
  });

  it('that matches nothing is refused with what there is', async () => {
    await commitTokens(held.store, [{ address: OTHER_MINT }]);
    await commitRows(held.store, at(60, 120));
    const refused = (what: Deletion, message: RegExp) =>
      expectRefused(() => commitDelete(held.store, what), message);
    await refused({ address: EVM_TOKEN }, /^token: the store does not know evmchain:0x0+aa$/);
    await refused({ address: OTHER_MINT }, /^nothing to delete: .* it has none at all$/);
    await refused(
      { address: MINT, fromS: 121 },
      /has no snapshot in the window; it has 2 snapshots from 1970-01-01T00:01:00.000Z to 1970-01-01T00:02:00.000Z$/,
    );
  });
});

describe('A whole commit is refused', () => {
  it('if a market has another exchange type in the store', async () => {
    await commitRows(held.store, [snapshot(1, [binance()])]);
    const moved = { ...binance(), exchange_type: 'DEX' as const, type: 'cex_spot' };
    await expectRefused(
      () => commitRows(held.store, [snapshot(2, [moved])]),
      /^test\.ndjson:1: markets\[0\]\.exchange_type: Binance A\/USDT is CEX in the store, not DEX$/,
    );
  });

  it('if a merge spells an order book of the store differently', async () => {
    await commitRows(held.store, [snapshot(1, [binance()])]);
    const respelled = { ...binance(), source: 'BINANCE' };
    await expectRefused(
      () => commitRows(held.store, [snapshot(1, [respelled])], { mode: 'merge' }),
      /^test\.ndjson:1: markets\[0\]\.source: the store has this market as Binance\/A\/USDT, not BINANCE\/A\/USDT: spell it as there$/,
    );
    const lower = { ...binance(), pair: 'a/usdt' };
    await expectRefused(
      () => commitRows(held.store, [snapshot(1, [lower])], { mode: 'merge' }),
      /^test\.ndjson:1: markets\[0\]\.pair: the store has this market as Binance\/A\/USDT, not Binance\/a\/usdt: spell it as there$/,
    );
  });

  it('if an asset would have two legs of one chain', async () => {
    await commitTokens(held.store, [{ address: MINT, asset: 'sol' }]);
    await expectRefused(
      () =>
        commitTokens(held.store, [
          { address: OTHER_MINT, asset: 'usd' },
          { address: OTHER_MINT, asset: 'sol' },
        ]),
      new RegExp(
        `^tokens\\.ndjson:2: asset: sol would have two mainchain legs, ${MINT} and ${OTHER_MINT}$`,
      ),
    );
    await expectRefused(
      () =>
        commitTokens(held.store, [
          { address: MINT, asset: 'x' },
          { address: OTHER_MINT, asset: 'x' },
        ]),
      /^tokens\.ndjson:2: asset: x would have two mainchain legs/,
    );
  });

  it('if a token would have too many markets', async () => {
    const many = Array.from({ length: MAX_MARKETS_PER_TOKEN - 1 }, (_, i): Market => ({
      source: 'Orca',
      exchangeType: 'DEX',
      type: 'onchain_pool',
      address: `pool-${i}`,
      pair: null,
    }));
    const header = { kind: 'header', version: BUNDLE_VERSION, file: 'm', mode: 'replace' } as const;
    const token = { chain: 'mainchain', address: MINT } as const;
    await commitFrames(held.store, [header, { kind: 'markets', ...token, markets: many }]);
    await commitRows(held.store, [snapshot(1, [binance()])]);
    await expect(
      commitRows(held.store, [snapshot(2, [orca(), { ...orca(), address: 'one too many' }])]),
    ).rejects.toThrow(
      new RegExp(
        `^test\\.ndjson:1: markets: ${MINT} would have more than ${MAX_MARKETS_PER_TOKEN} markets$`,
      ),
    );
    expect(await marketsOf()).toHaveLength(MAX_MARKETS_PER_TOKEN);
    expect((await held.store.summary()).segments).toBe(1);
  });

  it('if the command is of another version', async () => {
    await expectRefused(
      () => commitFrames(held.store, [{ kind: 'header', version: 99, file: 'f', mode: 'replace' }]),
      new RegExp(
        `^the command wrote a bundle of version 99, this version knows ${BUNDLE_VERSION}: run it and the server with one version of Fathom$`,
      ),
    );
  });
});

it('Legs of an asset may change places in one file, in any order of its rows', async () => {
  const [a, b] = [MINT, OTHER_MINT];
  await commitTokens(held.store, [
    { address: a, asset: 'x' },
    { address: b, asset: 'y' },
  ]);
  await commitTokens(held.store, [{ chain: 'evmchain', address: EVM_TOKEN, asset: 'x' }]);
  const leg = () => {
    const token = held.store.depth.token('evmchain', EVM_TOKEN);
    return token && (held.store.depth.mainchainLeg(token)?.address ?? null);
  };
  expect(leg()).toBe(a);
  await commitTokens(held.store, [
    { address: b, asset: 'x' },
    { address: a, asset: 'y' },
  ]);
  expect(leg()).toBe(b);
  await commitTokens(held.store, [
    { address: b, asset: null },
    { address: a, asset: 'x' },
  ]);
  expect(leg()).toBe(a);
  await commitTokens(held.store, [{ address: a, asset: 'z' }]);
  expect(leg()).toBeNull();
  await held.reopen();
  expect(leg()).toBeNull();
  expect(held.store.depth.token('mainchain', a)?.asset).toBe('z');
});

describe('Rows of tokens', () => {
  it('replace the whole record of a token, and keep its depth', async () => {
    await commitRows(held.store, [snapshot(1)]);
    await commitTokens(held.store, [{ symbol: 'A', name: 'Aaa', decimals: 9, price_usd: 1.25 }]);
    await commitTokens(held.store, [{ symbol: 'B', coverage: 'excluded', last_refresh: 5 }]);
    await held.reopen();
    const known = held.store.depth.token('mainchain', MINT);
    expect(known).toMatchObject({ symbol: 'B', name: null, asset: null });
    expect(await cellsOf()).toEqual([[[0, 0, 500, 750]]]);
  });

  it('may come by the ten thousands in one file', async () => {
    const address = (i: number) => `${'1'.repeat(28)}${String(i + 111_111).replaceAll('0', 'z')}`;
    const rows = Array.from({ length: 10_000 }, (_, i) => ({
      address: address(i),
      symbol: `T${i}`,
    }));
    await commitTokens(held.store, rows);
    await commitTokens(
      held.store,
      rows.map((row) => ({ ...row, name: 'again' })),
    );
    expect((await held.store.summary()).tokens).toBe(10_000);
    await held.reopen();
    expect((await held.store.summary()).tokens).toBe(10_000);
    expect(held.store.depth.token('mainchain', address(9_999))).toMatchObject({
      symbol: 'T9999',
      name: 'again',
    });
  });
});
