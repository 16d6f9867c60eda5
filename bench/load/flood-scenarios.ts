/** What a bot's request costs the server, if bots send as fast as they are answered. */
import { figure } from '../report.js';
import type { FloodReport } from './flood.js';
import type { LoopDelay } from './loop-probe.js';
import { inProcess } from './role.js';
import { botPaths, type LoadedServer, type ScenarioOptions } from './scenarios.js';

/** Concurrent requests per connection. */
export const FLOODS = { 'bots flat out': 1, 'bots flat out, pipelined': 16 } as const;
export type FloodName = keyof typeof FLOODS;

export interface FloodResult {
  name: FloodName;
  flood: FloodReport;
  /** The event loop during the whole flood. */
  loop: LoopDelay;
  /** CPU time of all the server's threads during the flood; null without /proc. */
  cpuMs: number | null;
}

export const FLOOD_COLUMNS = [
  'scenario',
  'requests/s',
  'loop us a request',
  'all threads us',
  'requests/s a core of loop',
];

/** Floods once to warm up, then to measure. */
export async function runFlood(
  name: FloodName,
  { server, key, botTokens }: LoadedServer,
  { floodConnections, warmupMs, forMs, botsCore }: ScenarioOptions,
): Promise<FloodResult> {
  const order = {
    port: Number(new URL(server.url).port),
    paths: botPaths(botTokens),
    headers: { 'x-api-key': key },
    connections: floodConnections,
    depth: FLOODS[name],
  };
  await inProcess('flood', { ...order, forMs: warmupMs }, botsCore);
  server.resetLoopDelay();
  const beforeMs = server.cpuMs();
  const report = await inProcess('flood', { ...order, forMs }, botsCore);
  const afterMs = server.cpuMs();
  const loop = await server.loopDelay();
  const cpuMs = beforeMs === null || afterMs === null ? null : afterMs - beforeMs;
  return { name, flood: report, loop, cpuMs };
}

export function floodRow({ name, flood, loop, cpuMs }: FloodResult): string[] {
  const { requests, elapsedMs } = flood;
  const loopUs = loop.busy && (1000 * loop.busy.totalMs) / requests;
  return [
    name,
    figure((1000 * requests) / elapsedMs),
    loopUs === null ? '' : figure(loopUs),
    cpuMs === null ? '' : figure((1000 * cpuMs) / requests),
    loopUs === null ? '' : figure(1e6 / loopUs),
  ];
}
