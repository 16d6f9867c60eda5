/** Rectangles of pixels, and how a sheet larger than what is in sight follows a move. */

/** Pixels from the left and from the top; right and bottom are exclusive. */
export interface Rect {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** What a canvas has room for, and the part of it that is drawn. */
export interface Covered {
  room: Rect;
  drawn: Rect;
}

/** Of the margin, the share that a move draws ahead. */
const AHEAD = 0.5;

export function contains(outer: Rect, inner: Rect): boolean {
  return (
    outer.left <= inner.left &&
    outer.top <= inner.top &&
    outer.right >= inner.right &&
    outer.bottom >= inner.bottom
  );
}

/** The rectangle with this much more on each side. */
export function grown({ left, top, right, bottom }: Rect, by: { x: number; y: number }): Rect {
  return { left: left - by.x, top: top - by.y, right: right + by.x, bottom: bottom + by.y };
}

/**
 * Lets a canvas cover what has come into sight, and some pixels more in the direction of the move, but none beyond
 * `limits`: the next moves then find them drawn. If the canvas has no room there, it moves: what is in sight gets the
 * same margin on both sides.
 *
 * @param margin of the canvas around what is in sight
 * @returns also the parts to draw, which do not overlap
 */
export function following(
  { room, drawn }: Covered,
  seen: Rect,
  margin: { x: number; y: number },
  limits: Rect,
): Covered & { parts: Rect[] } {
  const x = Math.floor(AHEAD * margin.x);
  const y = Math.floor(AHEAD * margin.y);
  const lacking: Rect = {
    left:
      seen.left < drawn.left
        ? Math.min(seen.left, Math.max(limits.left, seen.left - x))
        : seen.left,
    top: seen.top < drawn.top ? Math.min(seen.top, Math.max(limits.top, seen.top - y)) : seen.top,
    right:
      seen.right > drawn.right
        ? Math.max(seen.right, Math.min(limits.right, seen.right + x))
        : seen.right,
    bottom:
      seen.bottom > drawn.bottom
        ? Math.max(seen.bottom, Math.min(limits.bottom, seen.bottom + y))
        : seen.bottom,
  };
  const to = contains(room, lacking) ? room : grown(seen, margin);
  const kept: Rect = {
    left: Math.max(to.left, drawn.left),
    top: Math.max(to.top, drawn.top),
    right: Math.min(to.right, drawn.right),
    bottom: Math.min(to.bottom, drawn.bottom),
  };
  if (isEmpty(kept)) return { room: to, drawn: lacking, parts: [lacking] };
  const all: Rect = {
    left: Math.min(kept.left, lacking.left),
    top: Math.min(kept.top, lacking.top),
    right: Math.max(kept.right, lacking.right),
    bottom: Math.max(kept.bottom, lacking.bottom),
  };
  const parts = [
    { ...all, right: kept.left },
    { ...all, left: kept.right },
    { ...kept, top: all.top, bottom: kept.top },
    { ...kept, top: kept.bottom, bottom: all.bottom },
  ];
  return { room: to, drawn: all, parts: parts.filter((part) => !isEmpty(part)) };
}

/** The larger part beside some columns of pixels. */
export function withoutColumns(rect: Rect, left: number, right: number): Rect {
  const before = { ...rect, right: Math.min(rect.right, left) };
  const after = { ...rect, left: Math.max(rect.left, right) };
  if (right <= rect.left || left >= rect.right) return rect;
  return before.right - before.left > after.right - after.left ? before : after;
}

function isEmpty({ left, top, right, bottom }: Rect): boolean {
  return left >= right || top >= bottom;
}
