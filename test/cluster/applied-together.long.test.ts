/** Random entries, applied one by one and together. `FATHOM_SEED=7` repeats the run of that seed. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { bundleFile } from '../../storage/bundle.js';
import type { CommitReport } from '../../storage/operations.js';
import { Applier } from '../../storage/log/applier.js';
import type { LogMessage } from '../../storage/log/log-reader.js';
import { packEntry } from '../../storage/log/entry.js';
import type { Store } from '../../storage/store.js';
import { seededRandom } from '../../bench/random.js';
import { commitFlat, dcaRow, flatContents } from '../support/flat.js';
import { commitHolders, storedHolders } from '../support/holders.js';
import {
  binance,
  bundleOf,
  commitDelete,
  commitRows,
  commitTokens,
  DataDirectory,
  deleteFrame,
  EVM_TOKEN,
  MINT,
  openStore,
  orca,
  OTHER_MINT,
  type SnapshotRow,
  snapshot,
} from '../support/stores.js';
import { seen, T0 } from './log-nodes.js';

describe('Entries applied together', () => {
  const TOKENS = [MINT, OTHER_MINT, EVM_TOKEN];
  const seed = Number(process.env.FATHOM_SEED ?? Math.floor(Math.random() * 2 ** 31));
  const random = seededRandom(seed);
  const upTo = (end: number): number => Math.floor(random() * end);
  const pick = <T>(list: readonly T[]): T => list[upTo(list.length)];

  /** Makes a random change; some are refused. */
  async function change(commands: Store): Promise<void> {
    const address = pick(TOKENS);
    const { chain } = deleteFrame({ address });
    const t = T0 + upTo(40) * 60;
    const row = (more: Partial<SnapshotRow> = {}): SnapshotRow => {
      const market = pick([orca, binance])([[upTo(9), 2 + upTo(50), 3]]);
      return snapshot(T0 + upTo(40) * 60, [market], { address, chain, ...more });
    };
    switch (upTo(20)) {
      case 0:
        return void (await commitDelete(commands, { address, fromS: t, toS: t + 300 }));
      case 1:
        return commitTokens(commands, [{ address, chain, asset: pick(['x', 'y', null]) }]);
      case 2: {
        const more = { remaining_usd: upTo(3), closed: upTo(4) === 0 };
        return commitFlat(commands, 'dca_orders', [
          dcaRow({ dca_address: pick(['1', '2']), ...more }),
        ]);
      }
      case 3: {
        const held = new Map([[pick(['u', 'v', 'w']), 1 + upTo(5)]]);
        return void (await commitHolders(commands, [[MINT, new Map([[T0 + upTo(9), held]])]]));
      }
      case 4: {
        await commitRows(commands, [
          row({ t, markets: [orca([1, 2, 3].map((bin) => [bin, 2, 3]))] }),
        ]);
        const less = row({ t, markets: [orca()] });
        return void (await commitRows(commands, [less], { refusesLoss: true }));
      }
      case 5: {
        const merge = await bundleOf(commands, [row({ t })], { mode: 'merge' });
        await commitRows(commands, [row({ t, price_usd: 3 })]);
        await commands.commit(merge.name);
        await merge.discard();
        return void (await commitRows(commands, [row({ t })]));
      }
      case 6:
      case 7:
      case 8:
        return void (await commitRows(commands, [row(), row({ t })], { mode: 'merge' }));
      default:
        return void (await commitRows(commands, [row(), row(), row()]));
    }
  }

  async function all(store: Store): Promise<unknown> {
    const rows = TOKENS.map((address) =>
      store.depth.token(deleteFrame({ address }).chain, address),
    );
    const known = TOKENS.filter((_, i) => rows[i] !== null);
    return {
      rows,
      mark: store.mark,
      flat: await flatContents(store),
      holders: await storedHolders(store.holders, MINT),
      depth: await Promise.all(known.map((address) => seen(store, address))),
      revisions: await store['parts'].database.rows(
        'SELECT token_id, position, times, last_t FROM depth_revisions ORDER BY ALL',
      ),
    };
  }

  it(`have the same result as one by one, refused ones included (seed ${seed})`, async () => {
    const directories = [new DataDirectory(), new DataDirectory()];
    const stores = await Promise.all(directories.map(({ path }) => openStore(path)));
    const refused: string[][] = [[], []];
    const [alone, together] = stores.map((store, i) => {
      const reject = (id: string): unknown => refused[i].push(id);
      const publisher = { awaits: () => false, resolve: () => undefined, reject };
      const log = { state: () => Promise.resolve({ id: 'log' }) };
      return new Applier({ store, name: 'a', log, publisher } as never);
    });
    const pepper = stores[0].keys.secret;
    const origin = packEntry({ kind: 'origin', node: 'a', pepper, hasData: false, settings: {} });
    const messages: LogMessage[] = [{ position: 1, id: 'origin', timeMs: 0, data: origin }];
    await alone.apply(messages);
    const commands = Object.assign(Object.create(stores[0]) as Store, {
      commit: async (name: string) => {
        const bundle = readFileSync(bundleFile(stores[0].directory, name));
        const position = messages.length + 1;
        const data = packEntry({ kind: 'bundle', bundle });
        messages.push({ position, id: `${position}`, timeMs: 0, data });
        await alone.apply(messages.slice(-1));
        return {} as CommitReport;
      },
    });
    let applied = 0;
    let transactions = 0;
    // Some changes are refused, a few in a hundred.
    while (messages.length < 100 || (refused[0].length === 0 && messages.length < 1000)) {
      const end = messages.length + 1 + upTo(15);
      while (messages.length < end) await change(commands);
      for (; applied < messages.length; transactions++) {
        applied += await together.apply(messages.slice(applied));
      }
      expect(await all(stores[1])).toEqual(await all(stores[0]));
    }
    expect(refused[1]).toEqual(refused[0]);
    expect(refused[0].length).toBeGreaterThan(0);
    expect(transactions).toBeLessThan(0.9 * messages.length);
    for (const store of stores) await store.close();
  });
});
