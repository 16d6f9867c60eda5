/** Draws the strips, which share the time axis of the map above them. */
import { screenPixelRatio } from '../heatmap/canvas.js';
import { PRICE_AXIS_PX, type Style } from '../heatmap/overlay.js';
import { usdText } from '../heatmap/ticks.js';
import { type View, xOf } from '../heatmap/view.js';
import type { Course, Lines, Points } from './course.js';
import { fadedOf, type Hue } from './hues.js';
import { niceAbove, scoreScale } from './scales.js';

type Times = Pick<View, 'from' | 'to'>;

/** The tools for drawing either strip. */
interface Plot {
  context: CanvasRenderingContext2D;
  style: Style;
  view: Times;
  width: number;
  height: number;
  x: (t: number) => number;
  /** The nearest edge of a pixel of the screen. */
  edge: (x: number) => number;
}

/** From the edges of a strip to the middle of the labels of its scale. */
const LABEL_PX = 7;
/** The space above and below lines, so that none is cut. */
const LINE_MARGIN_PX = 3;
/** Less time in sight than this is still drawn this wide. */
const LEAST_PX = 2;

/** Resistance above the middle, support below it, as on the map. @param hues one per layer */
export function drawLayers(
  canvas: HTMLCanvasElement,
  {
    course,
    view,
    style,
    hues,
  }: { course: Course; view: Times; style: Style; hues: readonly Hue[] },
): void {
  const plot = plotOn(canvas, view, style);
  if (plot === null) return;
  const { context, width, height, x, edge } = plot;
  const { layers, t, ends } = course;
  const inSight = inSightOf(course, view);
  if (inSight.length === 0) return frame(plot);
  const sums = (side: 'supportUsd' | 'resistanceUsd'): number[] =>
    inSight.map((at) => layers.reduce((sum, layer) => sum + layer[side][at], 0));
  const most = niceAbove(Math.max(...sums('supportUsd'), ...sums('resistanceUsd'), 1));
  const middle = height / 2;
  const perUsd = (middle - 2) / most;
  const paints = hues.map((hue) => paintOf(context, hue));
  for (const at of inSight) {
    const left = Math.max(0, edge(x(t[at])));
    const right = Math.max(edge(x(Math.min(ends[at], view.to))), left + LEAST_PX);
    let [up, down] = [middle - 0.5, middle + 0.5];
    for (const [i, layer] of layers.entries()) {
      context.fillStyle = paints[i];
      const [above, below] = [layer.resistanceUsd[at] * perUsd, layer.supportUsd[at] * perUsd];
      context.fillRect(left, up - above, right - left, above);
      context.fillRect(left, down, right - left, below);
      [up, down] = [up - above, down + below];
    }
  }
  context.clearRect(width, 0, canvas.width, height);
  context.fillStyle = style.textSoft;
  context.fillText(usdText(most), width + 9, LABEL_PX);
  context.fillText('$0', width + 9, middle);
  context.fillText(usdText(most), width + 9, height - LABEL_PX);
  for (const [side, y] of [
    ['Resistance', LABEL_PX],
    ['Support', height - LABEL_PX],
  ] as const) {
    context.fillStyle = style.ground;
    context.globalAlpha = 0.75;
    context.fillRect(0, y - LABEL_PX, context.measureText(side).width + 10, 2 * LABEL_PX);
    context.globalAlpha = 1;
    context.fillStyle = style.textSoft;
    context.fillText(side, 5, y);
  }
  frame(plot);
}

/** Support and resistance near the price. */
export function drawDepth(
  canvas: HTMLCanvasElement,
  { lines, view, style }: { lines: Lines; view: Times; style: Style },
): void {
  const plot = plotOn(canvas, view, style);
  if (plot === null) return;
  const { supportUsd, resistanceUsd } = lines;
  const inSight = inSightOf(lines, view);
  const amounts = inSight.flatMap((at) => [supportUsd[at], resistanceUsd[at]]);
  const most = niceAbove(Math.max(...amounts, 1));
  const scale = { low: 0, high: most, text: usdText };
  drawScaled(plot, lines, inSight, scale, [
    [supportUsd, style.support],
    [resistanceUsd, style.resistance],
  ]);
}

/** The score, on a scale of its own. */
export function drawScore(
  canvas: HTMLCanvasElement,
  { lines, view, style }: { lines: Lines; view: Times; style: Style },
): void {
  const plot = plotOn(canvas, view, style);
  if (plot === null) return;
  const { scores } = lines;
  const inSight = inSightOf(lines, view);
  const known = inSight.flatMap((at) => scores[at] ?? []);
  if (known.length === 0) return frame(plot);
  const scale = { ...scoreScale(known), text: String };
  drawScaled(plot, lines, inSight, scale, [[scores, style.text]]);
}

/** Lines on a scale whose ends are labelled. */
function drawScaled(
  plot: Plot,
  lines: Lines,
  inSight: readonly number[],
  { low, high, text }: { low: number; high: number; text: (value: number) => string },
  drawn: readonly [values: readonly (number | null)[], hue: string][],
): void {
  const { context, width, height, style } = plot;
  const room = height - 2 * LINE_MARGIN_PX;
  for (const [values, hue] of drawn) {
    const ys = values.map((value) =>
      value === null ? null : height - LINE_MARGIN_PX - ((value - low) / (high - low)) * room,
    );
    drawLine(plot, lines, inSight[0] ?? lines.t.length, ys, hue);
  }
  context.clearRect(width, 0, context.canvas.width, height);
  context.fillStyle = style.textSoft;
  context.fillText(text(high), width + 9, LABEL_PX);
  context.fillText(text(low), width + 9, height - LABEL_PX);
  frame(plot);
}

/** Joins the points from the first one in sight. @param ys by point; null: none */
function drawLine(
  { context, x, view }: Plot,
  points: Points,
  first: number,
  ys: readonly (number | null)[],
  hue: string,
): void {
  const { t, ends } = points;
  context.strokeStyle = hue;
  context.lineWidth = 1.5;
  context.beginPath();
  let isJoined = false;
  for (let at = first; at < t.length && (t[at] < view.to || isJoined); at++) {
    const y = ys[at];
    if (y !== null) {
      if (isJoined) context.lineTo(x(t[at]), y);
      else context.moveTo(x(t[at]), y);
    }
    // The line ends with the first point beyond the view, or before a gap when its last point no longer holds.
    if (t[at] >= view.to) break;
    isJoined = y !== null && ends[at] === t[at + 1] && ys[at + 1] !== null;
    if (y !== null && !isJoined)
      context.lineTo(Math.max(x(Math.min(ends[at], view.to)), Math.max(0, x(t[at])) + LEAST_PX), y);
  }
  context.stroke();
}

/** A layer's colour to fill a canvas with. */
function paintOf(context: CanvasRenderingContext2D, { colour, stripePx: px }: Hue) {
  if (px === 0) return colour;
  const tile = new OffscreenCanvas(2 * px, 1);
  const stripes = tile.getContext('2d');
  if (stripes === null) return colour;
  stripes.fillStyle = colour;
  stripes.fillRect(0, 0, px, 1);
  stripes.fillStyle = fadedOf(colour);
  stripes.fillRect(px, 0, px, 1);
  return context.createPattern(tile, 'repeat') ?? colour;
}

function plotOn(canvas: HTMLCanvasElement, view: Times, style: Style): Plot | null {
  // Thousands of small shapes: the processor draws them at least as fast as a graphics card, and far faster than without one.
  const context = canvas.getContext('2d', { willReadFrequently: true });
  const scale = screenPixelRatio() * style.size;
  const [width, height] = [canvas.width / scale - PRICE_AXIS_PX, canvas.height / scale];
  if (context === null || width <= 0 || height <= 0) return null;
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, canvas.width, canvas.height);
  context.font = style.font;
  context.textBaseline = 'middle';
  const x = (t: number): number => xOf({ ...view, lnLow: 0, lnHigh: 1 }, t) * width;
  const edge = (at: number): number => Math.round(at * scale) / scale;
  return { context, style, view, width, height, x, edge };
}

function frame({ context, style, width, height }: Plot): void {
  context.strokeStyle = style.line;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(width + 0.5, 0);
  context.lineTo(width + 0.5, height);
  context.stroke();
}

function inSightOf({ t, ends }: Points, { from, to }: Times): number[] {
  return [...t.keys()].filter((at) => ends[at] > from && t[at] < to);
}
