/**
 * Subscribers go from node to node by their cursors while nodes are killed, and a plain model knows every change: each
 * is told once, none is left out, and no snapshot goes back to what it was.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { seededRandom } from '../../bench/random.js';
import { hasNats, NatsServers } from '../../bench/nats.js';
import { fathomClient } from '../../client/index.js';
import type { IssuedKey } from '../../storage/contract.js';
import { fathom, serveHere } from '../support/cli.js';
import { NodeProcess } from '../support/cluster.js';
import { temporaryDirectory } from '../support/folders.js';
import {
  cutAfter,
  HeldSnapshots,
  ingestCells,
  LiveClient,
  type Message,
  timesOf,
} from '../support/live-client.js';
import { binance, commitDelete, commitRows, MINT, orca, snapshot } from '../support/stores.js';
import { becomes, eventually } from '../support/waiting.js';
import { Wanderer } from './wanderer.js';

const T0 = 1_794_000_000;
/** Times of snapshots, a minute apart. */
const TIMES = 60;
/** More of them, for a long search: FATHOM_ROUNDS=200, with FATHOM_SEED=N. */
const ROUNDS = Number(process.env.FATHOM_ROUNDS ?? 5);
const SEED = Number(process.env.FATHOM_SEED ?? Math.floor(Math.random() * 2 ** 31));
/** A change gives one market this many dollars times its number, and the other its number: no two sums are the same. */
const FACTOR = 10_000;
const KEY = { requestsPerMinute: Infinity } as const;

/** A snapshot as a change left it; `usd` is null where it was deleted. */
interface State {
  change: number;
  usd: number | null;
}

/** All that each snapshot has been, in the order of the changes. */
class Model {
  private readonly states = new Map<number, State[]>();
  private readonly markets = new Map<number, { orca: number; binance: number }>();
  changes = 0;

  /** Expects a change before it is made: subscribers may hear of it before its command ends. */
  set(t: number, market: 'orca' | 'binance', isMerge: boolean): number {
    const before = isMerge ? this.markets.get(t) : undefined;
    const amount = this.changes * (market === 'orca' ? FACTOR : 1);
    const amounts = { orca: 0, binance: 0, ...before, [market]: amount };
    this.markets.set(t, amounts);
    this.push(t, amounts.orca + amounts.binance);
    return amount;
  }

  delete(fromS: number, toS: number): void {
    for (const t of this.markets.keys()) {
      if (t < fromS || t >= toS) continue;
      this.markets.delete(t);
      this.push(t, null);
    }
  }

  has(fromS: number, toS: number): boolean {
    return [...this.markets.keys()].some((t) => t >= fromS && t < toS);
  }

  /** The change after `after` that left a snapshot so; undefined: none has. */
  changeOf(t: number, usd: number | null, after: number): number | undefined {
    return this.states.get(t)?.find((one) => one.change > after && one.usd === usd)?.change;
  }

  text(fromS: number): string {
    const shown = [...this.markets].filter(([t]) => t >= fromS).sort(([a], [b]) => a - b);
    return JSON.stringify(shown.map(([t, amounts]) => [t, amounts.orca + amounts.binance]));
  }

  private push(t: number, usd: number | null): void {
    const states = this.states.get(t) ?? [];
    states.push({ change: this.changes, usd });
    this.states.set(t, states);
  }
}

/** Compares each message with the model. */
class CheckedSnapshots extends HeldSnapshots {
  /** The last change of each time that the subscriber was told. */
  private readonly changes = new Map<number, number>();

  constructor(
    name: string,
    private readonly model: Model,
  ) {
    super(name);
  }

  override take(message: Message): void {
    super.take(message);
    const { type, t: times, snapshots = [] } = message;
    if (type === 'deleted') for (const t of times as number[]) this.tell(message, t, null);
    for (const { t, support_usd: usd } of snapshots) this.tell(message, t, sum(usd));
  }

  /** Times and dollars of what the subscriber holds. */
  get summary(): string {
    const held = JSON.parse(this.text) as { t: number; support_usd: number[] }[];
    return JSON.stringify(held.map(({ t, support_usd: usd }) => [t, sum(usd)]));
  }

  private tell({ type, cursor }: Message, t: number, usd: number | null): void {
    const before = this.changes.get(t) ?? -1;
    const change = this.model.changeOf(t, usd, before);
    if (change === undefined) {
      this.fault ??= `${this.name}: ${type} ${t} (${usd}) again, after change ${before}; ${cursor}`;
    } else this.changes.set(t, change);
  }
}

const sum = (amounts: readonly number[]) => amounts.reduce((a, b) => a + b, 0);

/** A fetch that asks one node after the other; each breaks off after some bytes. */
const wandering =
  (nodes: readonly NodeProcess[], below: (end: number) => number): typeof fetch =>
  async (target, options) => {
    const { pathname, search } = new URL(target instanceof Request ? target.url : target);
    const reply = await fetch(nodes[below(nodes.length)].url + pathname + search, options);
    return cutAfter(reply, 300 + below(4_000));
  };

describe.skipIf(!hasNats)('Subscribers that go from node to node', () => {
  const random = seededRandom(SEED);
  const below = (end: number): number => Math.floor(random() * end);
  const model = new Model();
  let servers: NatsServers | null = null;
  let nodes: NodeProcess[] = [];
  let key: IssuedKey;

  beforeAll(async () => {
    servers = await NatsServers.start(1);
    const { urls } = servers;
    nodes = await Promise.all(['a', 'b', 'c'].map((name) => NodeProcess.start(name, urls)));
    await Promise.all(nodes.map((node) => node.ready(1)));
    key = await nodes[0].command((store) => store.createKey({ ...KEY, tier: 'enterprise' }));
  });
  afterAll(async () => {
    await Promise.all(nodes.map((node) => node.close()));
    await servers?.close();
  });

  /** A change through a node: snapshots come, in order or late, are replaced, merged or deleted. */
  const change = async (node: NodeProcess): Promise<void> => {
    model.changes++;
    const fromS = T0 + 60 * below(TIMES);
    const toS = fromS + 60 * (1 + below(4));
    if (below(3) === 0 && model.has(fromS, toS)) {
      model.delete(fromS, toS);
      await node.command((store) => commitDelete(store, { address: MINT, fromS, toS }));
      return;
    }
    const isMerge = below(2) === 0;
    const market = below(2) === 0 ? 'orca' : 'binance';
    const make = { orca, binance }[market];
    const times = new Set(Array.from({ length: 1 + below(6) }, () => T0 + 60 * below(TIMES)));
    const rows = [...times].map((t) =>
      snapshot(t, [make([[-1, model.set(t, market, isMerge), 0]])]),
    );
    const mode = isMerge ? 'merge' : 'replace';
    await node.command((store) => commitRows(store, rows, { mode }));
  };

  it(
    'hear each change once, whichever nodes are killed',
    { timeout: 420_000 + ROUNDS * 60_000 },
    async () => {
      for (let i = 0; i < 5; i++) await change(nodes[0]);
      const starts = [T0, T0, T0 + 60 * (TIMES / 2), T0 + 60 * (TIMES / 4)];
      const sockets = starts.map((from, i) => {
        const held = new CheckedSnapshots(`socket ${i} (seed ${SEED})`, model);
        return {
          from,
          wanderer: new Wanderer(nodes, key.key, { address: MINT, from }, below, held),
        };
      });
      const events = new CheckedSnapshots(`events (seed ${SEED})`, model);
      const stop = new AbortController();
      const client = fathomClient({
        url: nodes[0].url,
        key: key.key,
        fetch: wandering(nodes, below),
      });
      const following = (async () => {
        const options = { signal: stop.signal };
        for await (const message of client.follow(MINT, { from: T0, group: 'all' }, options)) {
          events.take(message as Message);
        }
      })().catch((error: unknown) => {
        if (!stop.signal.aborted) events.fault ??= String(error);
      });
      const heard = [
        { from: T0, held: events },
        ...sockets.map(({ from, wanderer }) => ({
          from,
          held: wanderer.held as CheckedSnapshots,
        })),
      ];

      for (let round = 0; round < ROUNDS; round++) {
        const victim = below(nodes.length);
        const writers = nodes.filter((_, i) => i !== victim);
        // It is away for some of the changes, and behind when it comes back.
        const going = nodes[victim].kill(below(2) === 0 ? 'SIGKILL' : 'SIGTERM');
        for (let i = 2 + below(4); i > 0; i--) await change(writers[below(writers.length)]);
        await going;
        nodes[victim].start();
        for (let i = below(3); i > 0; i--) await change(writers[below(writers.length)]);
        await Promise.all(nodes.map((node) => node.ready()));
        for (const { from, held } of heard) {
          await eventually(
            () => `${held.name}, round ${round}: ${model.text(from)}; it has ${held.summary}`,
            () => held.fault !== null || held.summary === model.text(from),
          );
          expect(held.fault).toBeNull();
        }
      }
      for (const { wanderer } of sockets) {
        expect(wanderer.moves).toBeGreaterThan(1);
        wanderer.stop();
      }
      stop.abort();
      await following;
    },
  );
});

it.skipIf(!hasNats)(
  'A subscription that began before its server founded a cluster is reset, and goes on',
  async () => {
    const directory = temporaryDirectory();
    const create = ['keys', 'create', '--tier', 'enterprise', '--data', directory];
    const userKey = (await fathom(create)).stdout.trim();
    // The cluster's positions will be lower than those that the subscriptions know.
    for (let i = 0; i < 4; i++) await ingestCells(directory, [[T0, 1 + i]]);
    const servers = await NatsServers.start(1);
    await servers.kill(0);
    const cluster = ['--cluster', servers.urls.join(), '--node', 'a'];
    const service = await serveHere(directory, [...cluster, '--as-of', String(T0 + 3600)]);
    try {
      const client = await LiveClient.open(service.url, userKey);
      const subscribe = { op: 'subscribe', channel: 'depth', address: MINT, group: 'all' };
      const heard = (): unknown[] =>
        client.heard
          .filter(({ type }) => type !== 'heartbeat')
          .map((message) => [message.type, ...timesOf(message)]);
      client.send({ ...subscribe, id: 'a', from: T0 });
      const begun = [['subscribed'], ['snapshots', T0]];
      await becomes(heard, begun);
      servers.start(0);
      await becomes(async () => (await fetch(`${service.url}/readyz`)).status, 200);
      await ingestCells(directory, [[T0 + 60, 9]]);
      const added = [...begun, ['reset'], ['snapshots', T0 + 60]];
      await becomes(heard, added);
      await ingestCells(directory, [[T0, 7]]);
      await becomes(heard, [...added, ['revised', T0]]);
      // Its cursors are of the cluster's log.
      const again = await LiveClient.open(service.url, userKey);
      again.send({ ...subscribe, id: 'b', cursor: client.heard.at(-1)?.cursor });
      expect((await again.next()).type).toBe('subscribed');
      await ingestCells(directory, [[T0 + 120, 9]]);
      expect(timesOf(await again.next())).toEqual([T0 + 120]);
    } finally {
      await service.stop();
      await servers.close();
    }
  },
);
