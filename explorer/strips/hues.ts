/** The colours of layers: a venue, type or market always has the same one, whatever is in sight, on every visit. */
import type { Theme } from '../heatmap/palette.js';
import { OTHERS } from './course.js';

/**
 * Distinguishable with every kind of colour vision, from each other and from support, resistance and OTHERS_HUE; a
 * test checks that.
 */
export const HUES: Record<Theme, readonly string[]> = {
  dark: [
    '#f46282',
    '#68e3a8',
    '#d1b9ff',
    '#445def',
    '#abf59b',
    '#c53443',
    '#579766',
    '#9470cd',
    '#914bbe',
    '#a54c8b',
  ],
  light: [
    '#b11f4b',
    '#16a56e',
    '#59417e',
    '#2a33c5',
    '#186100',
    '#cc3b49',
    '#004b1e',
    '#9a76d4',
    '#590281',
    '#681053',
  ],
};
/** The colour of the sum of the smallest layers. */
export const OTHERS_HUE: Record<Theme, string> = { dark: '#8b98a9', light: '#5b6776' };

/**
 * For each colour the keys that have it, so that those that are often seen together differ. All other keys get the
 * colour of their hash.
 */
const OWN_KEYS: readonly (readonly string[])[] = [
  ['raydium-clmm', 'uniswap-v4', 'cex_perp'],
  ['binance-futures', 'pancakeswap-v3', 'cex_spot'],
  ['binance', 'curve'],
  ['meteora-dlmm', 'uniswap-v3', 'onchain_pool', 'all'],
  ['bybit-perps', 'sushiswap'],
  ['hyperliquid', 'uniswap-v2'],
  ['okx', 'pumpswap'],
  ['orca', 'aerodrome', 'onchain_limit_order'],
  ['raydium', 'balancer'],
  ['coinbase', 'meteora-damm'],
];

export interface Hue {
  colour: string;
  /** The width of its stripes, which tell it from an earlier layer of the same colour; 0: none. */
  stripePx: number;
}

const STRIPE_PX = 3;

/** The index of a key's colour. */
export function hueIndex(key: string): number {
  const own = OWN_KEYS.findIndex((keys) => keys.includes(key));
  return own < 0 ? hashOf(key) % HUES.dark.length : own;
}

/** The colours of layers, in their order. */
export function huesOf(keys: readonly string[], theme: Theme): Hue[] {
  const colours = keys.map((key) =>
    key === OTHERS ? OTHERS_HUE[theme] : HUES[theme][hueIndex(key)],
  );
  return colours.map((colour, at) => {
    const same = colours.slice(0, at).filter((one) => one === colour).length;
    return { colour, stripePx: same * STRIPE_PX };
  });
}

/** A layer's colour as a background. */
export function backgroundOf({ colour, stripePx: px }: Hue): string {
  if (px === 0) return colour;
  return `repeating-linear-gradient(90deg, ${colour} 0 ${px}px, ${fadedOf(colour)} 0 ${2 * px}px)`;
}

/** The colour between stripes. */
export const fadedOf = (colour: string): string => `${colour}59`;

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (const char of text) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193);
  return hash >>> 0;
}
