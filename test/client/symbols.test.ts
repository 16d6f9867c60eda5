/** Tokens by symbol: the rule against its definition, and the client against a running server. */
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import {
  fathomClient,
  namedToken,
  pickToken,
  SymbolError,
  type TokenCandidate,
} from '../../client/index.js';
import { MemoryDepth } from '../support/memory-depth.js';
import { startProxy } from '../support/replay-proxy.js';
import { ENTERPRISE_KEY, heldService, KEY, MINT, NOW_S, steadyStore } from '../support/service.js';

const EVM = `0x${'ab'.repeat(20)}`;

describe('a text names a token', () => {
  it.each([
    [MINT, { chain: 'mainchain', address: MINT }],
    [EVM.toUpperCase().replace('0X', '0x'), { chain: 'evmchain', address: `0x${'AB'.repeat(20)}` }],
    [`mainchain:${MINT}`, { chain: 'mainchain', address: MINT }],
    [`evmchain:${EVM}`, { chain: 'evmchain', address: EVM }],
    ['WETH', { chain: null, symbol: 'WETH' }],
    ['evmchain:WETH', { chain: 'evmchain', symbol: 'WETH' }],
    ['solana:SOL', { chain: null, symbol: 'solana:SOL' }],
    ['evmchain:a:b', { chain: 'evmchain', symbol: 'a:b' }],
    ['mainchain', { chain: null, symbol: 'mainchain' }],
    [' $ wif 🐶', { chain: null, symbol: ' $ wif 🐶' }],
    ['0x12', { chain: null, symbol: '0x12' }],
  ])('%s', (text, named) => {
    expect(namedToken(text)).toEqual(named);
  });

  it('unless it is empty, or an address of another chain', () => {
    for (const text of ['', 'mainchain:']) {
      expect(() => namedToken(text)).toThrow(
        'expected an address, CHAIN:ADDRESS, a symbol or CHAIN:SYMBOL',
      );
    }
    expect(() => namedToken(`evmchain:${MINT}`)).toThrow(
      `expected an address of evmchain, found '${MINT}'`,
    );
  });
});

describe('of the tokens with a symbol', () => {
  const candidate = fc.record({
    chain: fc.constantFrom('mainchain' as const, 'evmchain' as const),
    symbol: fc.constantFrom('A', 'a', 'AB', null),
    name: fc.constantFrom('Some', null),
    service_score: fc.constantFrom(12.5, 0, true as const, null),
  });

  it('the only one is taken, or the only scored one, and no other', () => {
    const wanted = fc.record({
      symbol: fc.constantFrom('A', 'AB'),
      chain: fc.constantFrom('mainchain' as const, 'evmchain' as const, null),
    });
    fc.assert(
      fc.property(fc.array(candidate, { maxLength: 6 }), wanted, (rows, { symbol, chain }) => {
        const found: TokenCandidate[] = rows.map((row, i) => ({ ...row, address: `token-${i}` }));
        const same = found.filter(
          (one) => one.symbol === symbol && [one.chain, null].includes(chain),
        );
        const scored = same.filter((one) => one.service_score !== null);
        let picked: string | SymbolError;
        try {
          picked = pickToken({ symbol, chain }, found).address;
        } catch (error) {
          picked = error as SymbolError;
        }
        const unique = same.length === 1 ? same : scored.length === 1 ? scored : null;
        if (unique !== null) {
          expect(picked).toBe(unique[0].address);
          return;
        }
        expect(picked).toBeInstanceOf(SymbolError);
        const { code, candidates } = picked as SymbolError;
        expect(code).toBe(same.length === 0 ? 'unknown_symbol' : 'ambiguous_symbol');
        if (same.length > 0) expect(new Set(candidates)).toEqual(new Set(same));
      }),
    );
  });

  it('a refusal shows candidates on one line, and how to name one', () => {
    const token = (chain: 'mainchain' | 'evmchain', address: string, score: number | null) => ({
      chain,
      address,
      symbol: 'A',
      name: 'Bad\nname\u001b[2J',
      service_score: score,
    });
    const both = [token('mainchain', MINT, 7), token('evmchain', EVM, 8)];
    expect(() => pickToken({ symbol: 'A', chain: null }, both)).toThrow(
      `2 tokens have the symbol 'A': mainchain:${MINT} (A, Bad name [2J, score 7), evmchain:${EVM} (A, Bad name [2J, score 8); name one by mainchain:A or evmchain:A or its address`,
    );
    const many = Array.from({ length: 7 }, (_, i) => token('evmchain', `0x${i}`, null));
    expect(() => pickToken({ symbol: 'A', chain: 'evmchain' }, many)).toThrow(
      /^7 tokens on evmchain have the symbol 'A': .* and 2 more; name one by its address$/,
    );
    expect(() =>
      pickToken({ symbol: 'A', chain: null }, [token('mainchain', MINT, null), ...many]),
    ).toThrow(/; name one by mainchain:A or its address$/);
  });
});

describe('the client', async () => {
  const depth = new MemoryDepth();
  const details: Record<string, { symbol: string | null; name: string | null }> = {};
  const add = (symbol: string, address: string, scored = true): string => {
    const chain = address.startsWith('0x') ? 'evmchain' : 'mainchain';
    depth.add(chain, address, steadyStore(scored ? 20 : 0, 3));
    details[address] = { symbol, name: `Token ${symbol}` };
    return address;
  };
  const mint = (letter: string): string => `${letter}`.repeat(40);
  const evm = (digit: string): string => `0x${digit.repeat(40)}`;
  const sol = add('SOL', MINT);
  const both = [add('BOTH', mint('B')), add('BOTH', evm('b'))];
  const kept = add('COPY', mint('C'));
  for (const digit of '123456789') add('COPY', evm(digit), false);
  const lower = add('weth', evm('e'));
  const strange = add(' $:wif 🐶', mint('D'));
  // Its symbol is another token's address.
  add(sol, mint('E'));
  // More than one page of tokens with the same symbol in another case, each scored.
  for (let i = 0; i < 120; i++) {
    add('Pepe', `${'P'.repeat(30)}${String(100 + i).replaceAll('0', 'z')}`);
  }
  const pepe = add('PEPE', mint('z'), false);
  const service = await heldService({ depth, details });
  const proxy = await startProxy(service.server.url);
  afterAll(() => proxy.close());
  const clientOf = (url: string) => fathomClient({ url, key: KEY });
  const client = clientOf(service.server.url);
  const address = async (token: string): Promise<string> => (await client.findToken(token)).address;

  it('finds tokens by every form', async () => {
    expect(await address('SOL')).toBe(sol);
    expect(await address('mainchain:SOL')).toBe(sol);
    expect(await address(sol)).toBe(sol);
    expect(await address('COPY')).toBe(kept);
    expect(await address('mainchain:BOTH')).toBe(both[0]);
    expect(await address('evmchain:BOTH')).toBe(both[1]);
    expect(await address(' $:wif 🐶')).toBe(strange);
    expect(await address('PEPE')).toBe(pepe);
    expect(await client.findToken('weth')).toMatchObject({
      chain: 'evmchain',
      address: lower,
      name: 'Token weth',
    });
  });

  it.each([
    ['BOTH', 'ambiguous_symbol', 2],
    ['evmchain:COPY', 'ambiguous_symbol', 9],
    ['Pepe', 'ambiguous_symbol', 120],
    // Case counts; the nearest is shown.
    ['WETH', 'unknown_symbol', 1],
    ['SOLL', 'unknown_symbol', 2],
    ['evmchain:SOL', 'unknown_symbol', 0],
    ['solana:SOL', 'unknown_symbol', 0],
    ['🦄', 'unknown_symbol', 0],
    ['x'.repeat(300), 'unknown_symbol', 0],
  ])('refuses %s: %s', async (token, code, candidates) => {
    const refused = client.findToken(token).catch((error: unknown) => error as SymbolError);
    const error = await refused;
    expect(error).toBeInstanceOf(SymbolError);
    const failure = error as SymbolError;
    expect([failure.name, failure.status, failure.code, failure.candidates.length]).toEqual([
      'FathomError',
      null,
      code,
      candidates,
    ]);
  });

  it('takes a symbol in every method that takes a token', async () => {
    const window = { from: NOW_S - 86_400, to: NOW_S };
    const first = async <T>(items: AsyncIterable<T>): Promise<T> => {
      for await (const item of items) return item;
      throw new Error('nothing came');
    };
    expect((await client.getScore({ address: 'SOL' })).address).toBe(sol);
    const lookedUp = { address: 'BOTH', chain: 'evmchain' as const };
    expect((await client.getScore(lookedUp)).address).toBe(both[1]);
    expect((await client.getDcaOrders({ token_address: 'SOL' })).token.address).toBe(sol);
    expect((await first(client.replay('SOL', window))).token).toBe(sol);
    expect((await first(client.depthSeries('SOL', window))).token).toBe(sol);
    expect((await first(client.snapshots('mainchain:BOTH', window))).bin.length).toBeGreaterThan(2);
    const enterprise = fathomClient({ url: service.server.url, key: ENTERPRISE_KEY });
    const { tokens } = await enterprise.postScore({ addresses: ['weth', sol, 'weth'] });
    expect(tokens.map((token) => token.address)).toEqual([lower, sol, lower]);
    await expect(first(client.replay('BOTH'))).rejects.toBeInstanceOf(SymbolError);
    expect(() => client.replay(sol, {}, { ahead: 0 })).toThrow(/ahead: expected/);
  });

  it('asks once for each symbol, and again after a failure', async () => {
    const asking = clientOf(proxy.url);
    const tokens = (): number => proxy.requests.filter((one) => one.includes('/tokens?')).length;
    await asking.getScore({ address: 'SOL' });
    await asking.getScore({ address: 'SOL' });
    await asking.getCoverage({ address: 'SOL' });
    expect(tokens()).toBe(1);
    await expect(asking.findToken('BOTH')).rejects.toBeInstanceOf(SymbolError);
    await expect(asking.findToken('BOTH')).rejects.toBeInstanceOf(SymbolError);
    expect(tokens()).toBe(3);
    await asking.getScore({ address: sol });
    expect(tokens()).toBe(3);
  });
});
