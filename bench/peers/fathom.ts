/** Fathom itself: the server with which the others are compared. */
import { setTimeout as sleep } from 'node:timers/promises';
import { pagesFromFragments } from '../http/client.js';
import { startBenchServer } from '../http/server.js';
import { storeHistories } from '../store.js';
import { fathomSnapshots } from './content.js';
import { COLD_MIN_PCT, pageAt, type PageSet, type PageWindow, wholeHistories } from './page-set.js';
import type { Peer, PeerWay } from './peer.js';

/** Time to make the fragments of everything stored. */
const FRAGMENTS_DEADLINE_MS = 60_000;
const POLL_MS = 20;
/** Cold pages are read from the database each time. */
const COLD_BLOCKS = ['--blocks-memory-mib', '0'];

/** The server's clock: this long after all stored data. */
const CLOCK_LEAD_S = 86_400;

/**
 * Both bands contain every cell: the pages are the same, but only those of the default band come from fragments. (-49.9
 * would select the same bins as the default -50.)
 */
const QUERIES = { fragments: 'group=market', cold: `min_pct=${COLD_MIN_PCT}` } as const;

/** The pages of `fathom serve`, with its default settings. */
const WAYS: readonly PeerWay[] = (['fragments', 'cold'] as const).map((state) => ({
  name: state,
  state,
  coding: 'JSON, gzip',
  contentCoding: 'gzip',
  pathOf: ({ address, from, to }) =>
    `/api/v1/replay/${address}?${QUERIES[state]}&from=${from}&to=${to}`,
  snapshotsOf: (body, { history }) => fathomSnapshots(body, history),
}));

/** Fills a store in `directory`, serves it, and waits for its fragments. */
export async function startFathom(directory: string, set: PageSet, smoke: boolean): Promise<Peer> {
  const { key } = await storeHistories(directory, set.histories);
  const lastT = Math.max(...set.histories.map(({ run }) => run.t[run.t.length - 1]));
  const flags = COLD_BLOCKS;
  const server = await startBenchServer(directory, lastT + CLOCK_LEAD_S, { smoke, flags });
  const peer: Peer = {
    name: 'Fathom',
    version: `Node ${process.version}`,
    url: server.url,
    headers: { 'x-api-key': key },
    ways: WAYS,
    cpuMs: () => server.cpuMs(),
    stop: () => server.stop(),
  };
  try {
    await fragmentsMade(peer, set);
    return peer;
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/**
 * Requests every token's whole history until all of it comes from fragments.
 * @throws Error if that takes too long, or if pages that should be cold come from fragments
 */
async function fragmentsMade(fathom: Peer, set: PageSet): Promise<void> {
  const deadline = performance.now() + FRAGMENTS_DEADLINE_MS;
  for (const way of WAYS.filter(({ state }) => state === 'fragments')) {
    for (const window of wholeHistories(set)) {
      while (!(await comesFromFragments(fathom, way, window))) {
        if (performance.now() > deadline) throw new Error('Fathom: no fragments were made in time');
        await sleep(POLL_MS);
      }
    }
  }
  for (const way of WAYS.filter(({ state }) => state === 'cold')) {
    if (await comesFromFragments(fathom, way, pageAt(set, 0))) {
      throw new Error('Fathom: pages that should be cold came from fragments');
    }
  }
}

async function comesFromFragments(fathom: Peer, way: PeerWay, window: PageWindow) {
  const headers = {
    ...fathom.headers,
    ...way.headersOf?.(window),
    'accept-encoding': way.contentCoding,
  };
  const before = await pagesFromFragments(fathom.url);
  const reply = await fetch(fathom.url + way.pathOf(window), { headers });
  await reply.arrayBuffer();
  if (!reply.ok) throw new Error(`Fathom: a page's status is ${reply.status}`);
  return (await pagesFromFragments(fathom.url)) > before;
}
