/** `npm run bench:http`: a real server under an open loop of bots, alone and beside other load. */
import { availableParallelism } from 'node:os';
import { asOfS } from '../cases/http.js';
import { PAGE_A } from '../data/pages.js';
import { temporaryFolder } from '../folder.js';
import { startBenchServer } from '../http/server.js';
import { machineFacts, revision } from '../machine.js';
import { runOnCores } from '../processes.js';
import { headingOf, runProgram, SMOKE_NOTE, reportProgress, writeResults } from '../program.js';
import { aligned, figure } from '../report.js';
import { COLLECTED_S } from './collector.js';
import { fillForLoad, fillLongHistory } from './fill.js';
import {
  FLOOD_COLUMNS,
  FLOODS,
  floodRow,
  runFlood,
  type FloodName,
  type FloodResult,
} from './flood-scenarios.js';
import { readHttpOptions, USAGE, type HttpBenchOptions } from './options.js';
import { runScenario, type LoadedServer, type ScenarioResult } from './scenarios.js';

const COLUMNS = [
  'scenario',
  'bots/s',
  'p50 ms',
  'p90',
  'p99',
  'p99.9',
  'max',
  'p99 x alone',
  'loop p99 ms',
  'loop max',
  'busy p99',
  'busy p99.9',
  'busy max',
  'wait p99',
  'wait max',
  'late p99 ms',
  'pages/s',
  'snapshots/s',
];
const FLOOD_FOOTER =
  "Flat out: a closed loop, for the CPU time of a request in the loop's thread and in the whole server, kernel and " +
  "probe included. Pipelined requests share their connection's reads and writes.";
const FOOTER =
  'Open loop: a request counts from the tick at which it was due, so what waits behind a stall counts in ' +
  "full; late: how late the generator's own ticks were, which is not part of the latencies. loop: how long the " +
  "server's event loop was blocked; busy: by its own work, garbage collection included; wait: while its thread, " +
  'ready to run, waited for a core. Bots, replay clients and collector are separate processes on the same cores, ' +
  'the last two at low priority, over loopback: with two cores they compete for what the server leaves. ' +
  'Compare rows of one table; there is no network, no TLS and no proxy in it.';

async function main(words: readonly string[]): Promise<void> {
  const options = readHttpOptions(words);
  const machine = machineFacts();
  const results = await measure(options);
  const { smoke, jsonFile, load } = options;
  await writeResults(jsonFile, { machine, revision: revision(), smoke, ...results });
  const lines = [
    headingOf(machine),
    ...openLoopLines(results.results, load.forMs / 1000),
    ...floodLines(results.floods),
    ...(smoke ? ['', SMOKE_NOTE] : []),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

interface Results {
  results: ScenarioResult[];
  floods: FloodResult[];
}

async function measure(options: HttpBenchOptions): Promise<Results> {
  const data = temporaryFolder();
  const files = temporaryFolder();
  const nowS = asOfS(PAGE_A);
  const filledS = nowS - COLLECTED_S;
  if (options.load.botsCore !== undefined) keepOff(options.load.botsCore);
  try {
    reportProgress('filling');
    const place = { directory: data.path, folder: files.path };
    const key = await fillForLoad(place, options, filledS);
    await fillLongHistory(data.path, options.longSnapshots, filledS);
    const server = await startBenchServer(data.path, nowS, {
      probeLoop: true,
      smoke: options.smoke,
      flags: ['--http-engine', options.httpEngine],
    });
    try {
      const { pageTokens, botTokens } = options;
      const loaded: LoadedServer = {
        ...place,
        server,
        key,
        pageTokens,
        botTokens,
        collectFromS: filledS,
      };
      const results: ScenarioResult[] = [];
      const floods: FloodResult[] = [];
      for (const name of options.scenarios) {
        reportProgress(name);
        if (isFlood(name)) {
          floods.push(await runFlood(name, loaded, options.load));
          continue;
        }
        results.push(await runScenario(name, loaded, options.load));
      }
      return { results, floods };
    } finally {
      await server.stop();
    }
  } finally {
    await data.remove();
    await files.remove();
  }
}

/** Keeps this process and those that it starts, the server among them, off the bots' core. */
function keepOff(core: number): void {
  const cores = Array.from({ length: availableParallelism() }, (_, i) => i);
  runOnCores(
    process.pid,
    cores.filter((one) => one !== core),
  );
}

const isFlood = (name: string): name is FloodName => Object.hasOwn(FLOODS, name);

function floodLines(floods: readonly FloodResult[]): string[] {
  if (floods.length === 0) return [];
  const rows = floods.map(floodRow);
  const replies = floods.map(({ name, flood }) => ({ name, statuses: flood.statuses }));
  const table = aligned([FLOOD_COLUMNS, ...rows], ['scenario']);
  return ['', ...table, ...failures(replies), '', FLOOD_FOOTER];
}

function openLoopLines(results: readonly ScenarioResult[], seconds: number): string[] {
  if (results.length === 0) return [];
  const alone = results.find(({ name }) => name === 'bots alone');
  const rows = results.map(({ name, bots, loop, replay, ingest }) => {
    const { p50Ms, p90Ms, p99Ms, p999Ms, maxMs } = bots.latencies;
    return [
      name,
      figure(bots.requests / seconds),
      ...[p50Ms, p90Ms, p99Ms, p999Ms, maxMs].map(figure),
      alone === undefined ? '' : figure(p99Ms / alone.bots.latencies.p99Ms),
      ...[loop.p99Ms, loop.maxMs].map(figure),
      ...figures(loop.busy && [loop.busy.p99Ms, loop.busy.p999Ms, loop.busy.maxMs], 3),
      ...figures(loop.waiting && [loop.waiting.p99Ms, loop.waiting.maxMs], 2),
      figure(bots.lateness.p99Ms),
      replay === null ? '' : figure(replay.pagesPerSecond),
      ingest === null ? '' : figure((1000 * ingest.snapshots) / ingest.elapsedMs),
    ];
  });
  const replies = results.map(({ name, bots }) => ({ name, statuses: bots.statuses }));
  const table = aligned([COLUMNS, ...rows], ['scenario']);
  return ['', ...table, ...failures(replies), '', FOOTER];
}

/** `count` empty columns without /proc. */
function figures(values: readonly number[] | null, count: number): string[] {
  return values === null ? Array.from({ length: count }, () => '') : values.map(figure);
}

function failures(all: readonly { name: string; statuses: Record<string, number> }[]): string[] {
  return all.flatMap(({ name, statuses }) =>
    Object.entries(statuses)
      .filter(([status]) => status !== '200')
      .map(([status, count]) => `${name}: ${count} replies were ${status}`),
  );
}

await runProgram('bench:http', USAGE, main);
