/** The colours of layers: a venue, type or market keeps its own, whatever is in sight. */
import type { Theme } from '../heatmap/palette.js';

/** More colours than layers, so that a free one is left for a venue that comes into sight. */
const HUES: Record<Theme, readonly string[]> = {
  dark: [
    '#4c9be8',
    '#f0883e',
    '#56c596',
    '#c678dd',
    '#e5c07b',
    '#ef6f6c',
    '#45c7cf',
    '#f29bc1',
    '#a8c256',
    '#9b8cff',
  ],
  light: [
    '#1f6fbf',
    '#c25e10',
    '#1f8a5b',
    '#8e44ad',
    '#9a7400',
    '#c0392b',
    '#0b7f8c',
    '#c2417f',
    '#5f7a14',
    '#5a4fcf',
  ],
};
/** The colour of the sum of the smallest layers. */
const OTHERS_HUE: Record<Theme, string> = { dark: '#8b98a9', light: '#5b6776' };
export const OWN_HUES = HUES.dark.length;

export class Hues {
  /** Indexes of colours by key, in the order in which the keys were last shown. */
  private readonly given = new Map<string, number>();

  /** Whether no key has a colour yet. */
  get isEmpty(): boolean {
    return this.given.size === 0;
  }

  /** The indexes of colours of at most OWN_HUES keys, which all differ. */
  indexesOf(keys: readonly string[]): number[] {
    for (const key of keys) {
      const index = this.given.get(key);
      if (index === undefined) continue;
      this.given.delete(key);
      this.given.set(key, index);
    }
    return keys.map((key) => {
      const index = this.given.get(key) ?? this.free();
      this.given.set(key, index);
      return index;
    });
  }

  /** A free index; if there is none, takes the index of the key that has been out of sight the longest. */
  private free(): number {
    const taken = new Set(this.given.values());
    for (let index = 0; index < OWN_HUES; index++) if (!taken.has(index)) return index;
    const [[key, index]] = this.given;
    this.given.delete(key);
    return index;
  }
}

/** Most tokens and ways to split them whose colours are kept; the earliest are removed first. */
const MAX_KNOWN = 200;
/** Colours by token and way to split it, while the page is open. */
const known = new Map<string, Hues>();

/** @param whole the token, and how it is split */
export function huesOf(whole: string): Hues {
  const hues = known.get(whole) ?? new Hues();
  known.set(whole, hues);
  if (known.size > MAX_KNOWN) known.delete([...known.keys()][0]);
  return hues;
}

/** @param index null: the sum of the smallest layers */
export const hueOf = (theme: Theme, index: number | null): string =>
  index === null ? OTHERS_HUE[theme] : HUES[theme][index];
