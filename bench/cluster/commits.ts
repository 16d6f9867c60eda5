/** Times a collector's commits on a single machine and on a node. */
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SnapshotRun } from '../../compute/segment/run.js';
import { describeSegment } from '../../compute/segment/segment.js';
import type { CommitReport } from '../../storage/operations.js';
import { JetStreamLog } from '../../storage/log/jetstream.js';
import { LogNode } from '../../storage/log/node.js';
import type { Store } from '../../storage/store.js';
import { percentile } from '../case.js';
import { reportProgress } from '../program.js';
import { aligned, figure } from '../report.js';
import { commitFrames, openStore } from '../store.js';
import { NatsServers } from './nats.js';
import type { ClusterOptions } from './options.js';

const CELLS = 347;
const MARKETS = 12;
const T0 = 1_794_000_000;

interface Quantiles {
  p50: number;
  p99: number;
}

export interface CommitsResult {
  servers: number;
  /** Whole commits, alternately on a single machine and on a node. */
  singleMs: Quantiles;
  nodeMs: Quantiles;
  /** Parts of a node's commits: the log's acknowledgement, and applying them. */
  publishMs: Quantiles;
  applyMs: Quantiles;
  logBytesASnapshot: number;
  /** For another node that starts when everything is in the log. */
  catchUp: { entriesPerS: number; snapshotsPerS: number; cellsPerS: number };
}

/** Measures commits alternately on a single machine and on a node; then another node catches up. */
export async function measureCommits(
  options: ClusterOptions,
  root: string,
  count: 1 | 3,
): Promise<CommitsResult> {
  const servers = await NatsServers.start(count);
  const single = await openStore(path.join(root, `${count}-single`));
  const nodes: { store: Store; log: JetStreamLog; node: LogNode }[] = [];
  const publishMs: number[] = [];
  const applyMs: number[] = [];
  const open = async (name: string, onApplied: (ms: number) => void) => {
    const store = await openStore(path.join(root, `${count}-${name}`));
    const log = new JetStreamLog({ servers: servers.urls, name, replicas: count });
    const node = new LogNode({
      store,
      log,
      name,
      version: 'bench',
      onApplied,
      onPublished: (ms) => publishMs.push(ms),
      onStopped: (why) => reportProgress(why),
      onError: () => undefined,
    });
    nodes.push({ store, log, node });
    return { store, log, node };
  };
  try {
    const { store, log, node } = await open('a', (ms) => applyMs.push(ms));
    while (node.position < 1) await sleep(10);
    const singleMs: number[] = [];
    const nodeMs: number[] = [];
    for (let c = 0; c < options.commits; c++) {
      singleMs.push(await commitOf(options, c, single, (bundle) => single.commit(bundle)));
      nodeMs.push(await commitOf(options, c, store, (bundle) => node.operations.commit(bundle)));
    }
    const state = await log.state();
    const beganMs = performance.now();
    const { node: late } = await open('b', () => undefined);
    while (late.position < node.position) await sleep(5);
    const perS = options.commits / ((performance.now() - beganMs) / 1000);
    const { tokens } = options;
    return {
      servers: count,
      singleMs: quantiles(singleMs),
      nodeMs: quantiles(nodeMs),
      publishMs: quantiles(publishMs),
      applyMs: quantiles(applyMs.slice(1)),
      logBytesASnapshot: Math.round((state?.bytes ?? 0) / options.commits / tokens),
      catchUp: {
        entriesPerS: Math.round(perS),
        snapshotsPerS: Math.round(perS * tokens),
        cellsPerS: Math.round(perS * tokens * CELLS),
      },
    };
  } finally {
    for (const { store, node } of nodes) {
      await node.close();
      await store.close();
    }
    await single.close();
    await servers.close();
  }
}

/** One line per number of servers. */
export function commitLines(results: readonly CommitsResult[]): string[] {
  const columns = ['servers', 'single p50 ms', 'p99', 'node p50 ms', 'p99', 'publish p50', 'p99'];
  columns.push('apply p50', 'B a snapshot', 'caught up: entries/s', 'snapshots/s');
  const rows = results.map((one) => [
    one.servers,
    ...[one.singleMs, one.nodeMs, one.publishMs].flatMap(({ p50, p99 }) => [p50, p99]),
    one.applyMs.p50,
    one.logBytesASnapshot,
    one.catchUp.entriesPerS,
    one.catchUp.snapshotsPerS,
  ]);
  return aligned([columns, ...rows.map((row) => row.map(figure))], []);
}

/** Commits one snapshot of every token. @returns the milliseconds that it took */
async function commitOf(
  { tokens }: ClusterOptions,
  index: number,
  store: Store,
  commit: (bundle: string) => Promise<CommitReport>,
): Promise<number> {
  const markets = Array.from({ length: MARKETS }, (_, i) => ({
    source: `venue-${i}`,
    exchangeType: 'DEX' as const,
    type: 'onchain_pool' as const,
    address: `pool-${i}`,
    pair: null,
  }));
  const frames = Array.from({ length: tokens }, (_, token) => {
    const run = runOf(`So${String(token).padStart(41, '0').replaceAll('0', 'z')}`, index, token);
    const { chain, address, tier } = run;
    const segment = describeSegment(run);
    return { kind: 'segment' as const, chain, address, tier, markets, segment };
  });
  let tookMs = 0;
  await commitFrames(store, frames, async (bundle) => {
    const beganMs = performance.now();
    await commit(bundle);
    tookMs = performance.now() - beganMs;
  });
  return tookMs;
}

function runOf(address: string, index: number, token: number): SnapshotRun {
  const cells = Array.from({ length: CELLS }, (_, i) => i);
  const amount = (i: number): number => 100 + (((i + 1) * 7919 + index * 31 + token) % 900_001);
  return {
    chain: 'mainchain',
    address,
    tier: 'raw',
    t: Uint32Array.of(T0 + index * 60),
    priceUsd: Float64Array.of(2),
    cellOffsets: Int32Array.of(0, CELLS),
    market: Uint16Array.from(cells, (i) => Math.floor((i * MARKETS) / CELLS)),
    bin: Int16Array.from(cells, (i) => (i % Math.ceil(CELLS / MARKETS)) - 10),
    supportCents: Uint32Array.from(cells, (i) => (i % 2 === 0 ? amount(i) : 0)),
    resistanceCents: Uint32Array.from(cells, (i) => (i % 2 === 0 ? 0 : amount(i))),
  };
}

function quantiles(times: readonly number[]): Quantiles {
  const sorted = Float64Array.from(times).sort();
  const at = (share: number): number => Math.round(100 * percentile(sorted, share)) / 100;
  return { p50: at(0.5), p99: at(0.99) };
}
