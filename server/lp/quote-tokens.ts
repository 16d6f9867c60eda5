/** Which tokens are quotes where nothing else is configured (data.md section 4, DLMM). */

const USDC = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
const USDT = 'Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB';

/** Mints, the one that is quote before all others first; the native token comes after dollars. */
export function defaultQuoteTokens(nativeMint: string): readonly string[] {
  return [USDC, USDT, nativeMint];
}
