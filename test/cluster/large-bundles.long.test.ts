import { connect } from '@nats-io/transport-node';
import { jetstreamManager } from '@nats-io/jetstream';
import { describe, expect, it } from 'vitest';
import { hasNats } from '../../bench/cluster/nats.js';
import { sweepBundles } from '../../storage/log/bundle-sweep.js';
import { clusterStatus, trimLog } from '../../storage/log/cluster.js';
import type { JetStreamLog } from '../../storage/log/jetstream.js';
import { MAX_ENTRY_BUNDLE_BYTES } from '../../storage/log/publisher.js';
import { commitRows, snapshot } from '../support/stores.js';
import { eventually, PATIENCE_MS } from '../support/waiting.js';
import { expectSame, largeRows, LogNodes, T0 } from './log-nodes.js';

const STREAM = 'OBJ_FATHOM_BUNDLES';
const put = (log: JetStreamLog, name: string): Promise<void> =>
  log.putBundle(name, new Blob([new Uint8Array(300_000)]).stream());

describe.skipIf(!hasNats)('Bundles beside the log', () => {
  const ours = new LogNodes();
  const { open, pair } = ours;

  const names = async (log: JetStreamLog): Promise<(string | null)[]> =>
    (await log.bundles.contents()).map(({ name }) => name).sort();

  it('are removed when they are old enough and no entry refers to them', async () => {
    const [a] = await pair();
    await put(a.log, 'lost.bundle');
    // A bundle that was not stored completely has no name.
    await put(a.log, 'torn.bundle');
    const connection = await connect({ servers: ours.servers.urls });
    const { streams } = await jetstreamManager(connection, {
      checkAPI: false,
      timeout: PATIENCE_MS,
    });
    const torn = Buffer.from('torn.bundle').toString('base64');
    await streams.purge(STREAM, { filter: `$O.FATHOM_BUNDLES.M.${torn}` });
    await commitRows(a.commands, largeRows());
    await put(a.log, 'new.bundle');
    const [large, ...others] = await names(a.log);
    expect(others.sort()).toEqual(['lost.bundle', 'new.bundle', null]);
    expect(await sweepBundles(a.log)).toBe(0);
    expect(await names(a.log)).toHaveLength(4);
    expect(await sweepBundles(a.log, 0)).toBe(2);
    // The log has no later entry than the new bundle: someone may be about to refer to it.
    expect(await names(a.log)).toEqual([large, 'new.bundle']);
    const c = await open('c');
    await expectSame(a, c);
    expect(await trimLog(a.log, a.node.position)).toBe(a.node.position);
    expect(await names(a.log)).toEqual(['new.bundle']);
    await a.log.bundles.delete('new.bundle');
    expect((await streams.info(STREAM)).state.messages).toBe(0);
    await connection.close();
  });

  it('are removed by a node that follows the log', async () => {
    const a = await open('a');
    await a.reached(1);
    await put(a.log, 'lost.bundle');
    await commitRows(a.commands, [snapshot(T0)]);
    const b = await open('b', undefined, undefined, {
      times: { abandonedAfterMs: 0 },
    });
    await eventually('the bundle is removed', async () => {
      // After a sweep that failed, the next one would come in six hours.
      b.node['sweep']['lookedAtMs'] = -Infinity;
      return (await b.log.bundles.contents()).length === 0;
    });
    await expectSame(a, b);
  });

  it('stay when a server does not have all entries', async () => {
    const [a] = await pair();
    await put(a.log, 'lost.bundle');
    await commitRows(a.commands, largeRows());
    const known = await a.log.lastLarge();
    // Like a consumer on a server that lags behind.
    const entries = a.log.largeEntries.bind(a.log);
    a.log.largeEntries = (from) => entries(from, known - 1);
    expect(await sweepBundles(a.log, 0)).toBe(0);
    expect(await a.log.bundles.contents()).toHaveLength(2);
  });

  it('must still be there when an entry that refers to them is published', async () => {
    const [a, b] = await pair();
    const putBundle = a.log.putBundle.bind(a.log);
    // As if the process were paused for a day after this.
    a.log.putBundle = async (name, content) => {
      await putBundle(name, content);
      await a.log.bundles.delete(name);
    };
    await expect(commitRows(a.commands, largeRows())).rejects.toThrow(
      /nothing was stored; try again/,
    );
    expect(await a.log.state()).toMatchObject({ last: 1 });
    a.log.putBundle = putBundle;
    await commitRows(a.commands, largeRows());
    expect((await clusterStatus(a.log)).log?.bytes).toBeGreaterThan(MAX_ENTRY_BUNDLE_BYTES);
    await expectSame(a, b);
  });
});
