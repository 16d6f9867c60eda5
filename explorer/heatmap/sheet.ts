/**
 * The cells and the price line on the page: a canvas that is larger than the view, and moves with it. A move draws only
 * what comes into sight, and most moves draw nothing: where the processor draws, a whole picture takes longer than a frame.
 */
import type { Scale } from './amounts.js';
import { resize } from './canvas.js';
import type { Extent, History } from './history.js';
import type { Theme } from './palette.js';
import { contains, type Covered, following, grown, type Rect, withoutColumns } from './rects.js';
import { Renderer } from './renderer.js';
import type { View } from './view.js';

/** The canvas has room for this share of the view beyond each of its ends. */
const MARGIN = 0.25;
/** Greatest width and height of a canvas. */
export const MAX_CANVAS_PX = 8192;
/** Most frames for a photograph whose cells need several. */
const MAX_FRAMES = 200;
/** Width of the price line in CSS pixels at the default text size. */
const LINE_PX = 1.5;
/** The sheet is only moved if the offset of the view from what is drawn is this close to whole pixels. */
const SAME_PX = 0.02;

/** How cells are drawn. */
export interface Look {
  scale: Scale;
  theme: Theme;
  /** Pixels of the canvas per CSS pixel. */
  pixelRatio: number;
  /** The page's text size as a multiple of the default one. */
  textSize: number;
}

interface Drawn extends Covered {
  look: Look;
  /** Of the canvas, around the view. */
  margin: { x: number; y: number };
  /** Pixels are counted from its top left corner. */
  origin: View;
  /** The name of the steps of time and price. */
  detail: string;
}

export class Sheet {
  /** Pixels across the view. */
  width = 1;
  height = 1;
  /** The height in CSS pixels. */
  get heightPx(): number {
    return this.height * this.perPx;
  }
  /** CSS pixels per pixel. */
  private perPx = 1;
  readonly maxSnapshots: number;
  private readonly source = document.createElement('canvas');
  private readonly canvas = document.createElement('canvas');
  private readonly context: CanvasRenderingContext2D;
  private renderer: Renderer | null;
  /** Null if it must be drawn. */
  private drawn: Drawn | null = null;

  /**
   * @param place the element in which it is shown, and which hides what lies beyond its edges
   * @param signal ends it
   * @param onRestored called when the graphics card, once lost, is back
   * @throws Error if the browser has no WebGL2
   */
  constructor(
    private readonly place: HTMLElement,
    signal: AbortSignal,
    onRestored: () => History,
  ) {
    const context = this.canvas.getContext('2d', { alpha: false });
    this.renderer = Renderer.on(this.source);
    if (this.renderer === null || context === null) throw new Error('this browser has no WebGL2');
    this.context = context;
    this.maxSnapshots = this.renderer.maxSnapshots;
    place.append(this.canvas);
    signal.addEventListener('abort', () => this.canvas.remove());
    const lost = (event: Event): void => {
      event.preventDefault();
      this.renderer = null;
    };
    const restored = (): void => {
      this.renderer = Renderer.on(this.source);
      this.renderer?.upload(onRestored());
      this.restyle();
    };
    this.source.addEventListener('webglcontextlost', lost, { signal });
    this.source.addEventListener('webglcontextrestored', restored, { signal });
  }

  /** Takes changed snapshots; the next drawing redraws only what they change. */
  upload(history: History): void {
    const { renderer, drawn } = this;
    renderer?.upload(history);
    const changed = history.takeChanged();
    if (drawn === null || changed === null) return;
    const { origin } = drawn;
    if (renderer === null || renderer.detailOf(origin, this.width) !== drawn.detail)
      return this.restyle();
    const perX = (origin.to - origin.from) / this.width;
    // A pixel shows its neighbours' price line.
    const left = Math.floor((changed.from - origin.from) / perX) - 1;
    const right = Math.ceil((changed.to - origin.from) / perX) + 1;
    drawn.drawn = withoutColumns(drawn.drawn, left, right);
  }

  /** Draws everything next time, as when the page's layout or style has changed. */
  restyle(): void {
    this.drawn = null;
  }

  /**
   * Shows a view.
   *
   * @param extent where the view can move; null if unknown
   * @returns false if some cells need another frame
   */
  show(view: View, extent: Extent | null, look: Look): boolean {
    const { drawn } = this;
    const isSame =
      drawn?.look.scale.lowUsd === look.scale.lowUsd &&
      drawn.look.scale.highUsd === look.scale.highUsd &&
      drawn.look.theme === look.theme &&
      drawn.look.pixelRatio === look.pixelRatio;
    const seen = isSame ? this.rectOf(view, drawn.origin) : null;
    if (drawn === null || seen === null) return this.drawAll(view, extent, look);
    let isWhole = true;
    if (!contains(drawn.drawn, seen)) {
      const { x, y } = this.marginOf(view, extent);
      // Where the view can move has become known.
      if (x !== drawn.margin.x || y !== drawn.margin.y) return this.drawAll(view, extent, look);
      isWhole = this.extend(drawn, seen, extent ?? view);
    }
    this.moveTo(drawn.room, seen);
    if (!isWhole) this.drawn = null;
    return isWhole;
  }

  /** The view's rectangle in pixels of the origin; null if it has another scale, or is not at whole pixels. */
  private rectOf(view: View, origin: View): Rect | null {
    const { width, height } = this;
    const perX = (origin.to - origin.from) / width;
    const perY = (origin.lnHigh - origin.lnLow) / height;
    const [left, right] = [(view.from - origin.from) / perX, (view.to - origin.from) / perX];
    const top = (origin.lnHigh - view.lnHigh) / perY;
    const bottom = (origin.lnHigh - view.lnLow) / perY;
    const rect = { left: Math.round(left), top: Math.round(top), right: 0, bottom: 0 };
    [rect.right, rect.bottom] = [rect.left + width, rect.top + height];
    const isOff = [left - rect.left, right - rect.right, top - rect.top, bottom - rect.bottom];
    return isOff.some((px) => Math.abs(px) > SAME_PX) ? null : rect;
  }

  private drawAll(view: View, extent: Extent | null, look: Look): boolean {
    const { place, canvas } = this;
    this.width = Math.max(1, Math.round(place.clientWidth * look.pixelRatio));
    this.height = Math.max(1, Math.round(place.clientHeight * look.pixelRatio));
    this.perPx = place.clientWidth / this.width;
    const all = { left: 0, top: 0, right: this.width, bottom: this.height };
    const margin = this.marginOf(view, extent);
    const room = grown(all, margin);
    resize(canvas, room.right - room.left, room.bottom - room.top);
    canvas.style.width = `${canvas.width * this.perPx}px`;
    canvas.style.height = `${canvas.height * (place.clientHeight / this.height)}px`;
    const detail = this.renderer?.detailOf(view, this.width) ?? '';
    const drawn: Drawn = { look, margin, origin: view, detail, room, drawn: all };
    const isWhole = this.drawPart(drawn, all, false);
    this.moveTo(room, all);
    this.drawn = isWhole ? drawn : null;
    return isWhole;
  }

  private extend(drawn: Drawn, seen: Rect, extent: Extent): boolean {
    const { canvas, context } = this;
    const { origin, room } = drawn;
    const perX = (origin.to - origin.from) / this.width;
    const perY = (origin.lnHigh - origin.lnLow) / this.height;
    const limits: Rect = {
      left: Math.floor((extent.from - origin.from) / perX),
      top: Math.floor((origin.lnHigh - extent.lnHigh) / perY),
      right: Math.ceil((extent.to - origin.from) / perX),
      bottom: Math.ceil((origin.lnHigh - extent.lnLow) / perY),
    };
    const to = following(drawn, seen, drawn.margin, limits);
    if (to.room !== room) {
      context.globalCompositeOperation = 'copy';
      context.drawImage(canvas, room.left - to.room.left, room.top - to.room.top);
      context.globalCompositeOperation = 'source-over';
    }
    Object.assign(drawn, { room: to.room, drawn: to.drawn });
    return to.parts.map((part) => this.drawPart(drawn, part, true)).every(Boolean);
  }

  /** Room of the canvas around the view; none in a direction in which the view cannot move. */
  private marginOf(view: View, extent: Extent | null): { x: number; y: number } {
    const canMove = extent !== null && view.to - view.from < extent.to - extent.from;
    const canRise = extent !== null && view.lnHigh - view.lnLow < extent.lnHigh - extent.lnLow;
    const marginOf = (px: number): number =>
      Math.max(0, Math.floor(Math.min(MARGIN * px, (MAX_CANVAS_PX - px) / 2)));
    return { x: canMove ? marginOf(this.width) : 0, y: canRise ? marginOf(this.height) : 0 };
  }

  private drawPart({ look, origin, room }: Drawn, part: Rect, isPart: boolean): boolean {
    const { renderer, source, canvas, context } = this;
    if (renderer === null) return true;
    resize(source, canvas.width, canvas.height);
    const perX = (origin.to - origin.from) / this.width;
    const perY = (origin.lnHigh - origin.lnLow) / this.height;
    const view: View = isPart
      ? {
          from: origin.from + part.left * perX,
          to: origin.from + part.right * perX,
          lnLow: origin.lnHigh - part.bottom * perY,
          lnHigh: origin.lnHigh - part.top * perY,
        }
      : origin;
    const [width, height] = [part.right - part.left, part.bottom - part.top];
    const hatchPx = part.left + this.height - part.bottom;
    const isWhole = renderer.draw({ ...frameOf(view, look), width, height, hatchPx, isPart });
    const at: [number, number] = [part.left - room.left, part.top - room.top];
    // What is drawn lies in the lower left corner.
    context.drawImage(source, 0, source.height - height, width, height, ...at, width, height);
    return isWhole;
  }

  private moveTo(room: Rect, seen: Rect): void {
    const { perPx } = this;
    const [x, y] = [(room.left - seen.left) * perPx, (room.top - seen.top) * perPx];
    this.canvas.style.transform = `translate(${x}px, ${y}px)`;
  }

  /** Draws a view onto a context, with other pixels than the page's. */
  photograph(onto: CanvasRenderingContext2D, view: View, look: Look): void {
    const { renderer, source, place } = this;
    if (renderer === null) return;
    const [width, height] = [place.clientWidth, place.clientHeight].map((px) =>
      Math.round(px * look.pixelRatio),
    );
    resize(source, width, height);
    const frame = { ...frameOf(view, look), width, height, hatchPx: 0, isPart: false };
    for (let frames = 1; !renderer.draw(frame) && frames < MAX_FRAMES; frames++);
    onto.drawImage(source, 0, 0);
    this.drawn = null;
  }
}

function frameOf(view: View, { scale, theme, pixelRatio, textSize }: Look) {
  return { view, scale, theme, pixelRatio, linePx: LINE_PX * pixelRatio * textSize };
}
