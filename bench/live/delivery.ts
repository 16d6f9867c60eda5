/** How soon clients receive snapshots that are ingested at a steady rate, and how soon all of them reconnect. */
import { setTimeout as sleep } from 'node:timers/promises';
import { percentile } from '../case.js';
import type { BenchServer } from '../http/server.js';
import { figure } from '../report.js';
import { CONNECT_LIMIT_MS, connectAll } from './connecting.js';
import type { LiveMarket } from './market.js';
import type { Subscriber } from './subscriber.js';

export const SNAPSHOTS_PER_SECOND = 100;
/** A server that has just started is still compiling its code. */
const WARM_UP_S = 3;
/** How long the messages of the last commits may take to arrive, also on a busy machine; later ones count as lost. */
const LAST_HEARD_MS = 20_000;
const LOOK_EVERY_MS = 50;

interface Pace {
  /** Per second; they share the snapshots of a second. */
  files: number;
  seconds: number;
  smoke: boolean;
}

interface Delivered {
  /** How many times each token had a snapshot. */
  rounds: number;
  tookS: number;
  expected: number;
  latencies: Float64Array;
}

/** Measures how soon the readers receive snapshots. */
export async function measureDelivery(
  market: LiveMarket,
  server: BenchServer,
  readers: readonly Subscriber[],
  { files, seconds, smoke }: Pace,
): Promise<string[][]> {
  if (!smoke) await deliver(market, readers, files, WARM_UP_S);
  const cpuMs = server.cpuMs();
  const { rounds, tookS, expected, latencies } = await deliver(market, readers, files, seconds);
  const snapshots = rounds * market.tokenCount;
  const rows = [
    ['snapshots a second', figure(snapshots / tookS), ''],
    ['files a second', figure((snapshots * files) / SNAPSHOTS_PER_SECOND / tookS), ''],
    ['received a second', figure(latencies.length / tookS), ''],
    ['acknowledged to received, p50', figure(percentile(latencies, 0.5)), 'ms'],
    ['acknowledged to received, p99', figure(percentile(latencies, 0.99)), 'ms'],
    ['received, of all', figure((100 * latencies.length) / expected), '%'],
  ];
  if (cpuMs === null) return rows;
  const us = (1000 * ((server.cpuMs() ?? cpuMs) - cpuMs)) / latencies.length;
  return [...rows, ['CPU of the server per message', figure(us), 'us']];
}

/** Ingests at a steady rate, whether or not the server keeps up, unless a file takes longer than its turn. */
async function deliver(
  market: LiveMarket,
  readers: readonly Subscriber[],
  files: number,
  lastsS: number,
): Promise<Delivered> {
  const { tokenCount, nextS: fromS } = market;
  const acknowledgedMs = new Map<string, number>();
  const beganMs = performance.now();
  const perFile = SNAPSHOTS_PER_SECOND / files;
  for (let i = 0; i < lastsS * files; i++) {
    await sleep(Math.max(0, beganMs + (1000 * i) / files - performance.now()));
    const snapshots = Array.from({ length: perFile }, (_, k) => {
      const nth = i * perFile + k;
      return { token: nth % tokenCount, t: fromS + Math.floor(nth / tokenCount) };
    });
    await market.collector.snapshots(snapshots);
    for (const { token, t } of snapshots) {
      acknowledgedMs.set(`${market.addressOf(token)} ${t}`, performance.now());
    }
  }
  const tookS = (performance.now() - beganMs) / 1000;
  const rounds = (lastsS * SNAPSHOTS_PER_SECOND) / tokenCount;
  market.nextS += rounds;
  const lastMs = performance.now() + LAST_HEARD_MS;
  const lacks = ({ heardMs }: Subscriber): boolean => {
    for (let t = fromS; t < fromS + rounds; t++) if (!heardMs.has(t)) return true;
    return false;
  };
  while (performance.now() < lastMs && readers.some(lacks)) await sleep(LOOK_EVERY_MS);
  const latencies: number[] = [];
  for (const { address, heardMs } of readers) {
    for (let t = fromS; t < fromS + rounds; t++) {
      const heard = heardMs.get(t);
      // A message may arrive before the acknowledgement.
      const ackMs = acknowledgedMs.get(`${address} ${t}`) as number;
      if (heard !== undefined) latencies.push(Math.max(0, heard - ackMs));
    }
  }
  const sorted = Float64Array.from(latencies).sort();
  return { rounds, tookS, expected: rounds * readers.length, latencies: sorted };
}

/** Cuts all connections, commits, and reconnects all by their cursors. @returns milliseconds until all are up to date */
export async function reconnectAll(
  market: LiveMarket,
  clients: readonly Subscriber[],
): Promise<number> {
  for (const one of clients) one.close();
  const t = await market.ingestRound();
  const beganMs = performance.now();
  await connectAll(clients);
  while (clients.some(({ heardMs }) => !heardMs.has(t))) {
    if (performance.now() - beganMs > CONNECT_LIMIT_MS) throw new Error('not all caught up');
    await sleep(5);
  }
  return performance.now() - beganMs;
}
