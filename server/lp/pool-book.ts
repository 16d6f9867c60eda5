/** The DLMM pools of the store in memory. */
import { boardPools, type BoardPools, type DlmmPool } from '../../compute/lp/dlmm-pool.js';
import { sortInTurns, type Turns } from '../turns.js';

/** Nothing of it changes: other pools are another book. */
export interface PoolBook {
  /** Ascending by pubkey. */
  pools: readonly DlmmPool[];
  /** The same pools as the board's task takes them. */
  columns: BoardPools;
  /** Indexes of the pools that hold a mint, on either side, ascending. */
  ofMint: ReadonlyMap<string, readonly number[]>;
  indexOf: ReadonlyMap<string, number>;
}

export const EMPTY_BOOK: PoolBook = {
  pools: [],
  columns: boardPools([], []),
  ofMint: new Map(),
  indexOf: new Map(),
};

/** @param quotes mints, the one that is quote before all others first */
export async function makePoolBook(
  unordered: readonly DlmmPool[],
  quotes: readonly string[],
  turns: Turns,
): Promise<PoolBook> {
  const pools = await sortInTurns(unordered, (a, b) => (a.pubkey < b.pubkey ? -1 : 1), turns);
  const ofMint = new Map<string, number[]>();
  const indexOf = new Map<string, number>();
  for (const [index, { pubkey, tokenXMint, tokenYMint }] of pools.entries()) {
    indexOf.set(pubkey, index);
    for (const mint of new Set([tokenXMint, tokenYMint])) {
      const known = ofMint.get(mint);
      if (known === undefined) ofMint.set(mint, [index]);
      else known.push(index);
    }
    await turns.take();
  }
  return { pools, columns: boardPools(pools, quotes), ofMint, indexOf };
}

/** Indexes of the pools that `pubkeys` name; -1 for one that is not in the book. */
export async function indexesOf(
  { indexOf }: PoolBook,
  pubkeys: readonly string[],
  turns: Turns,
): Promise<Int32Array> {
  const indexes = new Int32Array(pubkeys.length);
  for (let i = 0; i < pubkeys.length; i++) {
    indexes[i] = indexOf.get(pubkeys[i]) ?? -1;
    await turns.take();
  }
  return indexes;
}

/** Pubkeys of the pools at `indexes`, by base token, ascending; -1 is left out. */
export function poolsByBase(
  { pools, columns: { base, baseMints } }: PoolBook,
  indexes: Int32Array,
): Map<string, string[]> {
  const isNamed = new Uint8Array(pools.length);
  for (const index of indexes) if (index >= 0) isNamed[index] = 1;
  const byBase = new Map<string, string[]>();
  for (let index = isNamed.indexOf(1); index >= 0; index = isNamed.indexOf(1, index + 1)) {
    const mint = baseMints[base[index]];
    const known = byBase.get(mint);
    if (known === undefined) byBase.set(mint, [pools[index].pubkey]);
    else known.push(pools[index].pubkey);
  }
  return byBase;
}
