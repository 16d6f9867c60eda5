/** The map as a picture that explains itself: what it shows, its colours, and its source. */
import { scaleTicks, shadeOf } from '../heatmap/amounts.js';
import { colourOf, cssOf, type Theme } from '../heatmap/palette.js';
import type { Photograph } from '../heatmap/picture.js';
import { usdText } from '../heatmap/ticks.js';
import { absoluteTime } from '../state/format.js';
import { currentS } from '../state/clock.js';

/** In pixels at the default text size. */
const MARGIN = 16;
const HEAD = 60;
const FOOT = 56;
const RAMP = { maxWidth: 220, maxShare: 0.4, height: 7 };
const RAMP_STOPS = 12;
const TITLE_PX = 17;
const TEXT_PX = 12;

/**
 * @param title what the map shows
 * @throws Error if nothing has been drawn yet
 */
export async function pngOf(photograph: Photograph | null, title: string): Promise<Blob> {
  if (photograph === null) throw new Error('There is no map yet: wait until it is drawn');
  const { canvas: map, pixelRatio, view, style } = photograph;
  const [width, height] = [map.width / pixelRatio, map.height / pixelRatio];
  const canvas = document.createElement('canvas');
  canvas.width = Math.round((width + 2 * MARGIN) * pixelRatio);
  canvas.height = Math.round((height + HEAD + FOOT) * pixelRatio);
  const context = canvas.getContext('2d');
  if (context === null) throw new Error('This browser cannot draw the picture');
  context.scale(pixelRatio, pixelRatio);
  context.fillStyle = style.ground;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(map, MARGIN, HEAD, width, height);
  context.textBaseline = 'middle';
  const family = style.font.replace(/^\S+ /, '');
  const write = (text: string, x: number, y: number, px: number, colour: string): number => {
    context.font = `${px === TITLE_PX ? '600 ' : ''}${px}px ${family}`;
    context.fillStyle = colour;
    // A long title is condensed.
    context.fillText(text, x, y, width);
    return context.measureText(text).width;
  };
  write(title, MARGIN, 20, TITLE_PX, style.text);
  // The map extends the newest snapshot past the present; the title must not.
  const to = Math.min(view.to, currentS());
  const times = `${absoluteTime(view.from)} to ${absoluteTime(to)}`;
  write(times, MARGIN, 42, TEXT_PX, style.textSoft);
  const top = HEAD + height;
  drawLegend(context, photograph, top, (text, x, y) => write(text, x, y, TEXT_PX, style.textSoft));
  context.textAlign = 'right';
  write(`Fathom, ${location.host}`, MARGIN + width, top + 42, TEXT_PX, style.textSoft);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => {
      if (blob === null) reject(new Error('This browser cannot save a picture of this size'));
      else resolve(blob);
    }, 'image/png');
  });
}

type Write = (text: string, x: number, y: number) => number;

/** The colours of both sides, and what they mean. */
function drawLegend(
  context: CanvasRenderingContext2D,
  { canvas, pixelRatio, scale, theme }: Photograph,
  top: number,
  write: Write,
): void {
  const left =
    MARGIN +
    Math.max(write('Support', MARGIN, top + 16), write('Resistance', MARGIN, top + 28)) +
    12;
  const length = Math.min(RAMP.maxWidth, (RAMP.maxShare * canvas.width) / pixelRatio);
  drawRamp(context, theme, 'support', [left, top + 16, length]);
  drawRamp(context, theme, 'resistance', [left, top + 28, length]);
  write('USD per 1% step', left + length + 12, top + 22);
  context.textAlign = 'center';
  for (const usd of scaleTicks(scale)) {
    write(usdText(usd), left + length * shadeOf(usd, scale), top + 42);
  }
  context.textAlign = 'left';
}

function drawRamp(
  context: CanvasRenderingContext2D,
  theme: Theme,
  side: 'support' | 'resistance',
  [x, middle, length]: [number, number, number],
): void {
  const gradient = context.createLinearGradient(x, 0, x + length, 0);
  for (let i = 0; i <= RAMP_STOPS; i++) {
    gradient.addColorStop(i / RAMP_STOPS, cssOf(colourOf(theme, side, i / RAMP_STOPS)));
  }
  context.fillStyle = gradient;
  context.fillRect(x, middle - RAMP.height / 2, length, RAMP.height);
}
