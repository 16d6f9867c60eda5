/** The settings of a cluster, over HTTP and the command line: servers with different configurations. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hasNats, NatsServers } from '../../bench/nats.js';
import { BUILD } from '../../storage/version.js';
import { fathom, serveHere, type Service } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import { becomes, eventually } from '../support/waiting.js';

const RESTART = "the cluster's settings were changed: restart this node to serve with them";
const IN_EFFECT = "the cluster's setting is in effect, not the one of this node's configuration";

describe.skipIf(!hasNats)('The settings of a cluster', () => {
  let servers: NatsServers;
  let key = '';
  const directories: Record<string, string> = {};
  const running: Service[] = [];

  beforeEach(async () => {
    servers = await NatsServers.start(1);
    for (const name of ['a', 'b', 'c']) directories[name] = temporaryDirectory();
  });
  afterEach(async () => {
    for (const service of running.splice(0)) await service.stop();
    await servers.close();
  });

  /** A new key, which has the limits of its plan. */
  const newKey = async (name: string): Promise<string> => {
    const words = ['keys', 'create', '--tier', 'enterprise', '--data', directories[name]];
    return (await fathom(words)).stdout.trim();
  };
  const access = () => ['--cluster', servers.urls.join()];
  const start = async (name: string, words: string[] = [], env: Record<string, string> = {}) => {
    const node = [...access(), '--node', name];
    const service = await serveHere(directories[name], [...node, ...words], env);
    running.push(service);
    await becomes(async () => (await fetch(`${service.url}/readyz`)).status, 200);
    return service;
  };
  const status = async () =>
    JSON.parse((await fathom(['cluster', 'status', ...access(), '--json'])).stdout);
  const set = (name: string, ...words: string[]) =>
    fathom(['cluster', 'set', ...words, '--data', directories[name]]);
  /** Whether a server accepts an unknown parameter, and the limit of a month that it states. */
  const served = async (service: Service) => {
    const [known, unknown] = [
      await service.get('/tokens', key),
      await service.get('/tokens?unheard_of=1', key),
    ];
    return [unknown.status === 200, Number(known.headers.get('x-quota-limit'))];
  };
  const lines = (service: Service, message: string): Record<string, unknown>[] =>
    service
      .logged()
      .split('\n')
      .map((line) => JSON.parse(line))
      .filter(({ msg }) => msg === message);

  it('are those of its first node, whatever the others are configured with', async () => {
    const a = await start('a', ['--stale-after=2h']);
    expect(lines(a, IN_EFFECT)).toEqual([]);
    const configured = ['--stale-after=3h', '--lenient-parameters'];
    const b = await start('b', configured, { FATHOM_RETENTION: '{"raw":"30d"}' });
    // A node whose configuration gives none of them has nothing to say.
    const c = await start('c');
    const { settings, nodes } = await status();
    expect(settings).toMatchObject({
      'stale-after': '2h',
      'lenient-parameters': false,
      retention: {},
    });
    const others = nodes.map(({ other_settings }: Record<string, unknown>) => other_settings);
    expect(others).toEqual([[], [], []]);
    const told = lines(b, IN_EFFECT).map(({ setting, cluster, configured: own, change_with }) => [
      setting,
      cluster,
      own,
      change_with,
    ]);
    expect(told).toEqual([
      ['stale-after', '2h', '3h', 'fathom cluster set stale-after=3h'],
      ['lenient-parameters', 'false', 'true', 'fathom cluster set lenient-parameters=true'],
      ['retention', '{}', '{"raw":"30d"}', `fathom cluster set 'retention={"raw":"30d"}'`],
    ]);
    for (const node of [a, b, c]) expect(lines(node, RESTART)).toEqual([]);
    expect(lines(c, IN_EFFECT)).toEqual([]);
    const listed = (await fathom(['cluster', 'status', ...access()])).stdout;
    expect(listed).toMatch(/^setting {2}stale-after=2h$/m);
    // Which build each node runs: its lines are told apart by more than the version.
    const builds = [...listed.matchAll(/^[abc] {2}.* {2}version (\S+)/gm)].map(
      ([, build]) => build,
    );
    expect(builds).toEqual([BUILD, BUILD, BUILD]);
    expect(listed).toMatch(/^setting {2}plans=\{"premium":\{"monthly_quota":100000,/m);
  });

  it('change by a command, also for nodes that are down, and are served after a restart', async () => {
    key = await newKey('a');
    const a = await start('a');
    const copy = path.join(temporaryDirectory(), 'b');
    expect(await fathom(['backup', '--data', directories.a, '--out', copy])).toMatchObject({
      status: 0,
    });
    directories.b = copy;
    const b = await start('b');
    expect(await served(a)).toEqual(await served(b));
    const [, quota] = await served(a);
    await b.stop();

    const plans = '{"enterprise":{"monthly_quota":77}}';
    const given = ['lenient_parameters=true', `plans=${plans}`, 'native-code=SOL'];
    const changed = await set('a', ...given);
    expect(changed).toMatchObject({
      status: 0,
      stderr: 'restart the nodes one after the other: each then serves with the new settings\n',
    });
    expect(changed.stdout).toMatch(
      /^lenient-parameters=true {2}was false\nplans=\{.*"monthly_quota":77,.*\} {2}was \{.*\}\nnative-code=SOL {2}as before\n$/,
    );
    await eventually('the node says that it waits for a restart', () =>
      lines(a, RESTART).some(({ settings }) => settings === 'lenient-parameters, plans'),
    );
    // It serves as before until then; the node that was down has them at its start.
    expect(await served(a)).toEqual([false, quota]);
    const again = await start('b');
    expect(await served(again)).toEqual([true, 77]);
    for (const message of [RESTART, IN_EFFECT]) expect(lines(again, message)).toEqual([]);
    const others = async () =>
      (await status()).nodes.map((node: Record<string, unknown>) => [
        node.node,
        node.other_settings,
      ]);
    await becomes(others, [
      ['a', ['lenient-parameters', 'plans']],
      ['b', []],
    ]);
    expect((await fathom(['cluster', 'status', ...access()])).stdout).toMatch(
      /^a {2}position .* {2}to be restarted: lenient-parameters, plans$/m,
    );
    await a.stop();
    const restarted = await start('a');
    expect(await served(restarted)).toEqual([true, 77]);

    const undone = await set('b', 'lenient-parameters=false', '--json');
    expect(JSON.parse(undone.stdout)).toEqual({
      position: expect.any(Number),
      changed: { 'lenient-parameters': { from: true, to: false } },
    });
    const same = await set('a', 'lenient-parameters=false', 'lenient-parameters=false');
    expect([same.status, same.stderr]).toEqual([
      2,
      'fathom: lenient-parameters: given twice\nSee fathom help cluster set\n',
    ]);
    await becomes(async () => JSON.parse((await set('a', 'stale-after=60m', '--json')).stdout), {
      position: null,
      changed: {},
    });
    await set('b', 'lenient-parameters=true');
    const back = "the cluster's settings are those of this node again";
    await eventually('the node says so', () => lines(restarted, back).length === 1);
  });

  it('of an earlier time ask for no restart of a node that catches up', async () => {
    await start('a');
    const b = await start('b');
    await b.stop();
    for (const text of ['2h', '3h']) await set('a', `stale-after=${text}`);
    const again = await start('b');
    expect((await status()).settings['stale-after']).toBe('3h');
    const restarts = () => lines(again, RESTART).map(({ settings }) => settings);
    expect(restarts()).toEqual([]);
    await set('a', 'stale-after=4h');
    await becomes(restarts, ['stale-after']);
  });

  it('are refused if malformed, or if no node of a cluster runs', async () => {
    const refused = async (name: string, ...words: string[]) => {
      const { status: ended, stderr, stdout } = await set(name, ...words);
      expect(stdout).toBe('');
      return [ended, stderr.split('\n')[0]];
    };
    const none = `${directories.c} holds no store; is --data right?`;
    expect(await refused('c', 'stale-after=1h')).toEqual([1, expect.stringContaining(none)]);
    await newKey('c');
    const alone = `${directories.c} belongs to no cluster: change stale-after in its configuration`;
    expect(await refused('c', 'stale-after=1h')).toEqual([1, alone]);
    const single = await serveHere(directories.c);
    expect(await refused('c', 'stale-after=1h')).toEqual([1, alone]);
    await single.stop();
    const a = await start('a');
    expect(await refused('a')).toEqual([2, 'fathom: NAME=VALUE: expected at least one']);
    const twoFaults = await set('a', 'threads=1', 'native-code=usd');
    expect([twoFaults.status, twoFaults.stderr]).toEqual([
      2,
      expect.stringMatching(
        /^fathom: threads: each node has its own, .*\nnative-code: expected 2 to 16 of A-Z.*\nSee/,
      ),
    ]);
    await a.stop();
    expect(await refused('a', 'stale-after=2h')).toEqual([
      1,
      expect.stringContaining('belongs to a node of a cluster: start the node'),
    ]);
    expect((await set('a', 'stale-after=2h')).status).toBe(1);
    const again = await start('a');
    expect((await status()).settings['stale-after']).toBe('1h');
    await again.stop();
  });

  it('stay behind when a node leaves, and a new cluster begins with a configuration', async () => {
    const a = await start('a', ['--stale-after=2h']);
    await set('a', 'stale-after=4h', 'native-code=XYZ');
    await a.stop();
    await servers.kill(0, true);
    servers.start(0);
    const leave = ['cluster', 'leave', '--data', directories.a];
    const left = await fathom(leave);
    expect(left.stdout).toMatch(
      /^the directory was at position 2, .*\nsetting {2}stale-after=4h\nsetting {2}native-code=XYZ\n/,
    );
    expect(left.stderr).toBe('its server now serves with the settings of its configuration\n');
    expect((await fathom([...leave, '--json'])).stdout).toBe('{"position":null,"settings":null}\n');
    const env = path.join(temporaryDirectory(), 'config.json');
    writeFileSync(env, '{"stale_after":"3h"}');
    await start('a', [], { FATHOM_CONFIG: env });
    const { settings } = await status();
    expect(settings).toMatchObject({ 'stale-after': '3h', 'native-code': 'SOL' });
  });

  it('are those that a node knows while JetStream is away', async () => {
    key = await newKey('a');
    const a = await start('a');
    await set('a', 'lenient-parameters=true');
    await a.stop();
    await servers.kill(0);
    const service = await serveHere(directories.a, [...access(), '--node', 'a']);
    running.push(service);
    expect(await served(service)).toEqual([true, expect.any(Number)]);
    const unread =
      "the cluster's settings cannot be read: this node serves with those that it knows";
    expect(lines(service, unread)).toEqual([
      expect.objectContaining({ cause: expect.stringMatching(/^JetStream is unreachable/) }),
    ]);
    servers.start(0);
    await becomes(async () => (await fetch(`${service.url}/readyz`)).status, 200);
    expect(lines(service, RESTART)).toEqual([]);
  });
});
