import { writeFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import WebSocket from 'ws';
import { freePorts } from '../../bench/programs.js';
import { fathomClient, type ReplayPage } from '../../client/index.js';
import type { EngineName } from '../../server/http/engine.js';
import { fathom, newKey, serve, type Server } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import { deleteSnapshots, HeldSnapshots, type Message } from '../support/live-client.js';
import { MINT } from '../support/stores.js';
import { eventually } from '../support/waiting.js';

const T0 = 1_794_000_000;
const NOW_S = T0 + 86_400;
/** FATHOM_KILLS=1000 makes a longer search, with FATHOM_SEED=N. */
const KILLS = Number(process.env.FATHOM_KILLS ?? 1);
const SEED = Number(
  process.env.FATHOM_SEED ?? fc.sample(fc.integer({ min: 1, max: 2 ** 30 }), 1)[0],
);

describe.each<EngineName>(['uws', 'node'])(
  'Clients of a server on engine %s that is killed',
  (engine) => {
    it('have what the store shows, each change once', { timeout: 36_000_000 }, async () => {
      let state = SEED;
      const random = (below: number) => (state = (state * 48_271) % 0x7fff_ffff) % below;
      const directory = temporaryDirectory();
      const file = path.join(temporaryDirectory(), 'rows.ndjson');
      const key = await newKey(directory);
      const words = ['--as-of', String(NOW_S), '--threads', '1', '--http-engine', engine];
      // The same one after each kill.
      const port = String((await freePorts(1))[0]);
      let server: Server = await serve(directory, [...words, '--port', port]);

      const change = async () => {
        if (random(4) === 0) {
          const from = T0 + random(60) * 60;
          await deleteSnapshots(directory, from, from + 1 + random(600));
          return;
        }
        const market = { source: 'Orca', exchange_type: 'DEX', type: 'onchain_pool', pair: 'A/B' };
        const times = new Set(Array.from({ length: 1 + random(8) }, () => T0 + random(80) * 60));
        const lines = [...times].map((t) =>
          JSON.stringify({
            chain: 'mainchain',
            address: MINT,
            t,
            price_usd: 2,
            ...market,
            tier: ['raw', 'raw', 'raw', '15m'][random(4)],
            market_address: 'pool',
            bin: -1,
            support_usd: 1 + random(9),
            resistance_usd: 0,
          }),
        );
        writeFileSync(file, `${lines.join('\n')}\n`);
        await fathom(['ingest', 'cells', file, '--data', directory]);
      };

      const sse = new HeldSnapshots(`events (seed ${SEED})`);
      const stop = new AbortController();
      const client = fathomClient({ url: server.url, key });
      const following = (async () => {
        const options = { signal: stop.signal };
        for await (const message of client.follow(MINT, { from: T0, group: 'all' }, options)) {
          sse.take(message as Message);
        }
      })().catch((error: unknown) => {
        if (!stop.signal.aborted) sse.fault ??= String(error);
      });

      const socket = new HeldSnapshots(`socket (seed ${SEED})`);
      let isOver = false;
      const connect = () => {
        const ws = new WebSocket(`ws://127.0.0.1:${port}/api/v1/stream`, {
          headers: { 'x-api-key': key },
        });
        const { cursor } = socket;
        const begin = cursor === null ? { from: T0 } : { cursor };
        ws.on('open', () =>
          ws.send(
            JSON.stringify({
              op: 'subscribe',
              id: 'a',
              channel: 'depth',
              address: MINT,
              group: 'all',
              ...begin,
            }),
          ),
        );
        ws.on('message', (data: Buffer) => {
          socket.take(JSON.parse(data.toString()) as Message);
        });
        ws.on('error', () => undefined);
        ws.on('close', () => {
          if (!isOver) setTimeout(connect, 50);
        });
        return ws;
      };
      connect();

      for (let kill = 0; kill < KILLS; kill++) {
        for (let i = random(4); i >= 0; i--) await change();
        // During a commit, and while its messages are sent.
        const changing = change().catch(() => undefined);
        await new Promise((resolve) => setTimeout(resolve, random(80)));
        await server.stop('SIGKILL');
        await changing;
        if (random(2) === 0) await change();
        server = await serve(directory, [...words, '--port', port]);
        const page = async () => {
          const reply = await server.get(`/replay/${MINT}?from=${T0}&to=${NOW_S}&group=all`, key);
          return JSON.stringify(((await reply.json()) as ReplayPage).snapshots);
        };
        for (const held of [sse, socket]) {
          await eventually(
            () => `seed ${SEED}, kill ${kill}: ${held.name} has what the store shows`,
            async () => held.fault !== null || held.text === (await page()),
          );
          expect(held.fault).toBeNull();
        }
      }
      isOver = true;
      stop.abort();
      await following;
      await server.stop();
    });
  },
);
