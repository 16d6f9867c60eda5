/** `npm run bench:peers`: the same pages from Fathom and from servers built with published software. */
import { temporaryFolder } from '../folder.js';
import { machineFacts, revision } from '../machine.js';
import { runProgram, reportProgress, writeResults } from '../program.js';
import { clickhouseAt, clickhousePeer, versionOf } from './clickhouse-server.js';
import { startClickhouse } from './clickhouse.js';
import { startFastifyDuckdb, startFastifyPostgres } from './fastify-peers.js';
import { startFathom } from './fathom.js';
import { measurePeers } from './measure.js';
import {
  type PagesName,
  type PeerName,
  type PeersOptions,
  readPeersOptions,
  USAGE,
} from './options.js';
import { generatedSet, type PageSet, sizeOf } from './page-set.js';
import { startParquet } from './parquet.js';
import { NotRunError, type Peer, type PeerPlace } from './peer.js';
import { booksSet, poolsSet } from './real-sets.js';
import { type PeersReport, type PeerStatus, type SetReport, textOf } from './report.js';
import { summaryOf } from './summary.js';
import { writeTables } from './tables.js';

type StartPeer = (place: PeerPlace) => Promise<Peer>;

const START: Record<PeerName, StartPeer> = {
  duckdb: startFastifyDuckdb,
  postgres: startFastifyPostgres,
  clickhouse: startClickhouse,
  parquet: startParquet,
};

const SETS: Record<PagesName, (options: PeersOptions) => Promise<PageSet>> = {
  generated: ({ tokens }) => Promise.resolve(generatedSet(tokens)),
  books: ({ realFolder }) => booksSet(realFolder),
  pools: ({ realFolder }) => poolsSet(realFolder),
};

async function main(words: readonly string[]): Promise<void> {
  const options = readPeersOptions(words);
  // Checked before spending minutes on the others.
  if (options.clickhouse !== null) await versionOf(clickhouseAt(options.clickhouse));
  const machine = machineFacts();
  const began = performance.now();
  const sets: SetReport[] = [];
  for (const pages of options.pages) sets.push(await measureSet(pages, options));
  const { smoke, turns } = options;
  const elapsedS = (performance.now() - began) / 1000;
  const report: PeersReport = { machine, revision: revision(), smoke, turns, elapsedS, sets };
  await writeResults(options.jsonFile, report);
  process.stdout.write(`${textOf(report)}\n`);
}

async function measureSet(pages: PagesName, options: PeersOptions): Promise<SetReport> {
  reportProgress(`making pages: ${pages}`);
  try {
    const set = await SETS[pages](options);
    const { title, histories } = set;
    const measured = await measure(set, options);
    const size = { tokens: histories.length, ...sizeOf(set) };
    return { pages, title, size, notRun: null, ...measured, summary: summaryOf(measured.rows) };
  } catch (error) {
    if (!(error instanceof NotRunError)) throw error;
    return {
      pages,
      title: pages,
      size: null,
      notRun: error.message,
      peers: [],
      rows: [],
      summary: [],
    };
  }
}

async function measure(set: PageSet, options: PeersOptions) {
  const data = temporaryFolder();
  const tables = temporaryFolder();
  const running: Peer[] = [];
  const peers: PeerStatus[] = [];
  const keep = (peer: Peer): void => {
    running.push(peer);
    peers.push({ name: peer.name, version: peer.version, notRun: null });
  };
  try {
    reportProgress('filling Fathom');
    keep(await startFathom(data.path, set, options.smoke));
    const files = await writeTables(tables.path, set);
    for (const [name, start] of startsOf(options)) {
      reportProgress(`filling ${name}`);
      try {
        keep(await start({ folder: tables.path, files, set }));
      } catch (error) {
        if (!(error instanceof NotRunError)) throw error;
        peers.push({ name, version: null, notRun: error.message });
      }
    }
    return { peers, rows: await measurePeers(running, set, options.turns, reportProgress) };
  } finally {
    await Promise.allSettled(running.map((peer) => peer.stop()));
    await data.remove();
    await tables.remove();
  }
}

function startsOf({ peers, clickhouse }: PeersOptions): (readonly [string, StartPeer])[] {
  const installed = peers.map((name) => [name, START[name]] as const);
  if (clickhouse === null) return installed;
  const server = clickhouseAt(clickhouse);
  const name = `ClickHouse at ${clickhouse.host}`;
  return [...installed, [name, ({ set }) => clickhousePeer(server, name, set)]];
}

await runProgram('bench:peers', USAGE, main);
