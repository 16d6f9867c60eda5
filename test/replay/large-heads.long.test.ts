/** A token whose markets' names alone exceed what a server with the least memory keeps for one client. */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { httpLimits } from '../../server/http/server.js';
import { SHARES } from '../../server/memory.js';
import type { PlainMarket } from '../reference/replay.js';
import { MemoryDepth } from '../support/memory-depth.js';
import {
  MARKETS,
  MINT,
  NOW_S,
  startTestService,
  steadyStore,
  type TestService,
} from '../support/service.js';

/** Texts of the greatest length, which hardly compress. */
const name = (text: string) =>
  createHash('shake256', { outputLength: 150 }).update(text).digest('base64url');
const NAMED = Array.from({ length: 22_000 }, (_, m): PlainMarket => ({
  source: name(`source ${m}`),
  exchangeType: 'DEX',
  type: 'onchain_pool',
  address: name(`address ${m}`),
  pair: name(`pair ${m}`),
}));

let service: TestService;

beforeAll(async () => {
  const store = steadyStore(1, 0, { lastT: NOW_S - 60, markets: [...MARKETS, ...NAMED] });
  service = await startTestService({
    depth: new MemoryDepth().add('mainchain', MINT, store),
    limits: httpLimits(SHARES.replies.leastMib * 2 ** 20),
  });
});
afterAll(() => service.stop());

async function ask(path: string, encoding: string, accept = 'application/json') {
  const reply = await service.get(path, { headers: { accept, 'accept-encoding': encoding } });
  const isJson = reply.headers.get('content-type') === 'application/json';
  const document = isJson ? ((await reply.json()) as Record<string, unknown>) : null;
  if (!isJson) await reply.arrayBuffer();
  return { status: reply.status, retryAfter: reply.headers.get('retry-after'), document };
}

const TOO_LARGE = { status: 400, retryAfter: null };
const bodyOf = (smaller: string) => ({
  error: 'Bad Request',
  message: expect.stringMatching(
    new RegExp(
      `^This reply has \\d+\\.\\d MiB, and a client of this server gets at most 8\\.0 MiB at once: ${smaller}`,
    ),
  ) as string,
  error_code: 'reply_too_large',
});

it.each(['application/json', 'application/msgpack', 'application/vnd.apache.arrow.stream'])(
  'a page of %s that never fits is refused for good, and says what to ask for',
  async (accept) => {
    for (const query of ['', '?group=venue']) {
      const reply = await ask(`/replay/${MINT}${query}`, 'identity', accept);
      const document = bodyOf('send Accept-Encoding: gzip, or choose venues .*`group=all`');
      expect(reply).toEqual({ ...TOO_LARGE, document });
    }
  },
);

it('a compressed page that never fits is not told to compress', async () => {
  const reply = await ask(`/replay/${MINT}`, 'gzip');
  expect(reply).toEqual({ ...TOO_LARGE, document: bodyOf('choose venues .*`group=all`') });
});

it('what the refusal says to ask for succeeds', async () => {
  for (const encoding of ['gzip', 'identity']) {
    const reply = await ask(`/replay/${MINT}?group=all`, encoding);
    expect([reply.status, reply.document?.row_count]).toEqual([200, 1]);
  }
});

it('so is /coverage', async () => {
  const plain = await ask(`/coverage/${MINT}`, 'identity');
  const ways = 'read its depth from /replay/:address with `group=all`';
  expect(plain).toEqual({
    ...TOO_LARGE,
    document: bodyOf(`send Accept-Encoding: gzip, or ${ways}`),
  });
  expect(await ask(`/coverage/${MINT}`, 'gzip')).toEqual({ ...TOO_LARGE, document: bodyOf(ways) });
});
