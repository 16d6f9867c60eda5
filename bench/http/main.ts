/** `npm run bench:http`: requests to a real server: pages, long histories, series, order costs, bots beside other load. */
import { cpSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ENGINE_NAMES } from '../../server/http/engine.js';
import { BenchUsageError } from '../errors.js';
import { readBenchFlags, wholeFlag } from '../flags.js';
import { temporaryFolder } from '../folder.js';
import { machineFacts, revision } from '../machine.js';
import { hasNats, NatsServers } from '../nats.js';
import { runOnCores } from '../processes.js';
import { headingOf, reportProgress, runProgram, SMOKE_NOTE, writeResults } from '../program.js';
import { aligned, figure } from '../report.js';
import {
  ARCHIVE_ROWS,
  type ArchiveEffort,
  type ArchiveFigures,
  archiveLines,
  measureArchive,
} from './archive.js';
import {
  collectFromS,
  type FilledFragments,
  fragmentFilesMade,
  measureRow,
  type RowFigures,
  type Serving,
} from './measure.js';
import { type HttpRow, rowsOf } from './rows.js';
import { startBenchServer, untilReady } from './server.js';
import { type HttpStore, STORES } from './stores.js';

const USAGE = `npm run bench:http -- [--only TEXT;TEXT] [--seconds N] [--rate N] [--http-engine NAME] [--bots-core N]
  [--nats] [--archive-tokens N] [--archive-days N] [--smoke] [--json FILE]
  --only      rows whose names begin with any of these: pages, history, series, slippage, bots, archive, or more of a name
  --seconds   seconds of each row; default 8
  --rate      requests a second of bots at a rate; default 2000
  --http-engine NAME
              the server's HTTP engine: ${ENGINE_NAMES.join(' (default) or ')}
  --bots-core the bots run alone on this core, everything else on the other cores (Linux, taskset)
  --nats      measures each row on a single server and on a node of a cluster (needs nats-server)
  --archive-tokens N, --archive-days N
              the archive's history: default 4 tokens of 3 whole days in minutes; 50 and 30 take over an hour
  --smoke     small and short: shows that it works, not how fast
  --json FILE where the results go; default bench/results/http.json`;

const MAX_RATE = 100_000;
const MAX_SECONDS = 600;

const PLACES = ['single', 'node'] as const;
type Place = (typeof PLACES)[number];

interface Options extends ArchiveEffort {
  rows: HttpRow[];
  archiveRows: string[];
  places: readonly Place[];
  jsonFile: string;
}

interface RowResult extends RowFigures {
  name: string;
  clients: number;
  on: Place;
}

/** @throws BenchUsageError */
function readOptions(words: readonly string[]): Options {
  const { values } = readBenchFlags(words, {
    options: {
      only: { type: 'string', default: '' },
      seconds: { type: 'string', default: '8' },
      rate: { type: 'string', default: '2000' },
      'http-engine': { type: 'string', default: ENGINE_NAMES[0] },
      'bots-core': { type: 'string' },
      nats: { type: 'boolean', default: false },
      'archive-tokens': { type: 'string', default: '4' },
      'archive-days': { type: 'string', default: '3' },
      smoke: { type: 'boolean', default: false },
      json: { type: 'string', default: path.join('bench', 'results', 'http.json') },
    },
  });
  const { smoke, nats, 'http-engine': engine } = values;
  if (!ENGINE_NAMES.some((name) => name === engine)) {
    throw new BenchUsageError(
      `--http-engine: expected ${ENGINE_NAMES.join(' or ')}, not '${engine}'`,
    );
  }
  if (nats && !hasNats) throw new BenchUsageError('--nats: there is no nats-server on PATH');
  const texts = values.only.split(';').map((text) => text.trim());
  const isWanted = (name: string): boolean => texts.some((text) => name.startsWith(text));
  const rows = rowsOf(smoke).filter(({ name }) => isWanted(name));
  const archiveRows = ARCHIVE_ROWS.filter(isWanted);
  if (rows.length + archiveRows.length === 0) {
    const names = [...rowsOf(smoke).map(({ name }) => name), ...ARCHIVE_ROWS];
    throw new BenchUsageError(
      `--only: no row's name begins with '${values.only}': ${names.join('; ')}`,
    );
  }
  return {
    rows,
    archiveRows,
    tokens: smoke ? 1 : wholeFlag('--archive-tokens', values['archive-tokens'], 1, 1000),
    days: smoke ? 0 : wholeFlag('--archive-days', values['archive-days'], 1, 365),
    smoke,
    flags: ['--http-engine', engine],
    places: nats ? PLACES : ['single'],
    forMs: smoke ? 200 : 1000 * wholeFlag('--seconds', values.seconds, 1, MAX_SECONDS),
    requestsPerSecond: smoke ? 200 : wholeFlag('--rate', values.rate, 1, MAX_RATE),
    snapshotsPerSecond: smoke ? 20 : 200,
    botsCore: botsCoreFlag(values['bots-core']),
    jsonFile: path.resolve(values.json),
  };
}

/** @throws BenchUsageError */
function botsCoreFlag(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const cores = os.availableParallelism();
  if (cores < 2) {
    throw new BenchUsageError('--bots-core: expected a machine with two cores or more');
  }
  return wholeFlag('--bots-core', text, 0, cores - 1);
}

async function main(words: readonly string[]): Promise<void> {
  const options = readOptions(words);
  const { smoke, jsonFile, botsCore } = options;
  const machine = machineFacts();
  if (botsCore !== undefined) {
    const cores = Array.from({ length: os.availableParallelism() }, (_, i) => i);
    // This process and those that it starts, the server among them.
    runOnCores(
      process.pid,
      cores.filter((core) => core !== botsCore),
    );
  }
  const { results, filled } = await measure(options);
  let archive: Partial<ArchiveFigures> = {};
  if (options.archiveRows.length > 0) {
    const measured = await measureArchive(options.archiveRows, options);
    results.push(...measured.rows.map((row): RowResult => ({ ...row, on: 'single' })));
    archive = measured.figures;
  }
  const rows = results;
  await writeResults(jsonFile, { machine, revision: revision(), smoke, filled, archive, rows });
  const lines = [
    headingOf(machine),
    '',
    ...(filled === null ? [] : [filledLine(filled), '']),
    ...tableOf(results),
    '',
    ...archiveLines(archive),
    ...(smoke ? [SMOKE_NOTE] : []),
    FOOTER,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

async function measure(options: Options) {
  const { rows, places } = options;
  const results: RowResult[] = [];
  let filled: FilledFragments | null = null;
  const names = [...new Set(rows.map(({ store }) => store))];
  for (const name of names) {
    reportProgress(`filling a store: ${name}`);
    const folder = temporaryFolder();
    const directoryOf = (place: Place): string => path.join(folder.path, place);
    // Each store needs a log of its own.
    const log = places.includes('node') ? await NatsServers.start(options.smoke ? 1 : 3) : null;
    try {
      const single = { directory: directoryOf('single'), folder: folder.path };
      const store: HttpStore = await STORES[name](single, options.smoke);
      const servers = places.map((place) => {
        if (place === 'single') return new RowServer(store, options, []);
        cpSync(store.directory, directoryOf('node'), { recursive: true });
        const flags = ['--cluster', (log as NatsServers).urls.join(','), '--node', 'a'];
        return new RowServer({ ...store, directory: directoryOf('node') }, options, flags);
      });
      try {
        for (const [i, row] of rows.filter((one) => one.store === name).entries()) {
          // Each place goes first at every other row.
          const order = i % 2 === 0 ? servers : servers.toReversed();
          for (const server of order) {
            const on = places[servers.indexOf(server)];
            reportProgress(on === 'single' ? row.name : `${row.name}, on a node`);
            const figures = await measureRow(row, await server.serving(row), options);
            results.push({ name: row.name, clients: row.clients, on, ...figures });
          }
        }
      } finally {
        filled ??= servers[0].filled;
        for (const server of servers) await server.stop();
      }
    } finally {
      await log?.close();
      await folder.remove();
    }
  }
  return { results, filled };
}

/** The server of a store: it stays for the next row, unless that needs another. */
class RowServer {
  /** What the first fragments on disk took. */
  filled: FilledFragments | null = null;
  private running: Serving | null = null;
  private flags = '';
  private hasFiles = false;

  /** @param more flags of this server */
  constructor(
    private readonly store: HttpStore,
    private readonly options: Options,
    private readonly more: readonly string[],
  ) {}

  async serving(row: HttpRow): Promise<Serving> {
    const flags = row.flags.join(' ');
    if (this.running !== null && this.flags === flags && row.isFirst !== true) return this.running;
    await this.stop();
    if (row.ready === 'files' && !this.hasFiles) {
      const { server } = await this.start(row.flags);
      const filled = await fragmentFilesMade(server, this.options.smoke);
      this.filled ??= filled;
      await this.stop();
    }
    // Without fragments, a server deletes their files.
    this.hasFiles = row.ready === 'files';
    this.flags = flags;
    return this.start(row.flags);
  }

  async stop(): Promise<void> {
    const { running } = this;
    this.running = null;
    await running?.server.stop();
  }

  private async start(flags: readonly string[]): Promise<Serving> {
    const { store } = this;
    const { smoke } = this.options;
    const server = await startBenchServer(store.directory, store.nowS, {
      probeLoop: true,
      smoke,
      flags: [...this.options.flags, ...flags, ...this.more],
    });
    this.running = { store, server, collectFromS: collectFromS(store) };
    await untilReady(server.url);
    return this.running;
  }
}

const COLUMNS = (
  'row,on,clients,replies/s,p50 ms,p90,p99,p99.9,max,cpu ms,cpu ms/s,loop us,busy p99 ms,busy max,' +
  'KB,n,late p99 ms,pages/s,snapshots/s'
).split(',');
const FOOTER =
  "cpu ms: of all the server's threads, per reply and per second; loop us: of its event loop's thread, per reply; " +
  'busy: how long its own work, garbage collection included, kept the loop from other requests. Bots at a rate are ' +
  "an open loop: a request counts from the tick at which it was due; late: how late the bots' own ticks were. " +
  'pages/s, snapshots/s: the load besides the bots, in processes of low priority. Clients share the cores with the ' +
  'server, over loopback: compare rows of one table, not times of different machines.';

function tableOf(results: readonly RowResult[]): string[] {
  const known = (value: number | null | undefined): string =>
    value === null || value === undefined ? '' : figure(value);
  const rows = results.map((row) => {
    const { busy } = row.loop;
    const { p50Ms, p90Ms, p99Ms, p999Ms, maxMs } = row.latencies;
    return [
      row.name,
      row.on,
      String(row.clients),
      ...[row.repliesPerSecond, p50Ms, p90Ms, p99Ms, p999Ms, maxMs, row.cpuMs].map(known),
      known(row.cpuMsPerSecond),
      known(busy && (1000 * busy.totalMs) / row.replies),
      ...[busy?.p99Ms, busy?.maxMs].map(known),
      known(row.bytesPerReply && row.bytesPerReply / 1000),
      String(row.replies),
      ...[row.lateP99Ms, row.pagesPerSecond, row.snapshotsPerSecond].map(known),
    ];
  });
  return aligned([COLUMNS, ...rows], ['row', 'on']);
}

function filledLine({ files, bytes, elapsedMs, cpuMs }: FilledFragments): string {
  return (
    `fragments of the history: ${files} files, ${figure(bytes / 1e6)} MB, made in ` +
    `${figure(elapsedMs / 1000)} s with ${figure(cpuMs / 1000)} s of CPU`
  );
}

await runProgram('bench:http', USAGE, main);
