/** Commands beside a node that is killed while it has their change. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasNats, NatsServers } from '../../bench/cluster/nats.js';
import { fathom } from '../support/cli.js';
import { NodeProcess } from '../support/cluster.js';
import { losingReplyTo } from '../support/lost-reply.js';
import { snapshot } from '../support/stores.js';
import { T0 } from './log-nodes.js';

describe.skipIf(!hasNats)('A node that is killed before it answers a command', () => {
  let servers: NatsServers;
  let node: NodeProcess;
  beforeAll(async () => {
    servers = await NatsServers.start(1);
    node = await NodeProcess.start('a', servers.urls);
  });
  afterAll(async () => {
    await node?.close();
    await servers?.close();
  });

  it('may have put the change into the log: the status is 3', async () => {
    const data = node.directory.path;
    const file = path.join(data, 'one.ndjson');
    const told = (advice: string) => ({
      status: 3,
      stderr: `the server went away before it answered: the log may or may not have taken the change; ${advice}\n`,
    });
    await node.ready(1);
    const create = ['keys', 'create', '--tier', 'premium', '--data', data];
    expect(await losingReplyTo('createKey', node.pid, () => fathom(create))).toMatchObject(
      told('fathom keys list shows whether it has'),
    );
    await node.kill();
    node.start();
    await node.ready(1);
    writeFileSync(file, JSON.stringify(snapshot(T0)));
    const ingest = ['ingest', 'snapshots', file, '--data', data];
    expect(await losingReplyTo('commit', node.pid, () => fathom(ingest))).toMatchObject(
      told('try again, which is harmless if it has'),
    );
    await node.kill();
    node.start();
    await node.ready(1);
    expect(await fathom(ingest)).toMatchObject({ status: 0 });
  });
});
