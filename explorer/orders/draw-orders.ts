/** Draws the orders of others over the map. */
import type { DcaOrder } from '../../client/index.js';
import { screenPixelRatio } from '../heatmap/canvas.js';
import type { Style } from '../heatmap/overlay.js';
import { usdText } from '../heatmap/ticks.js';
import { type View, xOf, yOf } from '../heatmap/view.js';
import { dcaAt, dcaSteps, type Line } from './marks.js';

/** Other colours than depth has. */
const HUES = { BUY: '--series-3', SELL: '--series-4' } as const;
/** A line of the largest amount in sight, and of almost none. */
const WIDEST_PX = 4;
const NARROWEST_PX = 1;
/** Of the largest lines. */
const LABELS = 12;
const LABEL_PX = 13;
/** The profile of DCA orders, at the right edge. */
const PROFILE_PX = 72;
const PROFILE_SHARE = 0.14;

interface Plot {
  context: CanvasRenderingContext2D;
  width: number;
  height: number;
  hueOf: (direction: 'BUY' | 'SELL') => string;
}

/** @returns null if there is no room */
function plotOn(canvas: HTMLCanvasElement, style: Style): Plot | null {
  const context = canvas.getContext('2d');
  const scale = screenPixelRatio() * style.size;
  const [width, height] = [canvas.width / scale, canvas.height / scale];
  if (context === null || width <= 0 || height <= 0) return null;
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.font = style.font;
  context.textBaseline = 'middle';
  const css = getComputedStyle(canvas);
  const hues = {
    BUY: css.getPropertyValue(HUES.BUY).trim(),
    SELL: css.getPropertyValue(HUES.SELL).trim(),
  };
  return { context, width, height, hueOf: (direction) => hues[direction] };
}

interface LinesFrame {
  lines: readonly Line[];
  view: View;
  style: Style;
}

/** Each line begins when its first order was created, and is as wide as its USD. */
export function drawLines(canvas: HTMLCanvasElement, { lines, view, style }: LinesFrame): void {
  const plot = plotOn(canvas, style);
  if (plot === null) return;
  const { context, width, height, hueOf } = plot;
  const most = Math.max(...lines.map(({ usd }) => usd), 1);
  const yAt = (line: Line): number => (1 - yOf(view, line.lnPrice)) * height;
  for (const line of lines) {
    const [x, y] = [Math.max(0, xOf(view, line.fromT) * width), yAt(line)];
    const share = Math.sqrt(line.usd / most);
    const wide = NARROWEST_PX + (WIDEST_PX - NARROWEST_PX) * share;
    const rule = (colour: string, lineWidth: number, alpha: number): void => {
      context.globalAlpha = alpha;
      context.strokeStyle = colour;
      context.lineWidth = lineWidth;
      context.beginPath();
      context.moveTo(x, y);
      context.lineTo(width, y);
      context.stroke();
    };
    // Set off from the cells below it.
    rule(style.ground, wide + 2, 0.6 * share);
    rule(hueOf(line.direction), wide, 0.45 + 0.55 * share);
    if (x <= 0) continue;
    context.fillStyle = hueOf(line.direction);
    context.beginPath();
    context.arc(x, y, wide / 2 + 1.5, 0, 2 * Math.PI);
    context.fill();
  }
  context.globalAlpha = 1;
  labels(plot, lines, yAt, style);
}

/** The amounts of the largest lines, where there is room. */
function labels(
  { context, width, height, hueOf }: Plot,
  lines: readonly Line[],
  yAt: (line: Line) => number,
  style: Style,
): void {
  const placed: number[] = [];
  context.textAlign = 'right';
  for (const line of lines.toSorted((a, b) => b.usd - a.usd).slice(0, LABELS)) {
    const y = Math.min(height - LABEL_PX / 2, Math.max(LABEL_PX / 2, yAt(line) - LABEL_PX / 2 - 2));
    if (placed.some((one) => Math.abs(one - y) < LABEL_PX)) continue;
    placed.push(y);
    const label = usdText(line.usd);
    const wide = context.measureText(label).width + 8;
    context.globalAlpha = 0.85;
    context.fillStyle = style.ground;
    context.fillRect(width - wide - 2, y - LABEL_PX / 2, wide, LABEL_PX);
    context.globalAlpha = 1;
    context.fillStyle = hueOf(line.direction);
    context.fillText(label, width - 6, y + 0.5);
  }
}

interface DcaFrame {
  orders: readonly DcaOrder[];
  view: View;
  style: Style;
}

/** At each price, what is left of the orders that trade there: buys at the right edge, sells left of them. */
export function drawDca(canvas: HTMLCanvasElement, { orders, view, style }: DcaFrame): void {
  const plot = plotOn(canvas, style);
  if (plot === null) return;
  const { context, width, height, hueOf } = plot;
  const steps = dcaSteps(orders, Math.exp(view.lnLow), Math.exp(view.lnHigh));
  const bars = steps.slice(0, -1).map((low, i) => ({
    top: (1 - yOf(view, Math.log(steps[i + 1]))) * height,
    bottom: (1 - yOf(view, Math.log(low))) * height,
    sums: dcaAt(orders, (low + steps[i + 1]) / 2),
  }));
  const most = Math.max(...bars.map(({ sums }) => sums.buyUsd + sums.sellUsd), 1);
  const perUsd = Math.min(PROFILE_PX, PROFILE_SHARE * width) / most;
  for (const { top, bottom, sums } of bars) {
    const [buy, sell] = [sums.buyUsd * perUsd, sums.sellUsd * perUsd];
    const bar = (right: number, wide: number, direction: 'BUY' | 'SELL'): void => {
      if (wide <= 0) return;
      context.globalAlpha = 0.45;
      context.fillStyle = hueOf(direction);
      context.fillRect(right - wide, top, wide, bottom - top);
      context.globalAlpha = 0.95;
      context.fillRect(right - wide, top, 1, bottom - top);
    };
    bar(width, buy, 'BUY');
    bar(width - buy, sell, 'SELL');
  }
  context.globalAlpha = 1;
}
