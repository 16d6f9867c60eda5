/** Nodes compare their clocks before retention deletes anything. */
import { describe, it } from 'vitest';
import { hasNats } from '../../bench/nats.js';
import { becomes } from '../support/waiting.js';
import { LogNodes, type Node, T0 } from './log-nodes.js';

describe.skipIf(!hasNats)("A node's clock", () => {
  const ours = new LogNodes();

  const withClock = async (name: string, s: number): Promise<Node> => {
    const node = await ours.open(name, undefined, undefined, { nowS: () => s });
    await node.reached(1);
    return node;
  };
  const doubts = (...of: Node[]) => Promise.all(of.map(({ node }) => node.clockDoubt()));

  it('is not trusted unless more than half of the nodes that answer agree with it', async () => {
    const a = await withClock('a', T0);
    const c = await withClock('c', T0 + 10 * 365 * 86_400);
    // If two clocks disagree, either may be wrong.
    const areDoubted = async () =>
      (await doubts(a, c)).map((doubt) => /1 of the 2 nodes/.test(doubt ?? ''));
    await becomes(areDoubted, [true, true]);
    const b = await withClock('b', T0 + 59);
    const isFast =
      "this node's clock says 2036-11-03T21:20:00Z, and only 1 of the 3 nodes that answer agree within 60 s: set the clocks right";
    await becomes(() => doubts(a, b, c), [null, null, isFast]);
    await ours.close(a);
    await ours.close(b);
    await becomes(() => doubts(c), [null]);
  });
});
