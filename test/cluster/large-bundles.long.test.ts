/** Bundles that the log has as parts. */
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { hasNats, NatsServers } from '../../bench/nats.js';
import { backupStore } from '../../storage/backup.js';
import { bundleFile } from '../../storage/bundle.js';
import { clusterStatus, trimLog } from '../../storage/log/cluster.js';
import { digestOf, packEntry } from '../../storage/log/entry.js';
import type { LogMessage } from '../../storage/log/log-reader.js';
import { BUNDLE_PART_BYTES, type Parts } from '../../storage/log/parts.js';
import type { UseStore } from '../../storage/operations.js';
import { fathom } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import {
  bundleOf,
  commitRows,
  DataDirectory,
  MINT,
  OTHER_MINT,
  type SnapshotRow,
  snapshot,
  storedSnapshots,
  tokenOf,
} from '../support/stores.js';
import { eventually, PATIENCE_MS } from '../support/waiting.js';
import { asAdministrator, expectSame, largeRows, LogNodes, Node, STREAM, T0 } from './log-nodes.js';

/** A bundle of several parts. */
const severalParts = (address = MINT): SnapshotRow[] =>
  Array.from({ length: 2 }, (_, i) => largeRows().map((row) => ({ ...row, t: row.t + i * 36_000 })))
    .flat()
    .map((row) => ({ ...row, address }));

/** A large change of which the log has only the parts so far. */
interface Unpublished {
  id: string;
  parts: Parts;
  /** Resolves when the node has applied it. */
  publish: () => Promise<{ position: number; isDuplicate: boolean }>;
}

async function sendParts(node: Node, rows = severalParts()): Promise<Unpublished> {
  const { store, log } = node;
  const bundle = await bundleOf(store, rows);
  const file = bundleFile(store.directory, bundle.name);
  const { name } = bundle;
  const bytes = statSync(file).size;
  const entry = { kind: 'large-bundle' as const, name, bytes, sha256: await digestOf(file) };
  const parts = await log.sendBundle(file, bytes);
  expect(parts.positions).toHaveLength(Math.ceil(bytes / BUNDLE_PART_BYTES));
  expect(parts.positions.length).toBeGreaterThan(1);
  await bundle.discard();
  const publish: Unpublished['publish'] = async () => {
    const published = await log.publish('large', packEntry(entry), name, { parts });
    await node.reached(published.position);
    return published;
  };
  return { id: name, parts, publish };
}

const small = (i: number): SnapshotRow[] => [snapshot(T0 + i, undefined, { address: OTHER_MINT })];
const BOTH = [MINT, OTHER_MINT];

describe.skipIf(!hasNats)('Large bundles', () => {
  const ours = new LogNodes();
  const { open, close, pair } = ours;

  it('come between each other and other entries, and each is applied once', async () => {
    const [a, b] = await pair();
    const smalls = async (): Promise<void> => {
      for (let i = 0; i < 30; i++) await commitRows([a, b][i % 2].commands, small(i));
    };
    const [first, second] = await Promise.all([
      sendParts(a),
      sendParts(b, severalParts(OTHER_MINT)),
    ]);
    await Promise.all([smalls(), first.publish(), second.publish()]);
    // As after a lost acknowledgement, and as when a command runs again.
    const again = await first.publish();
    expect(again.isDuplicate).toBe(true);
    const other = await a.log.sendBundle(
      bundleFileOf(first.parts.positions.length),
      BUNDLE_PART_BYTES,
    );
    const data = packEntry({ kind: 'settings', settings: {} });
    expect(await a.log.publish('large', data, first.id, { parts: other })).toEqual(again);
    await commitRows(a.commands, small(40));
    await expectSame(a, b, BOTH);
    // The parts that nobody names are passed over by a node that begins with the first entry, too.
    const c = await open('c');
    await expectSame(a, c, BOTH);
    const { log } = await clusterStatus(c.log);
    expect(log?.last).toBe(c.node.position);
    const parts = [first.parts, second.parts, other].flatMap(({ positions }) => positions);
    // The origin, the two, 30 small ones and the last.
    expect(c.node.position).toBe(parts.length + 34);
  });

  it('reach a node that is far behind, which reads each part once', async () => {
    const [a, b] = await pair();
    await b.reached(1);
    await close(b);
    for (let i = 0; i < 150; i++) {
      await commitRows(a.commands, small(i));
      if (i === 70) await commitRows(a.commands, severalParts());
    }
    const [, directory] = ours.directories;
    const again = await open('b', directory);
    const read: string[] = [];
    await again.log.connected(PATIENCE_MS);
    const { streams } = await again.log['open']().then(({ manager }) => manager);
    const getMessage = streams.getMessage.bind(streams);
    streams.getMessage = async (...request) => {
      const found = await getMessage(...request);
      if (found !== null) read.push(`${found.subject} ${found.seq}`);
      return found;
    };
    await expectSame(a, again, BOTH);
    const parts = read.filter((one) => one.startsWith('fathom-parts.'));
    expect(parts.length).toBeGreaterThan(2);
    expect(new Set(parts).size).toBe(parts.length);
    // Requests before the entry find it too, but not many.
    expect(read.length).toBeLessThan(151 + parts.length + 64);
  });

  it('whose publisher is killed before the entry are passed over, and trimmed after a day', async () => {
    const [a, b] = await pair();
    const file = path.join(temporaryDirectory(), 'bundle');
    writeFileSync(file, new Uint8Array(40 * BUNDLE_PART_BYTES));
    const child = spawn(
      process.execPath,
      ['--input-type=module', '-e', KILLED, ours.servers.urls.join(), file],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    for (let i = 0; child.exitCode === null && child.signalCode === null; i++) {
      await commitRows(a.commands, small(i % 5000));
    }
    expect(child.signalCode).toBe('SIGKILL');
    await commitRows(b.commands, small(0));
    await expectSame(a, b, [OTHER_MINT]);
    // More of its parts than the log has entries, and nobody waits for them.
    const { streams } = await asAdministrator(ours.servers, async (manager) => ({
      streams: await manager.streams.info(STREAM, { subjects_filter: 'fathom-parts.*' }),
    }));
    const [sent] = Object.values(streams.state.subjects ?? {});
    expect(sent).toBeGreaterThan(19);
    await b.node.checkLag();
    const c = await open('c');
    await expectSame(a, c, [OTHER_MINT]);

    const { position } = a.node;
    await c.reached(position);
    const trimmed = await trimLog(a.log, position);
    expect(trimmed.to).toBeLessThan(position);
    expect(await a.log.trim(position, -1)).toEqual({
      to: position,
      freed: position - trimmed.to,
    });
    // What came last are parts: the log still ends at its last entry.
    const last = await sendParts(a);
    await a.node.checkLag();
    expect((await a.log.state())?.last).toBe(position);
    expect((await last.publish()).position).toBeGreaterThan(position);
    await expectSame(a, b, BOTH);
  });

  it('keep their parts when the log is trimmed before their entry', async () => {
    const [a, b] = await pair();
    const waiting = await sendParts(a);
    await commitRows(a.commands, small(1));
    await b.reached(a.node.position);
    const { position } = a.node;
    const kept = { to: waiting.parts.positions[0] - 1, freed: 1 };
    const trim = ['cluster', 'trim', '--to', String(position)];
    const cluster = ['--cluster', ours.servers.urls.join()];
    expect(await fathom([...trim, ...cluster])).toMatchObject({
      stdout: `freed 1 position; the log begins after position 1: a bundle whose entry comes after ${position} begins there\n`,
    });
    await waiting.publish();
    await b.reached(position + 1);
    expect(await trimLog(a.log, position)).toEqual({ ...kept, freed: 0 });
    await expectSame(a, b, BOTH);
    const all = a.node.position;
    expect(await trimLog(a.log, all)).toEqual({ to: all, freed: all - kept.to });
    expect((await a.log.state())?.last).toBe(all);
    await commitRows(b.commands, small(2));
    await expectSame(a, b, BOTH);
  });

  it('are refused if their parts were trimmed meanwhile, and can be sent again', async () => {
    const [a, b] = await pair();
    const paused = await sendParts(a);
    await commitRows(a.commands, small(1));
    await b.reached(a.node.position);
    // As if the publisher were paused for a day.
    await a.log.trim(a.node.position, -1);
    await expect(paused.publish()).rejects.toThrow(/nothing was stored; try again$/);
    await (await sendParts(a)).publish();
    await expectSame(a, b, BOTH);
    expect(await storedSnapshots(b.store, tokenOf(b.store))).toHaveLength(severalParts().length);
  });

  it('stop a node before an entry whose part is missing, which says what to do', async () => {
    const [a, b] = await pair();
    await b.reached(1);
    await close(b);
    await commitRows(a.commands, severalParts());
    await commitRows(a.commands, small(1));
    const large = a.node.position - 1;
    const backup = new DataDirectory();
    const { directory: from } = a.store;
    const useStore: UseStore = (body) => body(a.commands);
    await backupStore({ directory: from, out: backup.path, useStore });
    const [message] = await firstOf(a, large);
    await asAdministrator(ours.servers, ({ streams }) => streams.deleteMessage(STREAM, 3));
    const told =
      /^position 3 of the log is missing, deleted or lost by JetStream: start this node with a backup of a node that is past it$/;
    // A node that has passed the part already, and reads it for the entry.
    await expect(buffer(message.readBundle!())).rejects.toThrow(told);
    const errors: string[] = [];
    const onError = (error: unknown): unknown => errors.push((error as Error).message);
    const [, directory] = ours.directories;
    const late = await open('b', directory, undefined, { onError, times: { maxLagMs: 500 } });
    await eventually('an error', () => errors.length > 0);
    expect(errors).toEqual([expect.stringMatching(told)]);
    late.node['lag']['behindSinceMs'] = 0;
    await expect(late.node.checkLag()).rejects.toThrow(/\(position 3 of the log is missing/);
    expect(late.node.position).toBe(1);
    const restored = await open('c', backup);
    await expectSame(a, restored, BOTH);
  });

  it('are not passed over if a part is damaged on the disk of JetStream', async () => {
    const a = await open('a');
    await a.reached(1);
    await sendParts(a);
    await close(a);
    await ours.servers.kill(0);
    const [block] = readdirSync(ours.servers['root'], { recursive: true, encoding: 'utf8' }).filter(
      (file) => file.includes(STREAM) && file.endsWith('.blk'),
    );
    const file = path.join(ours.servers['root'], block);
    const bytes = readFileSync(file);
    bytes[BUNDLE_PART_BYTES + 100_000] ^= 1;
    writeFileSync(file, bytes);
    ours.servers.start(0);
    const b = await open('b');
    await b.reached(1);
    // The server has cut its copy at the damage, and what comes next does not make up for it: depending on its version,
    // it has the next message or not.
    await b.log.publish('keys', new Uint8Array(1), 'next');
    b.node['lag']['behindSinceMs'] = 1;
    await eventually('the reason', async () => {
      const why = b.stopped ?? (await b.node.checkLag().then(String, String));
      return /the log ends at entry 0|position \d+ of the log is missing|received none/.test(why);
    });
    expect(b.node.position).toBe(1);
  });

  it('are not applied if their bytes are not those of the entry', async () => {
    const [a, b] = await pair();
    const bundle = await bundleOf(a.store, severalParts());
    const file = bundleFile(a.store.directory, bundle.name);
    const { name } = bundle;
    const bytes = statSync(file).size;
    const entry = { kind: 'large-bundle' as const, name, bytes, sha256: await digestOf(file) };
    const damaged = readFileSync(file);
    damaged[BUNDLE_PART_BYTES + 7] ^= 1;
    writeFileSync(file, damaged);
    const parts = await a.log.sendBundle(file, bytes);
    await bundle.discard();
    const { position } = await a.log.publish('large', packEntry(entry), name, { parts });
    const told = `the bundle of the log's entry ${position} is damaged: start this node with a backup of a node that is past it`;
    for (const { node } of [a, b]) {
      node['lag']['behindSinceMs'] = 1;
      await eventually('the reason', async () => {
        const why = await node.checkLag().then(String, String);
        return why.includes(told);
      });
      expect(node.position).toBe(1);
    }
  });

  it('have limits', async () => {
    const a = await open('a');
    await a.reached(1);
    await expect(a.log.sendBundle('none', 5 * 2 ** 30)).rejects.toThrow(
      /^the change has 5120 MiB, and a cluster's log takes at most 4096 MiB at once: load the data in several files$/,
    );
    const servers = await NatsServers.start(1, 'max_payload: 262144');
    const node = await Node.open(new DataDirectory(), 'x', servers.urls);
    try {
      await node.reached(1);
      await expect(commitRows(node.commands, severalParts())).rejects.toThrow(
        /^the server of JetStream takes messages of at most 256 KiB: nothing was stored; set its max_payload to 1MB/,
      );
      await commitRows(node.commands, small(1));
      expect(node.node.position).toBe(2);
    } finally {
      await node.close();
      await servers.close();
    }
  });
});

/** Sends a bundle, and is killed when the log has half of its parts. */
const KILLED = `
import { JetStreamLog } from ${JSON.stringify(path.resolve('dist/storage/log/jetstream.js'))};
const [servers, file] = process.argv.slice(1);
const log = new JetStreamLog({ servers: [servers], name: 'killed', replicas: 1 });
await log.connected(10000);
const send = log.send.bind(log);
let sent = 0;
log.send = async (...message) => {
  const taken = await send(...message);
  if (++sent === 20) process.kill(process.pid, 'SIGKILL');
  return taken;
};
await log.sendBundle(file, 40 * 512 * 1024);
`;

/** The entries from a position on. */
async function firstOf({ log }: Node, position: number): Promise<LogMessage[]> {
  const { value } = await log.follow(position, AbortSignal.timeout(PATIENCE_MS)).next();
  return value as LogMessage[];
}

/** A file of as many bytes as one part. */
function bundleFileOf(seed: number): string {
  const file = path.join(temporaryDirectory(), 'other');
  writeFileSync(file, new Uint8Array(BUNDLE_PART_BYTES).fill(seed));
  return file;
}
