import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasNats, NatsServers } from '../../bench/nats.js';
import { clusterStatus } from '../../storage/log/cluster.js';
import { fathom } from '../support/cli.js';
import { commitRows, DataDirectory, snapshot } from '../support/stores.js';
import { becomes, eventually } from '../support/waiting.js';
import { expectSame, LogNodes, Node, T0 } from './log-nodes.js';

if (!hasNats) console.warn('nats-server is not installed: tests of silent nodes are skipped');

describe.skipIf(!hasNats)('A silent node', () => {
  const ours = new LogNodes();

  it('is listed with its last position and time, until it is back', async () => {
    const [a, b] = await ours.pair();
    const [, directory] = ours.directories;
    const silentNow = async () => (await clusterStatus(a.log)).silent;
    await becomes(silentNow, []);
    await commitRows(a.commands, [snapshot(T0)]);
    await b.reached(2);
    const fromS = Math.floor(Date.now() / 1000);
    await ours.close(b);
    const toS = Math.ceil(Date.now() / 1000);
    await commitRows(a.commands, [snapshot(T0 + 60)]);
    const cluster = ['--cluster', ours.servers.urls.join()];
    const status = await fathom(['cluster', 'status', ...cluster, '--json']);
    const { nodes, silent } = JSON.parse(status.stdout);
    expect(nodes.map(({ node }: { node: string }) => node)).toEqual(['a']);
    expect(silent).toEqual([
      { node: 'b', version: '1', position: 2, silent_since: expect.any(Number) },
    ]);
    expect(silent[0].silent_since).toBeGreaterThanOrEqual(fromS);
    expect(silent[0].silent_since).toBeLessThanOrEqual(toS);
    expect((await fathom(['cluster', 'status', ...cluster])).stdout).toMatch(
      /^b {2}silent since \d{4}-.*Z {2}position 2 then {2}version 1$/m,
    );

    const again = await ours.open('b', directory);
    await again.reached(3);
    await becomes(silentNow, []);
  });

  it('keeps the entries that it lacks, unless the operator gives it up', async () => {
    const [a, b] = await ours.pair();
    await commitRows(a.commands, [snapshot(T0)]);
    await b.reached(2);
    await ours.close(b);
    for (const minutes of [1, 2, 3]) {
      await commitRows(a.commands, [snapshot(T0 + minutes * 60)]);
    }
    const cluster = ['--cluster', ours.servers.urls.join()];
    const trim = (to: number, ...without: string[]) => {
      const names = without.flatMap((name) => ['--without', name]);
      return fathom(['cluster', 'trim', '--to', String(to), ...names, ...cluster, '--json']);
    };
    const refusals: [number, string[], string][] = [
      [3, [], '--to: node b does not answer, and was only at position 2: start it, or add'],
      [5, [], '--to: node b does not answer, and was only at position 2: start it, or add'],
      [3, ['c'], '--without: there is no silent node c; silent nodes: b\n'],
      [3, ['b', 'a'], '--without: there is no silent node a; silent nodes: b\n'],
    ];
    for (const [to, without, why] of refusals) {
      const { status, stderr } = await trim(to, ...without);
      expect([status, stderr]).toEqual([1, expect.stringContaining(why)]);
    }
    expect((await trim(3, 'b c')).stderr).toContain('--without: expected 1 to 64 of A-Z');
    expect(await a.log.state()).toMatchObject({ first: 1, last: 5 });
    // What it has, it does not need.
    expect((await trim(2)).stdout).toBe('{"to":2,"freed":2}\n');
    const [, directory] = ours.directories;
    const again = await ours.open('b', directory);
    await again.reached(5);
    await expectSame(a, again);
    await ours.close(again);
    await commitRows(a.commands, [snapshot(T0 + 300)]);
    expect((await trim(6, 'b')).stdout).toBe('{"to":6,"freed":4}\n');
    const late = await ours.open('b', directory);
    await late.until(() => late.stopped !== null);
    expect(late.stopped).toMatch(/the log begins at entry 7, .*: begin with a newer backup/);
  });

  it('is listed if no node answers, and the log can be trimmed', async () => {
    const [a, b] = await ours.pair();
    await b.reached(1);
    await ours.close(a);
    await ours.close(b);
    const cluster = ['--cluster', ours.servers.urls.join()];
    const status = await fathom(['cluster', 'status', ...cluster, '--json']);
    const { nodes, silent } = JSON.parse(status.stdout);
    expect(nodes).toEqual([]);
    expect(silent.map(({ node }: { node: string }) => node)).toEqual(['a', 'b']);
    expect(await fathom(['cluster', 'trim', '--to', '1', ...cluster])).toMatchObject({
      stderr: '',
    });
  });
});

describe.skipIf(!hasNats)('Nodes whose JetStream servers have lost their quorum', () => {
  let servers: NatsServers;
  let node: Node;
  beforeAll(async () => {
    if (!hasNats) return;
    servers = await NatsServers.start(3);
    node = await Node.open(new DataDirectory(), 'a', servers.urls, undefined, {}, 3);
  });
  afterAll(async () => {
    await node?.close();
    await servers?.close();
  });

  it('are listed with their positions, and the reason', async () => {
    await node.reached(1);
    for (const index of [0, 1, 2]) if (index !== 1) await servers.kill(index);
    const cluster = ['--cluster', servers.urls.join()];
    // The server that remains first has to notice that the others are gone.
    let status = await fathom(['cluster', 'status', ...cluster, '--json']);
    await eventually('the quorum is lost', async () => {
      status = await fathom(['cluster', 'status', ...cluster, '--json']);
      return status.status === 1 && status.stdout.includes('"nodes":[{');
    });
    const { log, nodes, error } = JSON.parse(status.stdout);
    expect(log).toBeNull();
    expect(nodes).toEqual([expect.objectContaining({ node: 'a', position: node.node.position })]);
    expect(error).toMatch(/^JetStream cannot say what the log holds: ./);
    expect(status.stderr).toBe(`${error}\n`);
    expect((await fathom(['cluster', 'status', ...cluster])).stdout).toMatch(
      /^log {2}unknown\na {2}position /,
    );
    // The server may still know the log, but not be able to change it.
    expect(await fathom(['cluster', 'trim', '--to', '1', ...cluster])).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(
        /^JetStream (cannot say what the log holds|did not free all entries): ./,
      ),
    });
  });
});
