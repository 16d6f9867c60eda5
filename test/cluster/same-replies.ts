/** Expects the same replies from every node, at each endpoint and in every format and encoding. */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { NodeProcess } from '../support/cluster.js';
import { PATIENCE_MS } from '../support/waiting.js';
import { HOUR, MERGED, TOKENS } from '../walk/times.js';

const ARROW = 'application/vnd.apache.arrow.stream';
const MSGPACK = 'application/msgpack';

interface Query {
  path: string;
  accept?: string;
  encoding?: string;
  body?: string;
}

/** Pages that end now have no tag. */
const [FROM, TO] = [(HOUR - 8) * 3600, HOUR * 3600 + 1];
const MERGED_QUERY = `/replay/${MERGED}?from=${FROM}&to=${TO}&min_pct=-90&max_pct=1000`;

const QUERIES: Query[] = [
  ...[...TOKENS, MERGED].flatMap((token): Query[] => [
    ...[FROM, TO - 3 * 3600, TO - 7200].flatMap((from) => {
      const page = `/replay/${token}?from=${from}&to=${TO}`;
      return [
        { path: page },
        { path: page, encoding: 'gzip' },
        { path: page, encoding: 'br' },
        { path: page, accept: ARROW },
      ];
    }),
    ...['venue', 'type', 'all'].flatMap((group) => {
      const page = `/replay/${token}?from=${FROM}&to=${TO}&group=${group}`;
      return [{ path: page }, { path: page, accept: ARROW, encoding: 'gzip' }];
    }),
    {
      path: `/replay/${token}?from=${FROM}&to=${TO}&types=onchain_pool&min_pct=-20`,
      accept: MSGPACK,
    },
    { path: `/replay/${token}/plan?from=${FROM}&to=${TO}` },
    { path: `/depth-series/${token}?from=${FROM}&to=${TO}&group=venue` },
    { path: `/coverage/${token}` },
    { path: `/slippage/${token}?side=sell&usd=1000,1e9&move_pct=2` },
    { path: `/slippage/${token}?side=buy&usd=1000&at=${TO - 7200}` },
    { path: `/score/${token}` },
    { path: `/market-depth?token_address=${token}` },
    { path: `/dca-orders?token_address=${token}` },
    { path: `/limit-orders?token_address=${token}` },
    { path: `/dlmm/${token}` },
    { path: `/dlmm-pools?minTvl=0&mint=${token}` },
  ]),
  { path: MERGED_QUERY },
  ...TOKENS.slice(0, 2).map((token) => ({
    path: `/whale-activity?token_address=${token}&wallet_activity=true`,
  })),
  { path: '/score', body: JSON.stringify({ addresses: TOKENS }) },
  { path: '/whale-activity', body: JSON.stringify({ token_addresses: TOKENS }) },
  { path: '/top-scores' },
  { path: '/dca-pressure' },
  { path: '/dca-pressure?sort_by=impact&include_orders=true' },
  { path: '/dlmm-pools?minTvl=0' },
  { path: '/dlmm-pools?minTvl=0&period=24h&sort=fees' },
  { path: '/lp-cheat-sheet' },
  { path: '/lp-cheat-sheet?window=24h' },
  { path: '/tokens?limit=100' },
  { path: '/tokens?query=S' },
];

interface Reply {
  status: number;
  tag: string | null;
  dataTime: string | null;
  /** How long a rate limit lasts; 0 if there is none. */
  retryAfterS: number;
  /** The text, to show differences; a digest for binary formats. */
  body: string;
}

async function ask(
  node: NodeProcess,
  { path, accept, encoding, body }: Query,
  key: string,
): Promise<Reply> {
  const headers: Record<string, string> = { 'accept-encoding': encoding ?? 'identity' };
  if (accept !== undefined) headers.accept = accept;
  const reply = await (body === undefined
    ? node.get(path, key, headers)
    : fetch(`${node.url}/api/v1${path}`, {
        method: 'POST',
        headers: { ...headers, 'x-api-key': key, 'content-type': 'application/json' },
        body,
      }));
  const bytes = Buffer.from(await reply.arrayBuffer());
  return {
    status: reply.status,
    tag: reply.headers.get('etag'),
    dataTime: reply.headers.get('x-data-time'),
    retryAfterS: reply.status === 429 ? Number(reply.headers.get('retry-after')) : 0,
    body:
      accept === undefined ? bytes.toString() : createHash('sha256').update(bytes).digest('hex'),
  };
}

/** Requests replies from all nodes until they are the same. */
export async function expectSameReplies(nodes: readonly NodeProcess[], key: string): Promise<void> {
  let tags = 0;
  for (const query of QUERIES) {
    const deadline = performance.now() + PATIENCE_MS;
    for (;;) {
      const replies = await Promise.all(nodes.map((node) => ask(node, query, key)));
      const [first, ...others] = replies;
      const isSame = others.every((other) => JSON.stringify(other) === JSON.stringify(first));
      // Some endpoints have rate limits that apply to every key. Nodes count separately: after the longest, none refuses.
      const retryAfterS = Math.max(...replies.map((reply) => reply.retryAfterS));
      if ((!isSame || retryAfterS > 0) && performance.now() < deadline) {
        await sleep(Math.max(200, retryAfterS * 1000));
        continue;
      }
      for (const other of others) expect([query, other]).toEqual([query, first]);
      expect([200, 404]).toContain(first.status);
      if (first.tag === null) break;
      const known = { 'if-none-match': first.tag, 'accept-encoding': query.encoding ?? 'identity' };
      if (query.accept !== undefined) Object.assign(known, { accept: query.accept });
      const [, other] = nodes;
      const { status } = await other.get(query.path, key, known);
      // Retention may have changed the reply in the meantime.
      if (status !== 304 && performance.now() < deadline) continue;
      expect([query, status]).toEqual([query, 304]);
      tags++;
      break;
    }
  }
  expect(tags).toBeGreaterThan(QUERIES.length / 2);
}
