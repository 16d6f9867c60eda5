/** A token whose markets' names alone exceed what a server with the least memory keeps for one client. */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { venueKey } from '../../compute/market.js';
import { PAGE_LIMITS } from '../../compute/replay/page.js';
import { httpLimits } from '../../server/http/server.js';
import { SHARES } from '../../server/memory.js';
import { plainRequest } from '../compute/replay-stores.js';
import { decodeMsgpack } from '../reference/msgpack.js';
import { type PlainMarket, type PlainStore, referencePage } from '../reference/replay.js';
import { ENGINES } from '../support/engines.js';
import { MemoryDepth } from '../support/memory-depth.js';
import { MARKETS, MINT, NOW_S, startTestService, type TestService } from '../support/service.js';

/** Texts of the greatest length, which hardly compress. */
const name = (text: string) =>
  createHash('shake256', { outputLength: 150 }).update(text).digest('base64url');
const WIDELY_NAMED = Array.from({ length: 30_000 }, (_, m): PlainMarket => ({
  source: name(`source ${m}`),
  exchangeType: 'DEX',
  type: 'onchain_pool',
  address: name(`address ${m}`),
  pair: name(`pair ${m}`),
}));

const NAMED = WIDELY_NAMED.slice(0, 22_000);
const ALL = [...MARKETS, ...NAMED];
const cellOf = (market: number) => ({ market, bin: -1, support: 100n, resistance: 50n });
/** Only the first and the last market have cells: the page lists all between them. */
const STORE: PlainStore = {
  markets: ALL,
  snapshots: [
    { t: NOW_S - 60, tier: 'raw', price: 1.5, cells: [cellOf(0), cellOf(ALL.length - 1)] },
  ],
};

/** Every market has a cell: one in the bin next to the price, the others in 200 bins. */
const WIDE_MINT = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
const WIDE: PlainStore = {
  markets: WIDELY_NAMED,
  snapshots: [NOW_S - 7200, NOW_S - 60].map((t) => ({
    t,
    tier: 'raw',
    price: 2,
    cells: WIDELY_NAMED.map((_, market) => {
      const bin = market === 0 ? -1 : -2 - (market % 200);
      return { market, bin, support: 100n, resistance: 0n };
    }),
  })),
};

/** The same without the markets between them, which filtered pages do not list. */
const WITHOUT_OTHERS: PlainStore = {
  markets: [ALL[0], ALL[ALL.length - 1]],
  snapshots: STORE.snapshots.map((one) => ({ ...one, cells: [cellOf(0), cellOf(1)] })),
};

describe.each(ENGINES)('Names on engine %s', (engine) => {
  let service: TestService;

  beforeAll(async () => {
    service = await startTestService({
      depth: new MemoryDepth().add('mainchain', MINT, STORE).add('mainchain', WIDE_MINT, WIDE),
      limits: httpLimits(SHARES.replies.leastMib * 2 ** 20),
      engine,
      fragments: true,
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

  const tooLarge = (smaller: string) => ({
    status: 400,
    retryAfter: null,
    document: {
      error: 'Bad Request',
      message: expect.stringMatching(
        new RegExp(
          `^The names in this reply have \\d+\\.\\d MiB, and a client of this server gets at most 8\\.0 MiB ` +
            `at once, compressed or not: ${smaller}`,
        ),
      ) as string,
      error_code: 'reply_too_large',
    },
  });

  it.each(['application/json', 'application/msgpack', 'application/vnd.apache.arrow.stream'])(
    'a page of %s that never fits is refused for good, compressed or not, and says what to ask for',
    async (accept) => {
      for (const encoding of ['identity', 'gzip']) {
        for (const group of ['market', 'venue', 'type']) {
          const reply = await ask(`/replay/${MINT}?group=${group}`, encoding, accept);
          expect(reply).toEqual(tooLarge('choose venues .*`group=all`'));
        }
      }
    },
  );

  it('a page that was refused takes no thread when it is asked for again', async () => {
    await ask(`/replay/${MINT}`, 'gzip');
    const { postedTasks } = service.pool;
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => ask(`/replay/${MINT}`, 'gzip')),
    );
    for (const reply of replies) expect(reply).toEqual(tooLarge('choose venues'));
    expect(service.pool.postedTasks).toBe(postedTasks);
  });

  it('what the refusal says to ask for succeeds', async () => {
    for (const encoding of ['gzip', 'identity']) {
      const all = await ask(`/replay/${MINT}?group=all`, encoding);
      expect([all.status, all.document?.row_count]).toEqual([200, 1]);
      const venue = await ask(`/replay/${MINT}?venues=${venueKey(MARKETS[0].source)}`, encoding);
      expect([venue.status, venue.document?.row_count]).toEqual([200, 1]);
    }
  });

  it('pages that list few of the names are the usual ones', async () => {
    const window = { from: NOW_S - 86_400, to: NOW_S - 30 };
    for (const [group, market] of [
      ['market', ALL.length - 1],
      ['venue', ALL.length - 1],
      ['type', 0],
    ] as const) {
      const venues = [venueKey(ALL[market].source)];
      const query = `?group=${group}&venues=${venues[0]}&from=${window.from}&to=${window.to}`;
      const { status, document } = await ask(`/replay/${MINT}${query}`, 'identity');
      const request = plainRequest(window.from, window.to, { group, venues });
      const token = { token: MINT, resolvedToken: null, chain: 'mainchain', clamped: false };
      const { reply } = referencePage(WITHOUT_OTHERS, request, PAGE_LIMITS, token);
      expect([status, document]).toEqual([200, JSON.parse(JSON.stringify(reply))]);
      expect(document?.markets).toHaveLength(1);
    }
  });

  it('/replay/:address/plan names nothing, and plans them', async () => {
    for (const [group, cells] of [
      ['market', 2],
      ['venue', 2],
      ['all', 1],
    ] as const) {
      const { status, document } = await ask(`/replay/${MINT}/plan?group=${group}`, 'gzip');
      expect([status, document?.row_count]).toEqual([200, cells]);
    }
  });

  it('/slippage is refused only if the orders take too many venues', async () => {
    const one = await ask(`/slippage/${WIDE_MINT}?side=sell&usd=0.5,1`, 'gzip');
    const [first] = WIDELY_NAMED;
    const venue = { key: venueKey(first.source), label: first.source, type: first.type };
    const quotes = [0.5, 1].map((usd): unknown =>
      expect.objectContaining({ usd, filled: true, venues: [{ ...venue, usd }] }),
    );
    expect([one.status, one.document?.fillable_usd, one.document?.quotes]).toEqual([
      200,
      WIDELY_NAMED.length,
      quotes,
    ]);
    const amounts = Array.from({ length: 20 }, (_, i) => 29_000 + i).join(',');
    for (const encoding of ['gzip', 'identity']) {
      for (const usd of ['30000', amounts]) {
        const reply = await ask(`/slippage/${WIDE_MINT}?side=sell&usd=${usd}`, encoding);
        expect(reply).toMatchObject({ status: 400, retryAfter: null });
        expect(reply.document?.message).toMatch(/at most 8\.0 MiB at once.*: send fewer amounts/);
      }
    }
    // Without names, moves are answered.
    const moves = await ask(`/slippage/${WIDE_MINT}?side=sell&move_pct=99.9`, 'gzip');
    expect([moves.status, moves.document?.moves]).toEqual([
      200,
      [{ move_pct: 99.9, usd: WIDELY_NAMED.length }],
    ]);
  });

  it('/depth-series by venue is refused, and what it says to ask for succeeds', async () => {
    const path = `/depth-series/${WIDE_MINT}?pct=100`;
    const [refused, venue, all] = await Promise.all([
      ask(`${path}&group=venue`, 'gzip'),
      ask(`${path}&group=venue&venues=${venueKey(WIDELY_NAMED[5].source)}`, 'gzip'),
      ask(path, 'gzip'),
    ]);
    expect(refused).toEqual(tooLarge('leave out `group`'));
    expect([venue.status, venue.document?.groups]).toEqual([
      200,
      [expect.objectContaining({ label: WIDELY_NAMED[5].source })],
    ]);
    const { support_usd: supportUsd } = all.document as { support_usd: number[][] };
    expect([all.status, supportUsd[0].at(-1)]).toEqual([200, WIDELY_NAMED.length]);
  });

  it('/coverage is refused too, without a thread', async () => {
    const { postedTasks } = service.pool;
    for (const encoding of ['identity', 'gzip']) {
      const reply = await ask(`/coverage/${MINT}`, encoding);
      expect(reply).toEqual(tooLarge('read its depth from /replay/:address with `group=all`'));
    }
    expect(service.pool.postedTasks).toBe(postedTasks);
  });
});

it('/coverage with names that are long but fit equals the history, in every form', async () => {
  const markets = NAMED.slice(0, 3000);
  const depth = new MemoryDepth().add('mainchain', MINT, {
    markets,
    snapshots: [
      {
        t: NOW_S - 60,
        tier: 'raw',
        price: 2,
        cells: markets.map((_, market) => ({ market, bin: -1, support: 100n, resistance: 0n })),
      },
    ],
  });
  const service = await startTestService({ depth });
  onTestFinished(() => service.stop());
  const expected = markets.map(({ source, exchangeType, type, address, pair }) => ({
    ...{ source, exchange_type: exchangeType, type, address, pair },
    ...{ first_t: NOW_S - 60, last_t: NOW_S - 60 },
  }));
  for (const accept of ['application/json', 'application/msgpack']) {
    for (const encoding of ['identity', 'gzip', 'br']) {
      const headers = { accept, 'accept-encoding': encoding };
      const reply = await service.get(`/coverage/${MINT}`, { headers });
      expect(reply.headers.get('content-encoding') ?? 'identity').toBe(encoding);
      const body = new Uint8Array(await reply.arrayBuffer());
      const document = accept.endsWith('json')
        ? (JSON.parse(Buffer.from(body).toString()) as object)
        : decodeMsgpack(body);
      expect(document).toEqual({
        token: MINT,
        chain: 'mainchain',
        tiers: [expect.objectContaining({ tier: 'raw', snapshot_count: 1 })],
        gaps: [],
        gaps_truncated: false,
        markets: expected,
      });
    }
  }
});
