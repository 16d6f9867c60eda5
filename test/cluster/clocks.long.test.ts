/** A node whose clock is ahead by ten years, beside others. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasNats, NatsServers } from '../../bench/nats.js';
import { NodeProcess } from '../support/cluster.js';
import { commitRows, MINT, orca, snapshot } from '../support/stores.js';
import { eventually } from '../support/waiting.js';

const RETENTION = { FATHOM_RETENTION: '{"raw":"30d"}' };
/** Yesterday. */
const T = Math.floor(Date.now() / 1000) - 86_400;

describe.skipIf(!hasNats)('A node whose clock is ahead by ten years', () => {
  let servers: NatsServers;
  const nodes: NodeProcess[] = [];
  beforeAll(async () => {
    if (hasNats) servers = await NatsServers.start(1);
  });
  afterAll(async () => {
    for (const node of nodes) await node.close();
    await servers?.close();
  });
  const start = async (name: string, environment: Record<string, string>) => {
    const node = await NodeProcess.start(name, servers.urls, environment);
    nodes.push(node);
    return node;
  };

  it('deletes nothing on any node, and says why', async () => {
    const a = await start('a', RETENTION);
    await a.ready();
    const rows = [snapshot(T), snapshot(T + 60, [orca([[1, 2, 3]])])];
    await a.command((store) => commitRows(store, rows));
    const late = await start('late', { ...RETENTION, FATHOM_AS_OF: String(T + 10 * 365 * 86_400) });
    const position = await late.ready(await a.ready());
    // Retention checks at the start and once a minute: after a restart, the node checks now that it has the data.
    await late.kill('SIGTERM');
    late.start();
    const why = /this node's clock says 203\d-.* 1 of the 2 nodes that answer agree/;
    await eventually(
      () => late.output,
      () => why.test(late.output),
    );
    await late.ready(position);
    const key = { chain: 'mainchain', address: MINT, tier: 'raw' } as const;
    for (const node of nodes) {
      const times = await node.command((store) => store.snapshotTimes(key));
      expect(Array.from(times)).toEqual([T, T + 60]);
    }
  });
});
