/** Draws the strips, which share the time axis of the map above them. */
import { screenPixelRatio } from '../heatmap/canvas.js';
import { PRICE_AXIS_PX, type Style } from '../heatmap/overlay.js';
import { usdText } from '../heatmap/ticks.js';
import { type View, xOf } from '../heatmap/view.js';
import { type Course, type Lines, startsOf } from './course.js';

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

const MARGIN_PX = 7;
const RIM_PX = 4;
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
  const { layers, t } = course;
  const inSight = inSightOf(course, view);
  if (inSight.length === 0) return frame(plot);
  const sums = (side: 'supportUsd' | 'resistanceUsd'): number[] =>
    inSight.map((at) => layers.reduce((sum, layer) => sum + layer[side][at], 0));
  const most = Math.max(...sums('supportUsd'), ...sums('resistanceUsd'), 1);
  const middle = height / 2;
  const perUsd = (middle - 2) / most;
  const starts = startsOf(course);
  for (const at of inSight) {
    const left = Math.max(0, edge(x(starts[at])));
    const right = Math.max(edge(x(t[at])), left + LEAST_PX);
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
  context.fillText(usdText(most), width + 9, MARGIN_PX);
  context.fillText('$0', width + 9, middle);
  context.fillText(usdText(most), width + 9, height - MARGIN_PX);
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
  const inSight = inSightOf(lines, view);
  const amounts = inSight.flatMap((at) => [lines.supportUsd[at], lines.resistanceUsd[at]]);
  const most = Math.max(...amounts, 1);
  const scores = inSight.flatMap((at) => lines.score[at] ?? []);
  // A score that hardly changes is a flat line, not noise.
  const top = Math.min(100, Math.ceil(Math.max(...scores, 0) + 1));
  const bottom = Math.max(0, Math.min(Math.floor(Math.min(...scores, 100) - 1), top - 10));
  const room = height - 2 * MARGIN_PX;
  const line = (values: (number | null)[], share: (value: number) => number, hue: string) =>
    drawLine(plot, lines, values, (value) => height - MARGIN_PX - share(value) * room, hue);
  line(lines.supportUsd, (value) => value / most, style.support);
  line(lines.resistanceUsd, (value) => value / most, style.resistance);
  line(lines.score, (value) => (value - bottom) / (top - bottom), style.text);
  context.clearRect(width, 0, canvas.width, height);
  context.fillStyle = style.textSoft;
  context.fillText(usdText(most), width + 9, MARGIN_PX);
  context.fillText('$0', width + 9, height - MARGIN_PX);
  context.fillStyle = style.text;
  if (scores.length > 0) {
    for (const [value, y] of [
      [top, MARGIN_PX],
      [bottom, height - MARGIN_PX],
    ]) {
      // A rim separates it from the lines.
      context.strokeStyle = style.ground;
      context.lineWidth = RIM_PX;
      context.strokeText(String(value), 6, y);
      context.fillText(String(value), 6, y);
    }
  }
  frame(plot);
}

function drawLine(
  { context, x, view }: Plot,
  course: Course,
  values: readonly (number | null)[],
  y: (value: number) => number,
  hue: string,
): void {
  const { t, stepS } = course;
  const starts = startsOf(course);
  context.strokeStyle = hue;
  context.lineWidth = 1.5;
  context.beginPath();
  let before = -Infinity;
  for (const [at, value] of values.entries()) {
    if (value === null || t[at] < view.from - stepS || t[at] > view.to + stepS) continue;
    const isJoined = t[at] - before <= 3 * stepS;
    // A point beside a gap is as long as the time for which it stands.
    const startX = Math.max(0, x(starts[at]));
    if (!isJoined) context.moveTo(startX, y(value));
    context.lineTo(isJoined ? x(t[at]) : Math.max(x(t[at]), startX + LEAST_PX), y(value));
    before = t[at];
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

function inSightOf({ t, stepS }: Course, { from, to }: Times): number[] {
  return [...t.keys()].filter((at) => t[at] > from && t[at] - stepS < to);
}
