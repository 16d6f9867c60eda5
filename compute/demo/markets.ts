import type { Chain } from '../market.js';
import { NATIVE_SYMBOL, type AssetKind } from './assets.js';
import type { BookProfile } from './book.js';
import type { ClmmProfile } from './clmm.js';
import type { ConstantProductProfile } from './constant-product.js';
import type { DlmmProfile } from './dlmm.js';
import { between, hash, keyOf, unit } from './hash.js';
import { base58Address, evmAddress } from './identity.js';
import type { PriceModel } from './price.js';
import type { MarketHead } from './rows.js';
import { priceStep, sizeStep } from './tick.js';
import type { VenueSlot } from './venues.js';

/** A pool's fee and the price of its other side. */
interface PoolTerms {
  key: number;
  feeBp: number;
  quote: PriceModel | null;
}

/** One market of a token with what its simulation needs. */
export type DemoMarket = { head: MarketHead } & (
  | { kind: 'book'; profile: BookProfile }
  | { kind: 'limit_orders'; profile: BookProfile }
  | { kind: 'clmm'; profile: ClmmProfile; terms: PoolTerms }
  | { kind: 'dlmm'; profile: DlmmProfile; terms: PoolTerms }
  | { kind: 'constant_product'; profile: ConstantProductProfile; terms: PoolTerms }
);

/** The leg of an asset whose markets are made. */
export interface LegContext {
  chain: Chain;
  symbol: string;
  kind: AssetKind;
  key: number;
  decimals: number;
  priceUsd: number;
  /** What all its pools hold together. */
  liquidityUsd: number;
  price: PriceModel;
  /** The chain's native coin, null for that coin itself. */
  native: PriceModel | null;
}

const STABLE_DECIMALS = 6;
const NATIVE_DECIMALS: Readonly<Record<Chain, number>> = { mainchain: 9, evmchain: 18 };
const QUOTE_IS_NATIVE_SHARE = 0.3;

/** Reach and pace of the kinds of books: share of pools' liquidity per level, spread, reach. */
const BOOKS = {
  cex_spot: { share: 0.0035, spreadBp: 1, basisBp: 2, below: 0.62, above: 0.66, fill: 0.93 },
  cex_perp: { share: 0.006, spreadBp: 0.8, basisBp: 6, below: 0.3, above: 0.28, fill: 0.96 },
  onchain_limit_order: {
    ...{ share: 0.0008, spreadBp: 5, basisBp: 4, below: 0.45, above: 0.5, fill: 0.55 },
  },
} as const;

/** Extra spread and the pace of redraws: busy books change more levels between snapshots. */
const PACE: Readonly<Record<AssetKind, { spread: number; redrawS: number }>> = {
  major: { spread: 1, redrawS: 1_100 },
  liquid: { spread: 2.5, redrawS: 1_300 },
  listed: { spread: 6, redrawS: 360 },
  onchain: { spread: 12, redrawS: 900 },
  stable: { spread: 1, redrawS: 900 },
  dormant: { spread: 1, redrawS: 900 },
};

function bookProfile(leg: LegContext, slot: VenueSlot, key: number, rank: number): BookProfile {
  const usual = BOOKS[slot.type === 'onchain_pool' ? 'onchain_limit_order' : slot.type];
  // Small tokens' books are shallow: makers stay near the price.
  const reach = leg.kind === 'listed' ? 0.6 : 1;
  const sparse = slot.kind === 'limit_orders';
  // The first venue of a slot is the biggest; the rest follow a power law.
  const size = Math.pow(rank + 1, -0.8) * (0.7 + 0.6 * unit(hash(key, 11)));
  return {
    key,
    tokenKey: leg.key,
    levelUsd: leg.liquidityUsd * usual.share * size * (sparse ? 2 : 1),
    halfSpreadBp: usual.spreadBp * PACE[leg.kind].spread * (0.7 + 0.8 * unit(hash(key, 12))),
    basisBp: usual.basisBp,
    depthBelow: usual.below * reach * (0.6 + 0.5 * unit(hash(key, 13))),
    depthAbove: usual.above * reach * (0.6 + 0.5 * unit(hash(key, 14))),
    fill: sparse ? 0.35 : usual.fill,
    redrawS: PACE[leg.kind].redrawS * (sparse ? 8 : 1),
    tick: priceStep(leg.priceUsd),
    lot: sizeStep(leg.priceUsd),
  };
}

const CLMM_TIERS = [
  { feeBp: 5, tickSpacing: 10 },
  { feeBp: 30, tickSpacing: 60 },
  { feeBp: 100, tickSpacing: 200 },
] as const;
const DLMM_STEPS = [25, 50, 80] as const;

function pool(leg: LegContext, slot: VenueSlot, key: number, head: MarketHead): DemoMarket {
  const isNative = leg.native !== null && unit(hash(key, 21)) < QUOTE_IS_NATIVE_SHARE;
  const quote = isNative ? leg.native : null;
  const quoteDecimals = isNative ? NATIVE_DECIMALS[leg.chain] : STABLE_DECIMALS;
  head.pair = `${leg.symbol}/${isNative ? NATIVE_SYMBOL[leg.chain] : 'USDC'}`;
  const tokenIsFirst = unit(hash(key, 22)) < 0.7;
  const tvlUsd = leg.liquidityUsd * (0.15 + 0.4 * unit(hash(key, 23)));
  const decimals = tokenIsFirst ? [leg.decimals, quoteDecimals] : [quoteDecimals, leg.decimals];
  const busy = leg.kind === 'major' || leg.kind === 'liquid';
  const common = { key, price: leg.price, quote, tvlUsd };
  const terms = { key: hash(key, 24), quote };
  if (slot.kind === 'clmm') {
    const tier = CLMM_TIERS[busy ? between(hash(key, 25), 0, 1) : between(hash(key, 25), 1, 2)];
    const profile: ClmmProfile = {
      ...common,
      positions: between(hash(key, 26), busy ? 70 : 24, busy ? 110 : 60),
      tickSpacing: tier.tickSpacing,
      token: tokenIsFirst ? 0 : 1,
      decimals0: decimals[0],
      decimals1: decimals[1],
    };
    return { head, kind: 'clmm', profile, terms: { ...terms, feeBp: tier.feeBp } };
  }
  if (slot.kind === 'dlmm') {
    const binStep = busy ? 20 : DLMM_STEPS[between(hash(key, 27), 0, 2)];
    const profile: DlmmProfile = {
      ...common,
      positions: between(hash(key, 28), busy ? 50 : 20, busy ? 90 : 50),
      binStep,
      reachBins: between(hash(key, 29), 32, 69),
      token: tokenIsFirst ? 'x' : 'y',
      decimalsX: decimals[0],
      decimalsY: decimals[1],
    };
    return { head, kind: 'dlmm', profile, terms: { ...terms, feeBp: binStep / 2 } };
  }
  const profile = { key, tvlUsd, basePriceUsd: leg.priceUsd };
  return { head, kind: 'constant_product', profile, terms: { ...terms, feeBp: 25 } };
}

function headOf(leg: LegContext, slot: VenueSlot, source: string, rank: number): MarketHead {
  const isCex = slot.type === 'cex_spot' || slot.type === 'cex_perp';
  const name = `${leg.chain} ${leg.symbol} ${source} ${rank}`;
  const address = leg.chain === 'mainchain' ? base58Address(name) : evmAddress(name);
  const quoted = slot.type === 'cex_perp' ? '-PERP' : isCex ? '/USDT' : '/USDC';
  return {
    source,
    exchange_type: isCex ? 'CEX' : 'DEX',
    type: slot.type,
    address: isCex ? null : address,
    pair: `${leg.symbol}${quoted}`,
  };
}

/** The markets of one slot: each at a venue of its own. */
export function marketsOfSlot(leg: LegContext, slot: VenueSlot): DemoMarket[] {
  const slotKey = keyOf(leg.key, `${slot.kind} ${slot.type}`);
  if (unit(slotKey) >= slot.chance) return [];
  // The best-known venues come first; a small token may be listed at any of them.
  const first = leg.kind === 'major' ? 0 : hash(slotKey, 1);
  return Array.from({ length: slot.count }, (_, rank): DemoMarket => {
    const source = slot.sources[(first + rank) % slot.sources.length];
    const key = keyOf(leg.key, source);
    const head = headOf(leg, slot, source, rank);
    if (slot.kind === 'book' || slot.kind === 'limit_orders') {
      return { head, kind: slot.kind, profile: bookProfile(leg, slot, key, rank) };
    }
    return pool(leg, slot, key, head);
  });
}
