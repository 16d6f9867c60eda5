/** Commands whose node, or whose JetStream server, ends or stalls while it has their change. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasNats, NatsServers } from '../../bench/nats.js';
import { fathom } from '../support/cli.js';
import { NodeProcess } from '../support/cluster.js';
import { beforeSending, losingReplyTo } from '../support/lost-reply.js';
import { snapshot } from '../support/stores.js';
import { T0 } from './log-nodes.js';

const ofKeys = 'fathom keys list shows whether it has';
const ofFiles = 'try again, which is harmless if it has';

describe.skipIf(!hasNats)('A command', () => {
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

  it('ends with status 3 if its node is killed before it answers', async () => {
    const data = node.directory.path;
    const file = path.join(data, 'one.ndjson');
    const told = (advice: string) => ({
      status: 3,
      stderr: `the server went away before it answered: the log may or may not have taken the change; ${advice}\n`,
    });
    await node.ready(1);
    const create = ['keys', 'create', '--tier', 'premium', '--data', data];
    expect(await losingReplyTo('createKey', node.pid, () => fathom(create))).toMatchObject(
      told(ofKeys),
    );
    await node.kill();
    node.start();
    await node.ready(1);
    writeFileSync(file, JSON.stringify(snapshot(T0)));
    const ingest = ['ingest', 'snapshots', file, '--data', data];
    expect(await losingReplyTo('commit', node.pid, () => fathom(ingest))).toMatchObject(
      told(ofFiles),
    );
    await node.kill();
    node.start();
    await node.ready(1);
    expect(await fathom(ingest)).toMatchObject({ status: 0 });
  });

  it('ends with status 3 if JetStream does not acknowledge the change', async () => {
    const data = node.directory.path;
    const file = path.join(data, 'two.ndjson');
    writeFileSync(file, JSON.stringify(snapshot(T0 + 60)));
    const unknown =
      'JetStream did not acknowledge the change within 10 s, and may or may not have taken it: ';
    const create = ['keys', 'create', '--tier', 'premium', '--data', data];
    const ingest = ['ingest', 'snapshots', file, '--data', data];
    for (const [operation, words, advice] of [
      ['createKey', create, ofKeys],
      ['commit', ingest, ofFiles],
    ] as const) {
      await node.ready(1);
      // Not before: the node soon learns that JetStream is gone, and then refuses changes.
      const pause = (): void => servers.pause(0, true);
      const made = beforeSending(operation, pause, () => fathom(words));
      expect(await made.finally(() => servers.pause(0, false))).toEqual({
        status: 3,
        stdout: '',
        stderr: `${unknown}${advice}\n`,
      });
    }
  });
});
