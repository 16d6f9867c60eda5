/** Which of a pool's two tokens is the base, which the quote. */
import type { DlmmPool } from './dlmm-pool.js';

export type PoolSide = 'x' | 'y';

type PoolMints = Pick<DlmmPool, 'tokenXMint' | 'tokenYMint'>;

/**
 * The base's side: the higher of the two in the list of quote tokens is the quote; with neither
 * in it, y is.
 * @param quotes mints, the first one the highest
 */
export function baseSide(
  { tokenXMint, tokenYMint }: PoolMints,
  quotes: readonly string[],
): PoolSide {
  const rank = (mint: string) => {
    const at = quotes.indexOf(mint);
    return at < 0 ? quotes.length : at;
  };
  return rank(tokenXMint) < rank(tokenYMint) ? 'y' : 'x';
}

/** A pool's tokens by their part in it. */
export function baseAndQuote(
  pool: PoolMints,
  quotes: readonly string[],
): { baseMint: string; quoteMint: string } {
  const { tokenXMint: x, tokenYMint: y } = pool;
  return baseSide(pool, quotes) === 'x'
    ? { baseMint: x, quoteMint: y }
    : { baseMint: y, quoteMint: x };
}

/** The pools of the store as the board needs them; pool i is index i of both. */
export interface BoardPools {
  pubkeys: string[];
  /** Index into `baseMints`. */
  base: Uint32Array;
  baseMints: string[];
}

/** Pools with their base tokens, in the order given. */
export function boardPools(
  pools: readonly (PoolMints & Pick<DlmmPool, 'pubkey'>)[],
  quotes: readonly string[],
): BoardPools {
  const indexOf = new Map<string, number>();
  const base = Uint32Array.from(pools, (pool) => {
    const { baseMint } = baseAndQuote(pool, quotes);
    const index = indexOf.get(baseMint) ?? indexOf.size;
    indexOf.set(baseMint, index);
    return index;
  });
  return { pubkeys: pools.map(({ pubkey }) => pubkey), base, baseMints: [...indexOf.keys()] };
}
