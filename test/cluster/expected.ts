/** Compares the acknowledged changes with the log, and the contents of each node with the log. */
import { expect } from 'vitest';
import type { NodeProcess } from '../support/cluster.js';
import { openStore } from '../support/stores.js';
import type { Outcome, RandomChanges } from './random-changes.js';
import { Reference } from './reference.js';
import { contentsOf } from '../walk/contents.js';
import { differences } from '../walk/model.js';

/** By outcome: how often, at least and at most, a change may be in the log and take effect. */
const TIMES: Record<Outcome, [number, number]> = {
  done: [1, 1],
  refused: [0, 0],
  decided: [0, 0],
  unknown: [0, 1],
};

/** Expects each change once in the log, or not at all, as its command reported. */
export async function expectAcknowledged(
  { outcomes, prunes, keys, unexpected }: RandomChanges,
  { counts }: Reference,
  nodes: readonly NodeProcess[],
): Promise<void> {
  expect(unexpected).toEqual([]);
  for (const [number, outcome] of outcomes) {
    const name = `file-${number}`;
    const [least, most] = TIMES[outcome];
    const times = counts.get(name) ?? 0;
    expect([name, outcome, times >= least && times <= most]).toEqual([name, outcome, true]);
  }
  const pruned = new Map<string, [number, number]>();
  for (const { name, outcome } of prunes) {
    const [least, most] = pruned.get(name) ?? [0, 0];
    // Entries that all nodes refused count too, such as one for a token unknown to all of them.
    const [own, ownMost] = outcome === 'decided' ? [0, 1] : TIMES[outcome];
    pruned.set(name, [least + own, most + ownMost]);
  }
  for (const [name, [least, most]] of pruned) {
    const times = counts.get(`prune ${name}`) ?? 0;
    expect([name, least, most, times >= least && times <= most]).toEqual([name, least, most, true]);
  }
  for (const [id, texts] of keys) {
    expect([id, counts.get(`key ${id}`)]).toEqual([id, 1]);
    for (const { text, isLive } of texts) {
      const replies = await Promise.all(nodes.map((node) => node.get('/usage', text)));
      const statuses = replies.map(({ status }) => status);
      const [first] = statuses;
      expect(new Set(statuses)).toEqual(new Set([first]));
      if (isLive !== null) expect([id, first]).toEqual([id, isLive ? 200 : 401]);
    }
  }
}

/** Kills each node, and compares every row in its store and in each backup with the log up to its position. */
export async function expectStored(
  { backups, files }: RandomChanges,
  urls: string[],
  nodes: readonly NodeProcess[],
): Promise<void> {
  await Promise.all(nodes.map((node) => node.kill()));
  const { states } = await Reference.read(urls, files);
  const stores = nodes.map(({ directory }) => ({ directory: directory.path, position: null }));
  for (const { directory, position } of [...stores, ...backups]) {
    const store = await openStore(directory);
    try {
      const at = store.mark?.position ?? NaN;
      expect([directory, at]).toEqual([directory, position ?? at]);
      const wrong = differences(states[at], await contentsOf(store));
      expect([directory, at, wrong]).toEqual([directory, at, []]);
    } finally {
      await store.close();
    }
  }
  for (const node of nodes) node.start();
}
