/** Measures every way of every server in turns, after checking that its replies are correct. */
import { percentile } from '../case.js';
import { unpacked } from '../kernels/page.js';
import { getOnce, load, type LoadResult, type Target } from '../http/client.js';
import { differenceOf, expectedPage } from './content.js';
import { pageAt, type PageSet } from './page-set.js';
import type { ComparedPage, PageState, Peer, PeerWay } from './peer.js';

/** Numbers of the turns whose pages are compared: windows at the beginning of and within a long history. */
const COMPARED_TURNS = [0, 3];
/** More requests than in a turn: no two turns request the same windows in the same order. */
const REQUESTS_PER_TURN = 100_000;
const OK = 200;
const PARTIAL_CONTENT = 206;

export interface PeerRow {
  peer: string;
  way: string;
  state: PageState;
  coding: string;
  clients: number;
  pages: number;
  pagesPerSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** CPU time of all of the server's processes; null if it is not known. */
  cpuMsPerPage: number | null;
  /** Of the first page's compressed body. */
  bytes: number;
}

export interface Turns {
  /** Numbers of concurrent clients, measured one after the other. */
  clients: readonly number[];
  rounds: number;
  /** How long each way is loaded before it is measured. */
  warmUpMs: number;
  /** Milliseconds of one turn. */
  turnMs: number;
}

interface Measured {
  peer: Peer;
  way: PeerWay;
  clients: number;
  bytes: number;
  turns: { result: LoadResult; cpuMs: number | null }[];
}

/**
 * Measures every way of the servers of one set with each number of clients, in turns, so that whatever slows the machine
 * slows all of them.
 * @throws Error if a page does not have the content that the servers were given
 */
export async function measurePeers(
  peers: readonly Peer[],
  set: PageSet,
  { clients: counts, rounds, warmUpMs, turnMs }: Turns,
  onRound: (text: string) => void,
): Promise<PeerRow[]> {
  const all: Measured[] = [];
  const compared = comparedPages(set);
  for (const peer of peers) {
    for (const way of peer.ways) {
      const bytes = await compareContent(peer, way, set, compared);
      all.push(...counts.map((clients) => ({ peer, way, clients, bytes, turns: [] })));
    }
  }
  if (warmUpMs > 0) for (const one of all) await turn(one, set, 0, warmUpMs);
  for (let round = 1; round <= rounds; round++) {
    onRound(`round ${round} of ${rounds}`);
    for (const one of all) one.turns.push(await turn(one, set, round, turnMs));
  }
  return all.map(rowOf);
}

/** Pages of different tokens, if there are several, at different places in their histories; by number. */
export function comparedPages(set: PageSet): Map<number, ComparedPage> {
  const { length } = set.histories;
  return new Map(
    COMPARED_TURNS.map((turns, i) => {
      const n = turns * length + (i % length);
      const window = pageAt(set, n);
      const history = set.histories[window.token];
      return [n, { window, history, snapshots: expectedPage(history, window) }];
    }),
  );
}

/**
 * @returns bytes of the first page's body
 * @throws Error with the first difference from what every server was given
 */
export async function compareContent(
  peer: Peer,
  way: PeerWay,
  set: PageSet,
  pages: ReadonlyMap<number, ComparedPage>,
): Promise<number> {
  const target = targetOf(peer, way, set, 0);
  const name = `${peer.name}, ${way.name}, ${way.coding}`;
  const bytes: number[] = [];
  for (const [n, page] of pages) {
    const { encoding, body } = await getOnce(target, n);
    if (encoding !== way.contentCoding) throw new Error(`${name}: came as ${encoding}`);
    const snapshots = await way.snapshotsOf(unpacked(body, encoding), page);
    const difference = differenceOf(snapshots, page.snapshots);
    if (difference !== null) throw new Error(`${name}: page ${n}: ${difference}`);
    bytes.push(body.length);
  }
  return bytes[0];
}

async function turn({ peer, way, clients }: Measured, set: PageSet, round: number, forMs: number) {
  const before = await peer.cpuMs();
  const result = await load(targetOf(peer, way, set, round * REQUESTS_PER_TURN), clients, forMs);
  const after = await peer.cpuMs();
  return { result, cpuMs: before === null || after === null ? null : after - before };
}

function targetOf({ url, headers }: Peer, way: PeerWay, set: PageSet, offset: number): Target {
  const windowOf = (n: number) => pageAt(set, offset + n);
  return {
    url,
    pathOf: (n) => way.pathOf(windowOf(n)),
    headers: { ...headers, 'accept-encoding': way.contentCoding },
    headersOf: (n) => way.headersOf?.(windowOf(n)) ?? {},
    status: way.isRange === true ? PARTIAL_CONTENT : OK,
  };
}

function rowOf({ peer, way, clients, bytes, turns }: Measured): PeerRow {
  const times = turns.flatMap(({ result }) => Array.from(result.sortedMs));
  const sorted = Float64Array.from(times).sort();
  const elapsedMs = turns.reduce((sum, { result }) => sum + result.elapsedMs, 0);
  const cpuMs = turns.reduce<number | null>(
    (sum, one) => (sum === null || one.cpuMs === null ? null : sum + one.cpuMs),
    0,
  );
  return {
    peer: peer.name,
    way: way.name,
    state: way.state,
    coding: way.coding,
    clients,
    pages: sorted.length,
    pagesPerSecond: (1000 * sorted.length) / elapsedMs,
    p50Ms: percentile(sorted, 0.5),
    p99Ms: percentile(sorted, 0.99),
    cpuMsPerPage: cpuMs === null ? null : cpuMs / sorted.length,
    bytes,
  };
}
