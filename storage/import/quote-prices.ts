/** USD prices of quote tokens. */
import type { ImportOptions } from './formats.js';

/**
 * USDC and USDT on the chains of the files, `0x` addresses in lower case. Their price is 1 USD unless the options name
 * another.
 */
const STABLECOIN_ADDRESSES: ReadonlySet<string> = new Set([
  // USDC and USDT on Solana.
  'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
  'Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB',
  // USDC and USDT on Ethereum.
  '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48',
  '0xdac17f958d2ee523a2206206994597c13d831ec7',
  // USDC on Avalanche, native and bridged.
  '0xb97ef9ef8734c71904d8002f8b6bc66dd9c48a6e',
  '0xa7d7079b0fead91f3e65f86e8915cb59c1a4c664',
  // USDC (bridged) and USDT on Polygon.
  '0x2791bca1f2de4661ed88a30c99a7a9449aa84174',
  '0xc2132d05d31c914a87c6611c10748aeb04b58e8f',
]);

/** The USD price from the options for an address, 1 for stablecoins, otherwise null. */
export function quoteUsdOf(
  options: Pick<ImportOptions, 'quoteUsdByAddress'>,
  address: string,
): number | null {
  return options.quoteUsdByAddress.get(address) ?? (STABLECOIN_ADDRESSES.has(address) ? 1 : null);
}
