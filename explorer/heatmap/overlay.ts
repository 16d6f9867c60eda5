/** Draws axes and grid over the cells. */
import { type Held, lastInSight } from './history.js';
import { zoneLabel } from '../state/zone.js';
import { percentTicks, placedTicks, priceText, priceTicks } from './ticks.js';
import { type View, yOf } from './view.js';

/** Room for the axes at the default text size; heatmap.css reserves the same. */
export const PRICE_AXIS_PX = 68;
const TIME_AXIS_PX = 26;
const MIN_PRICE_TICK_PX = 34;
/** Height of the tag of the last price. */
const LAST_PRICE_PX = 18;
/** The least distance between the middle of that tag and the middle of the cursor's label, so that they do not overlap. */
export const LABEL_ROOM_PX = 21;
/** Height of an axis label. */
const LABEL_PX = 14;
const USUAL_REM_PX = 16;

/** The page's colours and font. */
export interface Style {
  text: string;
  textSoft: string;
  line: string;
  price: string;
  support: string;
  resistance: string;
  ground: string;
  font: string;
  /** The page's text size as a multiple of the default one: more than 1 on large screens. */
  size: number;
}

export function styleOf(element: HTMLElement): Style {
  const css = getComputedStyle(element);
  const value = (name: string) => css.getPropertyValue(name).trim();
  return {
    text: value('--text'),
    textSoft: value('--text-soft'),
    line: value('--line'),
    price: value('--price'),
    support: value('--support'),
    resistance: value('--resistance'),
    ground: value('--canvas'),
    font: `11px ${css.fontFamily}`,
    size: Number.parseFloat(getComputedStyle(document.documentElement).fontSize) / USUAL_REM_PX,
  };
}

interface OverlayFrame {
  view: View;
  held: readonly Held[];
  pixelRatio: number;
  style: Style;
  /** Whether the axis shows distances from the last price in sight. */
  isPercent: boolean;
}

export function drawOverlay(canvas: HTMLCanvasElement, frame: OverlayFrame): void {
  const context = canvas.getContext('2d');
  if (context === null) return;
  const pixelRatio = frame.pixelRatio * frame.style.size;
  const width = canvas.width / pixelRatio - PRICE_AXIS_PX;
  const height = canvas.height / pixelRatio - TIME_AXIS_PX;
  context.setTransform(pixelRatio, 0, 0, pixelRatio, 0, 0);
  context.clearRect(0, 0, canvas.width, canvas.height);
  // A picture that is hidden, or that was just removed from the page, has no size.
  if (width <= 0 || height <= 0) return;
  context.font = frame.style.font;
  drawAxes(context, frame, width, height);
  drawLastPrice(context, frame, width, height);
}

function drawAxes(
  context: CanvasRenderingContext2D,
  { view, held, style, isPercent }: OverlayFrame,
  width: number,
  height: number,
): void {
  context.lineWidth = 1;
  context.textBaseline = 'middle';
  context.textAlign = 'center';
  const widthOf = (label: string): number => context.measureText(label).width;
  for (const { x, label, isStrong } of placedTicks(view, width, widthOf)) {
    grid(context, isStrong, x, 0, x, height + 4);
    context.fillStyle = isStrong ? style.text : style.textSoft;
    context.fillText(label, x, height + 15);
  }
  context.textAlign = 'left';
  context.fillStyle = style.textSoft;
  context.fillText(zoneLabel(view.to), width + 9, height + 15);
  const last = lastInSight(held, view);
  const lastY = last === undefined ? -Infinity : (1 - yOf(view, last.lnPrice)) * height;
  const gap = MIN_PRICE_TICK_PX / height;
  const ticks =
    isPercent && last !== undefined ? percentTicks(view, last.lnPrice, gap) : priceTicks(view, gap);
  for (const { at, label } of ticks) {
    const y = Math.round((1 - yOf(view, at)) * height) + 0.5;
    grid(context, false, 0, y, width + 4, y);
    const isFree =
      y > 6 && y < height - 4 && Math.abs(y - lastY) > LAST_PRICE_PX / 2 + LABEL_PX / 2 + 1;
    if (isFree) context.fillText(label, width + 9, y);
  }
  context.strokeStyle = style.line;
  context.strokeRect(-0.5, -0.5, width + 1, height + 1);
}

function grid(
  context: CanvasRenderingContext2D,
  isStrong: boolean,
  ...[fromX, fromY, toX, toY]: [number, number, number, number]
): void {
  context.strokeStyle = isStrong ? 'rgb(128 140 155 / 34%)' : 'rgb(128 140 155 / 14%)';
  context.beginPath();
  context.moveTo(fromX, fromY);
  context.lineTo(toX, toY);
  context.stroke();
}

/** Marks the last price in sight on the axis. */
function drawLastPrice(
  context: CanvasRenderingContext2D,
  { view, held, style }: OverlayFrame,
  width: number,
  height: number,
): void {
  const last = lastInSight(held, view);
  if (last === undefined) return;
  const y = (1 - yOf(view, last.lnPrice)) * height;
  if (y < 0 || y > height) return;
  context.fillStyle = style.price;
  context.beginPath();
  context.roundRect(width + 3, y - LAST_PRICE_PX / 2, PRICE_AXIS_PX - 5, LAST_PRICE_PX, 3);
  context.fill();
  context.fillStyle = style.ground;
  // A long price is condensed.
  context.fillText(priceText(last.priceUsd), width + 9, y, PRICE_AXIS_PX - 17);
}
