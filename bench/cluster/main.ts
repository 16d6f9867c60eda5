/**
 * `npm run bench:cluster`: what a collector's commit takes on a single machine and on a node of a cluster, how
 * fast another node catches up, and what an entry takes in the log.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { rewriteSegments } from '../../compute/segment/rewrite.js';
import type { SnapshotRun } from '../../compute/segment/run.js';
import { describeSegment } from '../../compute/segment/segment.js';
import { BUNDLE_VERSION, BundleWriter } from '../../storage/bundle.js';
import type { CommitReport } from '../../storage/contract.js';
import { JetStreamLog } from '../../storage/log/jetstream.js';
import { LogNode } from '../../storage/log/node.js';
import { Store } from '../../storage/store.js';
import { machineFacts } from '../machine.js';
import { BenchFailure, runProgram, tell, writeResults } from '../program.js';
import { hasNats, NatsServers } from './nats.js';
import { type ClusterOptions, readClusterOptions, USAGE } from './options.js';

const CELLS = 347;
const MARKETS = 12;
const T0 = 1_794_000_000;

await runProgram('bench:cluster', USAGE, async (words) => {
  const options = readClusterOptions(words);
  if (!hasNats) throw new BenchFailure('needs nats-server');
  const root = await mkdtemp(path.join(tmpdir(), 'fathom-bench-cluster-'));
  try {
    const results: Record<string, unknown> = { single: await single(options, root) };
    for (const servers of [1, 3] as const) {
      results[`servers_${servers}`] = await cluster(options, root, servers);
    }
    process.stdout.write(`${JSON.stringify(results, null, 2)}\n`);
    await writeResults(options.jsonFile, { machine: machineFacts(), options, results });
  } finally {
    await rm(root, { recursive: true, force: true });
  }
});

function openStore(directory: string): Promise<Store> {
  return Store.open(directory, { rewrite: (input) => Promise.resolve(rewriteSegments(input)) });
}

async function single(options: ClusterOptions, root: string): Promise<object> {
  tell('single machine');
  const store = await openStore(path.join(root, 'single'));
  const times = await commits(options, store, (bundle) => store.commit(bundle));
  await store.close();
  return { commit_ms: quantiles(times) };
}

async function cluster(options: ClusterOptions, root: string, count: 1 | 3): Promise<object> {
  tell(`${count} server(s) of JetStream`);
  const servers = await NatsServers.start(count);
  const nodes: { store: Store; log: JetStreamLog; node: LogNode }[] = [];
  const publishMs: number[] = [];
  const applyMs: number[] = [];
  const open = async (name: string, onApplied: (ms: number) => void) => {
    const store = await openStore(path.join(root, `${count}-${name}`));
    const log = new JetStreamLog({ servers: servers.urls, name, replicas: count });
    const node = new LogNode({
      ...{ store, log, name, version: 'bench', onApplied },
      onPublished: (ms) => publishMs.push(ms),
      onStopped: (why) => tell(why),
      onError: () => undefined,
    });
    nodes.push({ store, log, node });
    return { store, log, node };
  };
  try {
    const { store, log, node } = await open('a', (ms) => applyMs.push(ms));
    while (node.position < 1) await sleep(10);
    const times = await commits(options, store, (bundle) => node.operations.commit(bundle));
    const state = await log.state();
    const startMs = performance.now();
    const { node: late } = await open('b', () => undefined);
    while (late.position < node.position) await sleep(5);
    const seconds = (performance.now() - startMs) / 1000;
    return {
      commit_ms: quantiles(times),
      publish_ms: quantiles(publishMs),
      apply_ms: quantiles(applyMs.slice(1)),
      log_bytes_a_snapshot: Math.round((state?.bytes ?? 0) / options.commits / options.tokens),
      catch_up: {
        entries_per_s: Math.round(options.commits / seconds),
        snapshots_per_s: Math.round((options.commits * options.tokens) / seconds),
        cells_per_s: Math.round((options.commits * options.tokens * CELLS) / seconds),
      },
    };
  } finally {
    for (const { store, node } of nodes) {
      await node.close();
      await store.close();
    }
    await servers.close();
  }
}

/** The time of each commit of one snapshot of every token. */
async function commits(
  { commits: count, tokens }: ClusterOptions,
  { directory }: Store,
  commit: (bundle: string) => Promise<CommitReport>,
): Promise<number[]> {
  const markets = Array.from({ length: MARKETS }, (_, i) => ({
    ...{ source: `venue-${i}`, exchangeType: 'DEX' as const, type: 'onchain_pool' as const },
    ...{ address: `pool-${i}`, pair: null },
  }));
  const times: number[] = [];
  for (let c = 0; c < count; c++) {
    const bundle = await BundleWriter.create(directory);
    const header = { version: BUNDLE_VERSION, file: 'bench', mode: 'replace' as const };
    await bundle.write({ kind: 'header', ...header });
    for (let token = 0; token < tokens; token++) {
      const address = `So${String(token).padStart(41, '0').replaceAll('0', 'z')}`;
      const of = { chain: 'mainchain' as const, address, tier: 'raw' as const, markets };
      const segment = describeSegment(runOf(address, c, token));
      await bundle.write({ kind: 'segment', ...of, segment });
    }
    await bundle.finish();
    const beganMs = performance.now();
    await commit(bundle.name);
    times.push(performance.now() - beganMs);
    await bundle.discard();
  }
  return times;
}

function runOf(address: string, index: number, token: number): SnapshotRun {
  const cells = Array.from({ length: CELLS }, (_, i) => i);
  const amount = (i: number): number => 100 + (((i + 1) * 7919 + index * 31 + token) % 900_001);
  return {
    ...{ chain: 'mainchain', address, tier: 'raw', t: Uint32Array.of(T0 + index * 60) },
    ...{ priceUsd: Float64Array.of(2), cellOffsets: Int32Array.of(0, CELLS) },
    market: Uint16Array.from(cells, (i) => Math.floor((i * MARKETS) / CELLS)),
    bin: Int16Array.from(cells, (i) => (i % Math.ceil(CELLS / MARKETS)) - 10),
    supportCents: Uint32Array.from(cells, (i) => (i % 2 === 0 ? amount(i) : 0)),
    resistanceCents: Uint32Array.from(cells, (i) => (i % 2 === 0 ? 0 : amount(i))),
  };
}

function quantiles(times: readonly number[]): { p50: number; p99: number } {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (q: number): number =>
    Math.round(100 * (sorted[Math.floor(q * (sorted.length - 1))] ?? NaN)) / 100;
  return { p50: at(0.5), p99: at(0.99) };
}
