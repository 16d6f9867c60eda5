import { type Chain, CHAINS } from '../market.js';
import { DEMO_ASSETS, NATIVE_SYMBOL, type AssetKind, type DemoAsset } from './assets.js';
import { between, hash, keyOf, unit } from './hash.js';
import { base58Address, evmAddress } from './identity.js';
import { marketsOfSlot, type DemoMarket } from './markets.js';
import { TRADE_SLOT_S } from './path.js';
import { fairPrice, type PriceModel } from './price.js';
import type { DemoTokenRow } from './rows.js';
import { venueSlots } from './venues.js';

/** One leg of an asset: a token of the demo with its markets. */
export interface DemoToken {
  /** Position in `demoTokens`: with the seed it names the token to another thread. */
  index: number;
  /** Everything about this leg is drawn from this hash of the seed and its name. */
  key: number;
  chain: Chain;
  address: string;
  symbol: string;
  name: string;
  kind: AssetKind;
  decimals: number;
  /** Name shared by the legs of an asset that has two; null for the rest. */
  asset: string | null;
  coverage: 'full' | 'depth_only' | 'excluded';
  /** Coins in circulation; 0 where nothing is known. */
  supply: number;
  liquidityUsd: number;
  /** Null where the token has no price. */
  price: PriceModel | null;
  /** Raw snapshots are taken every so many seconds, at `t % cadenceS === offsetS`. */
  cadenceS: number;
  offsetS: number;
  /** Empty where the token has no depth. */
  markets: DemoMarket[];
}

/** Share of its raw snapshots that see a trade, hence a new price, since the one before. */
const TRADED_SHARE: Readonly<Record<AssetKind, number>> = {
  major: 1,
  liquid: 1,
  listed: 0.6,
  onchain: 0.52,
  stable: 1,
  dormant: 1,
};
const BETA: Readonly<Record<AssetKind, number>> = {
  major: 1,
  liquid: 1.25,
  listed: 1.2,
  onchain: 0.8,
  stable: 0,
  dormant: 0,
};
/** What pools hold together: `LIQUIDITY * mcap^0.6`, the bridged leg's a quarter of it. */
const LIQUIDITY_FACTOR = 11;
const LIQUIDITY_POWER = 0.6;
const BRIDGED_SHARE = 0.25;
const EVM_CADENCE_S = 120;
const DECIMALS: Readonly<Record<Chain, readonly number[]>> = {
  mainchain: [6, 9, 6, 8],
  evmchain: [18],
};
const KNOWN_DECIMALS: Readonly<Record<string, number>> = { SOL: 9, USDC: 6 };

function cadence(kind: AssetKind, chain: Chain, key: number): number {
  if (chain === 'evmchain') return EVM_CADENCE_S;
  const busy = kind === 'major' || kind === 'liquid';
  return busy ? between(key, 18, 20) * 5 : between(key, 12, 20) * 5;
}

/** Chance of a trade in a slot of which `cadenceS` hold several. */
function tradeChance(share: number, cadenceS: number): number {
  return 1 - Math.pow(1 - share, TRADE_SLOT_S / cadenceS);
}

function priceModel(
  asset: DemoAsset,
  seed: number,
  legKey: number,
  isHome: boolean,
  cadenceS: number,
): PriceModel {
  return {
    assetKey: keyOf(seed, `asset ${asset.symbol}`),
    marketKey: keyOf(seed, 'market'),
    legKey,
    lnBase: Math.log(asset.priceUsd),
    dayVolatility: asset.dayVolatilityPct / 100,
    beta: BETA[asset.kind],
    legBp: isHome ? 0 : 6,
    tradeChance: tradeChance(TRADED_SHARE[isHome ? asset.kind : 'onchain'], cadenceS),
  };
}

function legOf(asset: DemoAsset, chain: Chain, seed: number, natives: Natives): DemoToken {
  const isHome = chain === asset.chains[0];
  const key = keyOf(keyOf(seed, chain), asset.symbol);
  const name = `${chain} ${asset.symbol}`;
  const address = chain === 'mainchain' ? (asset.mint ?? base58Address(name)) : evmAddress(name);
  const options = DECIMALS[chain];
  const known = chain === 'mainchain' ? KNOWN_DECIMALS[asset.symbol] : undefined;
  const decimals = known ?? options[keyOf(0, name) % options.length];
  const cadenceS = cadence(asset.kind, chain, hash(key, 1));
  const price = asset.priceUsd > 0 ? priceModel(asset, seed, key, isHome, cadenceS) : null;
  const whole = LIQUIDITY_FACTOR * Math.pow(asset.mcapUsd, LIQUIDITY_POWER);
  const token: DemoToken = {
    index: -1,
    key,
    ...{ chain, address, symbol: asset.symbol, name: asset.name, kind: asset.kind, decimals },
    asset: asset.chains.length > 1 ? asset.symbol.toLowerCase() : null,
    coverage: asset.coverage,
    supply: asset.priceUsd > 0 ? asset.mcapUsd / asset.priceUsd : 0,
    liquidityUsd: isHome ? whole : whole * BRIDGED_SHARE,
    ...{ price, cadenceS, offsetS: hash(key, 2) % cadenceS, markets: [] },
  };
  if (price === null) return token;
  const native = asset.symbol === NATIVE_SYMBOL[chain] ? null : natives[chain];
  const leg = { ...token, priceUsd: asset.priceUsd, price, native };
  const pick = unit(hash(key, 3));
  token.markets = venueSlots(asset.kind, chain, isHome, pick).flatMap((slot) =>
    marketsOfSlot(leg, slot),
  );
  return token;
}

type Natives = Record<Chain, PriceModel | null>;

/** The price models of the chains' native coins, in which some pools are quoted. */
function nativeModels(seed: number): Natives {
  const model = (chain: Chain) => {
    const asset = DEMO_ASSETS.find(({ symbol }) => symbol === NATIVE_SYMBOL[chain]);
    if (asset === undefined) return null;
    return priceModel(asset, seed, keyOf(keyOf(seed, chain), asset.symbol), true, EVM_CADENCE_S);
  };
  return { mainchain: model('mainchain'), evmchain: model('evmchain') };
}

/**
 * The tokens of the demo, the widest first. Addresses, names and decimals do not depend on the
 * seed; venues, prices and books do.
 */
export function demoTokens(seed: number): DemoToken[] {
  const natives = nativeModels(seed);
  return DEMO_ASSETS.flatMap((asset) =>
    CHAINS.filter((chain) => asset.chains.includes(chain)).map((chain) =>
      legOf(asset, chain, seed, natives),
    ),
  ).map((token, index) => ({ ...token, index }));
}

/** The rows of dataset `tokens` as a collector would hand them over at `untilS`. */
export function demoTokenRows(seed: number, untilS: number): DemoTokenRow[] {
  return demoTokens(seed).map((token): DemoTokenRow => {
    const price = token.price === null ? null : fairPrice(token.price, untilS);
    return {
      chain: token.chain,
      address: token.address,
      symbol: token.symbol,
      name: token.name,
      icon: null,
      decimals: token.decimals,
      asset: token.asset,
      coverage: token.coverage,
      price_usd: price === null ? null : Number(price.toPrecision(9)),
      mcap: price === null ? null : Math.round(token.supply * price),
      liquidity_usd: price === null ? null : Math.round(token.liquidityUsd),
      last_refresh: untilS,
    };
  });
}
