import { afterEach, describe, expect, it } from 'vitest';
import { hasNats } from '../../bench/nats.js';
import { packEntry, unpackEntry } from '../../storage/log/entry.js';
import { JetStreamLog } from '../../storage/log/jetstream.js';
import { commitRows, DataDirectory, MINT, openStore, snapshot } from '../support/stores.js';
import { expectSame, LogNodes, type Node, T0 } from './log-nodes.js';
import type { LogMessage } from '../../storage/log/log-reader.js';
import { PATIENCE_MS } from '../support/waiting.js';

const KEY = { tier: 'premium' } as const;
const CUTOFFS = { raw: T0 + 60, '15m': 0, '1h': 0 };

const gates: (() => void)[] = [];

/** A promise that resolves when `open` is called or the test ends. */
function gate(): { opened: Promise<void>; open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  gates.push(open);
  return { opened, open };
}

/** Waits until the log has answered several times: by then it has everything that was published earlier. */
async function untilHeard(log: JetStreamLog): Promise<void> {
  for (let i = 0; i < 20; i++) await log.state();
}

describe.skipIf(!hasNats)('The origin of a log', () => {
  const ours = new LogNodes();
  const { open, pair } = ours;
  afterEach(() => {
    for (const open of gates.splice(0)) open();
  });

  /** A node that publishes the origin once it is released. */
  const founding = async (more = {}): Promise<{ node: Node; release: () => void }> => {
    const directory = new DataDirectory();
    const filled = await openStore(directory.path);
    await commitRows(filled, [snapshot(T0)]);
    await filled.close();
    const node = await open('a', directory, undefined, more);
    const publish = node.log.publish.bind(node.log);
    const { opened, open: release } = gate();
    const began = gate();
    node.log.publish = async (...entry) => {
      began.open();
      await opened;
      return publish(...entry);
    };
    await began.opened;
    return { node, release };
  };

  it('is its first entry, whatever is requested before', async () => {
    const { node: a, release } = await founding();
    const { store } = a;
    const [issued, , removed] = [
      a.commands.createKey(KEY),
      commitRows(a.commands, [snapshot(T0 + 60)]),
      await a.node.retire({ chain: 'mainchain', address: MINT }, CUTOFFS, ['15m']),
    ];
    expect(removed).toBeNull();
    await untilHeard(a.log);
    expect(await a.log.state()).toMatchObject({ last: 0 });
    release();
    const { key, id } = await issued;
    expect(store.keys.verify(key)?.id).toBe(id);
    await a.reached(3);
    const { value } = await a.log.follow(1, AbortSignal.timeout(PATIENCE_MS)).next();
    const [first] = value as LogMessage[];
    expect(unpackEntry(first.data)).toMatchObject({ kind: 'origin', hasData: true });
  });

  it('makes a command wait for a limited time', async () => {
    const { node: a, release } = await founding({ times: { beginWithinMs: 20 } });
    for (const change of [
      () => a.commands.createKey(KEY),
      () => commitRows(a.commands, [snapshot(T0 + 60)]),
    ]) {
      await expect(change()).rejects.toThrow(
        /^this node has not begun to follow its log: nothing was stored; try again/,
      );
    }
    release();
    await a.reached(1);
    expect((await a.commands.createKey(KEY)).tier).toBe('premium');
    expect(a.node.position).toBe(2);
  });

  it('gives a joining node the secret for keys before it makes any', async () => {
    const [a] = await pair();
    await commitRows(a.commands, [snapshot(T0)]);
    const c = await open('c');
    const follow = c.log.follow.bind(c.log);
    const { opened, open: release } = gate();
    const began = gate();
    c.log.follow = async function* (...from) {
      began.open();
      await opened;
      yield* follow(...from);
    };
    await began.opened;
    const making = c.commands.createKey(KEY);
    await untilHeard(c.log);
    release();
    const { key, id } = await making;
    await a.reached(c.node.position);
    expect([a, c].map(({ store }) => store.keys.verify(key)?.id)).toEqual([id, id]);
    await c.commands.revokeKey(id);
    await expectSame(a, c);
    expect(c.store.keys.verify(key)).toBeNull();
  });

  it.each([
    ['another entry', packEntry({ kind: 'settings', settings: {} })],
    ['what no version writes', Buffer.from('hello')],
  ])('is missing if the log begins with %s', async (_, data) => {
    const log = new JetStreamLog({ servers: ours.servers.urls, name: 'test', replicas: 1 });
    await log.state(true);
    await log.publish('settings', data, 'one');
    await log.close();
    const a = await open('a');
    await a.until(() => a.stopped !== null);
    expect(a.stopped).toBe('the log does not begin with its origin: create it again');
    expect(a.store.mark).toBeNull();
  });
});
