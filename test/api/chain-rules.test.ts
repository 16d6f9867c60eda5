/** The chain rules (docs/definitions.md#chain-rules) of batches and of other chains; chain-http.test.ts asks every endpoint. */
import { describe, expect, it } from 'vitest';
import { ENDPOINTS } from '../../server/endpoints.js';
import { resolveChain, type ChainRule } from '../../server/api/chain.js';
import { EVM_ID, LEG, MINT, TABLE } from '../reference/chain-rules.js';

describe('the chain parameter', () => {
  it('has a rule for every endpoint of the table', () => {
    // /usage depends only on the key.
    const aboutTokens = Object.entries<{ chain: ChainRule }>(ENDPOINTS)
      .filter(([, { chain }]) => chain.kind !== 'absent')
      .map(([id]) => id);
    expect(aboutTokens.sort()).toEqual(Object.keys(TABLE).sort());
  });

  it('reads the EVM chain by the configured id', () => {
    const question = { chain: '8453', address: LEG, addresses: [] };
    expect(resolveChain(ENDPOINTS.getScore.chain, question, 8453).chain).toBe('evmchain');
    const mint = () => resolveChain(ENDPOINTS.getScore.chain, { ...question, address: MINT }, 8453);
    expect(mint).toThrow(/address of mainchain, not of evmchain$/);
    const other = () => resolveChain(ENDPOINTS.getScore.chain, { ...question, chain: '101' }, 8453);
    expect(other).toThrow("chain: expected mainchain, evmchain, 8453 (evmchain) or all; was '101'");
  });

  const leg = `${LEG.toLowerCase()}, an address of evmchain`;
  it.each([
    [
      'getDcaOrders',
      { address: LEG },
      `token_address: this endpoint covers mainchain only, not ${leg}`,
    ],
    [
      'getDlmm',
      { address: LEG, chain: 'all' },
      `address: this endpoint covers mainchain only, not ${leg}`,
    ],
    ['getDlmmPools', { address: LEG }, `mint: this endpoint covers mainchain only, not ${leg}`],
    [
      'postWhaleActivity',
      { addresses: [MINT, LEG] },
      `token_addresses: this endpoint covers mainchain only, not ${leg}`,
    ],
    [
      'getDlmm',
      { address: LEG, chain: 'EvmChain' },
      'chain: this endpoint covers mainchain only, not evmchain',
    ],
    [
      'getMarketDepth',
      { address: LEG, chain: 'MainChain' },
      `chain: ${LEG.toLowerCase()} is an address of evmchain, not of mainchain`,
    ],
    ['getDlmm', { address: 'z'.repeat(60) }, `was '${'z'.repeat(60)}'`],
  ] as const)('%s of %o names what decided', (id, sent, message) => {
    const question = { chain: null, address: null, addresses: [], ...sent };
    expect(() => resolveChain(ENDPOINTS[id].chain, question, EVM_ID)).toThrow(message);
  });

  it('takes the x of a 0x address in either case', () => {
    const question = { chain: null, address: LEG.replace('0x', '0X'), addresses: [] };
    expect(resolveChain(ENDPOINTS.getScore.chain, question, EVM_ID).token).toEqual({
      chain: 'evmchain',
      address: LEG.toLowerCase(),
    });
  });
});

describe('a batch', () => {
  const other = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';

  it('keeps order and duplicates, each address on its own chain', () => {
    const addresses = [LEG, MINT, 'x', LEG.toLowerCase(), MINT];
    const question = { address: null, chain: null, addresses };
    const answer = resolveChain(ENDPOINTS.postScore.chain, question, EVM_ID);
    const leg = { chain: 'evmchain', address: LEG.toLowerCase() };
    const mint = { chain: 'mainchain', address: MINT };
    expect(answer.tokens).toEqual([leg, mint, leg, mint]);
    expect(answer.invalidAddresses).toEqual(['x']);
  });

  it('names every address that contradicts its chain', () => {
    const addresses = [LEG, MINT, 'x', other];
    const question = { address: null, chain: 'evmchain', addresses };
    const body = {
      error_code: 'chain_mismatch',
      chain: 'evmchain',
      resolved_chain: 'mainchain',
      address: MINT,
      mismatched_addresses: [MINT, other],
    };
    expect(() => resolveChain(ENDPOINTS.postScore.chain, question, EVM_ID)).toThrow(
      expect.objectContaining({ status: 400, body: expect.objectContaining(body) as object }),
    );
  });
});
