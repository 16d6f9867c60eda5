/** No other process can open the store of a node, however the node has opened it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasNats, NatsServers } from '../../bench/nats.js';
import { backupStore } from '../../storage/backup.js';
import { DuckDBError } from '../../storage/duckdb/duckdb-error.js';
import { NodeProcess } from '../support/cluster.js';
import { FREE, HELD, LockProbe } from '../support/lock-probe.js';
import { commitRows, DataDirectory, snapshot } from '../support/stores.js';
import { eventually } from '../support/waiting.js';
import { Node, T0 } from './log-nodes.js';

describe.skipIf(!hasNats)('Another process finds the store of a node locked', () => {
  const probe = new LockProbe();
  const directory = new DataDirectory();
  let servers: NatsServers;
  let node: NodeProcess;
  beforeAll(async () => {
    servers = await NatsServers.start(1);
    node = await NodeProcess.start('a', servers.urls);
  });
  afterAll(async () => {
    await node?.close();
    await servers?.close();
    probe.close();
  });

  const seen = () => probe.lookAtStore(node.directory.path);
  const commit = (t: number) => node.command((store) => commitRows(store, [snapshot(T0 + t)]));

  it('once it has joined, and while it applies entries', async () => {
    await node.ready(1);
    expect(await seen()).toEqual(HELD);
    const during: Promise<string[]>[] = [];
    for (let t = 0; t < 5; t++) {
      during.push(seen());
      await commit(t);
    }
    expect(await Promise.all(during)).toEqual(during.map(() => HELD));
    expect(await seen()).toEqual(HELD);
  });

  it('while it is copied and applies entries, and after that', async () => {
    const copy = new DataDirectory();
    const during: Promise<string[]>[] = [];
    const committed: Promise<unknown>[] = [];
    const { position } = await backupStore({
      directory: node.directory.path,
      out: copy.path,
      useStore: (body) => node.command(body),
      onProgress: () => {
        during.push(seen());
        committed.push(commit(100 + during.length));
      },
    });
    await Promise.all(committed);
    expect(position).toBeGreaterThan(1);
    expect(during.length).toBeGreaterThan(0);
    expect(await Promise.all(during)).toEqual(during.map(() => HELD));
    expect(await seen()).toEqual(HELD);
  });

  it('after it was killed and has taken over its log', async () => {
    const position = await node.ready();
    await node.kill();
    expect(await seen()).toEqual(FREE);
    node.start();
    await node.ready(position);
    expect(await seen()).toEqual(HELD);
    await commit(200);
    expect(await seen()).toEqual(HELD);
  });

  it('after DuckDB has failed and its file was opened again', async () => {
    const here = await Node.open(directory, 'b', servers.urls);
    try {
      await here.reached(await node.ready());
      const database = here.store['parts'].database;
      const fatal = new DuckDBError(new Error('FATAL Error: made up'));
      const failing = database.transaction(() => Promise.reject(fatal));
      await expect(failing).rejects.toThrow('being reopened');
      await eventually('it is open again', () =>
        database.rows('SELECT 1').then(
          () => true,
          () => false,
        ),
      );
      await commitRows(here.commands, [snapshot(T0 + 300)]);
      expect(await probe.lookAtStore(directory.path)).toEqual(HELD);
    } finally {
      await here.close();
    }
    expect(await probe.lookAtStore(directory.path)).toEqual(FREE);
  });
});
