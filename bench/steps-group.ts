/** Loads the group of steps, with its stores and its pool. */
import path from 'node:path';
import { startPool } from '../compute/pool.js';
import type { LoadedGroup } from './case.js';
import { stepCases } from './cases/steps.js';
import { PAGE_A } from './data/pages.js';
import { temporaryFolder } from './folder.js';
import { makeStore, openStore } from './store.js';

/** @param tokens of the large store; the small one has one of them */
export async function loadSteps(tokens: number): Promise<LoadedGroup> {
  const folder = temporaryFolder();
  const [large, small] = [path.join(folder.path, 'large'), path.join(folder.path, 'small')];
  await makeStore(large, PAGE_A, tokens);
  await makeStore(small, PAGE_A, 1);
  const stores = [await openStore(large), await openStore(small)];
  const faults: Error[] = [];
  const pool = await startPool({ onError: (error) => faults.push(error) });
  return {
    cases: await stepCases(PAGE_A, stores[0], stores[1], pool),
    async close() {
      await pool.close();
      for (const store of stores) await store.close();
      await folder.remove();
      if (faults.length > 0) throw faults[0];
    },
  };
}
