import { afterAll, beforeAll, describe, it } from 'vitest';
import { BUNDLE_VERSION, BundleWriter } from '../../storage/bundle.js';
import { commitHolders, type Held, holdersFrame, storedHolders } from '../support/holders.js';
import { StagedCommit } from '../support/killed-commits.js';
import { MINT, openStore, OTHER_MINT } from '../support/stores.js';

const START = 1_794_600_000 - (1_794_600_000 % 86_400);
const HOUR_S = 3600;

/** 200 wallets, some of which have traded since the last time. */
function crowd(round: number, from = 0): Held {
  return new Map(
    Array.from({ length: 200 }, (_, i) => [
      `wallet${from + i}`,
      1 + Math.floor((round * 7 + i) / 50) / 8,
    ]),
  );
}

const history = (count: number, stepS: number, firstS: number, seed: number) =>
  new Map(Array.from({ length: count }, (_, i) => [firstS + i * stepS, crowd(seed + i)]));

/** Everything in the store, opened again. */
async function contents(directory: string): Promise<string> {
  const store = await openStore(directory);
  const found = await Promise.all(
    [MINT, OTHER_MINT].map(async (mint) => [...(await storedHolders(store.holders, mint))]),
  );
  await store.close();
  return JSON.stringify(found.map((all) => all.map(([t, held]) => [t, [...held].sort()])));
}

describe('A process killed in the middle of a commit of holders', () => {
  const staged = new StagedCommit(contents);
  let bundle: string;

  beforeAll(async () => {
    const store = await openStore(staged.template.path);
    await commitHolders(store, [[MINT, history(300, HOUR_S, START, 0)]]);
    // Snapshots replaced, inserted between others and aged, new names, and a new token.
    const file = await BundleWriter.create(store.directory);
    await file.write({
      kind: 'header',
      version: BUNDLE_VERSION,
      file: 'holders.ndjson',
      mode: 'replace',
    });
    for (let part = 0; part < 8; part++) {
      const first = START + (200 + part * 20) * HOUR_S;
      await file.write(holdersFrame(MINT, history(60, HOUR_S / 3, first, 1000 * part)));
      const strangers = new Map([[START + part, crowd(part, 200 * part)]]);
      await file.write(holdersFrame(OTHER_MINT, strangers));
    }
    await file.finish();
    bundle = file.name;
    await store.close();
  });
  afterAll(() => staged.remove());

  it('leaves all of it or nothing, in a store that can be opened', () =>
    staged.expectAllOrNothing(bundle));
});
