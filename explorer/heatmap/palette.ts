/** Colours of amounts, from faint to strong, in two hues that every kind of colour vision can distinguish. */

export type Theme = 'light' | 'dark';
export type Rgb = readonly [number, number, number];

interface Ramps {
  support: readonly Rgb[];
  resistance: readonly Rgb[];
  /** The background where there is no depth. */
  ground: Rgb;
  /** Hatching where there is no data. */
  hatch: Rgb;
  /** The price line, the same colour as the page's --price. */
  price: Rgb;
}

const rgb = (hex: string): Rgb => {
  const value = Number.parseInt(hex, 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
};
const ramp = (hexes: string): Rgb[] => hexes.split(' ').map(rgb);

const RAMPS: Readonly<Record<Theme, Ramps>> = {
  dark: {
    support: ramp('0b1621 0d2b45 135484 2b8fc9 7cc8ee e6f7ff'),
    resistance: ramp('1a120b 422309 83430d d47a24 f8b873 fff3e0'),
    ground: rgb('0a0e13'),
    hatch: rgb('1a222c'),
    price: rgb('f2f5f8'),
  },
  light: {
    support: ramp('f1f7fb c9e2f1 83bbdf 2b86bd 0d5487 03263f'),
    resistance: ramp('fef5ec fbdcbd f4b172 dd7419 964306 431b00'),
    ground: rgb('ffffff'),
    hatch: rgb('e3e8ee'),
    price: rgb('131a22'),
  },
};

/** Shades of each hue. */
export const SHADES = 256;

export function groundOf(theme: Theme): Rgb {
  return RAMPS[theme].ground;
}

export function hatchOf(theme: Theme): Rgb {
  return RAMPS[theme].hatch;
}

export function priceColourOf(theme: Theme): Rgb {
  return RAMPS[theme].price;
}

/** The colour of a shade from 0 to 1. */
export function colourOf(theme: Theme, side: 'support' | 'resistance', shade: number): Rgb {
  const stops = RAMPS[theme][side];
  const at = Math.min(1, Math.max(0, shade)) * (stops.length - 1);
  const low = Math.min(stops.length - 2, Math.floor(at));
  const mix = (channel: 0 | 1 | 2) =>
    Math.round(stops[low][channel] + (at - low) * (stops[low + 1][channel] - stops[low][channel]));
  return [mix(0), mix(1), mix(2)];
}

/** A texture of SHADES x 2: support, then resistance. */
export function paletteTexture(theme: Theme): Uint8Array {
  const texture = new Uint8Array(SHADES * 2 * 4);
  for (const [row, side] of (['support', 'resistance'] as const).entries()) {
    for (let i = 0; i < SHADES; i++) {
      texture.set([...colourOf(theme, side, i / (SHADES - 1)), 255], 4 * (row * SHADES + i));
    }
  }
  return texture;
}

export function cssOf([red, green, blue]: Rgb): string {
  return `rgb(${red} ${green} ${blue})`;
}
