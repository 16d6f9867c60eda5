/** Converts between what is in sight of a window in the page's address and in the picture. */
import type { Zoom } from '../state/url.js';
import type { Held } from './history.js';
import type { TimeWindow } from './detail.js';
import { FOLLOWS_WITHIN, type View } from './view.js';

/** The initial picture has this factor of room above and below the prices in sight. */
const HOME_MARGIN = 1.5;

/** @param isLive whether the window ends now, which a zoom to its end follows; @param hasPrices whether the prices are chosen too */
export function zoomOf(
  view: View,
  window: TimeWindow,
  { isLive, hasPrices }: { isLive: boolean; hasPrices: boolean },
): Zoom | null {
  const isAt = (time: number, end: number): boolean =>
    Math.abs(time - end) <= FOLLOWS_WITHIN * (view.to - view.from);
  const prices = hasPrices
    ? { lowUsd: Math.exp(view.lnLow), highUsd: Math.exp(view.lnHigh) }
    : null;
  const isAtEnd = isAt(view.to, window.to);
  if (isAtEnd && isAt(view.from, window.from) && prices === null) return null;
  if (isAtEnd && isLive) return { fromS: Math.floor(view.from - view.to), toS: null, prices };
  return { fromS: Math.floor(view.from), toS: Math.ceil(view.to), prices };
}

export function timesOf({ fromS, toS }: Zoom, window: TimeWindow): TimeWindow {
  return toS === null ? { from: window.to + fromS, to: window.to } : { from: fromS, to: toS };
}

/** The initial range of prices; null if there is none. */
export function pricesOf(
  zoom: Zoom | null,
  shown: readonly Held[],
): Pick<View, 'lnLow' | 'lnHigh'> | null {
  if (zoom?.prices) {
    const { lowUsd, highUsd } = zoom.prices;
    return { lnLow: Math.log(lowUsd), lnHigh: Math.log(highUsd) };
  }
  if (shown.length === 0) return null;
  const prices = shown.map(({ lnPrice }) => lnPrice);
  const margin = Math.log(HOME_MARGIN);
  return {
    lnLow: prices.reduce((a, b) => Math.min(a, b)) - margin,
    lnHigh: prices.reduce((a, b) => Math.max(a, b)) + margin,
  };
}
