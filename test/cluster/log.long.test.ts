import { nanos } from '@nats-io/transport-node';
import { describe, expect, it, vi } from 'vitest';
import { backupStore } from '../../storage/backup.js';
import { BUNDLE_VERSION, BundleWriter, type Frame } from '../../storage/bundle.js';
import { bareTokenRow } from '../../storage/depth/catalog.js';
import { clusterStatus, trimLog } from '../../storage/log/cluster.js';
import { packEntry, subjectOf, tokenSubject } from '../../storage/log/entry.js';
import { JetStreamLog } from '../../storage/log/jetstream.js';
import { hasNats } from '../../bench/nats.js';
import {
  binance,
  bundleOf,
  commitDelete,
  commitRows,
  DataDirectory,
  deleteFrame,
  EVM_TOKEN,
  MINT,
  openStore,
  orca,
  OTHER_MINT,
  type SnapshotRow,
  snapshot,
  storedSnapshots,
  tokenOf,
} from '../support/stores.js';
import {
  asAdministrator,
  expectSame,
  largeRows,
  LogNodes,
  type Node,
  seen,
  STREAM,
  T0,
} from './log-nodes.js';
import { becomes, eventually } from '../support/waiting.js';

const KEY = { tier: 'premium' } as const;

describe.skipIf(!hasNats)('Nodes of one log', () => {
  const ours = new LogNodes();
  const { open, close, pair, directories } = ours;

  it('hold the same data after the same entries, however each joins its segments', async () => {
    const [a, b] = await pair();
    for (let i = 0; i < 18; i++) {
      const node = i % 3 === 0 ? b : a;
      const market = i % 2 === 0 ? orca([[i % 5, i, 1]]) : binance([[2, i, 3]]);
      const rows = [snapshot(T0 + ((i * 7) % 18) * 60, [market])];
      await commitRows(node.commands, rows, { mode: i % 4 === 3 ? 'merge' : 'replace' });
      if (i % 6 === 5) await a.store.settled();
    }
    const [to] = [T0 + 5 * 60];
    await commitDelete(b.commands, { address: MINT, toS: to });
    const evm: Partial<SnapshotRow> = { chain: 'evmchain', address: EVM_TOKEN };
    await commitRows(a.commands, [snapshot(T0, [orca()], evm)]);
    await expectSame(a, b, [MINT, EVM_TOKEN]);
    expect((await storedSnapshots(a.store, tokenOf(a.store))).length).toBe(13);
  });

  it('refuse a merge whose base has changed, and tell the command', async () => {
    const [a, b] = await pair();
    await commitRows(a.commands, [snapshot(T0)]);
    await b.reached(a.node.position);
    const bundle = await bundleOf(b.commands, [snapshot(T0, [binance()])], { mode: 'merge' });
    await commitRows(a.commands, [snapshot(T0, [orca()], { price_usd: 3 })]);
    await expect(b.commands.commit(bundle.name)).rejects.toThrow(/changed while the file was/);
    await bundle.discard();
    const again = snapshot(T0, [binance()], { price_usd: 3 });
    await commitRows(b.commands, [again], { mode: 'merge' });
    await expect(commitDelete(b.commands, { address: EVM_TOKEN })).rejects.toThrow(/does not know/);
    await expectSame(a, b);
  });

  it('know each other’s keys, and revoke and rotate them in one order', async () => {
    const [a, b] = await pair();
    const issued = await a.commands.createKey(KEY);
    await b.reached(a.node.position);
    expect(b.store.keys.verify(issued.key)?.id).toBe(issued.id);
    const rotated = await b.commands.rotateKey(issued.id);
    await a.reached(b.node.position);
    expect([issued, rotated].map(({ key }) => a.store.keys.verify(key)?.id)).toEqual([
      undefined,
      issued.id,
    ]);
    await a.commands.revokeKey(issued.id);
    await b.reached(a.node.position);
    expect(b.store.keys.verify(rotated.key)).toBeNull();
    await expect(b.commands.revokeKey(issued.id)).rejects.toThrow(/revoked already/);
    expect(await b.store.listKeys()).toEqual(await a.store.listKeys());
  });

  it('change keys in one order', async () => {
    const [a, b] = await pair();
    const request = { ...KEY, name: 'twice', expiresAtS: 2e9 };
    const issued = await a.commands.createKey(request);
    await b.reached(a.node.position);
    expect(b.store.keys.verify(issued.key)).toMatchObject({ expiresAtS: 2e9, name: 'twice' });
    const rotated = await b.commands.rotateKey('twice', 3600);
    await expect(b.commands.rotateKey('twice', 60)).rejects.toThrow(/still valid/);
    const changes = { tier: 'enterprise', name: 'once', expiresAtS: null, monthlyQuota: 7 };
    expect(await b.commands.updateKey('twice', changes)).toMatchObject(changes);
    await a.reached(b.node.position);
    for (const { store } of [a, b]) {
      const found = [issued, rotated].map(({ key }) => store.keys.verify(key));
      expect(found).toEqual([expect.objectContaining(changes), found[0]]);
    }
    await expect(a.commands.updateKey('twice', changes)).rejects.toThrow(/no key has the id/);
    await expect(a.commands.updateKey('once', { tier: 'gold' })).rejects.toThrow(
      /--tier: expected/,
    );
    expect(await a.commands.listKeys()).toEqual(await b.commands.listKeys());
    b.store.usage.counter(issued.id, 20261122, 'GET /score/:address').add(3);
    const calls = { keyId: issued.id, day: 20261122, endpoint: 'GET /score/:address', calls: 3 };
    expect(await b.commands.monthUsage(202611, '')).toEqual([calls]);
    expect(await b.commands.monthUsage(202611, issued.id)).toEqual([]);
  });

  it('delete old depth with one entry per step, and make coarse snapshots from it', async () => {
    const [a, b] = await pair();
    const rows = Array.from({ length: 40 }, (_, i) => snapshot(T0 + i * 300, [orca([[0, i, 1]])]));
    await commitRows(a.commands, rows);
    await b.reached(a.node.position);
    const before = a.node.position;
    const cutoffs = { raw: T0 + 20 * 300, '15m': 0, '1h': 0 };
    const token = { chain: 'mainchain', address: MINT } as const;
    await Promise.all([a, b].map(({ node }) => node.retire(token, cutoffs, ['15m'])));
    await expectSame(a, b);
    expect(a.node.position).toBe(before + 1);
    const tiers = (await storedSnapshots(a.store, tokenOf(a.store))).map(({ tier }) => tier);
    expect(tiers.filter((tier) => tier === 'raw')).toHaveLength(20);
    expect(tiers.filter((tier) => tier === '15m').length).toBeGreaterThan(5);
  });

  it('resume at their position, and refuse changes outside the log', async () => {
    const [a, b] = await pair();
    await commitRows(a.commands, [snapshot(T0)]);
    await b.reached(a.node.position);
    const [, directory] = directories;
    await close(b);
    await commitRows(a.commands, [snapshot(T0 + 60)]);
    const alone = await openStore(directory.path);
    await expect(commitRows(alone, [snapshot(T0 + 120)])).rejects.toThrow(/belongs to a node/);
    await expect(alone.createKey(KEY)).rejects.toThrow(/belongs to a node/);
    await alone.close();
    const again = await open('b', directory);
    expect(again.node.lagMs).toBe(Infinity);
    await again.reached(a.node.position);
    await expectSame(a, again);
    expect(again.node.lagMs).toBe(0);
  });

  it('keep serving and refuse changes while JetStream is unreachable, and resume when it is back', async () => {
    const [a, b] = await pair();
    await commitRows(a.commands, [snapshot(T0)]);
    await ours.servers.kill(0);
    await eventually('it is noticed', () => a.log.reason !== '');
    const refused = commitRows(a.commands, [snapshot(T0 + 60)]);
    await expect(refused).rejects.toThrow(/JetStream is unreachable: nothing was stored/);
    await expect(a.commands.createKey(KEY)).rejects.toThrow(/nothing was stored/);
    expect(await storedSnapshots(a.store, tokenOf(a.store))).toHaveLength(1);
    ours.servers.start(0);
    const commits = () =>
      commitRows(a.commands, [snapshot(T0 + 120)]).then(
        () => true,
        () => false,
      );
    await eventually('changes are stored again', commits, 50);
    await expectSame(a, b);
    expect(await storedSnapshots(b.store, tokenOf(b.store))).toHaveLength(2);
  });

  it('stop if the log is a different one, or lacks entries that they need', async () => {
    const [a, b] = await pair();
    await commitRows(a.commands, [snapshot(T0)]);
    const { position } = a.node;
    await b.reached(position);
    const [, directory] = directories;
    await close(b);
    for (const t of [1, 2, 3]) await commitRows(a.commands, [snapshot(T0 + t)]);
    await a.log.trim(position + 1);
    const late = await open('b', directory);
    await late.until(() => late.stopped !== null);
    expect(late.stopped).toMatch(/log begins at entry 4, and this node has applied 2/);
    // A stopped node does not report JetStream as away.
    late.node['lag']['polledAtMs'] = -1e6;
    await late.node.checkLog();
    const empty = await open('c');
    await empty.until(() => empty.stopped !== null);
    expect(empty.stopped).toMatch(/begin with a backup of a node/);
    await ours.servers.kill(0, true);
    ours.servers.start(0);
    await a.until(() => a.stopped !== null);
    expect(a.stopped).toMatch(/the log ends at entry 0, and this node has applied 5/);
    const standing = async () => {
      const { log, nodes } = await clusterStatus(a.log);
      return [log, ...nodes.map(({ stopped }) => stopped)];
    };
    await becomes(standing, [null, a.stopped, late.stopped, empty.stopped]);
    await expect(trimLog(a.log, 1)).rejects.toThrow(/there is no log/);
  });

  it('do not share a name: the one that began later stops', async () => {
    const [a, b] = await pair();
    await b.reached(a.node.position);
    await a.until(() => a.node['presence']['joined'] !== null);
    // By its clock, it began before the other.
    const clock = vi.spyOn(Date, 'now').mockReturnValue(Date.now() - 3_600_000);
    const late = await open('a').finally(() => clock.mockRestore());
    await late.until(() => late.stopped !== null);
    expect(late.stopped).toMatch(/another node is called a: start this one with a name/);
    await expect(late.node.checkFollowing()).rejects.toThrow(/another node is called a/);
    expect([a.stopped, b.stopped]).toEqual([null, null]);
  });

  it('stay connected when they get messages that they do not understand', async () => {
    const a = await open('a');
    await a.reached(1);
    let heard = 0;
    await a.log.listen('stray', () => {
      heard++;
      throw new Error('not understood');
    });
    for (const times of [1, 2]) {
      a.log.broadcast('stray', 'hello');
      await a.until(() => heard === times);
    }
    await commitRows(a.commands, [snapshot(T0)]);
  });

  it('do not follow a log made by an operator with other settings', async () => {
    await asAdministrator(ours.servers, async ({ streams }) => {
      await streams.add({ name: STREAM, subjects: ['fathom.*'] });
      const a = await open('a');
      await a.until(() => a.stopped !== null);
      expect(a.stopped).toMatch(/the stream FATHOM has other settings than a node gives it/);
      await expect(a.commands.createKey(KEY)).rejects.toThrow(/has other settings/);
      await streams.delete(STREAM);
      await a.reached(1);
      await a.until(() => a.node.stoppedBy === null);
      await a.commands.createKey(KEY);
      // Limits that the running log gets later would remove entries.
      for (const limit of [{ max_age: nanos(3_600_000) }, { max_msgs: 9 }, { max_bytes: 1e6 }]) {
        await streams.update(STREAM, limit);
        await a.until(() => a.node.stoppedBy !== null);
        expect(a.node.stoppedBy).toContain(`(${Object.keys(limit)[0]})`);
        await streams.update(STREAM, { max_age: 0, max_msgs: -1, max_bytes: -1 });
        await a.until(() => a.node.stoppedBy === null);
      }
    });
  });

  it('report each change that JetStream refuses', async () => {
    const refused: string[] = [];
    const log = new JetStreamLog({
      servers: ours.servers.urls,
      name: 'a',
      replicas: 1,
      onRefused: (why) => refused.push(why),
    });
    await log.state(true);
    await asAdministrator(ours.servers, (manager) =>
      manager.streams.update('FATHOM', { max_msg_size: 100 }),
    );
    await log.publish('keys', new Uint8Array(10), 'short');
    const publishing = log.publish('keys', new Uint8Array(1000), 'long');
    await expect(publishing).rejects.toThrow(/^JetStream refused it: .+; nothing was stored$/);
    expect(refused).toEqual([expect.stringContaining('exceeds')]);
    await log.close();
  });

  it('say why the log is not made, and treat a log without a leader as away', async () => {
    const log = new JetStreamLog({ servers: ours.servers.urls, name: 'test', replicas: 3 });
    await expect(log.state(true)).rejects.toThrow(/does not make the log with 3 copies .*: \S/);
    await log.connected(5000);
    // The answer of a server that has lost the others.
    const config = { subjects: ['fathom.v1.>'], retention: 'limits', description: 'x' };
    const cluster = { name: 'test', replicas: [{ name: 'n1', current: false }] };
    const streams = { info: () => Promise.resolve({ config, cluster, state: { last_seq: 39 } }) };
    log['opened'] = { manager: { streams } } as never;
    await expect(log.state()).rejects.toThrow(/no leader/);
    await log.close();
  });

  it('can trim the log when JetStream has no space left', async () => {
    const a = await open('a');
    await a.reached(1);
    await asAdministrator(ours.servers, async ({ streams }) => {
      await commitRows(a.commands, largeRows());
      const { state } = await streams.info(STREAM);
      expect((await clusterStatus(a.log)).log?.bytes).toBe(state.bytes);
      await streams.update(STREAM, { max_bytes: state.bytes });
      const { position } = a.node;
      expect(await trimLog(a.log, position)).toEqual({ to: position, freed: position });
      expect((await streams.info(STREAM)).state.bytes).toBe(0);
    });
  });

  it.each([
    ['lacks what they have applied', null, 'the log ends at entry 1, and this node has applied 2'],
    ['has another entry in its place', 'other', "the log's entry 2 is not the one"],
  ])('wait for a log that %s, and resume when it is whole again', async (_, found, reason) => {
    const [a, b] = await pair();
    await commitRows(a.commands, [snapshot(T0)]);
    await b.reached(2);
    const [, directory] = directories;
    await close(b);
    const again = await open('b', directory);
    const idAt = again.log.idAt.bind(again.log);
    // The answer of a server that came back without its last entries.
    again.log.idAt = () => Promise.resolve(found);
    await again.until(() => again.stopped !== null);
    expect(again.stopped).toContain(reason);
    await expect(again.node.checkFollowing()).rejects.toThrow(/has the way back/);
    again.log.idAt = idAt;
    await commitRows(a.commands, [snapshot(T0 + 60)]);
    await again.until(() => again.node.position === 3);
    await again.node.checkFollowing();
    expect(await seen(again.store, MINT)).toEqual(await seen(a.store, MINT));
  });

  it('do not report a change as refused if an earlier attempt may have reached the log', async () => {
    const [a] = await pair();
    // Its own report is published by the same client.
    await a.until(() => a.node['presence']['joined'] !== null);
    const { client, manager } = await a.log['open']();
    const publish = client.publish.bind(client);
    let attempts = 0;
    client.publish = async (...request) => {
      attempts++;
      if (attempts === 2) await manager.streams.info('none');
      const published = await publish(...request);
      if (attempts === 1) throw new Error('timeout');
      return published;
    };
    const of = { chain: 'mainchain', address: MINT } as const;
    const cutoffs = { raw: 0, '15m': 0, '1h': 0 };
    const entry = packEntry({ kind: 'retirement', token: of, cutoffs, made: [] });
    const published = await a.log.publish('keys', entry, 'one');
    expect([attempts, published]).toEqual([3, { position: 2, isDuplicate: true }]);
  });

  it('reject a store with data that the log does not have, and a store without the data that it began with', async () => {
    const directory = new DataDirectory();
    const filled = await openStore(directory.path);
    await commitRows(filled, [snapshot(T0)]);
    await filled.close();
    const a = await open('a', directory);
    await a.reached(1);
    expect(a.stopped).toBeNull();
    const empty = await open('b');
    await empty.until(() => empty.stopped !== null);
    expect(empty.stopped).toMatch(/continues a store of node a: begin with a backup/);
    const other = new DataDirectory();
    const foreign = await openStore(other.path);
    await commitRows(foreign, [snapshot(T0 + 60)]);
    await foreign.close();
    const c = await open('c', other);
    await c.until(() => c.stopped !== null);
    expect(c.stopped).toMatch(/holds data that the log does not know/);
  });

  it('list the tokens that wait for data at the node that is asked', async () => {
    const [a, b] = await pair();
    for (const address of [MINT, OTHER_MINT, MINT]) a.store.queue.request('mainchain', address);
    b.store.queue.request('mainchain', MINT);
    const waiting = async ({ commands }: Node) =>
      (await commands.listQueue()).map(({ address, requests }) => [address, requests]).sort();
    expect(await waiting(a)).toEqual(
      [
        [MINT, 2],
        [OTHER_MINT, 1],
      ].sort(),
    );
    expect(await waiting(b)).toEqual([[MINT, 1]]);
  });

  it('begin a new log from the store at the highest position after the log is lost', async () => {
    const [a, b] = await pair();
    await commitRows(a.commands, [snapshot(T0)]);
    const issued = await a.commands.createKey(KEY);
    await b.reached(a.node.position);
    const [directory] = directories;
    await expect(a.commands.leaveLog()).rejects.toThrow(/stop it first/);
    await close(a);
    await close(b);
    await ours.servers.kill(0, true);
    ours.servers.start(0);
    const single = await openStore(directory.path);
    expect(await single.leaveLog()).toEqual({ position: 3, settings: {} });
    await commitRows(single, [snapshot(T0 + 60)]);
    await single.close();
    const again = await open('a', directory);
    await again.reached(1);
    const out = new DataDirectory();
    const copied = await backupStore({
      directory: directory.path,
      out: out.path,
      useStore: (body) => body(again.commands),
    });
    expect(copied.position).toBe(1);
    await commitRows(again.commands, [snapshot(T0 + 120)]);
    const restored = await open('c', out);
    await restored.reached(2);
    await expectSame(again, restored);
    expect(await storedSnapshots(restored.store, tokenOf(restored.store))).toHaveLength(3);
    expect(restored.store.keys.verify(issued.key)?.id).toBe(issued.id);
  });

  it('name the only token of an entry in its subject', () => {
    const of = { chain: 'mainchain', address: MINT } as const;
    const deleting: Frame = deleteFrame({ address: MINT });
    const tokens = (addresses: string[]): Frame => ({
      kind: 'tokens',
      rows: addresses.map((address, i) => ({
        line: i + 1,
        row: bareTokenRow('mainchain', address),
      })),
    });
    const held = { kind: 'holders', tokenAddress: MINT } as Frame;
    const subject = tokenSubject(`${of.chain}:${of.address}`);
    expect(subject).toMatch(/^data\.mainchain\.\d+$/);
    for (const frame of [deleting, tokens([MINT]), held]) expect(subjectOf([frame])).toBe(subject);
    const rows = { kind: 'rows', dataset: 'dca_orders', rows: [] } as Frame;
    const many = [[tokens([MINT, OTHER_MINT])], [deleting, tokens([OTHER_MINT])], [rows]];
    for (const frames of many) expect(subjectOf(frames)).toBe('data.many');
  });

  it('have the settings of the log, which begins with those of its first node', async () => {
    const [of1, of2] = [new DataDirectory(), new DataDirectory()];
    const first = { plans: { a: 1, b: 2 }, stale: 3 };
    const a = await open('a', of1, first);
    await a.reached(1);
    expect(a.store.applied.settings).toEqual(first);
    const b = await open('b', of2, { plans: 2, stale: 3 });
    await b.reached(1);
    expect(b.store.applied.settings).toEqual(first);
    const others = async () =>
      (await clusterStatus(a.log)).nodes.map(({ node, otherSettings }) => [node, otherSettings]);
    await becomes(others, [
      ['a', []],
      ['b', ['plans']],
    ]);
    const second = { plans: 2, stale: 3 };
    expect(await b.commands.changeSettings({ plans: 2 })).toEqual({ position: 2, before: first });
    await a.reached(2);
    for (const { store } of [a, b]) expect(store.applied.settings).toEqual(second);
    await becomes(others, [
      ['a', ['plans']],
      ['b', []],
    ]);
    // They are what was asked for already: nothing enters the log, whatever the order of keys.
    expect(await a.commands.changeSettings({ plans: 2, stale: 3 })).toEqual({
      position: null,
      before: second,
    });
    const again = await a.commands.changeSettings({ plans: { b: 2, a: 1 } });
    expect(again).toEqual({ position: 3, before: second });
    expect((await a.commands.changeSettings({ plans: first.plans })).position).toBeNull();
    for (const node of [a, b]) await node.until(() => node.changes === 3);
  });

  it('keep both of two changes of settings at once, and catch up with those of their absence', async () => {
    const [of1, of2] = [new DataDirectory(), new DataDirectory()];
    const a = await open('a', of1, { plans: 1, stale: 1 });
    const b = await open('b', of2, { plans: 1, stale: 1 });
    for (const node of [a, b]) await node.reached(1);
    await Promise.all([
      a.commands.changeSettings({ plans: 2 }),
      b.commands.changeSettings({ stale: 2 }),
    ]);
    for (const node of [a, b]) {
      await node.reached(3);
      expect(node.store.applied.settings).toEqual({ plans: 2, stale: 2 });
    }
    const { mark } = b.store;
    await close(b);
    await a.commands.changeSettings({ plans: 3, later: true });
    await commitRows(a.commands, [snapshot(T0)]);
    await a.commands.changeSettings({ stale: 3 });
    const latest = { plans: 3, stale: 3, later: true };
    // Before it has applied them, and with an empty directory.
    const read = { settings: latest, position: 6 };
    expect(await a.log.settings({ plans: 2, stale: 2 }, mark)).toEqual(read);
    expect(await a.log.settings({}, null)).toEqual(read);
    // What another log has does not count.
    const foreign = { ...mark!, logId: 'another' };
    expect(await a.log.settings({ plans: 0 }, foreign)).toEqual({
      settings: { plans: 0 },
      position: 3,
    });
    const back = await open('b', of2, { plans: 1, stale: 1 });
    await back.reached(6);
    expect(back.store.applied.settings).toEqual(latest);
    await close(back);
    const left = await openStore(of2.path);
    expect(await left.leaveLog()).toEqual({ position: 6, settings: latest });
    expect(left.applied.settings).toEqual({});
    await expect(left.changeSettings(latest)).rejects.toThrow(
      /belongs to no cluster: change plans, stale, later in its configuration$/,
    );
    await left.close();
    const reopened = await openStore(of2.path);
    expect(reopened.applied.settings).toEqual({});
    await reopened.close();
  });

  it('publish no truncated bundle', async () => {
    const [a] = await pair();
    const bundle = await BundleWriter.create(a.store.directory);
    await bundle.write({ kind: 'header', version: BUNDLE_VERSION, file: 'x', mode: 'replace' });
    await expect(a.commands.commit(bundle.name)).rejects.toThrow(/cut short/);
    await bundle.discard();
    expect(a.node.position).toBe(1);
  });
});
