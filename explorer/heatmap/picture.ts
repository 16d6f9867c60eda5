/** The picture: snapshots, view and cursor, drawn when one of them changes. */
import type { Scale } from './amounts.js';
import type { Time } from '../../client/index.js';
import { binAt, LN_BIN } from './columns.js';
import { type Cursor, cursorAt, isInView, type Place } from './cursor.js';
import { type Extent, type Held, History } from './history.js';
import { type Controls, listen } from './interaction.js';
import type { TimeWindow } from './detail.js';
import type { Part } from './loader.js';
import { drawOverlay, type Style, styleOf } from './overlay.js';
import type { Theme } from './palette.js';
import type { Zoom } from '../state/url.js';
import { Renderer } from './renderer.js';
import {
  clamped,
  followed,
  lnPriceAt,
  panned,
  type Point,
  timeAt,
  type View,
  xOf,
  yOf,
  zoomed,
} from './view.js';
import { pricesOf, timesOf, zoomOf } from './zoom.js';

/** Duration of the picture's move when a new snapshot arrives. */
const MOVE_MS = 450;
/** More device pixels per CSS pixel than this take time without a visible difference. */
const MAX_PIXEL_RATIO = 2;
/** A browser that draws with the processor shows a dragged picture at this share of its pixels per CSS pixel. */
const DRAGGED_SHARE = 0.5;
/** A frame that comes later than this after its request is slow. */
const SLOW_FRAME_MS = 1000 / 30;
/** After a drag has rested this long, the picture has all its pixels again. */
const REST_MS = 100;
/** Greatest width of a photograph. */
const MAX_PHOTOGRAPH_PX = 8192;
/** Most frames for a photograph whose cells need several. */
const MAX_FRAMES = 200;
/** Width of the price line in CSS pixels at the default text size. */
const LINE_PX = 1.5;

export interface Drawn {
  view: View;
  /** The part of the window in sight; null for all of it. */
  zoom: Zoom | null;
  scale: Scale;
  cursor: Cursor | null;
}

/** A picture of what was in sight. */
export interface Photograph {
  canvas: HTMLCanvasElement;
  /** Its pixels per pixel of the page's default text size. */
  pixelRatio: number;
  view: View;
  scale: Scale;
  theme: Theme;
  style: Style;
}

interface PictureElements {
  frame: HTMLElement;
  cells: HTMLCanvasElement;
  overlay: HTMLCanvasElement;
}

export class Picture implements Controls {
  readonly maxSnapshots: number;
  history: History;
  private renderer: Renderer | null;
  /** The time range of the initial picture; null before it is known. */
  window: TimeWindow | null = null;
  /** The time range of the token's history; null if unknown. */
  private reach: TimeWindow | null = null;
  private endsNow = false;
  private isSliding = false;
  private showsWholeWindow = false;
  /** The initial view; null for the whole window. */
  private initialZoom: Zoom | null = null;
  private extent: Extent | null = null;
  private view: View | null = null;
  private scale: Scale;
  /** A scale shared by several pictures; null if there is none. */
  private sharedScale: Scale | null = null;
  /** In time and price: it stays on the same data as the view moves. */
  private cursor: Place | null = null;
  private hasMoved = false;
  private haveMovedPrices = false;
  private moving: { from: View; sinceMs: number } | null = null;
  private nextFrame = 0;
  /** Draws a picture at rest after a drag; undefined while nothing is dragged. */
  private rest: ReturnType<typeof setTimeout> | undefined;
  private isSlow = false;
  private style: Style;
  private readonly ended = new AbortController();

  /** @throws Error if the browser has no WebGL2 */
  constructor(
    private readonly elements: PictureElements,
    private theme: Theme,
    private readonly onDrawn: (drawn: Drawn) => void,
    private readonly onPin: (t: number | null) => void,
  ) {
    const { frame, cells } = elements;
    this.renderer = Renderer.on(cells);
    if (this.renderer === null) throw new Error('this browser has no WebGL2');
    this.maxSnapshots = this.renderer.maxSnapshots;
    this.history = new History(this.maxSnapshots);
    this.scale = this.history.scale();
    this.style = styleOf(frame);
    const { signal } = this.ended;
    const resized = new ResizeObserver(() => this.setTheme(this.theme));
    resized.observe(frame);
    const unlisten = listen(frame, cells, this);
    signal.addEventListener('abort', () => {
      resized.disconnect();
      unlisten();
      cancelAnimationFrame(this.nextFrame);
      clearTimeout(this.rest);
    });
    const lost = (event: Event): void => {
      event.preventDefault();
      this.renderer = null;
    };
    const restored = (): void => {
      this.renderer = Renderer.on(cells);
      this.renderer?.upload(this.history);
      this.redraw();
    };
    cells.addEventListener('webglcontextlost', lost, { signal });
    cells.addEventListener('webglcontextrestored', restored, { signal });
  }

  end(): void {
    this.ended.abort();
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    this.style = styleOf(this.elements.frame);
    this.redraw();
  }

  /**
   * Forgets all snapshots and the view.
   *
   * @param initialZoom the initial view; null for all
   * @param showsWholeWindow whether the window stays as requested, even if history begins later
   */
  clear(initialZoom: Zoom | null, showsWholeWindow: boolean): void {
    this.showsWholeWindow = showsWholeWindow;
    this.history = new History(this.maxSnapshots);
    this.window = null;
    this.extent = null;
    this.view = null;
    this.cursor = null;
    this.hasMoved = false;
    this.haveMovedPrices = false;
    this.initialZoom = initialZoom;
    this.moving = null;
    this.renderer?.upload(this.history);
    this.redraw();
  }

  /** Called once the window's times are known. @param asked as requested */
  begin(window: TimeWindow, asked: { from: Time; to: Time }): void {
    this.window = { ...window };
    this.startAt(this.reach?.from ?? -Infinity);
    this.endsNow = asked.to === 'now';
    this.isSliding = this.endsNow && typeof asked.from === 'string' && asked.from.startsWith('-');
  }

  /** Draws with a scale shared with other pictures; null: with its own. */
  setScale(scale: Scale | null): void {
    this.sharedScale = scale;
    this.scale = scale ?? this.history.scale();
    this.redraw();
  }

  /** Lets the view move over all of the token's history. */
  setReach(reach: TimeWindow | null): void {
    this.reach = reach;
    this.startAt(reach?.from ?? -Infinity);
  }

  /** Lets the window begin with the first snapshot. */
  private startAt(t: number): void {
    if (this.window !== null && !this.showsWholeWindow)
      this.window.from = Math.max(this.window.from, t);
    this.fit(false);
  }

  /** The part of a window with history, in whole seconds. */
  reachOf({ from, to }: TimeWindow): TimeWindow {
    const all = this.wholeReach();
    return {
      from: Math.max(Math.floor(from), Math.floor(all.from)),
      to: Math.min(Math.ceil(to), Math.ceil(all.to)),
    };
  }

  private wholeReach(): TimeWindow {
    const { from, to } = this.window ?? { from: 0, to: 0 };
    return {
      from: Math.min(from, this.reach?.from ?? Infinity),
      to: this.endsNow ? to : Math.max(to, this.reach?.to ?? -Infinity),
    };
  }

  /** The width of the plot in CSS pixels. */
  widthPx(): number {
    return this.elements.cells.clientWidth;
  }

  /** The times of the initial view; null for all. */
  zoomTimes(): TimeWindow | null {
    const { initialZoom, window } = this;
    return initialZoom === null || window === null ? null : timesOf(initialZoom, window);
  }

  /** Shows a part of the window; null for all of it. */
  setZoom(zoom: Zoom | null): void {
    this.home();
    this.initialZoom = zoom;
    this.view = this.homeView();
    this.redraw();
  }

  private zoomInSight(): Zoom | null {
    const { view, endsNow: isLive, haveMovedPrices: hasPrices } = this;
    const window = this.drawnWindow();
    if (!this.hasMoved || view === null || window === null) return this.initialZoom;
    return zoomOf(view, window, { isLive, hasPrices });
  }

  /** The window, as far as its last snapshot is drawn. */
  private drawnWindow(): TimeWindow | null {
    const { window, history } = this;
    if (window === null) return null;
    return { ...window, to: Math.max(window.to, history.at(window.to - 1e-3)?.until ?? 0) };
  }

  /** Replaces what is loaded of a part of the window. @param isNew whether the part is newer than the window */
  add(part: Part, isNew: boolean): void {
    this.history.replace(part.from, part.to, part.columns);
    const { window } = this;
    if (isNew && window !== null) {
      const by = Math.max(0, part.to - window.to);
      this.window = { from: window.from + (this.isSliding ? by : 0), to: window.to + by };
    }
    this.scale = this.sharedScale ?? this.history.scale();
    this.renderer?.upload(this.history);
    this.fit(isNew);
  }

  /** Called when the whole window is loaded. */
  trim(): void {
    const first = this.history.held.at(0);
    // It is the newest snapshot of a step.
    if (first !== undefined) this.startAt(first.t - first.stepS);
  }

  private fit(isNew: boolean): void {
    const held = this.history.extent();
    if (this.window === null || held === null) return this.redraw();
    const before = this.extent;
    const reach = this.wholeReach();
    const [from, to] = [Math.min(reach.from, held.from), Math.max(reach.to, held.to)];
    this.extent = { ...held, from, to };
    if (this.showsWholeWindow)
      this.extent = widened(this.extent, pricesOf(null, this.history.held));
    if (this.view === null || before === null || !this.hasMoved) this.view = this.homeView();
    else this.view = clamped(followed(this.view, before, this.extent), this.extent);
    if (isNew && before !== null && this.view !== null) this.moveFrom(before);
    this.redraw();
  }

  /** Animates the view: it moves by as much as the end of the data did. */
  private moveFrom(before: Extent): void {
    if (this.view === null || this.extent === null) return;
    if (matchMedia('(prefers-reduced-motion: reduce)').matches || document.hidden) return;
    const by = this.extent.to - before.to;
    if (by <= 0 || by >= this.view.to - this.view.from || this.view.to !== this.extent.to) return;
    const from = { ...this.view, from: this.view.from - by, to: this.view.to - by };
    this.moving = { from, sinceMs: performance.now() };
  }

  /** The initial view. */
  private homeView(): View | null {
    const { extent, history, initialZoom } = this;
    const window = this.drawnWindow();
    if (extent === null || window === null) return null;
    const times = initialZoom === null ? window : timesOf(initialZoom, window);
    const shown = history.held.slice(history.indexFrom(times.from), history.indexFrom(times.to));
    const { lnLow, lnHigh } = pricesOf(initialZoom, shown) ?? extent;
    return clamped({ ...times, lnLow, lnHigh }, extent);
  }

  home(): void {
    this.hasMoved = false;
    this.haveMovedPrices = false;
    this.initialZoom = null;
    this.moving = null;
    this.view = this.homeView();
    this.redraw();
  }

  all(): void {
    if (this.extent !== null) this.setView({ ...this.extent, ...this.drawnWindow() });
  }

  zoom(at: Point, factor: { time?: number; price?: number }): void {
    if (this.view !== null) this.setView(zoomed(this.view, at, factor));
  }

  pan(by: Point): void {
    if (this.view !== null) this.setView(panned(this.view, by));
  }

  drag(by: Point): void {
    clearTimeout(this.rest);
    this.rest = setTimeout(() => {
      this.rest = undefined;
      this.isSlow = false;
      this.redraw();
    }, REST_MS);
    this.pan(by);
  }

  goTo(end: 'from' | 'to'): void {
    if (this.view === null || this.extent === null) return;
    const by = (this.extent[end] - this.view[end]) / (this.view.to - this.view.from);
    this.setView(panned(this.view, { x: by, y: 0 }));
  }

  point(at: Point | null): void {
    const { view } = this;
    this.cursor =
      at === null || view === null
        ? null
        : { t: timeAt(view, at.x), lnPrice: lnPriceAt(view, at.y) };
    this.report();
  }

  /** Points at a bin of the snapshot drawn at a time, like the cursor of another picture; null: at nothing. */
  pointLike(other: { t: number; bin: number } | null): void {
    const snapshot = other === null ? null : this.history.at(other.t);
    const place = snapshot &&
      other && { t: other.t, lnPrice: snapshot.lnPrice + other.bin * LN_BIN };
    this.cursor = place !== null && this.view !== null && isInView(this.view, place) ? place : null;
    this.report();
  }

  pin(at: Point | 'cursor' | null): void {
    const { view } = this;
    if (at === null || view === null) return this.onPin(null);
    const t = at === 'cursor' ? this.cursor?.t : timeAt(view, at.x);
    if (t !== undefined) this.onPin(this.history.at(t)?.t ?? Math.floor(t));
  }

  /** The loaded snapshots of a window. */
  shotsIn({ from, to }: TimeWindow): readonly Held[] {
    const { history } = this;
    return history.held.slice(history.indexFrom(from), history.indexFrom(to));
  }

  /** Moves the view until a time is in it. */
  showTime(t: number): void {
    const { view } = this;
    if (view === null || (t >= view.from && t <= view.to)) return;
    this.setView(panned(view, { x: xOf(view, t) - 0.5, y: 0 }));
  }

  step(snapshots: number, bins: number): void {
    const { view, history } = this;
    const last = history.held.at(-1);
    if (view === null || last === undefined) return;
    const from = this.cursor ?? { t: last.t, lnPrice: last.lnPrice };
    const index = history.indexFrom(from.t + 1e-6) - 1 + (this.cursor === null ? 0 : snapshots);
    const to = history.held[Math.min(history.held.length - 1, Math.max(0, index))];
    // Along the snapshot's ladder: its bin stays the same while the price moves.
    const bin = binAt(history.at(from.t) ?? to, from.lnPrice) + bins;
    this.cursor = { t: to.t, lnPrice: to.lnPrice + bin * LN_BIN };
    this.reveal(this.cursor);
  }

  /** Moves the view until the cursor is in it. */
  private reveal({ t, lnPrice }: { t: number; lnPrice: number }): void {
    if (this.view === null) return;
    const beyond = (share: number): number => Math.min(0, share) + Math.max(0, share - 0.999);
    this.setView(
      panned(this.view, { x: beyond(xOf(this.view, t)), y: beyond(yOf(this.view, lnPrice)) }),
    );
  }

  private setView(view: View): void {
    if (this.extent === null) return;
    const before = this.view;
    this.hasMoved = true;
    this.moving = null;
    this.view = clamped(view, this.extent);
    this.haveMovedPrices ||=
      before !== null && (before.lnLow !== this.view.lnLow || before.lnHigh !== this.view.lnHigh);
    if (this.cursor !== null && !isInView(this.view, this.cursor)) this.cursor = null;
    this.redraw();
  }

  /** Draws in the browser's next frame. */
  redraw(): void {
    if (this.nextFrame !== 0 || this.ended.signal.aborted) return;
    const askedMs = performance.now();
    this.nextFrame = requestAnimationFrame(() => {
      this.nextFrame = 0;
      this.isSlow ||= this.rest !== undefined && performance.now() - askedMs > SLOW_FRAME_MS;
      this.draw(screenPixelRatio(), this.isSlow ? DRAGGED_SHARE : 1);
    });
  }

  /**
   * Draws immediately.
   *
   * @param share of the pixels, for cells and the price line
   * @returns false if some cells need another frame
   */
  draw(pixelRatio = screenPixelRatio(), share = 1): boolean {
    const { frame, cells, overlay } = this.elements;
    const cellsRatio = share * pixelRatio;
    resize(cells, cellsRatio);
    resize(overlay, pixelRatio);
    const { theme, style, scale, history } = this;
    const { held } = history;
    const view = this.movedView() ?? { from: 0, to: 1, lnLow: 0, lnHigh: 1 };
    const linePx = LINE_PX * cellsRatio * style.size;
    const isWhole =
      this.renderer?.draw({ view, scale, theme, pixelRatio: cellsRatio, linePx }) ?? true;
    if (this.view !== null) drawOverlay(overlay, { view, held, pixelRatio, style });
    else overlay.getContext('2d')?.clearRect(0, 0, overlay.width, overlay.height);
    const { from, to, lnLow, lnHigh } = view;
    frame.dataset['view'] = [from, to, Math.exp(lnLow), Math.exp(lnHigh)].join(' ');
    if (this.moving !== null || !isWhole) this.redraw();
    this.report();
    return isWhole;
  }

  /** Copies what is in sight, cells and axes, at twice the screen's resolution. */
  photograph(): Photograph | null {
    const { view, scale, theme, style } = this;
    if (view === null || this.renderer === null) return null;
    const { cells, overlay } = this.elements;
    const pixelRatio = Math.min(2 * screenPixelRatio(), MAX_PHOTOGRAPH_PX / overlay.clientWidth);
    for (let frames = 1; !this.draw(pixelRatio) && frames < MAX_FRAMES; frames++);
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [overlay.width, overlay.height];
    const context = canvas.getContext('2d');
    context?.drawImage(cells, 0, 0);
    context?.drawImage(overlay, 0, 0);
    this.draw();
    return { canvas, pixelRatio: pixelRatio * style.size, view, scale, theme, style };
  }

  /** The view, or its current position while it moves. */
  private movedView(): View | null {
    const { view, moving } = this;
    if (view === null || moving === null) return view;
    const share = Math.min(1, (performance.now() - moving.sinceMs) / MOVE_MS);
    if (share === 1) this.moving = null;
    const left = (1 - share) ** 3 * (view.from - moving.from.from);
    return { ...view, from: view.from - left, to: view.to - left };
  }

  private report(): void {
    const { view, scale, history } = this;
    if (view === null) return;
    this.onDrawn({
      view,
      zoom: this.zoomInSight(),
      scale,
      cursor: this.cursor && cursorAt(this.cursor, history, view),
    });
  }
}

/** The extent, widened to include the initial prices. */
function widened(extent: Extent, prices: Pick<View, 'lnLow' | 'lnHigh'> | null): Extent {
  return {
    ...extent,
    lnLow: Math.min(extent.lnLow, prices?.lnLow ?? Infinity),
    lnHigh: Math.max(extent.lnHigh, prices?.lnHigh ?? -Infinity),
  };
}

function screenPixelRatio(): number {
  return Math.min(MAX_PIXEL_RATIO, window.devicePixelRatio);
}

/** Gives a canvas as many pixels as it covers. */
function resize(canvas: HTMLCanvasElement, pixelRatio: number): void {
  const width = Math.max(1, Math.round(canvas.clientWidth * pixelRatio));
  const height = Math.max(1, Math.round(canvas.clientHeight * pixelRatio));
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
}
