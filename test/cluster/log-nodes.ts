/** Nodes without HTTP: stores that follow a log on a real NATS server. */
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { hasNats, NatsServers } from '../../bench/nats.js';
import { entityTag } from '../../server/replay/entity-tag.js';
import { JetStreamLog } from '../../storage/log/jetstream.js';
import { LogNode, type NodeOptions, type NodeSettings } from '../../storage/log/node.js';
import { differing, type Settings } from '../../storage/log/settings.js';
import type { ArchiveOptions } from '../../storage/opening.js';
import type { Store } from '../../storage/store.js';
import {
  commitRows,
  damageBlock,
  DataDirectory,
  retryWhileJoined,
  MINT,
  noisyRows,
  openStore,
  orca,
  snapshot,
  type SnapshotRow,
  storedSnapshots,
  tokenOf,
} from '../support/stores.js';
import { eventually, PATIENCE_MS } from '../support/waiting.js';

/** Time of the first snapshots, in epoch seconds. */
export const T0 = 1_794_000_000;

/** DuckDB's memory: its WAL may grow to 128 MiB, and a checkpoint takes the same amount again. */
const MEMORY_BYTES = 2 ** 30;

export const STREAM = 'FATHOM';

/** Runs `body` with an administrator's access to JetStream. */
export async function asAdministrator<T>(
  servers: NatsServers,
  body: (manager: JetStreamManager, ask: (subject: string) => Promise<unknown>) => Promise<T>,
): Promise<T> {
  const connection = await connect({ servers: servers.urls, waitOnFirstConnect: true });
  try {
    const manager = await jetstreamManager(connection, { checkAPI: false, timeout: PATIENCE_MS });
    return await body(manager, (subject) =>
      connection.request(subject, '', { timeout: PATIENCE_MS }),
    );
  } finally {
    await connection.close();
  }
}

/** A node without HTTP. */
export class Node {
  stopped: string | null = null;
  /** How often it was told that the log's settings have changed. */
  changes = 0;

  private constructor(
    readonly store: Store,
    readonly log: JetStreamLog,
    readonly node: LogNode,
  ) {}

  static async open(
    directory: DataDirectory,
    name: string,
    servers: string[],
    own?: Settings,
    more: Partial<NodeOptions> = {},
    replicas = 1,
    archive: ArchiveOptions | null = null,
  ): Promise<Node> {
    const memory = { database: MEMORY_BYTES };
    const store = await openStore(directory.path, { memory, archive });
    const log = new JetStreamLog({ servers, name, replicas });
    const settings: NodeSettings | undefined = own && {
      own,
      get others() {
        return differing(own, store.applied.settings);
      },
      onChanged: () => made.changes++,
    };
    const made: Node = new Node(
      store,
      log,
      new LogNode({
        store,
        log,
        name,
        version: '1',
        ...(settings && { settings }),
        onStopped: (why) => (made.stopped = why),
        onError: () => undefined,
        ...more,
        times: { shortForMs: 500, ...more.times },
      }),
    );
    return made;
  }

  /** The store as commands see it. */
  get commands(): Store {
    return Object.assign(Object.create(this.store) as Store, this.node.operations);
  }

  async until(holds: () => boolean): Promise<void> {
    await eventually(String(holds), holds, 10);
  }

  reached(position: number): Promise<void> {
    return this.until(() => this.node.position >= position || this.stopped !== null);
  }

  async close(): Promise<void> {
    await this.node.close();
    await this.store.close();
  }
}

/** Rows whose bundle is too large for an entry. */
export function largeRows(): SnapshotRow[] {
  const cells = Array.from({ length: 200 }, (_, i): [number, number, number] => [
    i - 100,
    (i * 7919) % 100_003,
    (i * 104_729) % 1_000_003,
  ]);
  return Array.from({ length: 450 }, (_, i) =>
    snapshot(T0 + i * 60, [orca(cells.map(([bin, s, r]) => [bin, s + i * 0.37, r * (1 + i)]))]),
  );
}

/** Everything that clients can see of a token's depth. */
export async function seen(store: Store, address: string) {
  await store.settled();
  const tokenId = tokenOf(store, address);
  const request = { tokenId, fromS: 0, toS: 2 ** 32, nowS: 2 ** 32, maxSnapshots: 288 };
  const plan = await store.depth.plan(request);
  const { snapshots, nextT, markets } = plan;
  return {
    tag: await entityTag(
      { query: {}, envelope: {}, format: 'json', encoding: 'gzip' } as never,
      plan,
    ),
    nextT,
    markets,
    times: snapshots.map(({ t, tier }) => [t, tier]),
    stored: await retryWhileJoined(() => storedSnapshots(store, tokenId)),
  };
}

/** Nodes of one log for the tests of a group; each test has a new log. */
export class LogNodes {
  readonly directories: DataDirectory[] = [];
  private started: NatsServers | null = null;
  private nodes: Node[] = [];

  get servers(): NatsServers {
    if (this.started === null) throw new Error('no server of NATS runs');
    return this.started;
  }

  constructor() {
    beforeAll(async () => {
      if (hasNats) this.started = await NatsServers.start(1);
    });
    afterEach(() => this.clear());
    afterAll(() => this.started?.close());
  }

  private async clear(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.close()));
    this.nodes = [];
    this.directories.length = 0;
    await this.forgetAll();
  }

  /** Deletes what the server stores, which is faster than starting a new server. */
  private async forgetAll(): Promise<void> {
    await asAdministrator(this.servers, async ({ streams }) => {
      for await (const { config } of streams.list()) await streams.delete(config.name);
    });
  }

  readonly open = async (
    name: string,
    directory = new DataDirectory(),
    own?: Settings,
    more?: Partial<NodeOptions>,
    archive?: ArchiveOptions,
  ): Promise<Node> => {
    this.directories.push(directory);
    const node = await Node.open(directory, name, this.servers.urls, own, more, 1, archive);
    this.nodes.push(node);
    return node;
  };

  readonly close = async (node: Node): Promise<void> => {
    this.nodes = this.nodes.filter((one) => one !== node);
    await node.close();
  };

  /** Two nodes with the same data; the second one's file has a damaged block. */
  async oneDamaged(): Promise<[Node, Node]> {
    const [a, b] = await this.pair();
    await commitRows(a.commands, noisyRows(T0));
    await b.reached(a.node.position);
    await this.close(b);
    await damageBlock(this.directories[1].path);
    return [a, await this.open('b', this.directories[1])];
  }

  /** Nodes a and b, which have applied the log's origin. */
  readonly pair = async (): Promise<[Node, Node]> => {
    const both: [Node, Node] = [await this.open('a'), await this.open('b')];
    for (const node of both) await node.reached(1);
    return both;
  };
}

/** Waits until both nodes are at the same position, and expects the same depth of each token from both. */
export async function expectSame(a: Node, b: Node, addresses = [MINT]): Promise<void> {
  const position = Math.max(a.node.position, b.node.position);
  await Promise.all([a, b].map((node) => node.reached(position)));
  expect([a.stopped, b.stopped]).toEqual([null, null]);
  for (const address of addresses) {
    expect(await seen(b.store, address)).toEqual(await seen(a.store, address));
  }
}
