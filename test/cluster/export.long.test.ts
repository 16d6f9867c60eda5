/** `fathom export` from the nodes of a cluster: each gives the same files, running or stopped. */
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { hasNats, NatsServers } from '../../bench/nats.js';
import { inodesOf, rowsOf } from '../export/exports.js';
import { fathom } from '../support/cli.js';
import { NodeProcess } from '../support/cluster.js';
import { atEnd, temporaryDirectory } from '../support/folders.js';
import { commitHolders, held } from '../support/holders.js';
import {
  commitDelete,
  commitRows,
  commitTokens,
  EVM_TOKEN,
  MINT,
  orca,
  snapshot,
} from '../support/stores.js';

const T0 = 1_794_000_000;
const DATASETS = ['cells', 'snapshots', 'scores', 'holders'];
const snap = (address: string, i: number, usd: number) =>
  snapshot(
    T0 + i * 3600,
    [
      orca([
        [-1, usd, 0],
        [1, 0, usd],
      ]),
    ],
    { address },
  );

describe.skipIf(!hasNats)('fathom export', () => {
  const out = path.join(temporaryDirectory(), 'export');
  const exported = async (node: NodeProcess) => {
    const words = ['export', '--data', node.directory.path, '--out', out, '--json'];
    const datasets = DATASETS.flatMap((dataset) => ['--dataset', dataset]);
    const { status, stdout, stderr } = await fathom([...words, ...datasets]);
    expect({ status, stderr }).toMatchObject({ status: 0 });
    return JSON.parse(stdout) as { written: number; removed: number; unchanged: number };
  };

  it('writes nothing again from another node, running or stopped, and follows changes', async () => {
    const servers = await NatsServers.start(1);
    atEnd(() => servers.close());
    const nodes: NodeProcess[] = [];
    for (const name of ['a', 'b']) {
      const node = await NodeProcess.start(name, servers.urls);
      nodes.push(node);
      atEnd(() => node.close());
      await node.ready();
    }
    const [a, b] = nodes;
    await a.command(async (store) => {
      await commitTokens(store, [
        { address: MINT, asset: 'one', symbol: 'ONE' },
        { chain: 'evmchain', address: EVM_TOKEN, asset: 'one' },
      ]);
      await commitRows(
        store,
        Array.from({ length: 60 }, (_, i) => snap(MINT, i, 5000 + i)),
      );
      await commitRows(
        store,
        Array.from({ length: 50 }, (_, i) => snap(EVM_TOKEN, i, 9e6)),
      );
      await commitHolders(store, [
        [
          MINT,
          new Map([
            [T0, held(9, 1)],
            [T0 + 90_000, held(5, 2)],
          ]),
        ],
      ]);
    });
    const first = await exported(a);
    expect(first.written).toBeGreaterThan(14);
    // A leg is exported under its own address; /replay shows its mint there.
    const legs = await rowsOf(out, 'snapshots', 'count(*)::INTEGER', EVM_TOKEN);
    expect(legs).toEqual([[50]]);
    const scores = await rowsOf(
      out,
      'scores',
      'address, t, service_score',
      undefined,
      'WHERE t % 3 = 0',
    );
    expect(new Set(scores.map(([address]) => address)).size).toBe(2);
    const files = inodesOf(out);
    await b.ready((await a.readiness())!.position);
    expect(await exported(b)).toMatchObject({ written: 0, removed: 0, unchanged: first.written });
    await a.kill('SIGTERM');
    expect(await exported(a)).toMatchObject({ written: 0, removed: 0, unchanged: first.written });
    expect(inodesOf(out)).toEqual(files);
    await b.command(async (store) => {
      await commitRows(store, [snap(MINT, 7, 1)]);
      await commitDelete(store, { address: MINT, fromS: T0, toS: T0 + 1 });
    });
    expect((await exported(b)).written).toBeGreaterThan(0);
    const changed = await rowsOf(out, 'snapshots', 't', MINT, 'ORDER BY t');
    expect(changed).toEqual(Array.from({ length: 59 }, (_, i) => [T0 + (i + 1) * 3600]));
    a.start();
    await a.ready((await b.readiness())!.position);
    expect(await exported(a)).toMatchObject({ written: 0, removed: 0 });
  });
});
