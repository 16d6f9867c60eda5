import type { Chain } from '../market.js';

/** How an asset trades: it decides its venues, spreads and how often a price changes. */
export type AssetKind = 'major' | 'liquid' | 'listed' | 'onchain' | 'stable' | 'dormant';

/** One asset of the simulated market. */
export interface DemoAsset {
  symbol: string;
  name: string;
  kind: AssetKind;
  chains: readonly Chain[];
  /** Price and market value around which the walk runs. */
  priceUsd: number;
  mcapUsd: number;
  /** Percent a day. */
  dayVolatilityPct: number;
  coverage: 'full' | 'depth_only' | 'excluded';
  /** Real mints, where clients know a token by them. */
  mint: string | null;
}

export const NATIVE_MINT = 'So11111111111111111111111111111111111111112';
export const USDC_MINT = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
export const NATIVE_SYMBOL: Readonly<Record<Chain, string>> = {
  mainchain: 'SOL',
  evmchain: 'WETH',
};

const CHAINS: Readonly<Record<string, readonly Chain[]>> = {
  m: ['mainchain'],
  e: ['evmchain'],
  me: ['mainchain', 'evmchain'],
};

/** symbol, name, kind, chains, USD price, market value in USD, daily volatility in percent. */
type Line = readonly [string, string, AssetKind, 'm' | 'e' | 'me', number, number, number];

const LINES: readonly Line[] = [
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
];

function asset(line: Line): DemoAsset {
  const [symbol, name, kind, chains, priceUsd, mcapUsd, dayVolatilityPct] = line;
  return {
    symbol,
    name,
    kind,
    chains: CHAINS[chains],
    priceUsd,
    mcapUsd,
    dayVolatilityPct,
    coverage: symbol === 'FOGHN' ? 'depth_only' : 'full',
    mint: symbol === 'SOL' ? NATIVE_MINT : null,
  };
}

/** A stablecoin that is priced and listed but not scored. */
const USDC: DemoAsset = {
  ...asset(['USDC', 'USD Coin', 'stable', 'm', 1, 38e9, 0]),
  coverage: 'excluded',
  mint: USDC_MINT,
};

/** A token that is known and nothing else: no price, no depth. */
const DORMANT: DemoAsset = asset(['WRECK', 'Old Wreck', 'dormant', 'm', 0, 0, 0]);

/** Every asset of the demo, the ones with the most venues first. */
export const DEMO_ASSETS: readonly DemoAsset[] = [...LINES.map(asset), USDC, DORMANT];
