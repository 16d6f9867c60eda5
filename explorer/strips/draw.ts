/** Draws the strips, which share the time axis of the map above them. */
import { screenPixelRatio } from '../heatmap/canvas.js';
import { PRICE_AXIS_PX, type Style } from '../heatmap/overlay.js';
import { usdText } from '../heatmap/ticks.js';
import { type View, xOf } from '../heatmap/view.js';
import type { Course, Lines, Points } from './course.js';

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
/** The rows of the labels above and below the lines, which do not cross them. */
const LABEL_ROW_PX = 14;
/** Less time in sight than this is still drawn this wide. */
const LEAST_PX = 2;

/** Support above the middle, resistance below it. @param hues one per layer */
export function drawLayers(
  canvas: HTMLCanvasElement,
  { course, view, style, hues }: { course: Course; view: Times; style: Style; hues: string[] },
): void {
  const plot = plotOn(canvas, view, style);
  if (plot === null) return;
  const { context, width, height, x, edge } = plot;
  const { layers, t, ends } = course;
  const inSight = inSightOf(course, view);
  if (inSight.length === 0) return frame(plot);
  const sums = (side: 'supportUsd' | 'resistanceUsd'): number[] =>
    inSight.map((at) => layers.reduce((sum, layer) => sum + layer[side][at], 0));
  const most = Math.max(...sums('supportUsd'), ...sums('resistanceUsd'), 1);
  const middle = height / 2;
  const perUsd = (middle - 2) / most;
  for (const at of inSight) {
    const left = Math.max(0, edge(x(t[at])));
    const right = Math.max(edge(x(Math.min(ends[at], view.to))), left + LEAST_PX);
    let [up, down] = [middle - 0.5, middle + 0.5];
    for (const [i, layer] of layers.entries()) {
      context.fillStyle = hues[i];
      const [above, below] = [layer.supportUsd[at] * perUsd, layer.resistanceUsd[at] * perUsd];
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
  frame(plot);
}

/** The score on the left scale; support and resistance near the price on the right one. */
export function drawLines(
  canvas: HTMLCanvasElement,
  { lines, view, style }: { lines: Lines; view: Times; style: Style },
): void {
  const plot = plotOn(canvas, view, style);
  if (plot === null) return;
  const { context, width, height } = plot;
  const { scores } = lines;
  const inSight = inSightOf(lines, view);
  const amounts = inSight.flatMap((at) => [lines.supportUsd[at], lines.resistanceUsd[at]]);
  const most = Math.max(...amounts, 1);
  const known = inSight.flatMap((at) => scores[at] ?? []);
  // A score that hardly changes is a flat line, not noise.
  const top = Math.min(100, Math.ceil(Math.max(...known, 0) + 1));
  const bottom = Math.max(0, Math.min(Math.floor(Math.min(...known, 100) - 1), top - 10));
  const room = height - 2 * LABEL_ROW_PX;
  const line = (
    values: readonly (number | null)[],
    [low, high]: [low: number, high: number],
    hue: string,
  ): void => {
    const yOf = (value: number): number =>
      height - LABEL_ROW_PX - ((value - low) / (high - low)) * room;
    const ys = values.map((value) => (value === null ? null : yOf(value)));
    drawLine(plot, lines, inSight[0] ?? lines.t.length, ys, hue);
  };
  line(lines.supportUsd, [0, most], style.support);
  line(lines.resistanceUsd, [0, most], style.resistance);
  line(scores, [bottom, top], style.text);
  context.clearRect(width, 0, canvas.width, height);
  const label = (text: string, x: number, isTop: boolean): void =>
    context.fillText(text, x, isTop ? LABEL_PX : height - LABEL_PX);
  context.fillStyle = style.textSoft;
  label(usdText(most), width + 9, true);
  label('$0', width + 9, false);
  if (known.length > 0) {
    context.fillStyle = style.text;
    label(String(top), 6, true);
    label(String(bottom), 6, false);
  }
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
