import { expect, it } from 'vitest';
import { hasNats, NatsServers } from '../../bench/nats.js';
import { commitRows, DataDirectory, snapshot } from '../support/stores.js';
import { eventually } from '../support/waiting.js';
import { asAdministrator, Node, STREAM, T0 } from './log-nodes.js';

if (!hasNats) console.warn('nats-server is not installed: tests of a killed server are skipped');

it.skipIf(!hasNats)('A node goes on once the leader of its log is killed', async () => {
  const servers = await NatsServers.start(3);
  const directory = new DataDirectory();
  let node: Node | null = null;
  try {
    const errors: string[] = [];
    const onError = (error: unknown): unknown => errors.push((error as Error).message);
    node = await Node.open(directory, 'a', [servers.urls[0]], undefined, { onError }, 3);
    await node.reached(1);
    const leader = await asAdministrator(servers, async (manager, ask) => {
      let name = '';
      // The node's connection stays: it is to the first server.
      await eventually('another server leads the log', async () => {
        const info = await manager.streams.info(STREAM).catch(() => null);
        name = info?.cluster?.leader ?? '';
        if (name === 'n0') {
          await ask(`$JS.API.STREAM.LEADER.STEPDOWN.${STREAM}`).catch(() => undefined);
        }
        return !['', 'n0'].includes(name);
      });
      return name;
    });
    await servers.kill(Number(leader.slice(1)));
    const { commands } = node;
    await eventually('a commit is acknowledged', () =>
      commitRows(commands, [snapshot(T0)]).then(
        () => true,
        () => false,
      ),
    );
    await eventually('the node is well', () =>
      node!.node.checkLag().then(
        () => true,
        () => false,
      ),
    );
    expect(node.node.stoppedBy).toBeNull();
  } finally {
    await node?.close();
    await servers.close();
  }
});
