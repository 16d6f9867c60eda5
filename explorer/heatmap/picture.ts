/** The picture: snapshots, view and cursor, drawn when one of them changes. */
import { type Scale, usdOf } from './amounts.js';
import { binAt, codesAt, type Column, LN_BIN } from './columns.js';
import { type Extent, type Held, History } from './history.js';
import { type Controls, listen } from './interaction.js';
import type { TimeWindow } from './loader.js';
import { drawOverlay, type Style, styleOf } from './overlay.js';
import type { Theme } from './palette.js';
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

/** The picture begins with this factor of room above and below the window's prices. */
const HOME_MARGIN = 1.5;
/** How long the picture takes to move when a new snapshot comes in. */
const MOVE_MS = 450;
/** More device pixels per CSS pixel than this cost time, and nobody sees them. */
const MAX_PIXEL_RATIO = 2;
/** The width of the price line in CSS pixels, at the usual text size. */
const LINE_PX = 1.5;

/** The cursor, and the amounts under it. */
export interface Cursor {
  /** Shares of the plot's width and height; y from the bottom. */
  at: Point;
  t: number;
  lnPrice: number;
  /** Null where there is no data. */
  snapshot: Held | null;
  bin: number;
  supportUsd: number;
  resistanceUsd: number;
}

export interface Drawn {
  view: View;
  /** True where the view covers the whole window. */
  isWhole: boolean;
  scale: Scale;
  cursor: Cursor | null;
}

export interface PictureElements {
  frame: HTMLElement;
  cells: HTMLCanvasElement;
  overlay: HTMLCanvasElement;
}

export class Picture implements Controls {
  readonly maxSnapshots: number;
  history: History;
  private renderer: Renderer | null;
  /** The time that the picture spans; null before the first page. */
  window: TimeWindow | null = null;
  private extent: Extent | null = null;
  private view: View | null = null;
  private scale: Scale;
  /** In time and price: it stays on the same data as the view moves. */
  private cursor: { t: number; lnPrice: number } | null = null;
  private hasMoved = false;
  private moving: { from: View; sinceMs: number } | null = null;
  private nextFrame = 0;
  private style: Style;
  private readonly ended = new AbortController();

  /** @throws Error where the browser has no WebGL2 */
  constructor(
    private readonly elements: PictureElements,
    private theme: Theme,
    private readonly onDrawn: (drawn: Drawn) => void,
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

  /** Forgets all snapshots and the view. */
  clear(): void {
    this.history = new History(this.maxSnapshots);
    this.window = null;
    this.extent = null;
    this.view = null;
    this.cursor = null;
    this.hasMoved = false;
    this.moving = null;
    this.renderer?.upload(this.history);
    this.redraw();
  }

  /**
   * Replaces what is held of a part of the window.
   *
   * @param window the time that the picture spans now; snapshots before it go
   * @param isNew whether the part is newer than the picture, which then moves along
   */
  add(part: TimeWindow & { columns: readonly Column[] }, window: TimeWindow, isNew: boolean): void {
    this.history.replace(part.from, part.to, part.columns);
    this.history.dropBefore(window.from);
    this.window = window;
    this.scale = this.history.scale();
    this.renderer?.upload(this.history);
    this.fit(isNew);
  }

  /** Called when all pages are there: the picture now begins with the first snapshot. */
  loaded(): void {
    const first = this.history.held.at(0);
    if (this.window === null || first === undefined) return;
    this.window = { ...this.window, from: Math.max(this.window.from, first.t) };
    this.fit(false);
  }

  private fit(isNew: boolean): void {
    const held = this.history.extent();
    if (this.window === null || held === null) return this.redraw();
    const before = this.extent;
    const from = Math.min(this.window.from, held.from);
    this.extent = { ...held, from, to: Math.max(this.window.to, held.to) };
    if (this.view === null || before === null || !this.hasMoved) this.view = this.homeView();
    else this.view = clamped(followed(this.view, before, this.extent), this.extent);
    if (isNew && before !== null && this.view !== null) this.moveFrom(before);
    this.redraw();
  }

  /** Animates the view: it moves as far as the end of the data did. */
  private moveFrom(before: Extent): void {
    if (this.view === null || this.extent === null) return;
    if (matchMedia('(prefers-reduced-motion: reduce)').matches || document.hidden) return;
    const by = this.extent.to - before.to;
    if (by <= 0 || by >= this.view.to - this.view.from || this.view.to !== this.extent.to) return;
    const from = { ...this.view, from: this.view.from - by, to: this.view.to - by };
    this.moving = { from, sinceMs: performance.now() };
  }

  private homeView(): View | null {
    if (this.extent === null) return null;
    const prices = this.history.held.map(({ lnPrice }) => lnPrice);
    const margin = Math.log(HOME_MARGIN);
    const lnLow = prices.reduce((a, b) => Math.min(a, b), Infinity) - margin;
    const lnHigh = prices.reduce((a, b) => Math.max(a, b), -Infinity) + margin;
    return clamped({ ...this.extent, lnLow, lnHigh }, this.extent);
  }

  home(): void {
    this.hasMoved = false;
    this.moving = null;
    this.view = this.homeView();
    this.redraw();
  }

  all(): void {
    if (this.extent !== null) this.setView(this.extent);
  }

  zoom(at: Point, factor: { time?: number; price?: number }): void {
    if (this.view !== null) this.setView(zoomed(this.view, at, factor));
  }

  pan(by: Point): void {
    if (this.view !== null) this.setView(panned(this.view, by));
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

  step(snapshots: number, bins: number): void {
    const { view, history } = this;
    const last = history.held.at(-1);
    if (view === null || last === undefined) return;
    const from = this.cursor ?? { t: last.t, lnPrice: last.lnPrice };
    const index = history.indexFrom(from.t + 1e-6) - 1 + (this.cursor === null ? 0 : snapshots);
    const to = history.held[Math.min(history.held.length - 1, Math.max(0, index))];
    // Along the ladder of the snapshot: its bin stays the same while the price moves.
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
    this.hasMoved = true;
    this.moving = null;
    this.view = clamped(view, this.extent);
    if (this.cursor !== null && !isInView(this.view, this.cursor)) this.cursor = null;
    this.redraw();
  }

  redraw(): void {
    if (this.nextFrame !== 0 || this.ended.signal.aborted) return;
    this.nextFrame = requestAnimationFrame(() => {
      this.nextFrame = 0;
      this.draw();
    });
  }

  private draw(): void {
    const { frame, cells, overlay } = this.elements;
    const pixelRatio = Math.min(MAX_PIXEL_RATIO, window.devicePixelRatio);
    resize(cells, pixelRatio);
    resize(overlay, pixelRatio);
    const { theme, style, scale, history } = this;
    const { held } = history;
    const view = this.movedView() ?? { from: 0, to: 1, lnLow: 0, lnHigh: 1 };
    const linePx = LINE_PX * pixelRatio * style.size;
    const isWhole = this.renderer?.draw({ view, scale, theme, pixelRatio, linePx }) ?? true;
    if (this.view !== null) drawOverlay(overlay, { view, held, pixelRatio, style });
    else overlay.getContext('2d')?.clearRect(0, 0, overlay.width, overlay.height);
    const { from, to, lnLow, lnHigh } = view;
    frame.dataset['view'] = [from, to, Math.exp(lnLow), Math.exp(lnHigh)].join(' ');
    if (this.moving !== null || !isWhole) this.redraw();
    this.report();
  }

  /** The view, or where it is on its way there. */
  private movedView(): View | null {
    const { view, moving } = this;
    if (view === null || moving === null) return view;
    const share = Math.min(1, (performance.now() - moving.sinceMs) / MOVE_MS);
    if (share === 1) this.moving = null;
    const left = (1 - share) ** 3 * (view.from - moving.from.from);
    return { ...view, from: view.from - left, to: view.to - left };
  }

  private report(): void {
    const { view, extent, scale } = this;
    if (view === null || extent === null) return;
    const isWhole = view.from <= extent.from && view.to >= extent.to;
    this.onDrawn({ view, isWhole, scale, cursor: this.cursorIn(view) });
  }

  private cursorIn(view: View): Cursor | null {
    if (this.cursor === null) return null;
    const { t, lnPrice } = this.cursor;
    const snapshot = this.history.at(t);
    const bin = snapshot === null ? 0 : binAt(snapshot, lnPrice);
    const [support, resistance] = snapshot === null ? [0, 0] : codesAt(snapshot, bin);
    return {
      at: { x: xOf(view, t), y: yOf(view, lnPrice) },
      t,
      lnPrice,
      snapshot,
      bin,
      supportUsd: usdOf(support),
      resistanceUsd: usdOf(resistance),
    };
  }
}

/** Gives a canvas as many pixels as it covers. */
function resize(canvas: HTMLCanvasElement, pixelRatio: number): void {
  const width = Math.max(1, Math.round(canvas.clientWidth * pixelRatio));
  const height = Math.max(1, Math.round(canvas.clientHeight * pixelRatio));
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
}

/** Whether a zoom or a move has left the cursor in sight. */
function isInView(view: View, { t, lnPrice }: { t: number; lnPrice: number }): boolean {
  return [xOf(view, t), yOf(view, lnPrice)].every((share) => share >= -1e-6 && share <= 1 + 1e-6);
}
