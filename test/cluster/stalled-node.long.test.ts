import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { hasNats } from '../../bench/nats.js';
import { listenForCommands } from '../../storage/control.js';
import type { LogMessage } from '../../storage/log/log-reader.js';
import { fathom } from '../support/cli.js';
import { commitRows, snapshot, storedSnapshots, tokenOf } from '../support/stores.js';
import { LogNodes, type Node, T0 } from './log-nodes.js';

if (!hasNats) console.warn('nats-server is not installed: tests of a stalled cluster are skipped');

/** Lets nothing of the log reach a node for a while. Call it before the node follows. */
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

  it('looks at the log again, and says why', async () => {
    const a = await ours.open('a');
    await a.reached(1);
    const errors: string[] = [];
    const onError = (error: unknown): unknown => errors.push((error as Error).message);
    const b = await ours.open('b', undefined, undefined, {
      times: { maxLagMs: 500 },
      onError,
    });
    const reading = hushing(b);
    reading.hush();
    await b.until(() => errors.length > 0);
    expect(errors).toEqual([
      'the log has entry 1, but this node has received none after 0 for 0.5 s: it looks at the log again',
    ]);
    b.node['lag']['behindSinceMs'] = 0;
    await expect(b.node.checkLag()).rejects.toThrow(
      /^the log has entry 1, and none after 0 has come from JetStream \(the log has entry 1, .*\)$/,
    );
    reading.goOn();
    await b.reached(1);
    expect(reading.requests()).toBeGreaterThan(1);
    await b.node.checkLag();
  });

  it('tells a command that its change is in the log, and applies it when it comes', async () => {
    const a = await ours.open('a');
    await a.reached(1);
    const b = await ours.open('b', undefined, undefined, {
      times: { maxLagMs: Infinity, waitMs: 100 },
    });
    const reading = hushing(b);
    await b.reached(1);
    reading.hush();
    await expect(commitRows(b.commands, [snapshot(T0)])).rejects.toThrow(
      /^it is entry 2 in the log, not yet applied here: the log has entry 2, and none after 1 has come/,
    );
    const { directory } = b.store;
    const served = await listenForCommands(directory, b.commands, () => undefined);
    const made = await fathom(['keys', 'create', '--tier', 'premium', '--data', directory]);
    await served.close();
    expect(made).toMatchObject({ status: 3, stdout: '' });
    expect(made.stderr).toMatch(/^it is entry 3 in the log, not yet applied here: /);
    await a.reached(3);
    reading.goOn();
    await b.reached(3);
    expect(await b.store.listKeys()).toHaveLength(1);
    expect(await storedSnapshots(b.store, tokenOf(b.store))).toHaveLength(1);
  });
});
