/** Generated tokens for bots: small ladders, with a snapshot for any time. */
import { base58Address, hash, keyOf, unit } from '../../demo/hash.js';
import { BENCH_SEED } from './pages.js';

const MARKETS = ['Binance', 'Coinbase', 'Orca', 'Meteora DLMM'] as const;
const BINS_PER_SIDE = 25;
const PRICE_USD = 2.5;
export function botAddress(index: number): string {
  return base58Address(`bots' token ${index}`);
}

/** A row of dataset `tokens`. */
export function botTokenLine(index: number): string {
  return JSON.stringify({
    chain: 'mainchain',
    address: botAddress(index),
    symbol: `BOT${index}`,
    name: `Bots' token ${index}`,
    decimals: 9,
    mcap: 1e6,
    liquidity_usd: 1e5,
    price_usd: PRICE_USD,
  });
}

/** A row of dataset `snapshots`: four markets of fifty cells. */
export function botSnapshotLine(index: number, t: number): string {
  const key = hash(keyOf(hash(BENCH_SEED, index), 'bots'), t);
  const markets = MARKETS.map((source, m) => ({
    source,
    exchange_type: m < 2 ? 'CEX' : 'DEX',
    address: m < 2 ? null : base58Address(`${source} ${index}`),
    pair: `BOT${index}/USDC`,
    cells: Array.from({ length: 2 * BINS_PER_SIDE }, (_, i) => {
      const usd = Math.round(100 + 90_000 * unit(hash(hash(key, m), i))) / 100 + 1;
      return i < BINS_PER_SIDE ? [i - BINS_PER_SIDE, usd, 0] : [i - BINS_PER_SIDE + 1, 0, usd];
    }),
  }));
  const price = PRICE_USD * (1 + 0.02 * (unit(hash(key, 9)) - 0.5));
  return JSON.stringify({
    chain: 'mainchain',
    address: botAddress(index),
    t,
    price_usd: price,
    markets,
  });
}
