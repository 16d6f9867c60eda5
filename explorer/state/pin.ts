/** Pins a token's view to a typed moment, and unpins it again. */
import { REACH_S, spanInSight } from './requests.js';
import { type Preset, PRESETS, type TokenView, type Window } from './url.js';

/** The part of a token's history that the map shows. */
type Sight = Pick<TokenView, 'address' | 'window' | 'zoom'>;
type Span = Pick<Sight, 'window' | 'zoom'>;

/** The last time that pinning moved the map: where it was, and where it went. Null if pinning has not moved it. */
let moved: { before: Sight; to: Sight } | null = null;

/**
 * The view pinned to a moment. If the moment is out of sight, the map moves there and shows as much time as before. If
 * the window does not contain the moment, it becomes the shortest one that does and ends now.
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
  moved = { before: sightBeforePin(view), to };
  return to;
}

/** The view of now. If pinning moved the map, it moves back. */
export function unpinned(view: TokenView): TokenView {
  return { ...view, ...sightBeforePin(view), atS: null };
}

/** What the map showed before pinning moved it; if pinning did not move it, what it shows. */
function sightBeforePin({ address, window, zoom }: TokenView): Sight {
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

/** The shortest window that ends now and contains a time. */
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
