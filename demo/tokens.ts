/** The tokens of the simulated market: assets with a leg on one chain or on both. */
import { CHAINS, type Chain } from '../compute/market.js';
import { base58Address, between, evmAddress, hash, keyOf } from './hash.js';
import {
  isBusy,
  KINDS,
  marketsOf,
  NATIVE_SYMBOL,
  type DemoMarket,
  type Leg,
  type TokenKind,
} from './markets.js';
import { fairPrice, TRADE_SLOT_S, type PriceModel } from './price.js';

/** The seed of `fathom demo` by default. */
export const DEMO_SEED = 20_261;

export const NATIVE_MINT = 'So11111111111111111111111111111111111111112';
export const USDC_MINT = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';

/** One leg of an asset: a token of the demo with its markets. */
export interface DemoToken extends Leg {
  /** Position in `demoTokens`: with the seed it names the token to another thread. */
  index: number;
  address: string;
  name: string;
  /** Name shared by the legs of an asset that has two; null for the rest. */
  asset: string | null;
  coverage: 'full' | 'depth_only' | 'excluded';
  /** Coins in circulation; 0 if nothing is known. */
  supply: number;
  /** Null if the token has no price. */
  price: PriceModel | null;
  /** Raw snapshots are taken at `t % cadenceS === offsetS`. */
  cadenceS: number;
  offsetS: number;
  /** Empty if the token has no depth. */
  markets: DemoMarket[];
}

/** symbol, name, kind, chains, USD price, market value in USD, daily volatility in percent. */
type AssetLine = readonly [string, string, TokenKind, 'm' | 'e' | 'me', number, number, number];

/** Assets with the most venues come first. */
const ASSETS: readonly AssetLine[] = [
  ['SOL', 'Wrapped SOL', 'major', 'me', 168, 91e9, 3.1],
  ['WETH', 'Wrapped Ether', 'major', 'e', 3_420, 410e9, 2.6],
  ['TIDE', 'Tidewater', 'liquid', 'me', 2.36, 1.9e9, 3.7],
  ['HELM', 'Helmsman', 'liquid', 'me', 0.418, 880e6, 4.8],
  ['BRYN', 'Bryn Protocol', 'liquid', 'me', 11.7, 1.2e9, 4.4],
  ['SEXT', 'Sextant', 'liquid', 'me', 0.0734, 420e6, 4],
  ['GROG', 'Grog', 'liquid', 'm', 0.0000218, 960e6, 6],
  ['KELP', 'Kelp Forest', 'liquid', 'm', 0.86, 310e6, 5],
  ['ORCA8', 'Eight Orcas', 'liquid', 'm', 4.05, 270e6, 4.6],
  ['FJORD', 'Fjord Finance', 'liquid', 'e', 1.44, 540e6, 4.3],
  ['CALDR', 'Caldera Labs', 'liquid', 'e', 27.3, 690e6, 4],
  ['BUOY', 'Buoy', 'listed', 'me', 0.192, 96e6, 5.5],
  ['ANCH', 'Anchorage', 'listed', 'me', 1.07, 120e6, 4.6],
  ['LUFF', 'Luff', 'listed', 'me', 0.0231, 71e6, 6.2],
  ['KEEL', 'Keel Network', 'listed', 'me', 3.28, 140e6, 4.9],
  ['SPRAY', 'Spray', 'listed', 'me', 0.00412, 44e6, 7],
  ['TRAWL', 'Trawler DAO', 'listed', 'me', 0.615, 58e6, 5.8],
  ['REEF', 'Reef Markets', 'listed', 'me', 0.0087, 39e6, 6],
  ['NARWL', 'Narwhal', 'listed', 'm', 0.054, 63e6, 7.5],
  ['GULL', 'Gull', 'listed', 'm', 0.00031, 35e6, 8],
  ['HARBR', 'Harbor Yield', 'listed', 'm', 7.9, 82e6, 4.1],
  ['MAST', 'Mast', 'listed', 'm', 0.33, 47e6, 5.7],
  ['PLUMB', 'Plumb Oracle', 'listed', 'm', 1.83, 66e6, 4.7],
  ['BILGE', 'Bilge', 'onchain', 'm', 0.0000091, 9.1e6, 11],
  ['BARN', 'Barnacle', 'onchain', 'm', 0.00187, 18e6, 9],
  ['SQUID', 'Tiny Squid', 'onchain', 'm', 0.0126, 12e6, 10],
  ['PUFFR', 'Puffer', 'onchain', 'm', 0.00074, 7.4e6, 12],
  ['CRABZ', 'Crab Rave', 'onchain', 'm', 0.000153, 15e6, 11],
  ['KRILL', 'Krill', 'onchain', 'm', 0.0000027, 2.7e6, 13],
  ['OTTR', 'Otter', 'onchain', 'm', 0.0402, 40e6, 9],
  ['MANTA2', 'Second Manta', 'onchain', 'm', 0.0066, 6.6e6, 10],
  ['WHIRL', 'Whirl', 'onchain', 'm', 0.29, 22e6, 7],
  ['DRIFTR', 'Drifter', 'onchain', 'm', 0.0915, 14e6, 8],
  ['PEARL', 'Pearl Index', 'onchain', 'm', 5.6, 11e6, 5],
  ['CLAM', 'Clam', 'onchain', 'm', 0.00055, 3.9e6, 12],
  ['EELS', 'Electric Eels', 'onchain', 'm', 0.0032, 8.2e6, 10],
  ['SALTY', 'Salty', 'onchain', 'm', 0.0179, 5.3e6, 10],
  ['FOGHN', 'Foghorn', 'onchain', 'm', 0.00098, 4.4e6, 11],
  ['ABYSS', 'Abyss', 'onchain', 'e', 0.74, 33e6, 6.5],
  ['TRENCH', 'Trench', 'onchain', 'e', 0.0211, 13e6, 9],
  ['LEVIA', 'Leviathan', 'onchain', 'e', 12.9, 52e6, 5.4],
  ['SIREN', 'Siren', 'onchain', 'e', 0.00263, 9.7e6, 11],
  ['MURK', 'Murk', 'onchain', 'e', 0.000086, 4.1e6, 12],
  ['BATHY', 'Bathysphere', 'onchain', 'e', 2.15, 19e6, 6],
  ['COVE', 'Cove Credit', 'onchain', 'e', 0.98, 27e6, 4.5],
  // Priced and listed but not scored.
  ['USDC', 'USD Coin', 'stable', 'm', 1, 38e9, 0],
  // Listed only: no price, no depth.
  ['WRECK', 'Old Wreck', 'dormant', 'm', 0, 0, 0],
];

/** Real mints, by which clients know these tokens. */
const MINTS: Readonly<Record<string, string>> = { SOL: NATIVE_MINT, USDC: USDC_MINT };
const COVERAGE: Readonly<Record<string, DemoToken['coverage']>> = {
  FOGHN: 'depth_only',
  USDC: 'excluded',
};
const KNOWN_DECIMALS: Readonly<Record<string, number>> = { SOL: 9, USDC: 6 };
const MAIN_DECIMALS = [6, 9, 6, 8] as const;
const EVM_DECIMALS = 18;

/** How far a bridged leg's price strays from its asset's. */
const BRIDGED_BP = 6;
/** What a leg's pools hold together: `LIQUIDITY_FACTOR * mcap^0.6`, a bridged leg's a quarter. */
const LIQUIDITY_FACTOR = 11;
const LIQUIDITY_POWER = 0.6;
const BRIDGED_SHARE = 0.25;
const EVM_CADENCE_S = 120;

/**
 * The tokens of the demo, those with the most venues first. Addresses, names and decimals do not
 * depend on the seed; venues, prices and books do.
 */
export function demoTokens(seed: number): DemoToken[] {
  return ASSETS.flatMap((asset) =>
    CHAINS.filter((chain) => asset[3].includes(chain[0])).map((chain) =>
      tokenOf(asset, chain, seed),
    ),
  ).map((token, index) => ({ ...token, index }));
}

/** The rows of dataset `tokens` as a collector would report them at `untilS`. */
export function demoTokenRows(seed: number, untilS: number) {
  return demoTokens(seed).map((token) => {
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

function tokenOf(asset: AssetLine, chain: Chain, seed: number): DemoToken {
  const [symbol, name, kind, chains, priceUsd, mcapUsd] = asset;
  const isHome = chain[0] === chains[0];
  const isMain = chain === 'mainchain';
  const key = keyOf(keyOf(seed, chain), symbol);
  const legName = `${chain} ${symbol}`;
  const cadenceS = isMain ? between(hash(key, 1), isBusy(kind) ? 18 : 12, 20) * 5 : EVM_CADENCE_S;
  const price = priceUsd > 0 ? priceModel(asset, chain, seed, cadenceS) : null;
  const decimals =
    KNOWN_DECIMALS[symbol] ?? MAIN_DECIMALS[keyOf(0, legName) % MAIN_DECIMALS.length];
  const liquidityUsd = LIQUIDITY_FACTOR * Math.pow(mcapUsd, LIQUIDITY_POWER);
  const leg: Leg = {
    chain,
    symbol,
    kind,
    key,
    decimals: isMain ? decimals : EVM_DECIMALS,
    liquidityUsd: isHome ? liquidityUsd : liquidityUsd * BRIDGED_SHARE,
  };
  // Some pools are quoted in the chain's native coin.
  const native = ASSETS.find(([other]) => other === NATIVE_SYMBOL[chain]);
  const isNative = native === undefined || native === asset;
  const quote = isNative ? null : priceModel(native, chain, seed, EVM_CADENCE_S);
  return {
    ...leg,
    index: -1,
    name,
    price,
    cadenceS,
    offsetS: hash(key, 2) % cadenceS,
    address: isMain ? (MINTS[symbol] ?? base58Address(legName)) : evmAddress(legName),
    asset: chains.length > 1 ? symbol.toLowerCase() : null,
    coverage: COVERAGE[symbol] ?? 'full',
    supply: priceUsd > 0 ? mcapUsd / priceUsd : 0,
    markets: price === null ? [] : marketsOf(leg, isHome, price, quote),
  };
}

function priceModel(asset: AssetLine, chain: Chain, seed: number, cadenceS: number): PriceModel {
  const [symbol, , kind, chains, priceUsd, , dayVolatilityPct] = asset;
  const isHome = chain[0] === chains[0];
  const { tradedShare } = KINDS[isHome ? kind : 'onchain'];
  return {
    assetKey: keyOf(seed, `asset ${symbol}`),
    marketKey: keyOf(seed, 'market'),
    legKey: keyOf(keyOf(seed, chain), symbol),
    lnBase: Math.log(priceUsd),
    dayVolatility: dayVolatilityPct / 100,
    beta: KINDS[kind].beta,
    legBp: isHome ? 0 : BRIDGED_BP,
    tradeChance: 1 - Math.pow(1 - tradedShare, TRADE_SLOT_S / cadenceS),
  };
}
