import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MemoryDepth } from '../support/memory-depth.js';
import { NOW_S, heldService, steadyStore } from '../support/service.js';
import { MINT } from '../support/stores.js';

interface Found {
  address: string;
  chain: string;
  symbol: string | null;
  name: string | null;
  service_score: number | null;
}
interface Reply {
  count: number;
  next_cursor: string | null;
  tokens: (Found & Record<string, unknown>)[];
}

const SYMBOLS = ['SOL', 'sol', 'SOLX', 'ABC', 'abcd', 'Straße', null];
const NAMES = ['Solana', 'Abacus', 'sol of abc', 'STRASSE', 'İstanbul', null];

const depth = new MemoryDepth();
const details: Record<string, { symbol: string | null; name: string | null }> = {};
for (let i = 0; i < 60; i++) {
  const isMain = i % 3 > 0;
  const digits = String(1000 + i).replaceAll('0', 'A');
  const address = isMain
    ? `${i % 2 ? 'So' : 'ab'}${digits}`.padEnd(43, '1')
    : `0x${String(i).padStart(40, 'ab')}`;
  // Some have no snapshot, so they have no score.
  const store = steadyStore(i % 4 === 0 ? 0 : 2, 1 + (i % 5));
  depth.add(isMain ? 'mainchain' : 'evmchain', address, store);
  details[address] = { symbol: SYMBOLS[i % SYMBOLS.length], name: NAMES[i % NAMES.length] };
}
/** A place of the list of all tokens, as anyone can write it. */
const forged = (place: string): string => {
  const list = String(crc32(JSON.stringify(['all', ''])));
  return Buffer.from(place.replace('LIST', list)).toString('base64url');
};
const PLACE = `[false,5,"${MINT}",LIST]`;
const service = await heldService({ depth, details });
const all: Found[] = (await get('chain=all&limit=100')).tokens;

async function get(parameters: string): Promise<Reply> {
  const reply = await service.get(`/tokens?${parameters}`);
  expect(reply.status).toBe(200);
  return (await reply.json()) as Reply;
}

/** By the definition. */
function plainSearch(query: string, chain: string): string[] {
  const lower = query.toLowerCase();
  const begins = (text: string | null) => text !== null && text.toLowerCase().startsWith(lower);
  const found = all.filter(
    (token) =>
      (chain === 'all' || token.chain === chain) &&
      (begins(token.symbol) ||
        begins(token.name) ||
        token.address.startsWith(token.chain === 'evmchain' ? lower : query)),
  );
  const isExact = ({ symbol }: Found) => symbol?.toLowerCase() === lower;
  return found
    .sort(
      (a, b) =>
        Number(isExact(b)) - Number(isExact(a)) ||
        (b.service_score ?? -1) - (a.service_score ?? -1) ||
        (a.address < b.address ? -1 : 1),
    )
    .map(({ address }) => address);
}

describe('GET /tokens', () => {
  it('finds by symbol, name and address, in order, complete across its pages', async () => {
    expect(all.length).toBe(60);
    const queries = fc.constantFrom(
      '',
      's',
      'SOL',
      'sol',
      'Sol',
      'abc',
      '0xAB',
      'ab',
      'AB',
      'STRA',
      'İ',
      'zz',
    );
    const chains = fc.constantFrom('mainchain', 'evmchain', 'all');
    await fc.assert(
      fc.asyncProperty(
        queries,
        chains,
        fc.integer({ min: 1, max: 25 }),
        async (query, chain, limit) => {
          const parameters = new URLSearchParams({
            chain,
            limit: String(limit),
            ...(query && { query }),
          });
          const found: string[] = [];
          for (;;) {
            const page = await get(String(parameters));
            found.push(...page.tokens.map(({ address }) => address));
            expect(page.count).toBe(page.tokens.length);
            if (page.next_cursor === null) break;
            expect(page.count).toBe(limit);
            parameters.set('cursor', page.next_cursor);
          }
          expect(found).toEqual(plainSearch(query, chain));
        },
      ),
      { numRuns: 30 },
    );
  });

  it('describes a token, and echoes the request', async () => {
    const scored = all.find((token) => token.service_score !== null && token.chain === 'evmchain');
    const address = scored?.address ?? '';
    expect(await get(`query=${address.toUpperCase().replace('0X', '0x')}&chain=evmchain`)).toEqual({
      query_parameters: {
        query: address.toUpperCase().replace('0X', '0x'),
        chain: 'evmchain',
        limit: 20,
        cursor: null,
      },
      chain: 'evmchain',
      count: 1,
      next_cursor: null,
      tokens: [
        expect.objectContaining({
          address,
          icon: null,
          status: 'available',
          price_usd: 2.5,
          last_refresh: NOW_S,
          first_snapshot_at: NOW_S - 60,
          last_snapshot_at: NOW_S,
        }),
      ],
    });
    const bare = all.find((token) => token.service_score === null);
    expect(bare).toMatchObject({
      price_usd: null,
      first_snapshot_at: null,
      last_snapshot_at: null,
    });
    // Like other lists: mainchain unless another chain is requested.
    expect((await get('')).tokens.every(({ chain }) => chain === 'mainchain')).toBe(true);
  });

  it('takes a cursor only of the same query and chain, whatever the limit', async () => {
    const { next_cursor: cursor } = await get('query=s&chain=all&limit=1');
    expect((await get(`query=s&chain=all&limit=2&cursor=${cursor}`)).count).toBe(2);
    for (const other of ['query=so&chain=all', 'chain=all', 'query=s', 'query=S&chain=all']) {
      const reply = await service.get(`/tokens?${other}&cursor=${cursor}`);
      expect(await reply.json(), other).toMatchObject({
        error_code: 'invalid_parameter',
        message: 'cursor: expected one of the same query and chain',
      });
    }
  });

  it('takes a cursor of any place of the list', async () => {
    expect((await get(`chain=all&cursor=${forged(PLACE)}`)).count).toBeGreaterThan(0);
  });

  it.each([
    ['cursor=abc', 'cursor'],
    ['cursor=WzEsMiwzXQ', 'cursor'],
    ...[
      `[false,101,"${MINT}",LIST]`,
      `[false,-2,"${MINT}",LIST]`,
      `[false,1e999,"${MINT}",LIST]`,
      '[false,5,"no address",LIST]',
      `[1,5,"${MINT}",LIST]`,
      `[false, 5,"${MINT}",LIST]`,
      `[false,5,"${MINT}",LIST,1]`,
    ].map((place) => [`chain=all&cursor=${forged(place)}`, 'cursor']),
    [`chain=all&cursor=${forged(PLACE)}AAAA`, 'cursor'],
  ])('refuses %s', async (parameters, parameter) => {
    const reply = await service.get(`/tokens?${parameters}`);
    expect(reply.status).toBe(400);
    expect(await reply.json()).toMatchObject({ error_code: 'invalid_parameter', parameter });
  });
});
