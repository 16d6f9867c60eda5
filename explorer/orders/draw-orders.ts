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
const WIDEST_PX = 3.5;
const NARROWEST_PX = 1;
/** Over this share of the map, which has its newest columns, lines are thin and have no labels. */
const NEWEST_SHARE = 0.12;
/** Of the largest lines. */
const LABELS = 6;
const LABEL_PX = 13;
/** The profile of DCA orders, at the left edge. */
const PROFILE_PX = 64;
const PROFILE_SHARE = 0.1;

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
  /** Left of this, the profile of DCA orders has no labels over it. */
  leftPx: number;
}

/** Each line begins when its first order was created, and is as wide as its USD. */
export function drawLines(
  canvas: HTMLCanvasElement,
  { lines, view, style, leftPx }: LinesFrame,
): void {
  const plot = plotOn(canvas, style);
  if (plot === null) return;
  const { context, width, height, hueOf } = plot;
  const most = Math.max(...lines.map(({ usd }) => usd), 1);
  const yAt = (line: Line): number => (1 - yOf(view, line.lnPrice)) * height;
  const xAt = (line: Line): number => Math.max(0, xOf(view, line.fromT) * width);
  const newestX = (1 - NEWEST_SHARE) * width;
  for (const line of lines) {
    const [x, y] = [xAt(line), yAt(line)];
    const share = Math.sqrt(line.usd / most);
    const wide = NARROWEST_PX + (WIDEST_PX - NARROWEST_PX) * share;
    const rule = (colour: string, lineWidth: number, alpha: number, to = newestX): void => {
      if (x >= to) return;
      context.globalAlpha = alpha;
      context.strokeStyle = colour;
      context.lineWidth = lineWidth;
      context.beginPath();
      context.moveTo(x, y);
      context.lineTo(to, y);
      context.stroke();
    };
    // Set off from the cells below it.
    rule(style.ground, wide + 2, 0.6 * share);
    rule(hueOf(line.direction), NARROWEST_PX, 0.55, width);
    rule(hueOf(line.direction), wide, 0.45 + 0.55 * share);
    context.globalAlpha = 1;
    if (x <= 0) continue;
    context.fillStyle = hueOf(line.direction);
    context.beginPath();
    context.arc(x, y, wide / 2 + 1.5, 0, 2 * Math.PI);
    context.fill();
  }
  context.globalAlpha = 1;
  labels(plot, lines, { xOf: xAt, yOf: yAt, leftPx, newestX }, style);
}

/** The amounts of the largest lines, where these begin, if there is room. */
function labels(
  { context, height, hueOf }: Plot,
  lines: readonly Line[],
  place: {
    xOf: (line: Line) => number;
    yOf: (line: Line) => number;
    leftPx: number;
    newestX: number;
  },
  style: Style,
): void {
  const placed: { x: number; y: number; wide: number }[] = [];
  context.textAlign = 'left';
  for (const line of lines.toSorted((a, b) => b.usd - a.usd).slice(0, LABELS)) {
    const aboveY = place.yOf(line) - LABEL_PX / 2 - 2;
    const y = Math.min(height - LABEL_PX / 2, Math.max(LABEL_PX / 2, aboveY));
    const label = usdText(line.usd);
    const wide = context.measureText(label).width + 8;
    const x = Math.min(Math.max(place.xOf(line) + 2, place.leftPx + 2), place.newestX - wide);
    const isTaken = placed.some(
      (one) => Math.abs(one.y - y) < LABEL_PX && x < one.x + one.wide && one.x < x + wide,
    );
    if (isTaken) continue;
    placed.push({ x, y, wide });
    context.globalAlpha = 0.85;
    context.fillStyle = style.ground;
    context.fillRect(x, y - LABEL_PX / 2, wide, LABEL_PX);
    context.globalAlpha = 1;
    context.fillStyle = hueOf(line.direction);
    context.fillText(label, x + 4, y + 0.5);
  }
}

interface DcaFrame {
  orders: readonly DcaOrder[];
  view: View;
  style: Style;
}

/**
 * At each price, what is left of the orders that trade there: buys at the left edge, sells right of them. The newest
 * columns, at the right edge, stay free.
 *
 * @returns how far the profile reaches
 */
export function drawDca(canvas: HTMLCanvasElement, { orders, view, style }: DcaFrame): number {
  const plot = plotOn(canvas, style);
  if (plot === null) return 0;
  const { context, width, height, hueOf } = plot;
  const steps = dcaSteps(orders, Math.exp(view.lnLow), Math.exp(view.lnHigh));
  const bars = steps.slice(0, -1).map((low, i) => ({
    top: (1 - yOf(view, Math.log(steps[i + 1]))) * height,
    bottom: (1 - yOf(view, Math.log(low))) * height,
    sums: dcaAt(orders, (low + steps[i + 1]) / 2),
  }));
  const most = Math.max(...bars.map(({ sums }) => sums.buyUsd + sums.sellUsd), 1);
  const widestPx = Math.min(PROFILE_PX, PROFILE_SHARE * width);
  const perUsd = widestPx / most;
  for (const { top, bottom, sums } of bars) {
    const [buy, sell] = [sums.buyUsd * perUsd, sums.sellUsd * perUsd];
    const bar = (left: number, wide: number, direction: 'BUY' | 'SELL'): void => {
      if (wide <= 0) return;
      context.globalAlpha = 0.45;
      context.fillStyle = hueOf(direction);
      context.fillRect(left, top, wide, bottom - top);
      context.globalAlpha = 0.95;
      context.fillRect(left + wide - 1, top, 1, bottom - top);
    };
    bar(0, buy, 'BUY');
    bar(buy, sell, 'SELL');
  }
  context.globalAlpha = 1;
  return orders.length === 0 ? 0 : widestPx;
}
