/** The pixels of a canvas. */

/** The most device pixels per CSS pixel: more would take time without a visible difference. */
const MAX_PIXEL_RATIO = 2;

/** Pixels of a canvas per CSS pixel of the screen. */
export function screenPixelRatio(): number {
  return Math.min(MAX_PIXEL_RATIO, window.devicePixelRatio);
}

/** Gives a canvas as many pixels as it covers. */
export function fit(canvas: HTMLCanvasElement, pixelRatio = screenPixelRatio()): void {
  const { clientWidth, clientHeight } = canvas;
  const sizeOf = (px: number): number => Math.max(1, Math.round(px * pixelRatio));
  resize(canvas, sizeOf(clientWidth), sizeOf(clientHeight));
}

/** Setting a size clears the canvas, even to the size that it has. */
export function resize(canvas: HTMLCanvasElement, width: number, height: number): void {
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
}
