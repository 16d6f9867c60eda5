/** Pools on chains as sources of a collector. */
import { setImmediate } from 'node:timers/promises';
import { isKey } from '../../compute/base58.js';
import { canonicalAddress, type Chain, chainOfAddress } from '../../compute/market.js';
import type { TokenName } from '../../storage/contract.js';
import { messageOf } from '../../storage/errors.js';
import type { JsonFields } from '../../storage/import/fields.js';
import { quoteUsdOf } from '../../storage/import/quote-prices.js';
import { wallS } from '../../storage/wall-clock.js';
import { addressOf } from '../exchange-market.js';
import type { Missing, Sample, Source, SourceContext } from '../source.js';
import {
  ChainReader,
  evmReader,
  type ReadPools,
  type ReceivedState,
  solanaReader,
} from './chain-reader.js';
import { JsonRpc } from './json-rpc.js';
import { viewOf } from './pool-state.js';
import { POOL_PROGRAMS } from './solana-layouts.js';
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
  /** What is real that the code was compared with. */
  compared: string;
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

/** What the pools of a collector share: nodes by URL, and readers by token and URL. */
class Shared {
  private static readonly of = new WeakMap<SourceContext, Shared>();
  readonly nodes = new Map<string, JsonRpc>();
  readonly readers = new Map<string, unknown>();

  static in(context: SourceContext): Shared {
    const known = Shared.of.get(context) ?? new Shared();
    Shared.of.set(context, known);
    return known;
  }
}

function follow<Pool>(
  pool: Pool,
  read: (node: JsonRpc) => ReadPools<Pool>,
  { rpc, token }: NodeName,
  context: SourceContext,
): FollowedPool {
  const { nodes, readers } = Shared.in(context);
  const node = nodes.get(rpc) ?? new JsonRpc(rpc);
  nodes.set(rpc, node);
  // A token's chain has one kind of pools.
  const key = `${token.chain}:${token.address} ${rpc}`;
  const known = readers.get(key) as ChainReader<Pool> | undefined;
  const reader = known ?? new ChainReader(read(node), context.everyS, wallS);
  readers.set(key, reader);
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
    compared: "Uniswap's contracts",
    follow: (address, node, context) =>
      follow(new UniswapPool(address, version), evmReader, node, context),
  };
}

function solanaKind(kind: string, compared: string): PoolKind {
  const programs = POOL_PROGRAMS.filter((program) => program.kind === kind);
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
  whirlpool: solanaKind('whirlpool', '81 real pools'),
  'raydium-clmm': solanaKind('raydium-clmm', 'a real pool'),
  'raydium-cp': solanaKind('raydium-cp', 'a real pool of each program'),
  'meteora-dlmm': solanaKind('meteora-dlmm', 'a real pool'),
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
  const rpc = addressOf(fields, 'rpc', ['http:', 'https:']);
  if (rpc === undefined)
    throw fields.fault('rpc', "expected the URL of a node of the pool's chain");
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
  compared: string;
}

class PoolSource implements Source {
  readonly name: string;
  readonly venue: string;
  readonly exchangeType = 'DEX';
  readonly type = 'onchain_pool';
  readonly losses = 'not needed: read whole';
  readonly compared: string;

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
    const { address, token } = this.about;
    try {
      const { state, receivedMs } = await this.pool.stateAt(t);
      // Those that were read together take their turns: a pool with a thousand ticks takes some 5 ms.
      await setImmediate();
      const view = viewOf(state, address, token.address);
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
