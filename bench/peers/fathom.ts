/** Fathom itself: the server that the others are compared with. */
import { setTimeout as sleep } from 'node:timers/promises';
import { asOfS } from '../cases/http.js';
import { HISTORY_PAGES, PAGE_A } from '../data/pages.js';
import { pagesFromFragments } from '../http/client.js';
import { startBenchServer } from '../http/server.js';
import { makeStore } from '../store.js';
import { fathomSnapshots } from './content.js';
import type { PeersOptions } from './options.js';
import type { Peer, PeerWay } from './peer.js';
import { pageWindow, type PageWindow, pathOf } from '../cases/request.js';

/** Time to make the fragments of everything stored. */
const FRAGMENTS_DEADLINE_MS = 60_000;
const POLL_MS = 20;
/** Cold pages are read from the database, each time. */
const COLD_COLUMNS = ['--columns-memory-mib', '0'];

/**
 * Both bands hold every cell: the pages are the same, but only the default band's come from
 * fragments. (-49.9 would select the same bins as the default -50.)
 */
const QUERIES = { fragments: 'group=market', cold: 'min_pct=-49' } as const;

/** The pages of `fathom serve`, with its own settings and its own levels of gzip and brotli. */
const WAYS = (['fragments', 'cold'] as const).flatMap((state) =>
  (['gzip', 'br'] as const).map((acceptEncoding): PeerWay => {
    return {
      name: 'group=market',
      state,
      coding: acceptEncoding,
      acceptEncoding,
      pathOf: (window) => pathOf(window, QUERIES[state]),
      snapshotsOf: fathomSnapshots,
    };
  }),
);

/** Fills a store in `directory`, serves it, and waits for its fragments. */
export async function startFathom(
  directory: string,
  { tokens, smoke }: Pick<PeersOptions, 'tokens' | 'smoke'>,
): Promise<Peer> {
  const { key } = await makeStore(directory, PAGE_A, tokens);
  const server = await startBenchServer(directory, asOfS(PAGE_A), { smoke, flags: COLD_COLUMNS });
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
    await fragmentsMade(peer, tokens);
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
async function fragmentsMade(fathom: Peer, tokens: number): Promise<void> {
  const deadline = performance.now() + FRAGMENTS_DEADLINE_MS;
  for (const way of WAYS.filter(({ state }) => state === 'fragments')) {
    for (const window of wholeHistories(tokens)) {
      while (!(await comesFromFragments(fathom, way, window))) {
        if (performance.now() > deadline) throw new Error('Fathom: no fragments were made in time');
        await sleep(POLL_MS);
      }
    }
  }
  for (const way of WAYS.filter(({ state }) => state === 'cold')) {
    if (await comesFromFragments(fathom, way, pageWindow(0, tokens, PAGE_A.snapshots))) {
      throw new Error('Fathom: pages that should be cold came from fragments');
    }
  }
}

/** Adjacent pages, which cover the histories. */
function wholeHistories(tokens: number): PageWindow[] {
  const pageS =
    pageWindow(0, tokens, PAGE_A.snapshots).to - pageWindow(0, tokens, PAGE_A.snapshots).from;
  return Array.from({ length: tokens * HISTORY_PAGES }, (_, i) => {
    const { token, first, from, to } = pageWindow(i % tokens, tokens, PAGE_A.snapshots);
    const page = Math.floor(i / tokens);
    const moved = { from: from + page * pageS, to: to + page * pageS };
    return { token, first: first + page * PAGE_A.snapshots, ...moved };
  });
}

async function comesFromFragments(fathom: Peer, way: PeerWay, window: PageWindow) {
  const headers = { ...fathom.headers, 'accept-encoding': way.acceptEncoding };
  const before = await pagesFromFragments(fathom.url);
  const reply = await fetch(fathom.url + way.pathOf(window), { headers });
  await reply.arrayBuffer();
  if (!reply.ok) throw new Error(`Fathom: a page's status is ${reply.status}`);
  return (await pagesFromFragments(fathom.url)) > before;
}
