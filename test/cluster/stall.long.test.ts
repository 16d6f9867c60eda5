import { expect, it } from 'vitest';
import { hasNats, NatsServers } from '../../bench/cluster/nats.js';
import { commitRows, DataDirectory, snapshot } from '../support/stores.js';
import { eventually } from '../support/waiting.js';
import { asAdministrator, Node, STREAM, T0 } from './log-nodes.js';

if (!hasNats) console.warn('nats-server is not installed: tests of a killed server are skipped');

it.skipIf(!hasNats)('A node whose consumer’s server is killed acknowledges again', async () => {
  const servers = await NatsServers.start(3);
  const directory = new DataDirectory();
  let node: Node | null = null;
  try {
    const errors: string[] = [];
    const onError = (error: unknown): unknown => errors.push((error as Error).message);
    const followed: number[] = [];
    const onFollowing = (position: number): unknown => followed.push(position);
    const listeners = { onError, onFollowing };
    node = await Node.open(directory, 'a', [servers.urls[0]], undefined, listeners, 3);
    await node.reached(1);
    const holder = await asAdministrator(servers, async (manager, ask) => {
      let name = '';
      // Only the consumer is lost with this server: it has neither the node's connection nor the stream's leader.
      await eventually('the consumer has another server', async () => {
        const made = await manager.consumers
          .list(STREAM)
          .next()
          .catch(() => []);
        const used = made.find(({ num_waiting: waiting }) => waiting > 0);
        name = used?.cluster?.leader ?? '';
        if (name === 'n0' && used)
          await manager.consumers.delete(STREAM, used.name).catch(() => false);
        return !['', 'n0'].includes(name);
      });
      await eventually('the stream has another leader', async () => {
        const leader = await manager.streams.info(STREAM).then(
          ({ cluster }) => cluster?.leader,
          () => undefined,
        );
        if (leader === name)
          await ask(`$JS.API.STREAM.LEADER.STEPDOWN.${STREAM}`).catch(() => undefined);
        return Boolean(leader) && leader !== name;
      });
      return name;
    });
    await servers.kill(Number(holder.slice(1)));
    const { commands } = node;
    await eventually('a commit is acknowledged', () =>
      commitRows(commands, [snapshot(T0)]).then(
        () => true,
        () => false,
      ),
    );
    expect(errors).toContain(`the log's consumer on server ${holder} was silent for 2 s`);
    await eventually('it says that it follows again', () => followed.length > 0);
  } finally {
    await node?.close();
    await servers.close();
  }
});
