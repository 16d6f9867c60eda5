/** The chain rules (docs/definitions.md#chain-rules) over every endpoint, kind of address and chain value. */
import { describe, expect, it } from 'vitest';
import { ENDPOINTS } from '../../server/endpoints.js';
import { resolveChain, type ChainQuestion, type ChainRule } from '../../server/api/chain.js';
import { ApiError } from '../../server/http/errors.js';
import {
  ADDRESSES,
  CHAIN_VALUES,
  EVM_ID,
  LEG,
  MINT,
  TABLE,
  expectedOfChain,
  kindsOf,
  type AddressKind,
} from '../reference/chain-rules.js';

function outcome(rule: ChainRule, question: ChainQuestion): Record<string, unknown> {
  try {
    return { ...resolveChain(rule, question, EVM_ID) };
  } catch (error) {
    expect(error).toBeInstanceOf(ApiError);
    const { status, body } = error as ApiError;
    expect(status).toBe(400);
    return body;
  }
}

const asked = (rule: ChainRule, kind: AddressKind, chain: string | null): ChainQuestion => {
  const address = ADDRESSES[kind];
  const isBatch = rule.kind === 'batch';
  return {
    chain,
    address: isBatch ? null : address,
    addresses: isBatch && address ? [address] : [],
  };
};

/** /usage is about the key alone. */
const ABOUT_TOKENS = Object.fromEntries(
  Object.entries<{ chain: ChainRule }>(ENDPOINTS).filter(
    ([, { chain }]) => chain.kind !== 'absent',
  ),
);

describe('the chain parameter', () => {
  it('has a rule for every endpoint of the table', () => {
    expect(Object.keys(ABOUT_TOKENS).sort()).toEqual(Object.keys(TABLE).sort());
  });

  const cases = Object.entries(ABOUT_TOKENS).flatMap(([id, { chain: rule }]) =>
    kindsOf(rule).flatMap((kind) => CHAIN_VALUES.map((chain) => [id, kind, chain, rule] as const)),
  );

  it.each(cases)('%s with %s and chain=%s', (id, kind, chain, rule) => {
    const want = expectedOfChain(id as keyof typeof TABLE, kind, chain);
    const got = outcome(rule, asked(rule, kind, chain));
    expect(got).toMatchObject(want);
    if (!('error_code' in want)) return;
    const common = ['error', 'message', 'error_code'];
    const own = Object.keys(want).filter((name) => name !== 'error_code');
    expect(Object.keys(got).sort()).toEqual([...common, ...own].sort());
    expect(got.error).toBe('Bad Request');
  });

  it('reads the EVM chain by the id that is configured', () => {
    const question = { chain: '8453', address: LEG, addresses: [] };
    expect(resolveChain(ENDPOINTS.getScore.chain, question, 8453).chain).toBe('evmchain');
    const mint = () => resolveChain(ENDPOINTS.getScore.chain, { ...question, address: MINT }, 8453);
    expect(mint).toThrow(/address of mainchain, not of 8453/);
  });
});

describe('a batch', () => {
  const question = { address: null, chain: null };
  const other = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';

  it('keeps order and duplicates, each address on its own chain', () => {
    const addresses = [LEG, MINT, 'x', LEG.toLowerCase(), MINT];
    const answer = resolveChain(ENDPOINTS.postScore.chain, { ...question, addresses }, EVM_ID);
    const leg = { chain: 'evmchain', address: LEG.toLowerCase() };
    const mint = { chain: 'mainchain', address: MINT };
    expect(answer.tokens).toEqual([leg, mint, leg, mint]);
    expect(answer.invalidAddresses).toEqual(['x']);
  });

  it('names every address that contradicts its chain', () => {
    const addresses = [LEG, MINT, 'x', other];
    const body = outcome(ENDPOINTS.postScore.chain, { ...question, chain: 'evmchain', addresses });
    expect(body).toMatchObject({
      error_code: 'chain_mismatch',
      chain: 'evmchain',
      resolved_chain: 'mainchain',
      address: MINT,
      mismatched_addresses: [MINT, other],
    });
  });

  it('of a mainchain endpoint takes no 0x address, whatever the chain', () => {
    for (const chain of [null, 'all', 'mainchain']) {
      const addresses = [MINT, LEG];
      const body = outcome(ENDPOINTS.postWhaleActivity.chain, { ...question, chain, addresses });
      expect(body).toMatchObject({ error_code: 'chain_not_supported', chain: 'evmchain' });
    }
  });

  it('may be empty', () => {
    const answer = resolveChain(ENDPOINTS.postScore.chain, { ...question, addresses: [] }, EVM_ID);
    expect(answer.tokens).toEqual([]);
  });
});
