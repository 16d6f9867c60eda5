/** Views of a token at a typed moment, and the way back to now. */
import { REACH_S, spanInSight } from './requests.js';
import { type Preset, PRESETS, type TokenView, type Window } from './url.js';

/** What is in sight of a token's history. */
type Sight = Pick<TokenView, 'address' | 'window' | 'zoom'>;
type Span = Pick<Sight, 'window' | 'zoom'>;

/** The last moment for which the sight moved: what was in sight before, and what the page then showed. */
let moved: { before: Sight; to: Sight } | null = null;

/**
 * The view at a moment. The window stays if it has the moment; otherwise it becomes the shortest that ends now and has
 * it. If the moment is out of sight, the sight moves to it, and shows as much time as before.
 *
 * @param t epoch seconds, not after now
 */
export function pinnedAt(view: TokenView, t: number, nowS: number): TokenView {
  const pinned = { ...view, atS: Math.floor(t) };
  if (isInSight(view, t, nowS)) return pinned;
  const toS = Math.ceil(Math.min(nowS, t + lengthOf(view, nowS) / 2));
  const fromS = Math.floor(Math.max(nowS - REACH_S, toS - lengthOf(view, nowS)));
  const to = {
    ...pinned,
    window: windowWith(view.window, t, nowS),
    zoom: { fromS, toS, prices: null },
  };
  moved = { before: sightBefore(view), to };
  return to;
}

/** The view of now. If the sight moved to a moment, it returns. */
export function unpinned(view: TokenView): TokenView {
  return { ...view, ...sightBefore(view), atS: null };
}

/** What was in sight before the sight moved to a moment; unless it did, what is. */
function sightBefore({ address, window, zoom }: TokenView): Sight {
  const isMoved = moved?.to.address === address && isSame(moved.to.window, window) && zoom !== null;
  return isMoved && moved !== null ? moved.before : { address, window, zoom };
}

function isInSight(sight: Span, t: number, nowS: number): boolean {
  const { fromS, toS } = spanOf(sight, nowS);
  return t >= fromS && (t < toS || toS === nowS);
}

function windowWith(window: Window, t: number, nowS: number): Window {
  return isInSight({ window, zoom: null }, t, nowS) ? window : shortestWith(t, nowS);
}

/** The shortest window that ends now and has a time. */
export function shortestWith(t: number, nowS: number): Preset | 'all' {
  return PRESETS.find((window) => isInSight({ window, zoom: null }, t, nowS)) ?? 'all';
}

/** The time in sight, in seconds. */
function lengthOf(sight: Span, nowS: number): number {
  const { fromS, toS } = spanOf(sight, nowS);
  return toS - fromS;
}

/** A whole history reaches as far as the API answers. */
const spanOf = (sight: Span, nowS: number) => spanInSight(sight, nowS - REACH_S, nowS);

function isSame(a: Window, b: Window): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
