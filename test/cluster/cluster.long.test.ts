import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { IssuedKey } from '../../storage/contract.js';
import { NodeProcess } from '../support/cluster.js';
import { fathomClient } from '../../client/index.js';
import { hasNats, NatsServers } from '../../bench/nats.js';
import { findProgram, freePorts } from '../../bench/programs.js';
import { commitRows, commitTokens, MINT, snapshot } from '../support/stores.js';
import { sharedPool } from '../support/pool.js';
import { becomes } from '../support/waiting.js';
import { expectAcknowledged, expectStored } from './expected.js';
import { RandomChanges } from './random-changes.js';
import { Reference } from './reference.js';
import { expectSameReplies } from './same-replies.js';
import { ServerKills } from './kills.js';
import { expectHeard, Wanderer } from './wanderer.js';
import { temporaryDirectory } from '../support/folders.js';
import { HOUR, MERGED, TOKENS } from '../walk/times.js';

/** Number of changes in the model test; FATHOM_CLUSTER_STEPS=500 makes a longer run. */
const STEPS = Number(process.env.FATHOM_CLUSTER_STEPS ?? 40);
/** Number of JetStream servers to kill; FATHOM_KILLS=50 makes a longer run. */
const KILLS = Number(process.env.FATHOM_KILLS ?? 1);
/** All nodes acknowledge changes again within this time after a server is killed. */
const RECOVERY_MS = 15_000;
const SEED = Number(process.env.FATHOM_SEED ?? Math.floor(Math.random() * 2 ** 31));
/** How many actors make changes at the same time. */
const ACTORS = 3;
/**
 * By the kind of an absence: kinds that may come with it. JetStream acknowledges what it has not written yet, so a server
 * is killed only while the other servers run: docs/cluster.md promises no more.
 */
const BESIDE = [
  [0, 1, 2, 3],
  [0, 1, 2, 3],
  [0, 1],
  [0, 1, 3],
];
const HAPROXY = findProgram('haproxy');
const KEY = { requestsPerMinute: Infinity };
/** Retention deletes some of the snapshots that are pruned, too. */
const ENVIRONMENT = { FATHOM_RETENTION: '{"raw":"5h"}' };

if (!hasNats) console.warn('nats-server is not installed: tests of several nodes are skipped');

describe.skipIf(!hasNats)('Three nodes on three servers of JetStream', () => {
  let servers: NatsServers;
  let nodes: NodeProcess[] = [];
  let key: IssuedKey;

  beforeAll(async () => {
    if (!hasNats) return;
    servers = await NatsServers.start(3);
    nodes = await Promise.all(
      ['a', 'b', 'c'].map((name) => NodeProcess.start(name, servers.urls, ENVIRONMENT)),
    );
    await Promise.all(nodes.map((node) => node.ready(1)));
    key = await nodes[0].command((store) => store.createKey({ ...KEY, tier: 'enterprise' }));
  });
  afterAll(async () => {
    await Promise.all(nodes.map((node) => node.close()));
    await servers?.close();
  });

  const together = async (): Promise<number> => {
    const positions = await Promise.all(nodes.map((node) => node.ready()));
    const position = Math.max(...positions);
    await Promise.all(nodes.map((node) => node.ready(position)));
    return position;
  };

  /** Each way to lose a node or a server, with the way to bring it back. */
  const absences = (which: number): [go: () => void | Promise<void>, back: () => void][] => [
    [() => nodes[which].kill(), () => nodes[which].start()],
    [() => nodes[which].pause(true), () => nodes[which].pause(false)],
    [() => servers.kill(which), () => servers.start(which)],
    [() => servers.pause(which, true), () => servers.pause(which, false)],
  ];

  it(
    `lose no acknowledged change, apply none twice, and reply the same, whatever is killed (seed ${SEED})`,
    { timeout: 420_000 + STEPS * 20_000 },
    async () => {
      const changes = new RandomChanges(SEED, await sharedPool(2));
      const fromS = (HOUR - 8) * 3600;
      const addresses = [...TOKENS, MERGED];
      const wanderers = addresses.map(
        (address) =>
          new Wanderer(nodes, key.key, { address, from: fromS }, (n) => changes.below(n)),
      );
      let isDisturbed = true;
      const goesOn = (): boolean => changes.made < STEPS || isDisturbed;
      const acting = Promise.all(Array.from({ length: ACTORS }, () => changes.act(nodes, goesOn)));
      // Once for each kind. A longer run continues, and takes two at once, which leaves JetStream without a quorum.
      for (let round = 0; round < 4 || changes.made < STEPS; round++) {
        const which = changes.below(3);
        const kind = round % 4;
        const gone = [absences(which)[kind]];
        if (round % 3 === 2) {
          const kinds = BESIDE[kind];
          gone.push(absences((which + 1) % 3)[kinds[changes.below(kinds.length)]]);
        }
        await sleep(100 + changes.below(300));
        for (const [go] of gone) await go();
        await sleep(300 + changes.below(round < 4 ? 1200 : 6000));
        for (const [, back] of gone) back();
      }
      isDisturbed = false;
      await acting;
      await together();

      const reference = await Reference.read(servers.urls, changes.files);
      const tally = changes.tally();
      console.info(JSON.stringify({ ...tally, log: reference.kinds }));
      await expectSameReplies(nodes, key.key);
      for (const wanderer of wanderers) await expectHeard(wanderer, nodes[0], key.key, fromS);
      await expectAcknowledged(changes, reference, nodes);
      await expectStored(changes, servers.urls, nodes);
    },
  );

  it(
    'acknowledge again after the end of a server, even the one that leads the log',
    { timeout: 420_000 + KILLS * 120_000 },
    async () => {
      await together();
      const kills = await new ServerKills(servers, nodes, SEED).run(KILLS, (kill) => {
        const tookMs = kill.tookMs.map((ms) => Math.round(ms)).join(', ');
        const logMs = Math.round(kill.logMs);
        if (KILLS > 1)
          console.info(`${kill.server}${kill.led ? ' (leader)' : ''}: log ${logMs}, ${tookMs} ms`);
      });
      // On a busy machine a single kill proves nothing.
      const longest = Math.max(...kills.flatMap(({ tookMs }) => tookMs));
      if (KILLS > 1) expect(longest, `seed ${SEED}`).toBeLessThan(RECOVERY_MS);
    },
  );

  it('count calls together', async () => {
    await together();
    const own = await nodes[0].command((s) => s.createKey({ ...KEY, tier: 'enterprise' }));
    await together();
    for (const node of nodes) {
      for (let i = 0; i < 20; i++) await node.get('/top-scores', own.key);
    }
    const counted = async () => {
      const usages = await Promise.all(
        nodes.map(async (node) => (await node.get('/usage', own.key)).json()),
      );
      const [{ used, days }] = usages as { used: number; days: { requests: number }[] }[];
      const byDay = days.reduce((sum, { requests }) => sum + requests, 0);
      return [used, byDay, ...usages.map((usage) => isDeepStrictEqual(usage, usages[0]))];
    };
    await becomes(counted, [60, 60, true, true, true]);
  });

  it.skipIf(HAPROXY === null)(
    'lose no request of a client that tries again, behind HAProxy, while a node is killed',
    async () => {
      await together();
      const [port] = await freePorts(1);
      const folder = temporaryDirectory();
      const file = path.join(folder, 'haproxy.cfg');
      const sample = readFileSync('docs/deploy/haproxy-cluster.cfg', 'utf8');
      const ours = nodes.reduce(
        (text, { url }, i) => text.replaceAll(`10.0.0.${i + 1}:8080`, url.slice('http://'.length)),
        sample
          .replace(/bind :443 .*/, `bind 127.0.0.1:${port}`)
          .replaceAll('inter 1s', 'inter 200ms'),
      );
      writeFileSync(file, ours);
      const haproxy = spawn(HAPROXY ?? '', ['-db', '-f', file], { stdio: 'ignore' });
      try {
        const url = `http://127.0.0.1:${port}`;
        // Two pages of snapshots that retention keeps.
        const [t0, count] = [(HOUR - 3) * 3600, 360];
        const rows = Array.from({ length: count }, (_, i) => snapshot(t0 + 30 * i));
        await nodes[0].command((store) => commitRows(store, rows));
        await nodes[0].command((store) => commitTokens(store, [{ symbol: 'A', coverage: 'full' }]));
        await together();
        const keys = await Promise.all(
          Array.from({ length: 6 }, async () =>
            nodes[0].command((store) => store.createKey({ ...KEY, tier: 'enterprise' })),
          ),
        );
        await together();
        let isOver = false;
        const done = { pages: 0, scores: 0 };
        const clients = keys.map(async (one, i) => {
          const client = fathomClient({ url, key: one.key });
          while (!isOver) {
            if (i % 2 === 0) {
              const score = await client.getScore({ address: MINT });
              expect(score).toMatchObject({ address: MINT, symbol: 'A' });
              done.scores++;
              await sleep(10);
            } else {
              let seen = 0;
              const window = { from: t0, to: t0 + 30 * count };
              for await (const { snapshots } of client.replay(MINT, window)) {
                seen += snapshots.length;
                done.pages++;
              }
              expect(seen).toBe(count);
            }
          }
        });
        const someMore = async (): Promise<void> => {
          const { pages, scores } = done;
          while (!isOver && (done.pages < pages + 20 || done.scores < scores + 50)) await sleep(20);
        };
        const working = Promise.all(clients);
        const disturbing = (async () => {
          await someMore();
          const served = await Promise.all(nodes.map(servedBy));
          const busiest = nodes[served.indexOf(Math.max(...served))];
          await busiest.kill();
          await someMore();
          busiest.start();
          await busiest.ready();
          await someMore();
        })().finally(() => (isOver = true));
        await Promise.all([working.finally(() => (isOver = true)), disturbing]);
      } finally {
        haproxy.kill('SIGKILL');
      }
    },
  );
});

/** The number of replies that a node has given. */
async function servedBy(node: NodeProcess): Promise<number> {
  const metrics = await (await fetch(`${node.url}/metrics`)).text();
  const counts = metrics.matchAll(/^fathom_http_requests_total\{.*\} (\d+)$/gm);
  return [...counts].reduce((sum, [, value]) => sum + Number(value), 0);
}
