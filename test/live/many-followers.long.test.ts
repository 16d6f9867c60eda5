/** Followers that share messages each get exactly their own, whatever is committed and whoever stops reading. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ReplayPage } from '../../client/index.js';
import { newKey, serveHere } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import { deleteSnapshots, HeldSnapshots, ingestCells, LiveClient } from '../support/live-client.js';
import { MINT } from '../support/stores.js';
import { eventually } from '../support/waiting.js';

const T0 = 1_794_000_000;
const NOW_S = T0 + 86_400;
/** FATHOM_STEPS=500 makes a longer search, with FATHOM_SEED=N. */
const STEPS = Number(process.env.FATHOM_STEPS ?? 8);
const SEED = Number(
  process.env.FATHOM_SEED ?? fc.sample(fc.integer({ min: 1, max: 2 ** 30 }), 1)[0],
);

/** A subscription, and what it has received. */
class Follower {
  private held: HeldSnapshots;

  constructor(
    readonly id: string,
    readonly fromS: number,
    readonly group: string,
    public client: LiveClient,
  ) {
    this.held = new HeldSnapshots(`${id} (seed ${SEED})`);
    this.begin({ from: fromS });
  }

  /** On another connection, by its cursor. */
  moveTo(client: LiveClient): void {
    this.client = client;
    const { cursor } = this.held;
    this.begin(cursor === null ? { from: this.fromS } : { cursor });
  }

  /** What the store shows of its token. */
  get query(): string {
    return `from=${this.fromS}&to=${NOW_S}&group=${this.group}`;
  }

  /** What it has received. */
  get text(): string {
    return this.held.text;
  }

  get fault(): string | null {
    return this.held.fault;
  }

  private begin(where: object): void {
    const { id, group, client } = this;
    client.socket.on('message', () => {
      for (const message of client.take(id)) this.held.take(message);
    });
    client.send({ op: 'subscribe', id, channel: 'depth', address: MINT, group, ...where });
  }
}

describe('Followers of one token', () => {
  it('each have what the store shows from their beginning, each change once', async () => {
    let state = SEED;
    const random = (below: number) => (state = (state * 48_271) % 0x7fff_ffff) % below;
    const directory = temporaryDirectory();
    const key = await newKey(directory);
    const service = await serveHere(directory, ['--as-of', String(NOW_S)]);
    const connect = (i: number) =>
      LiveClient.open(service.url, key, i % 2 === 0 ? [] : ['fathom.v1.msgpack']);
    await ingestCells(directory, [[T0 + 60, 1]]);
    const clients = await Promise.all([0, 1, 2, 3].map(connect));
    // Few beginnings and ids, so that some followers share messages, and some only their contents.
    const followers = Array.from({ length: 16 }, (_, i) => {
      const group = random(3) === 0 ? 'venue' : 'all';
      return new Follower(`f${i >> 2}`, T0 + 60 * 20 * (i % 3), group, clients[i % 4]);
    });
    const page = async (query: string) => {
      const reply = await service.get(`/replay/${MINT}?${query}`, key);
      return JSON.stringify(((await reply.json()) as ReplayPage).snapshots);
    };
    const change = async () => {
      if (random(4) > 0) {
        const times = new Set(Array.from({ length: 1 + random(6) }, () => T0 + 60 * random(80)));
        await ingestCells(
          directory,
          [...times].map((t) => [t, 1 + random(9)]),
          MINT,
          random(3) === 0 ? '15m' : 'raw',
        );
        return;
      }
      const from = T0 + 60 * random(60);
      const tier = random(2) === 0 ? 'raw' : undefined;
      await deleteSnapshots(directory, from, from + 1 + random(3000), tier);
    };
    for (let step = 0; step < STEPS; step++) {
      // Two at once reach followers that do not know the first yet.
      await Promise.all(Array.from({ length: 1 + random(2) }, change));
      if (random(4) === 0) {
        const at = random(clients.length);
        const left = clients[at];
        left.socket.terminate();
        clients[at] = await connect(at);
        for (const one of followers) if (one.client === left) one.moveTo(clients[at]);
      }
      if (random(3) === 0) continue;
      const queries = [...new Set(followers.map(({ query }) => query))];
      const shown = new Map(
        await Promise.all(queries.map(async (query) => [query, await page(query)] as const)),
      );
      for (const one of followers) {
        await eventually(
          () => `seed ${SEED}, step ${step}: ${one.id} has what the store shows`,
          () => one.fault !== null || one.text === shown.get(one.query),
        );
        expect(one.fault).toBeNull();
      }
    }
  });
});
