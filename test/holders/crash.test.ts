import { cpSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BundleWriter } from '../../storage/bundle/bundle.js';
import { BUNDLE_VERSION } from '../../storage/bundle/frames.js';
import { commitHolders, holdersFrame, storedHolders, type Held } from '../support/holders.js';
import { Script } from '../support/processes.js';
import { DataDirectory, MINT, OTHER_MINT, openStore } from '../support/stores.js';

/** When the process is killed, as a share of what the commit takes undisturbed. */
const KILLED_AT = [0.1, 0.4, 0.7, 0.9, 1];
const START = 1_794_600_000 - (1_794_600_000 % 86_400);
const HOUR_S = 3600;

/** 200 wallets of which some have traded since the last time. */
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

describe('A process killed in the middle of a commit of holders', () => {
  const template = new DataDirectory();
  const copies: DataDirectory[] = [];
  let bundle: string;

  beforeAll(async () => {
    const store = await openStore(template.path);
    await commitHolders(store, [[MINT, history(300, HOUR_S, START, 0)]]);
    // Snapshots replaced, put between others and aged, names that are new, and a new token.
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
  afterAll(() => [template, ...copies].forEach((directory) => directory.remove()));

  /** A copy of the prepared directory. */
  function copy(): string {
    const directory = new DataDirectory();
    copies.push(directory);
    cpSync(template.path, directory.path, { recursive: true });
    return directory.path;
  }

  /** All that the store holds, opened anew. */
  async function contents(directory: string): Promise<string> {
    const store = await openStore(directory);
    const found = await Promise.all(
      [MINT, OTHER_MINT].map(async (mint) => [...(await storedHolders(store.holders, mint))]),
    );
    await store.close();
    return JSON.stringify(found.map((all) => all.map(([t, held]) => [t, [...held].sort()])));
  }

  it('leaves all of it or nothing, and a store that opens', async () => {
    const before = await contents(copy());
    const undisturbed = copy();
    const whole = Script.start('commit-bundle.mjs', [undisturbed, bundle]);
    const durationMs = Number((await whole.line(/^committed ([\d.]+)/))[1]);
    await whole.exited;
    const after = await contents(undisturbed);
    expect(after).not.toBe(before);
    const outcomes = { nothing: 0, all: 0 };
    for (const share of KILLED_AT) {
      const directory = copy();
      const script = Script.start('commit-bundle.mjs', [directory, bundle]);
      await script.line(/^ready$/);
      await new Promise((resolve) => setTimeout(resolve, share * durationMs));
      await script.kill();
      const wasCommitted = script.printed.some((line) => line.startsWith('committed'));
      const found = await contents(directory);
      expect([before, after]).toContain(found);
      if (wasCommitted) expect(found).toBe(after);
      outcomes[found === after ? 'all' : 'nothing']++;
    }
    expect(outcomes.nothing).toBeGreaterThan(0);
  });
});
