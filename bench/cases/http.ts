/**
 * Pages end to end, cold and from fragments: clients in this process, the server in another, over loopback.
 */
import { percentile, type CaseResult } from '../case.js';
import { HISTORY_PAGES, type PageShape } from '../data/pages.js';
import { digestOf } from '../digest.js';
import { getOnce, load, pagesFromFragments, type Target } from '../http/client.js';
import type { BenchServer } from '../http/server.js';
import type { StoreContents } from '../store.js';
import { unpacked } from './encodings.js';
import { pageWindow, pathOf, windowOf } from './request.js';

/** The warm-up takes this share of the measured time. */
const WARM_UP_SHARE = 0.2;

/** One kind of request, with a number of concurrent clients. */
interface HttpCase {
  name: string;
  query: string;
  acceptEncoding: string;
  /** The API key to send; null: the store's key without limits. */
  key: string | null;
  status: number;
  clients: number;
  /** What warm pages, of a few tokens, are made from; null: cold pages of all tokens. */
  warm: 'fragments' | 'blocks' | null;
}

/** Flags of a server that keeps no fragments. */
export const NO_FRAGMENTS = ['--fragments-memory-mib', '0'];
/** Flags of a server that keeps no blocks either. */
export const COLD = [...NO_FRAGMENTS, '--blocks-memory-mib', '0'];
/** Tokens of warm pages. */
const WARM_TOKENS = 4;
const WARM_DEADLINE_MS = 60_000;

/** The server's clock: after all stored data. */
export function asOfS(shape: PageShape): number {
  return windowOf(0, (HISTORY_PAGES + 1) * shape.snapshots).to;
}

/** Every kind of request with each of these numbers of clients. */
export function httpCases(clients: readonly number[]): HttpCase[] {
  const refused = {
    ...page('group=market', 'gzip'),
    name: '401',
    key: 'none of ours',
    status: 401,
  };
  return withClients([...poolKinds(), refused], clients);
}

/** Pages that the pool makes from kept blocks, for one client: for the cost of each. */
export function columnHttpCases(): HttpCase[] {
  const warm = (kind: Kind): Kind => ({ ...kind, name: `warm ${kind.name}`, warm: 'blocks' });
  return withClients(poolKinds().map(warm), [1]);
}

/** Full pages in every coding, plus grouped and filtered ones. */
function poolKinds(): Kind[] {
  return [
    page('group=market', 'gzip'),
    page('group=market', 'br'),
    page('group=market', 'identity'),
    page('group=venue', 'gzip'),
    page('group=all', 'gzip'),
    page('types=onchain_pool', 'gzip'),
  ];
}

/** Pages of the default view, from fragments. */
export function fragmentHttpCases(clients: readonly number[]): HttpCase[] {
  const kind = page('group=market', 'gzip');
  return withClients([{ ...kind, name: `fragments ${kind.name}`, warm: 'fragments' }], clients);
}

type Kind = Omit<HttpCase, 'clients'>;

function page(query: string, acceptEncoding: string): Kind {
  const name = `${query} ${acceptEncoding}`;
  return { name, query, acceptEncoding, key: null, status: 200, warm: null };
}

function withClients(kinds: readonly Kind[], counts: readonly number[]): HttpCase[] {
  return counts.flatMap((clients) =>
    kinds.map((kind) => {
      const who = clients === 1 ? '1 client' : `${clients} clients`;
      return { ...kind, name: `http A/${kind.name}, ${who}`, clients };
    }),
  );
}

/** Requests this many pages, again and again, until all of them come from fragments. @throws Error if that takes too long */
async function warmUp(target: Target, warmReplies: number): Promise<void> {
  const deadline = performance.now() + WARM_DEADLINE_MS;
  let before = await pagesFromFragments(target.url);
  for (let warm = 0; warm < warmReplies;) {
    if (performance.now() > deadline) throw new Error('pages do not come from fragments');
    for (let n = 0; n < warmReplies; n++) await getOnce(target, n);
    const after = await pagesFromFragments(target.url);
    warm = after - before;
    before = after;
  }
}

/** How long each kind of request is measured. */
export interface HttpEffort {
  /** Numbers of concurrent clients. */
  clients: readonly number[];
  /** For how many milliseconds clients send requests. */
  httpMs: number;
  /** Pages count as warm when this many different ones came from fragments. */
  warmReplies: number;
  /** How many pages of each token load its blocks into memory; 16 of them read each segment several times. */
  blockPages: number;
}

/** Measures one kind of request. @throws Error if it gives different answers */
export async function measureHttp(
  server: BenchServer,
  { shape, tokens, key }: StoreContents,
  one: HttpCase,
  { httpMs, warmReplies, blockPages }: HttpEffort,
): Promise<CaseResult> {
  const { name, clients } = one;
  const tokensRead = one.warm === null ? tokens : Math.min(tokens, WARM_TOKENS);
  const target: Target = {
    url: server.url,
    pathOf: (n) => pathOf(pageWindow(n, tokensRead, shape.snapshots), one.query),
    headers: { 'x-api-key': one.key ?? key, 'accept-encoding': one.acceptEncoding },
    status: one.status,
  };
  if (one.warm === 'fragments') await warmUp(target, warmReplies);
  if (one.warm === 'blocks') {
    for (let n = 0; n < tokensRead * blockPages; n++) await getOnce(target, n);
  }
  const { hash, bytes } = await digestOfFirst(target, one);
  await load(target, clients, httpMs * WARM_UP_SHARE);
  const cpuBefore = server.cpuMs();
  const { sortedMs, elapsedMs, bytes: sent } = await load(target, clients, httpMs);
  const cpuAfter = server.cpuMs();
  const again = await digestOfFirst(target, one);
  if (again.hash !== hash) throw new Error(`${name}: gave ${hash}, then ${again.hash}`);
  return {
    name,
    opsPerSecond: (1000 * sortedMs.length) / elapsedMs,
    p50Ms: percentile(sortedMs, 0.5),
    p99Ms: percentile(sortedMs, 0.99),
    samples: sortedMs.length,
    hash,
    extra: {
      ...(cpuBefore === null || cpuAfter === null
        ? {}
        : { cpuMs: (cpuAfter - cpuBefore) / sortedMs.length }),
      bytes,
      megabytesPerSecond: sent / 1000 / elapsedMs,
    },
  };
}

/** The hash of the decompressed first page: it is the same for all codings of a page. */
async function digestOfFirst(
  target: Target,
  { acceptEncoding, status }: HttpCase,
): Promise<{ hash: string; bytes: number }> {
  const reply = await getOnce(target, 0);
  const expected = status === 200 ? acceptEncoding : 'identity';
  if (reply.encoding !== expected) {
    throw new Error(`asked for ${expected}, got ${reply.encoding}`);
  }
  return { hash: digestOf([unpacked(reply.body, reply.encoding)]), bytes: reply.body.length };
}
