import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { hasNats } from '../../bench/cluster/nats.js';
import { listenForCommands } from '../../storage/control.js';
import type { LogMessage } from '../../storage/log/consumer.js';
import { fathom } from '../support/cli.js';
import { commitRows, snapshot, storedSnapshots, tokenOf } from '../support/stores.js';
import { asAdministrator, LogNodes, type Node, STREAM, T0 } from './log-nodes.js';
import { becomes, eventually } from '../support/waiting.js';

if (!hasNats) console.warn('nats-server is not installed: tests of a stalled cluster are skipped');

/** Silences a node's consumers for a while. Call it before the node follows. */
function hushing({ log }: Node): { hush: () => void; goOn: () => void; requests: () => number } {
  let [hushed, goingOn] = [new AbortController(), new AbortController()];
  let requests = 0;
  const follow = log.follow.bind(log);
  log.follow = async function* (from: number, stop: AbortSignal): AsyncGenerator<LogMessage[]> {
    requests++;
    yield* follow(from, AbortSignal.any([stop, hushed.signal]));
    const signal = AbortSignal.any([stop, goingOn.signal]);
    await sleep(2 ** 30, undefined, { signal }).catch(() => undefined);
  };
  return {
    hush: () => hushed.abort(),
    goOn: () => {
      const before = goingOn;
      [hushed, goingOn] = [new AbortController(), new AbortController()];
      before.abort();
    },
    requests: () => requests,
  };
}

describe.skipIf(!hasNats)('A node that receives nothing from its log', () => {
  const ours = new LogNodes();

  it('makes a new consumer, and says why', async () => {
    const a = await ours.open('a');
    await a.reached(1);
    const errors: string[] = [];
    const onError = (error: unknown): unknown => errors.push((error as Error).message);
    const b = await ours.open('b', undefined, undefined, {
      times: { maxLagMs: 500 },
      onError,
    });
    const consumers = hushing(b);
    consumers.hush();
    await b.until(() => errors.length > 0);
    expect(errors).toEqual([
      'the log has entry 1, but this node has received none after 0 for 0.5 s: it requests a new consumer',
    ]);
    b.node['lag']['behindSinceMs'] = 0;
    await expect(b.node.checkLag()).rejects.toThrow(
      /^entry 1 of 1 has not come from JetStream \(the log has entry 1, .*\)$/,
    );
    consumers.goOn();
    await b.reached(1);
    expect(consumers.requests()).toBeGreaterThan(1);
    await b.node.checkLag();
  });

  it('tells a command that its change is in the log, and applies it when it comes', async () => {
    const a = await ours.open('a');
    await a.reached(1);
    const b = await ours.open('b', undefined, undefined, {
      times: { maxLagMs: Infinity, waitMs: 100 },
    });
    const consumers = hushing(b);
    await b.reached(1);
    consumers.hush();
    await expect(commitRows(b.commands, [snapshot(T0)])).rejects.toThrow(
      /^it is entry 2 in the log, not yet applied here: entry 2 of 2 has not come from JetStream/,
    );
    const { directory } = b.store;
    const served = await listenForCommands(directory, b.commands, () => undefined);
    const made = await fathom(['keys', 'create', '--tier', 'premium', '--data', directory]);
    await served.close();
    expect(made).toMatchObject({ status: 3, stdout: '' });
    expect(made.stderr).toMatch(/^it is entry 3 in the log, not yet applied here: /);
    await a.reached(3);
    consumers.goOn();
    await b.reached(3);
    expect(await b.store.listKeys()).toHaveLength(1);
    expect(await storedSnapshots(b.store, tokenOf(b.store))).toHaveLength(1);
  });

  it('leaves no consumer behind', async () => {
    const a = await ours.open('a');
    await a.reached(1);
    await asAdministrator(ours.servers, async (manager) => {
      const names = async () =>
        (await manager.consumers.list(STREAM).next()).map(({ name }) => name);
      // A second one, made if the first was slow, is deleted soon.
      await eventually('there is one', async () => (await names()).length === 1);
      const [first] = await names();
      // The node makes another consumer if the first is deleted.
      await manager.consumers.delete(STREAM, first);
      await eventually('there is another', async () =>
        (await names()).some((name) => name !== first),
      );
      await commitRows(a.commands, [snapshot(T0)]);
      await a.log.largeEntries(1, 2).next();
      await eventually('it is alone', async () => (await names()).length === 1);
      await ours.close(a);
      await becomes(names, []);
    });
  });
});
