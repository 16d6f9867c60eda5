/** The chain rule of every endpoint of the API (api.md 4.0), by operation. */
import { CHAINS, type Chain } from '../compute/market.js';
import type { ChainRule } from './api/chain.js';

const MAINCHAIN: readonly Chain[] = ['mainchain'];
const inPath = { in: 'path', name: 'address' } as const;
const inQuery = { in: 'query', name: 'token_address' } as const;

export const CHAIN_RULES = {
  getScore: { kind: 'address', at: inPath, supported: CHAINS, numericIds: true },
  postScore: {
    kind: 'batch',
    name: 'addresses',
    supported: CHAINS,
    invalid: 'listed',
    namesOffenders: true,
  },
  getTopScores: { kind: 'list', supported: CHAINS },
  getMarketDepth: { kind: 'address', at: inQuery, supported: CHAINS },
  getDcaPressure: { kind: 'list', supported: MAINCHAIN },
  getDcaOrders: { kind: 'address', at: inQuery, supported: MAINCHAIN },
  getLimitOrders: { kind: 'filter', at: inQuery, supported: CHAINS },
  getWhaleActivity: { kind: 'address', at: inQuery, supported: MAINCHAIN },
  postWhaleActivity: {
    kind: 'batch',
    name: 'token_addresses',
    supported: MAINCHAIN,
    invalid: 'refused',
  },
  getDlmm: { kind: 'address', at: inPath, supported: MAINCHAIN },
  getDlmmPools: { kind: 'list', supported: MAINCHAIN, scope: 'mint' },
  getLpCheatSheet: { kind: 'list', supported: MAINCHAIN },
  getReplay: { kind: 'none', at: inPath, supported: CHAINS },
} as const satisfies Record<string, ChainRule>;
