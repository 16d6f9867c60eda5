/** `npm run bench:peers`: the same pages from Fathom and from servers built of published software. */
import { temporaryFolder } from '../folder.js';
import { machineFacts, revision } from '../machine.js';
import { runProgram, reportProgress, writeResults } from '../program.js';
import { startClickhouse } from './clickhouse.js';
import { startFastifyDuckdb, startFastifyPostgres } from './fastify-peers.js';
import { startFathom } from './fathom.js';
import { measurePeers } from './measure.js';
import { readPeersOptions, USAGE, type PeerName, type PeersOptions } from './options.js';
import { NotRunError, type Peer, type PeerPlace } from './peer.js';
import { textOf, type PeersReport, type PeerStatus } from './report.js';
import { summaryOf } from './summary.js';
import { writeTables } from './tables.js';

const START: Record<PeerName, (place: PeerPlace) => Promise<Peer>> = {
  duckdb: startFastifyDuckdb,
  postgres: startFastifyPostgres,
  clickhouse: startClickhouse,
};

async function main(words: readonly string[]): Promise<void> {
  const options = readPeersOptions(words);
  const machine = machineFacts();
  const began = performance.now();
  const measured = await measure(options);
  const { smoke, tokens, turns } = options;
  const elapsedS = (performance.now() - began) / 1000;
  const facts = { machine, revision: revision(), smoke, tokens, turns, elapsedS };
  const report: PeersReport = { ...facts, ...measured, summary: summaryOf(measured.rows) };
  await writeResults(options.jsonFile, report);
  process.stdout.write(`${textOf(report)}\n`);
}

async function measure({ peers: names, tokens, turns, smoke }: PeersOptions) {
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
    keep(await startFathom(data.path, { tokens, smoke }));
    const files = await writeTables(tables.path, tokens);
    for (const name of names) {
      reportProgress(`filling ${name}`);
      try {
        keep(await START[name]({ folder: tables.path, files, tokens }));
      } catch (error) {
        if (!(error instanceof NotRunError)) throw error;
        peers.push({ name, version: null, notRun: error.message });
      }
    }
    return { peers, rows: await measurePeers(running, tokens, turns, reportProgress) };
  } finally {
    await Promise.allSettled(running.map((peer) => peer.stop()));
    await data.remove();
    await tables.remove();
  }
}

await runProgram('bench:peers', USAGE, main);
