import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { IssuedKey } from '../../storage/contract.js';
import { NodeProcess } from '../support/cluster.js';
import { freePorts, hasNats, NatsServers, programOf } from '../../bench/cluster/nats.js';
import { binance, commitDelete, commitRows, MINT, orca, snapshot } from '../support/stores.js';

/** For a longer run: FATHOM_CLUSTER_STEPS=500. */
const STEPS = Number(process.env.FATHOM_CLUSTER_STEPS ?? 14);
const SEED = Number(process.env.FATHOM_SEED ?? Math.floor(Math.random() * 2 ** 31));
const HAPROXY = programOf('haproxy');
const T0 = 1_794_000_000;
const KEY = { name: null, requestsPerMinute: Infinity, monthlyQuota: null };

/** What the log has to hold of a snapshot's time. */
type Fate = 'there' | 'gone' | 'unknown';

if (!hasNats) console.warn('nats-server is not installed: tests of several nodes are skipped');

let seed = SEED;
/** A whole number below a bound. */
function draw(below: number): number {
  seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
  return Math.floor((seed / 2 ** 31) * below);
}

describe.skipIf(!hasNats)('Three nodes on three servers of JetStream', () => {
  let servers: NatsServers;
  let nodes: NodeProcess[] = [];
  let key: IssuedKey;

  beforeAll(async () => {
    if (!hasNats) return;
    servers = await NatsServers.start(3);
    nodes = await Promise.all(['a', 'b', 'c'].map((name) => NodeProcess.start(name, servers.urls)));
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

  it('lose nothing that was acknowledged, apply nothing twice, and show the same, whatever is killed', async () => {
    /** By time of the first of the two snapshots of a change. */
    const fates = new Map<number, Fate>();
    const keys = new Map<string, 'live' | 'revoked' | 'unknown'>();
    const texts = new Map<string, string>();
    let acknowledged = 0;

    const change = async (step: number, node: NodeProcess): Promise<void> => {
      const known = [...fates].filter(([, fate]) => fate === 'there').map(([t]) => t);
      const kind = draw(10);
      const t = T0 + step * 1000;
      if (kind < 7 || known.length < 3) {
        fates.set(t, 'unknown');
        const rows = [
          snapshot(t, [orca([[draw(9), 1 + step, 2]])]),
          snapshot(t + 60, [binance([[1, step, 3]])]),
        ];
        await node.command((store) =>
          commitRows(store, rows, { mode: kind % 2 === 0 ? 'merge' : 'replace' }),
        );
        fates.set(t, 'there');
      } else if (kind < 9) {
        const gone = known[draw(known.length)];
        fates.set(gone, 'unknown');
        const what = { address: MINT, fromS: gone, toS: gone + 61 };
        await node.command((store) => commitDelete(store, what));
        fates.set(gone, 'gone');
      } else {
        const issued = await node.command((s) => s.createKey({ ...KEY, tier: 'premium' }));
        texts.set(issued.id, issued.key);
        keys.set(issued.id, 'live');
        if (draw(2) === 0) {
          keys.set(issued.id, 'unknown');
          await node.command((store) => store.revokeKey(issued.id));
          keys.set(issued.id, 'revoked');
        }
      }
      acknowledged++;
    };

    const missing = new Map<number, () => void>();
    for (let step = 0; step < STEPS; step++) {
      for (const [at, back] of [...missing]) {
        if (at > step) continue;
        missing.delete(at);
        back();
      }
      const index = draw(3);
      const running = change(step, nodes[index]).catch(() => undefined);
      // One thing at a time is away: the log goes on with two of its servers.
      if (step % 5 === 3 && missing.size === 0) {
        await sleep(draw(30));
        const [what, which] = [draw(4), draw(3)];
        if (what === 0) await nodes[which].kill();
        if (what === 1) nodes[which].pause(true);
        if (what === 2) await servers.kill(which);
        if (what === 3) servers.pause(which, true);
        missing.set(step + 3, () => {
          if (what === 0) nodes[which].start();
          if (what === 1) nodes[which].pause(false);
          if (what === 2) servers.start(which);
          if (what === 3) servers.pause(which, false);
        });
      }
      await Promise.race([running, sleep(1500)]);
    }
    for (const back of missing.values()) back();
    // What was still on its way when its node was killed or stopped.
    await sleep(500);
    const position = await together();

    expect(acknowledged, `seed ${SEED}`).toBeGreaterThan(STEPS / 3);
    const page = `/replay/${MINT}?from=${T0}&to=${T0 + STEPS * 1000 + 100}`;
    const pages = await Promise.all(
      nodes.map(async (node) => {
        const reply = await node.get(page, key.key);
        expect(Number(reply.headers.get('x-fathom-position'))).toBeGreaterThanOrEqual(position);
        return { tag: reply.headers.get('etag'), text: await reply.text() };
      }),
    );
    expect(pages[1], `seed ${SEED}`).toEqual(pages[0]);
    expect(pages[2], `seed ${SEED}`).toEqual(pages[0]);
    const { snapshots } = JSON.parse(pages[0].text) as { snapshots: { t: number }[] };
    const times = new Set(snapshots.map(({ t }) => t));
    expect(times.size).toBe(snapshots.length);
    for (const [t, fate] of fates) {
      // Whole or not at all.
      expect([t, times.has(t + 60)], `seed ${SEED}`).toEqual([t, times.has(t)]);
      if (fate !== 'unknown')
        expect([t, times.has(t)], `seed ${SEED}`).toEqual([t, fate === 'there']);
    }
    for (const [id, fate] of keys) {
      const replies = await Promise.all(nodes.map((one) => one.get('/usage', texts.get(id) ?? '')));
      const statuses = new Set(replies.map(({ status }) => status));
      expect(statuses.size, `seed ${SEED}`).toBe(1);
      if (fate !== 'unknown')
        expect(statuses, `seed ${SEED}`).toContain(fate === 'live' ? 200 : 401);
    }
  });

  it('count calls together within 2 s', async () => {
    await together();
    for (const node of nodes) await node.get('/top-scores', key.key);
    await sleep(2000);
    const usages = await Promise.all(
      nodes.map(async (node) => (await node.get('/usage', key.key)).json()),
    );
    const [{ used, days }] = usages as { used: number; days: { requests: number }[] }[];
    expect(used).toBeGreaterThanOrEqual(6);
    expect(days.reduce((sum, { requests }) => sum + requests, 0)).toBe(used);
    expect(usages[1]).toEqual(usages[0]);
    expect(usages[2]).toEqual(usages[0]);
  });

  it.skipIf(HAPROXY === null)(
    'lose no request of a client that tries again, behind HAProxy, while a node is killed',
    async () => {
      await together();
      const [port] = await freePorts(1);
      const folder = mkdtempSync(path.join(tmpdir(), 'fathom-haproxy-'));
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
        const url = `http://127.0.0.1:${port}/api/v1`;
        const headers = { 'x-api-key': key.key };
        /** The times that it had to be sent. */
        const ask = async (query: string): Promise<number> => {
          for (let times = 1; ; times++) {
            const reply = await fetch(`${url}${query}`, { headers }).catch(() => null);
            const text = await reply?.text().catch(() => null);
            if (reply?.status === 200 && typeof text === 'string') return times;
            if (times === 20) throw new Error(`${query}: ${reply?.status} ${text}`);
            await sleep(100);
          }
        };
        await ask('/top-scores');
        let isOver = false;
        let asked = 0;
        const clients = Array.from({ length: 4 }, async (_, i) => {
          while (!isOver) {
            const page = `/replay/${MINT}?from=${T0}&to=${T0 + 50_000 + (asked % 100)}`;
            await ask(i % 2 === 0 ? page : `/score/${MINT}`);
            asked++;
            await sleep(20);
          }
        });
        await sleep(400);
        await nodes[1].kill();
        await sleep(800);
        nodes[1].start();
        await nodes[1].ready();
        await sleep(400);
        isOver = true;
        await Promise.all(clients);
        expect(asked).toBeGreaterThan(100);
      } finally {
        haproxy.kill('SIGKILL');
        rmSync(folder, { recursive: true });
      }
    },
  );
});
