/** Pools on chains as sources of a collector. */
import { isKey } from '../../compute/base58.js';
import { canonicalAddress, type Chain, chainOfAddress } from '../../compute/market.js';
import type { TokenName } from '../../storage/contract.js';
import { messageOf } from '../../storage/errors.js';
import type { JsonFields } from '../../storage/import/fields.js';
import { quoteUsdOf } from '../../storage/import/quote-prices.js';
import { wallS } from '../../storage/wall-clock.js';
import type { Missing, Sample, Source, SourceContext } from '../source.js';
import {
  ChainReader,
  evmReader,
  type ReadPools,
  type ReceivedState,
  solanaReader,
} from './chain-reader.js';
import { viewOf } from './pool-state.js';
import {
  METEORA_DLMM,
  type PoolProgram,
  RAYDIUM_AMM,
  RAYDIUM_CLMM,
  RAYDIUM_CPMM,
  WHIRLPOOL,
} from './solana-layouts.js';
import { SolanaPool } from './solana-pools.js';
import { UniswapPool } from './uniswap.js';

const NO_PRICES = { quoteUsdByAddress: new Map<string, number>() };

/** A kind of pool in the configuration. */
interface PoolKind {
  chain: Chain;
  /** The field that holds the address. */
  addressField: 'pool' | 'pair';
  /** The name under which its markets are stored, unless `venue` gives another. */
  venue: string;
  /** The real pools that the code was compared with; null: only documents. */
  compared: string | null;
  /** Makes the pool, to be read with those of the token at the node. */
  follow(address: string, node: NodeName, context: SourceContext): FollowedPool;
}

/** Where a token's pools are read. */
interface NodeName {
  rpc: string;
  token: TokenName;
}

/** A pool and the reader that reads it. */
interface FollowedPool {
  start(): void;
  stateAt(t: number): Promise<ReceivedState>;
  stop(): void;
}

/** The readers of a collector, which the pools of a token at a node share. */
const readersOf = new WeakMap<SourceContext, Map<string, unknown>>();

function follow<Pool>(
  pool: Pool,
  read: (url: string) => ReadPools<Pool>,
  { rpc, token }: NodeName,
  context: SourceContext,
): FollowedPool {
  const readers = readersOf.get(context) ?? new Map<string, unknown>();
  readersOf.set(context, readers);
  // A token's chain has one kind of pools.
  const key = `${token.chain}:${token.address} ${rpc}`;
  if (!readers.has(key)) readers.set(key, new ChainReader(read(rpc), context.everyS, wallS));
  const reader = readers.get(key) as ChainReader<Pool>;
  return {
    start: () => reader.add(pool),
    stateAt: (t) => reader.stateAt(pool, t),
    stop: () => reader.remove(pool),
  };
}

function uniswapKind(version: 2 | 3, addressField: PoolKind['addressField']): PoolKind {
  return {
    chain: 'evmchain',
    addressField,
    venue: 'Uniswap',
    compared: "Uniswap's contracts, on a chain of their own",
    follow: (address, node, context) =>
      follow(new UniswapPool(address, version), evmReader, node, context),
  };
}

function solanaKind(compared: string | null, ...programs: PoolProgram[]): PoolKind {
  return {
    chain: 'mainchain',
    addressField: 'pool',
    venue: programs[0].venue,
    compared,
    follow: (address, node, context) =>
      follow(new SolanaPool(address, programs), solanaReader, node, context),
  };
}

const KINDS: Readonly<Record<string, PoolKind>> = {
  whirlpool: solanaKind('80 pools of 2022 (dynamic tick arrays: only documents)', WHIRLPOOL),
  'raydium-clmm': solanaKind(null, RAYDIUM_CLMM),
  'raydium-cp': solanaKind(null, RAYDIUM_CPMM, RAYDIUM_AMM),
  'meteora-dlmm': solanaKind('a pool of 2024', METEORA_DLMM),
  'uniswap-v3': uniswapKind(3, 'pool'),
  'uniswap-v2': uniswapKind(2, 'pair'),
};

/** By `kind` in the configuration. */
export const POOL_KINDS = Object.fromEntries(
  Object.entries(KINDS).map(([name, kind]) => [
    name,
    {
      fields: ['rpc', kind.addressField, 'venue'],
      read: (fields: JsonFields, id: string, token: TokenName) => readPool(kind, fields, id, token),
    },
  ]),
);

function readPool(
  kind: PoolKind,
  fields: JsonFields,
  id: string,
  token: TokenName,
): (context: SourceContext) => Source {
  if (kind.chain !== token.chain) {
    throw fields.fault('kind', `its pools are of ${kind.chain}, the token is of ${token.chain}`);
  }
  const rpc = fields.text('rpc');
  if (!URL.canParse(rpc) || !/^https?:$/.test(new URL(rpc).protocol)) {
    throw fields.fault('rpc', 'expected a URL of http or https');
  }
  const address = canonicalAddress(fields.text(kind.addressField));
  const isMint = kind.chain === 'evmchain' || isKey(address);
  if (chainOfAddress(address) !== kind.chain || !isMint) {
    const expected = kind.chain === 'evmchain' ? '0x and 40 hex digits' : 'a base58 address';
    throw fields.fault(kind.addressField, `expected ${expected}`);
  }
  const venue = fields.textOrNull('venue') ?? kind.venue;
  const about = { name: id, venue, address, token, compared: kind.compared };
  return (context) => new PoolSource(about, kind.follow(address, { rpc, token }, context));
}

interface AboutPool {
  name: string;
  venue: string;
  address: string;
  token: TokenName;
  compared: string | null;
}

class PoolSource implements Source {
  readonly name: string;
  readonly venue: string;
  readonly exchangeType = 'DEX';
  readonly type = 'onchain_pool';
  readonly losses = 'not needed: the whole pool at each interval';
  readonly compared: string | null;

  constructor(
    private readonly about: AboutPool,
    private readonly pool: FollowedPool,
  ) {
    ({ name: this.name, venue: this.venue, compared: this.compared } = about);
  }

  start(): void {
    this.pool.start();
  }

  async sample(t: number): Promise<Sample | Missing> {
    const { name, address, token } = this.about;
    try {
      const { state, receivedMs } = await this.pool.stateAt(t);
      const view = viewOf(state, name, token.address);
      if (typeof view === 'string') return { missing: view };
      const quoteUsd = quoteUsdOf(NO_PRICES, canonicalAddress(view.quote.address));
      return {
        price: view.price,
        body: (usd) => view.body(usd),
        address,
        pair: view.pair,
        ...(quoteUsd !== null && { quoteUsd }),
        ageMs: performance.now() - receivedMs,
      };
    } catch (error) {
      return { missing: messageOf(error) };
    }
  }

  stop(): void {
    this.pool.stop();
  }
}
