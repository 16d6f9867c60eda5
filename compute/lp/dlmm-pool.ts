/** DLMM pools: their state, price and base tokens (docs/definitions.md#dlmm-pools). */
import { LargeMap } from '../large-map.js';

/** A row of dataset `dlmm_pools`; mainchain. */
export interface DlmmPool {
  pubkey: string;
  /** Basis points between two bins. */
  binStep: number;
  activeId: number;
  tokenXMint: string;
  tokenYMint: string;
  tokenXDecimals: number;
  tokenYDecimals: number;
  /** Human units. */
  reserveX: number;
  reserveY: number;
  /** Percent. */
  baseFeePct: number;
  dynamicFeePct: number;
  numPositions: number;
  numWallets: number;
}

/** Price of X in Y: `(1 + bin_step/10000)^active_id * 10^(decimals_x - decimals_y)`. */
export function poolPrice({
  binStep,
  activeId,
  tokenXDecimals,
  tokenYDecimals,
}: Pick<DlmmPool, 'binStep' | 'activeId' | 'tokenXDecimals' | 'tokenYDecimals'>): number {
  return Math.pow(1 + binStep / 10_000, activeId) * Math.pow(10, tokenXDecimals - tokenYDecimals);
}

const USDC = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
const USDT = 'Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB';

/** The default quote tokens: dollars, then the native token. */
export function defaultQuoteTokens(nativeMint: string): readonly string[] {
  return [USDC, USDT, nativeMint];
}

type PoolMints = Pick<DlmmPool, 'tokenXMint' | 'tokenYMint'>;

/**
 * A pool's base and quote token: the quote is the token that ranks higher in `quotes`, or y if neither
 * is in it.
 * @param quotes mints, highest rank first
 */
export function baseAndQuote(
  { tokenXMint: x, tokenYMint: y }: PoolMints,
  quotes: readonly string[],
): { baseMint: string; quoteMint: string } {
  const rank = (mint: string) => {
    const at = quotes.indexOf(mint);
    return at < 0 ? quotes.length : at;
  };
  return rank(x) < rank(y) ? { baseMint: y, quoteMint: x } : { baseMint: x, quoteMint: y };
}

/** Pools with their base tokens; pool i is index i of both columns. */
export interface BoardPools {
  pubkeys: string[];
  /** Index into `baseMints`. */
  base: Uint32Array;
  baseMints: string[];
}

/** Collects pools with their base tokens, in the order of adding. */
export class BoardPoolList {
  private readonly pubkeys: string[] = [];
  private readonly base: number[] = [];
  private readonly baseMints: string[] = [];
  private readonly indexOf = new LargeMap<string, number>();

  constructor(private readonly quotes: readonly string[]) {}

  add(pool: PoolMints & Pick<DlmmPool, 'pubkey'>): void {
    const { baseMint } = baseAndQuote(pool, this.quotes);
    let index = this.indexOf.get(baseMint);
    if (index === undefined) {
      index = this.baseMints.push(baseMint) - 1;
      this.indexOf.set(baseMint, index);
    }
    this.pubkeys.push(pool.pubkey);
    this.base.push(index);
  }

  columns(): BoardPools {
    const { pubkeys, base, baseMints } = this;
    return { pubkeys, base: Uint32Array.from(base), baseMints: [...baseMints] };
  }
}
