/** Measures every way of every server in turns, after checking that its answers are right. */
import { percentile } from '../case.js';
import { unpacked } from '../cases/encodings.js';
import { PAGE_A, type TokenHistory } from '../data/pages.js';
import { getOnce, load, type LoadResult, type Target } from '../http/client.js';
import { differenceOf, expectedPage, type PlainSnapshot } from './content.js';
import type { PageState, Peer, PeerWay } from './peer.js';
import { pageWindow } from '../cases/request.js';
import { historyOf } from './tables.js';

/** Turns of the tokens whose pages are compared: windows at a history's beginning and within it. */
const COMPARED_TURNS = [0, 3];
/** More requests than a turn has: no two turns ask for the same windows in the same order. */
const REQUESTS_A_TURN = 100_000;

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
  /** CPU time of all of the server's processes; null without /proc. */
  cpuMsPerPage: number | null;
  /** Of the first page's compressed body. */
  bytes: number;
}

export interface Turns {
  /** Numbers of clients at a time, measured one after the other. */
  clients: readonly number[];
  rounds: number;
  /** Each way gets this much load before it is measured. */
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
 * Measures every way with each number of clients, in turns: whatever slows the machine slows all of
 * them.
 * @throws Error where a page's content is not what was generated
 */
export async function measurePeers(
  peers: readonly Peer[],
  tokens: number,
  { clients: counts, rounds, warmUpMs, turnMs }: Turns,
  onRound: (text: string) => void,
): Promise<PeerRow[]> {
  const all: Measured[] = [];
  const compared = comparedPages(tokens);
  for (const peer of peers) {
    for (const way of peer.ways) {
      const bytes = await compareContent(peer, way, tokens, compared);
      all.push(...counts.map((clients) => ({ peer, way, clients, bytes, turns: [] })));
    }
  }
  if (warmUpMs > 0) for (const one of all) await turn(one, tokens, 0, warmUpMs);
  for (let round = 1; round <= rounds; round++) {
    onRound(`round ${round} of ${rounds}`);
    for (const one of all) one.turns.push(await turn(one, tokens, round, turnMs));
  }
  return all.map(rowOf);
}

/** A page's expected content. */
export interface ComparedPage {
  /** Its number among the requests. */
  n: number;
  history: TokenHistory;
  snapshots: PlainSnapshot[];
}

/** Pages of different tokens, if there are several, at different places of their histories. */
export function comparedPages(tokens: number): ComparedPage[] {
  return COMPARED_TURNS.map((turns, i) => {
    const n = turns * tokens + (i % tokens);
    const { token, first } = pageWindow(n, tokens, PAGE_A.snapshots);
    const history = historyOf(token);
    return { n, history, snapshots: expectedPage(history, first) };
  });
}

/**
 * @returns bytes of the first page's body
 * @throws Error with the first difference from what was generated
 */
export async function compareContent(
  peer: Peer,
  way: PeerWay,
  tokens: number,
  pages: readonly ComparedPage[],
): Promise<number> {
  const target = targetOf(peer, way, tokens, 0);
  const name = `${peer.name}, ${way.name}, ${way.coding}`;
  const bytes: number[] = [];
  for (const { n, history, snapshots } of pages) {
    const { encoding, body } = await getOnce(target, n);
    if (encoding !== way.acceptEncoding) throw new Error(`${name}: came as ${encoding}`);
    const document: unknown = JSON.parse(Buffer.from(unpacked(body, encoding)).toString());
    const difference = differenceOf(way.snapshotsOf(document, history), snapshots);
    if (difference !== null) throw new Error(`${name}: page ${n}: ${difference}`);
    bytes.push(body.length);
  }
  return bytes[0];
}

async function turn(
  { peer, way, clients }: Measured,
  tokens: number,
  round: number,
  forMs: number,
) {
  const before = peer.cpuMs();
  const result = await load(targetOf(peer, way, tokens, round * REQUESTS_A_TURN), clients, forMs);
  const after = peer.cpuMs();
  return { result, cpuMs: before === null || after === null ? null : after - before };
}

function targetOf({ url, headers }: Peer, way: PeerWay, tokens: number, offset: number): Target {
  return {
    url,
    pathOf: (n) => way.pathOf(pageWindow(offset + n, tokens, PAGE_A.snapshots)),
    headers: { ...headers, 'accept-encoding': way.acceptEncoding },
    status: 200,
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
