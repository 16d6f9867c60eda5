/** `npm run bench:peers`: the same pages from Fathom and from servers built with published software. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { BenchUsageError } from '../errors.js';
import { namesFlag, readBenchFlags, wholeFlag } from '../flags.js';
import { temporaryFolder } from '../folder.js';
import { machineFacts, revision } from '../machine.js';
import { headingOf, reportProgress, runProgram, SMOKE_NOTE, writeResults } from '../program.js';
import { aligned, figure } from '../report.js';
import { booksSet } from './books.js';
import { startClickhouse } from './clickhouse.js';
import { startFastifyDuckdb, startFastifyPostgres } from './fastify-process.js';
import { startFathom } from './fathom.js';
import { measurePeers, type PeerRow, type Turns } from './measure.js';
import { generatedSet, type PageSet, sizeOf } from './page-set.js';
import { startParquet } from './parquet.js';
import { NotRunError, type Peer, type PeerPlace } from './peer.js';
import { writeTables } from './tables.js';

/** The peers that Fathom is compared with. */
const START = {
  duckdb: startFastifyDuckdb,
  postgres: startFastifyPostgres,
  clickhouse: startClickhouse,
  parquet: startParquet,
} satisfies Record<string, (place: PeerPlace) => Promise<Peer>>;
type PeerName = keyof typeof START;
const PEER_NAMES = Object.keys(START) as PeerName[];
/** The contents of the pages. */
const PAGES_NAMES = ['generated', 'books'] as const;
type PagesName = (typeof PAGES_NAMES)[number];

/** Where to find real market data. */
const REAL_FOLDER = path.join('..', 'shared', 'data');
/** Fathom keeps the fragments of all of them in memory. */
const MAX_TOKENS = 64;
const MAX_SECONDS = 600;
const ROUNDS = 3;

const USAGE = `npm run bench:peers -- [FLAG...]
  --only NAME,NAME   peers to compare with: ${PEER_NAMES.join(', ')}; those that are not installed are left out
  --pages NAME,NAME  what the pages are of: ${PAGES_NAMES.join(', ')}; one table each
  --real FOLDER      real order books; default ${REAL_FOLDER}, left out where it is absent
  --tokens N         generated tokens in the store, two pages each; default 16
  --seconds N        seconds of each row, in three turns; default 3
  --smoke            small and short: shows that it works, not how fast
  --json FILE        where the results go; default bench/results/peers.json`;

interface PeersOptions {
  peers: readonly PeerName[];
  realFolder: string;
  tokens: number;
  turns: Turns;
  smoke: boolean;
}

interface PeerStatus {
  name: string;
  version: string | null;
  /** Why it was left out; null if it was measured. */
  notRun: string | null;
}

/** The table of one set of pages. */
export interface SetReport {
  pages: PagesName;
  title: string;
  /** null if it was left out. */
  size: { tokens: number; snapshots: number; cells: number } | null;
  notRun: string | null;
  peers: PeerStatus[];
  rows: PeerRow[];
}

async function main(words: readonly string[]): Promise<void> {
  const { only, pages, real, tokens, seconds, smoke, json } = readBenchFlags(words, {
    options: {
      only: { type: 'string' },
      pages: { type: 'string' },
      real: { type: 'string' },
      tokens: { type: 'string', default: '16' },
      seconds: { type: 'string', default: '3' },
      smoke: { type: 'boolean', default: false },
      json: { type: 'string', default: path.join('bench', 'results', 'peers.json') },
    },
  }).values;
  if (real !== undefined && !existsSync(real)) {
    throw new BenchUsageError(`--real: there is no folder '${real}'`);
  }
  const stored = wholeFlag('--tokens', tokens, 1, MAX_TOKENS);
  const turnMs = (1000 * wholeFlag('--seconds', seconds, 1, MAX_SECONDS)) / ROUNDS;
  const options: PeersOptions = {
    peers: namesFlag('--only', only, PEER_NAMES),
    realFolder: real ?? REAL_FOLDER,
    tokens: smoke ? 2 : stored,
    turns: smoke
      ? { clients: [1, 2], rounds: 1, warmUpMs: 0, turnMs: 1 }
      : { clients: [1, 8], rounds: ROUNDS, warmUpMs: turnMs / 2, turnMs },
    smoke,
  };
  const machine = machineFacts();
  const sets: SetReport[] = [];
  for (const name of namesFlag('--pages', pages, PAGES_NAMES)) {
    sets.push(await measureSet(name, options));
  }
  const { turns } = options;
  await writeResults(path.resolve(json), { machine, revision: revision(), smoke, turns, sets });
  const lines = [headingOf(machine), '', ...sets.flatMap((set) => [...setLines(set), ''])];
  process.stdout.write(`${[...lines, ...(smoke ? [SMOKE_NOTE] : []), FOOTER].join('\n')}\n`);
}

async function measureSet(pages: PagesName, options: PeersOptions): Promise<SetReport> {
  reportProgress(`making pages: ${pages}`);
  try {
    const set =
      pages === 'books' ? await booksSet(options.realFolder) : generatedSet(options.tokens);
    const size = { tokens: set.histories.length, ...sizeOf(set) };
    return { pages, title: set.title, size, notRun: null, ...(await measure(set, options)) };
  } catch (error) {
    if (!(error instanceof NotRunError)) throw error;
    return { pages, title: pages, size: null, notRun: error.message, peers: [], rows: [] };
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
    for (const name of options.peers) {
      reportProgress(`filling ${name}`);
      try {
        keep(await START[name]({ folder: tables.path, files, set }));
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

const LEFT = ['server', 'way', 'format'];
const COLUMNS = [
  ...LEFT,
  ...'clients,pages/s,p50 ms,p99 ms,cpu ms/page,KB,n,fragments x,cold x,cpu x,cold cpu x'.split(
    ',',
  ),
];

const FOOTER =
  'All servers of a table hold the same cells and are asked for the same pages, of up to 288 snapshots; every number ' +
  'of several pages was compared with what they were given. Way: the cheapest of the server. cold: made for this ' +
  "request from the database, whose pages are in memory; fragments: assembled from Fathom's own compressed pieces. " +
  "fragments x, cold x: Fathom's pages a second divided by the server's; cpu x, cold cpu x: the server's CPU time per " +
  "page divided by that of Fathom's fragments and of its cold pages. Peers have no keys, limits, facets or filters, " +
  'hold only these tokens, and are loaded once, in order; a cache in front of any of them would serve a repeated ' +
  'window, but clients that page onwards seldom repeat one. Of Parquet files a client has read the footers, gets whole ' +
  'row groups, and does the rest itself, which is not counted. This is one query of many, and not what these databases ' +
  'do best. The clients share the cores, over loopback: where pages are cheap, the clients are the limit, and CPU time ' +
  'says more.';

function setLines({ title, size, notRun, peers, rows }: SetReport): string[] {
  if (size === null) return [`${title}: not run, ${notRun}`];
  const { tokens, snapshots, cells } = size;
  const made = peers.map((one) =>
    one.notRun === null ? `${one.name}: ${one.version}` : `${one.name}: not run, ${one.notRun}`,
  );
  const of = tokens === 1 ? 'one token' : `${tokens} tokens`;
  const heading = `${title}: ${cells} cells in ${snapshots} snapshots of ${of}`;
  const table = aligned([COLUMNS, ...rows.map((row) => cellsOf(row, rows))], LEFT);
  return [heading, ...made, '', ...table];
}

function cellsOf(row: PeerRow, rows: readonly PeerRow[]): string[] {
  const known = (value: number | null): string => (value === null ? '' : figure(value));
  const ratios = row.peer === 'Fathom' ? [null, null, null, null] : ratiosOf(row, rows);
  return [
    row.peer,
    row.way,
    row.coding,
    String(row.clients),
    ...[row.pagesPerSecond, row.p50Ms, row.p99Ms, row.cpuMsPerPage, row.bytes / 1000].map(known),
    String(row.pages),
    ...ratios.map(known),
  ];
}

/** A peer's row compared with Fathom's for as many clients: pages by fragments and cold, CPU time likewise. */
function ratiosOf(row: PeerRow, rows: readonly PeerRow[]): (number | null)[] {
  const own = (['fragments', 'cold'] as const).map((state) =>
    rows.find((one) => one.peer === 'Fathom' && one.state === state && one.clients === row.clients),
  );
  const pages = own.map((one) =>
    one === undefined ? null : one.pagesPerSecond / row.pagesPerSecond,
  );
  const cpu = own.map((one) =>
    row.cpuMsPerPage === null || !one?.cpuMsPerPage ? null : row.cpuMsPerPage / one.cpuMsPerPage,
  );
  return [...pages, ...cpu];
}

await runProgram('bench:peers', USAGE, main);
