/** A DLMM pool (data.md section 3). */

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
