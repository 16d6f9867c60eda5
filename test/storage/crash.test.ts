import { cpSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Script } from '../support/processes.js';
import {
  DataDirectory,
  MINT,
  OTHER_MINT,
  binance,
  bundleOf,
  commitRows,
  commitTokens,
  openStore,
  orca,
  segmentIds,
  snapshot,
  storedSnapshots,
  tokenOf,
} from '../support/stores.js';

/** When the process is killed, as a share of what the commit takes undisturbed. */
const KILLED_AT = [0.1, 0.4, 0.7, 0.9, 1];

const minute = (i: number) => 60_000 + i * 60;
const cells = (from: number) =>
  Array.from({ length: 100 }, (_, i) => [i - 50, from + i, i] as [number, number, number]);

describe('A process killed in the middle of a commit', () => {
  const template = new DataDirectory();
  const copies: DataDirectory[] = [];
  let bundle: string;

  beforeAll(async () => {
    const store = await openStore(template.path);
    await commitTokens(store, [{ address: MINT, symbol: 'OLD' }]);
    await commitRows(
      store,
      Array.from({ length: 300 }, (_, i) => snapshot(minute(2 * i), [orca(cells(5))])),
    );
    // It replaces some snapshots, lies between others, and brings a market and a token along.
    const file = await bundleOf(store, [
      ...Array.from({ length: 600 }, (_, i) => snapshot(minute(i), [orca(cells(9)), binance()])),
      ...Array.from({ length: 600 }, (_, i) =>
        snapshot(minute(i), [binance(cells(3))], { address: OTHER_MINT }),
      ),
    ]);
    bundle = file.name;
    await store.close();
  });
  afterAll(() => [template, ...copies].forEach((directory) => directory.remove()));

  /** A copy of the prepared directory. */
  function copy(): string {
    const directory = new DataDirectory();
    copies.push(directory);
    cpSync(template.path, directory.path, { recursive: true });
    return directory.path;
  }

  /** All that the store holds, opened anew. */
  async function contents(directory: string): Promise<unknown> {
    const store = await openStore(directory);
    const tokens = [MINT, OTHER_MINT].filter((a) => store.depth.token('mainchain', a) !== null);
    const found = await Promise.all(
      tokens.map(async (address) => ({
        token: store.depth.token('mainchain', address),
        markets: store.market.markets(tokenOf(store, address)),
        segments: (await segmentIds(store, address)).length,
        snapshots: await storedSnapshots(store, tokenOf(store, address)),
      })),
    );
    await store.close();
    return found;
  }

  it('leaves all of it or nothing, and a store that opens', async () => {
    const before = await contents(copy());
    const undisturbed = copy();
    const whole = Script.start('commit-bundle.mjs', [undisturbed, bundle]);
    const durationMs = Number((await whole.line(/^committed ([\d.]+)/))[1]);
    await whole.exited;
    const after = await contents(undisturbed);
    const outcomes = { nothing: 0, all: 0 };
    for (const share of KILLED_AT) {
      const directory = copy();
      const script = Script.start('commit-bundle.mjs', [directory, bundle]);
      await script.line(/^ready$/);
      await new Promise((resolve) => setTimeout(resolve, share * durationMs));
      await script.kill();
      const wasCommitted = script.printed.some((line) => line.startsWith('committed'));
      const found = await contents(directory);
      const isAll = JSON.stringify(found) === JSON.stringify(after);
      if (!isAll) expect(found).toEqual(before);
      if (wasCommitted) expect(isAll).toBe(true);
      outcomes[isAll ? 'all' : 'nothing']++;
    }
    expect(outcomes.nothing).toBeGreaterThan(0);
  });
});
