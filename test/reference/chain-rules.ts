/** A plain second implementation of the chain parameter (docs/definitions.md#chain-rules). */
import type { ChainRule } from '../../server/api/chain.js';

export const MINT = 'So11111111111111111111111111111111111111112';
export const LEG = '0xABCDEF0000000000000000000000000000000aBc';
/** The numeric id that means evmchain. */
export const EVM_ID = 1;

/** Chains by endpoint (docs/definitions.md#chain-rules). */
export const TABLE = {
  getScore: ['mainchain evmchain', 'derived'],
  postScore: ['mainchain evmchain', 'derived per address'],
  getTopScores: ['mainchain evmchain', 'mainchain'],
  getMarketDepth: ['mainchain evmchain', 'derived'],
  getLimitOrders: ['mainchain evmchain', 'own'],
  getDcaPressure: ['mainchain', 'mainchain'],
  getDcaOrders: ['mainchain', 'derived'],
  getWhaleActivity: ['mainchain', 'derived'],
  postWhaleActivity: ['mainchain', 'derived per address'],
  getDlmm: ['mainchain', 'derived'],
  getDlmmPools: ['mainchain', 'mainchain'],
  getLpCheatSheet: ['mainchain', 'mainchain'],
  getReplay: ['mainchain evmchain', 'no parameter'],
  getReplayPlan: ['mainchain evmchain', 'no parameter'],
  getDepthSeries: ['mainchain evmchain', 'no parameter'],
  getCoverage: ['mainchain evmchain', 'no parameter'],
  getSlippage: ['mainchain evmchain', 'no parameter'],
  getTokens: ['mainchain evmchain', 'mainchain'],
} as const;

export const ADDRESSES = { none: null, mint: MINT, leg: LEG, invalid: 'no address' } as const;
export type AddressKind = keyof typeof ADDRESSES;

/** Kinds of address that an endpoint may be sent. */
export function kindsOf(rule: ChainRule): AddressKind[] {
  if (rule.kind !== 'list') return ['mint', 'leg', 'invalid'];
  return rule.scope === undefined ? ['none'] : ['none', 'mint', 'leg', 'invalid'];
}

/** Values that a request may send, known and not. */
export const CHAIN_VALUES = [
  null,
  'mainchain',
  'evmchain',
  'all',
  '1',
  '01',
  '8453',
  '',
  'ALL',
  'Mainchain',
  'EVMCHAIN',
  'main chain',
  'solana',
  'mainchain,evmchain',
];
/** Where an endpoint has its address. */
const ADDRESS_FIELDS: Partial<Record<keyof typeof TABLE, string>> = {
  getMarketDepth: 'token_address',
  getDcaOrders: 'token_address',
  getLimitOrders: 'token_address',
  getWhaleActivity: 'token_address',
  postWhaleActivity: 'token_addresses',
  getDlmmPools: 'mint',
};

const invalidAddress = (id: keyof typeof TABLE) => ({
  error_code: 'invalid_address',
  parameter: ADDRESS_FIELDS[id] ?? 'address',
});

/** What a request must get: an answer, or an error code with its fields. */
export function expectedOfChain(
  id: keyof typeof TABLE,
  kind: AddressKind,
  sent: string | null,
): object {
  const [chains, absent] = TABLE[id];
  const supported: string[] = chains.split(' ');
  const own = kind === 'leg' ? 'evmchain' : 'mainchain';
  const address = kind === 'leg' ? LEG.toLowerCase() : MINT;
  const token = { chain: own, address };
  if (absent === 'no parameter') {
    return kind === 'invalid' ? invalidAddress(id) : { chain: own, token };
  }
  const numeric = id === 'getScore' && sent === String(EVM_ID);
  const meant = numeric ? 'evmchain' : (sent?.toLowerCase() ?? null);
  const unsupported = (chain: string | null) => ({
    error_code: 'chain_not_supported',
    chain,
    supported_chains: supported,
  });
  if (meant !== null && !['mainchain', 'evmchain', 'all'].includes(meant)) {
    return { error_code: 'invalid_chain', chain: sent, supported_chains: supported };
  }
  if (meant !== null && meant !== 'all' && !supported.includes(meant)) return unsupported(sent);
  const isBatch = absent === 'derived per address';
  if (kind === 'invalid') {
    return id === 'postScore'
      ? { tokens: [], invalidAddresses: [ADDRESSES.invalid] }
      : invalidAddress(id);
  }
  if (kind !== 'none' && !supported.includes(own)) return unsupported(own);
  const named = meant === 'all' && supported.length === 1 ? 'mainchain' : meant;
  switch (absent) {
    case 'mainchain':
      return { chain: named ?? 'mainchain', token: kind === 'none' ? null : token };
    case 'own':
      return { chain: named ?? own, token };
    default: {
      if (meant !== null && meant !== 'all' && meant !== own) {
        const offenders = id === 'postScore' ? { mismatched_addresses: [address] } : {};
        const fields = { chain: sent, resolved_chain: own, address, ...offenders };
        return { error_code: 'chain_mismatch', ...fields };
      }
      return isBatch ? { chain: null, tokens: [token] } : { chain: own, token };
    }
  }
}
