/** What connections cost for which nothing comes. */
import { setTimeout as sleep } from 'node:timers/promises';
import { startBenchServer } from '../http/server.js';
import { reportProgress } from '../program.js';
import { figure } from '../report.js';
import type { LiveClient } from './client.js';
import { connectAll } from './connecting.js';
import { EventSubscriber } from './event-subscriber.js';
import { type LiveMarket, NOW_S } from './market.js';
import { Subscriber } from './subscriber.js';

interface IdleSizes {
  count: number;
  seconds: number;
  smoke: boolean;
}

type MakeClient = (port: number, key: string, address: string) => LiveClient;

const KINDS: Readonly<Record<string, MakeClient>> = {
  'WebSocket without a subscription': (...of) => new Subscriber(...of, true),
  'WebSocket with a subscription': (...of) => new Subscriber(...of),
  'event stream': (...of) => new EventSubscriber(...of),
};

/** Measures each kind of connection on a server of its own. Memory and CPU need /proc. */
export async function measureIdle(market: LiveMarket, sizes: IdleSizes): Promise<string[][]> {
  const rows: string[][] = [['', 'value', 'unit']];
  for (const [name, make] of Object.entries(KINDS)) {
    reportProgress(`${sizes.count} of kind: ${name}`);
    rows.push([name, '', ''], ...(await measureKind(market, make, sizes)));
  }
  return rows;
}

async function measureKind(
  market: LiveMarket,
  make: MakeClient,
  { count, seconds, smoke }: IdleSizes,
): Promise<string[][]> {
  const server = await startBenchServer(market.directory, NOW_S, { smoke });
  const port = Number(new URL(server.url).port);
  const clients = Array.from({ length: count }, (_, i) =>
    make(port, market.keyOf(i), market.addressOf(i % market.tokenCount)),
  );
  const beats = (): number => clients.reduce((sum, { heartbeats }) => sum + heartbeats, 0);
  /** Per second. */
  const whileIdle = async (): Promise<{ cpuMs: number; heartbeats: number }> => {
    const [cpuMs, before] = [server.cpuMs() ?? NaN, beats()];
    await sleep(1000 * seconds);
    return {
      cpuMs: ((server.cpuMs() ?? NaN) - cpuMs) / seconds,
      heartbeats: (beats() - before) / seconds,
    };
  };
  try {
    const empty = await whileIdle();
    const emptyMb = server.residentMegabytes() ?? NaN;
    const connectedMs = await connectAll(clients);
    const { cpuMs, heartbeats } = await whileIdle();
    const kib = (((server.residentMegabytes() ?? NaN) - emptyMb) * 1e6) / count / 1024;
    return [
      ['all connected', figure(connectedMs), 'ms'],
      ['memory of a connection', figure(kib), 'KiB'],
      ['CPU of the server', figure(cpuMs), 'ms a second'],
      ['CPU before there were connections', figure(empty.cpuMs), 'ms a second'],
      ['heartbeats', figure(heartbeats), 'a second'],
    ];
  } finally {
    for (const client of clients) client.close();
    await server.stop();
  }
}
