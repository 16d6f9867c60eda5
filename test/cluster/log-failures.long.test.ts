/** A node whose WAL is full, and cannot be written into a file with a damaged block. */
import { describe, expect, it } from 'vitest';
import { hasNats } from '../../bench/nats.js';
import { commitRows, noisyRows, OTHER_MINT } from '../support/stores.js';
import { LogNodes, T0 } from './log-nodes.js';

describe.skipIf(!hasNats)('A node whose data is damaged', () => {
  const ours = new LogNodes();

  it('stops when its WAL is full and cannot be written into the file, without skipping an entry', async () => {
    const [a, b] = await ours.oneDamaged();
    const another = (first: number) => commitRows(a.commands, noisyRows(first, OTHER_MINT));
    await another(T0);
    await b.reached(a.node.position);
    // The WAL reaches its limit, and the checkpoint fails at the damaged block.
    const long = "INSERT INTO meta SELECT 'long ' || range, repeat('x', 60000) FROM range(1200)";
    for (let i = 0; i < 2; i++) await b.store['parts'].database.run(long);
    const { position } = b.node;
    await another(T0 + 1000);
    await b.until(() => b.stopped !== null || b.node.position > position);
    expect(b.stopped).toMatch(/meets damaged data of this node.* is full and cannot be written/);
    expect(b.node.position).toBe(position);
  });
});
