/** The picture: snapshots, view and cursor, drawn when one of them changes. */
import type { Scale } from './amounts.js';
import type { Time } from '../../client/index.js';
import { binAt, LN_BIN } from './columns.js';
import { type Cursor, cursorAt, isInView, type Place } from './cursor.js';
import { type Held, History, lastInSight } from './history.js';
import { CENTRE, type Controls, listen } from './interaction.js';
import type { TimeWindow } from './detail.js';
import type { Part } from './loader.js';
import { fit, screenPixelRatio } from './canvas.js';
import { drawOverlay, LABEL_ROOM_PX, type Style, styleOf } from './overlay.js';
import type { Theme } from './palette.js';
import type { Zoom } from '../state/url.js';
import { type Look, MAX_CANVAS_PX, Sheet } from './sheet.js';
import { Sight } from './sight.js';
import { lnPriceAt, type Point, timeAt, type View, xOf, yOf } from './view.js';

const NO_VIEW: View = { from: 0, to: 1, lnLow: 0, lnHigh: 1 };

export interface Drawn {
  view: View;
  /** The part of the window in sight; null for all of it. */
  zoom: Zoom | null;
  scale: Scale;
  cursor: Cursor | null;
  /** The price from which the axis shows distances; null if it shows prices. */
  baseUsd: number | null;
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
  /** The place of the cells. */
  cells: HTMLElement;
  overlay: HTMLCanvasElement;
}

export class Picture implements Controls {
  readonly maxSnapshots: number;
  history: History;
  private readonly sheet: Sheet;
  private sight: Sight;
  private scale: Scale;
  /** A scale shared by several pictures; null if there is none. */
  private sharedScale: Scale | null = null;
  /** Its time and price, not its pixels: it stays on the same data when the view moves. */
  private cursor: Place | null = null;
  private isPercent = false;
  private nextFrame = 0;
  /** Whether more than the cursor has changed. */
  private isStale = false;
  private style: Style;
  private readonly ended = new AbortController();

  /** @throws Error if the browser has no WebGL2 */
  constructor(
    private readonly elements: PictureElements,
    private theme: Theme,
    private readonly onDrawn: (drawn: Drawn) => void,
    private readonly onPin: (t: number | null, isSecond: boolean) => void,
  ) {
    const { frame, cells } = elements;
    const { signal } = this.ended;
    this.sheet = new Sheet(cells, signal, () => {
      this.redraw();
      return this.history;
    });
    this.maxSnapshots = this.sheet.maxSnapshots;
    this.history = new History(this.maxSnapshots);
    this.sight = new Sight(this.history);
    this.scale = this.history.scale();
    this.style = styleOf(frame);
    const resized = new ResizeObserver(() => this.setTheme(this.theme));
    resized.observe(frame);
    const unlisten = listen(frame, cells, this);
    signal.addEventListener('abort', () => {
      resized.disconnect();
      unlisten();
      cancelAnimationFrame(this.nextFrame);
    });
  }

  end(): void {
    this.ended.abort();
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    this.style = styleOf(this.elements.frame);
    this.sheet.restyle();
    this.redraw();
  }

  /**
   * Forgets all snapshots and the view.
   *
   * @param initialZoom the initial view; null for all
   * @param showsWholeWindow whether the window stays as requested, even if history begins later
   */
  clear(initialZoom: Zoom | null, showsWholeWindow: boolean): void {
    this.history = new History(this.maxSnapshots);
    this.sight = new Sight(this.history, this.sight.reach, initialZoom, showsWholeWindow);
    this.cursor = null;
    this.sheet.upload(this.history);
    this.sheet.restyle();
    this.redraw();
  }

  /** The time range of the initial picture; null before it is known. */
  get window(): TimeWindow | null {
    return this.sight.window;
  }

  /** Called once the window's times are known. @param requested the times as the page states them */
  begin(window: TimeWindow, requested: { from: Time; to: Time }): void {
    this.sight.begin(window, requested);
    this.redraw();
  }

  /** Draws with a scale shared with other pictures; null: with its own. */
  setScale(scale: Scale | null): void {
    this.sharedScale = scale;
    this.scale = scale ?? this.history.scale();
    this.redraw();
  }

  /** Labels the axis of prices with distances from the last price in sight, or with prices. */
  setPercentAxis(isPercent: boolean): void {
    this.isPercent = isPercent;
    this.redraw();
  }

  /** Lets the view move over all of the token's history. */
  setReach(reach: TimeWindow | null): void {
    this.sight.setReach(reach);
    this.redraw();
  }

  /** The part of a window with history, in whole seconds. */
  reachOf(window: TimeWindow): TimeWindow {
    return this.sight.reachOf(window);
  }

  /** The width of the plot in CSS pixels. */
  widthPx(): number {
    return this.elements.cells.clientWidth;
  }

  /** The times of the initial view; null for all. */
  zoomTimes(): TimeWindow | null {
    return this.sight.zoomTimes();
  }

  /** Replaces what is loaded of a part of the window. @param isNew whether the part is newer than the window */
  add(part: Part, isNew: boolean): void {
    this.history.replace(part.from, part.to, part.columns);
    this.scale = this.sharedScale ?? this.history.scale();
    this.sheet.upload(this.history);
    this.sight.grow(part.to, isNew);
    this.redraw();
  }

  /** Called when the whole window is loaded. */
  trim(): void {
    const first = this.history.held.at(0);
    // The first snapshot is the newest of its step, which begins earlier.
    if (first !== undefined) this.sight.startAt(first.t - first.stepS);
    this.redraw();
  }

  /** Shows a part of the window; null for all of it. */
  setZoom(zoom: Zoom | null): void {
    this.sight.home(zoom);
    this.redraw();
  }

  home(): void {
    this.setZoom(null);
  }

  all(): void {
    this.sight.all();
    this.redraw();
  }

  zoom(at: Point | 'cursor', factor: { time?: number; price?: number }): void {
    this.sight.zoom(at === 'cursor' ? this.cursorPoint() : at, factor);
    this.redraw();
  }

  private cursorPoint(): Point {
    const { cursor } = this;
    const { view } = this.sight;
    if (cursor === null || view === null || !isInView(view, cursor)) return CENTRE;
    return { x: xOf(view, cursor.t), y: yOf(view, cursor.lnPrice) };
  }

  pan(by: Point): void {
    this.sight.pan(by, this.sheet);
    this.redraw();
  }

  goTo(end: 'from' | 'to'): void {
    this.sight.goTo(end);
    this.redraw();
  }

  /** Moves the view until a time is in it. */
  showTime(t: number): void {
    this.sight.showTime(t);
    this.redraw();
  }

  point(at: Point | null): void {
    const { view } = this.sight;
    this.cursor =
      at === null || view === null
        ? null
        : { t: timeAt(view, at.x), lnPrice: lnPriceAt(view, at.y) };
    this.schedule();
  }

  /** Points at a bin of the snapshot drawn at a time, like the cursor of another picture; null: at nothing. */
  pointLike(other: { t: number; bin: number } | null): void {
    const { view } = this.sight;
    const snapshot = other === null ? null : this.history.at(other.t);
    const place = snapshot &&
      other && { t: other.t, lnPrice: snapshot.lnPrice + other.bin * LN_BIN };
    this.cursor = place !== null && view !== null && isInView(view, place) ? place : null;
    this.schedule();
  }

  step(snapshots: number, bins: number): void {
    const { history } = this;
    const last = history.held.at(-1);
    if (this.sight.view === null || last === undefined) return;
    const from = this.cursor ?? { t: last.t, lnPrice: last.lnPrice };
    const index = history.indexFrom(from.t + 1e-6) - 1 + (this.cursor === null ? 0 : snapshots);
    const to = history.held[Math.min(history.held.length - 1, Math.max(0, index))];
    // Along the snapshot's ladder: its bin stays the same while the price moves.
    const bin = binAt(history.at(from.t) ?? to, from.lnPrice) + bins;
    this.cursor = { t: to.t, lnPrice: to.lnPrice + bin * LN_BIN };
    this.sight.reveal(this.cursor);
    this.redraw();
  }

  pin(at: Point | 'cursor' | null, isSecond = false): void {
    const { view } = this.sight;
    if (at === null || view === null) return this.onPin(null, false);
    const t = at === 'cursor' ? this.cursor?.t : timeAt(view, at.x);
    if (t !== undefined) this.onPin(this.history.at(t)?.t ?? Math.floor(t), isSecond);
  }

  /** The loaded snapshots of a window. */
  shotsIn({ from, to }: TimeWindow): readonly Held[] {
    const { history } = this;
    return history.held.slice(history.indexFrom(from), history.indexFrom(to));
  }

  /** Draws in the browser's next frame. */
  private redraw(): void {
    this.isStale = true;
    this.schedule();
  }

  /** Reports the cursor in the browser's next frame, and draws if more has changed. */
  private schedule(): void {
    if (this.nextFrame !== 0 || this.ended.signal.aborted) return;
    this.nextFrame = requestAnimationFrame(() => {
      this.nextFrame = 0;
      if (this.isStale) this.draw();
      else this.report();
    });
  }

  /** Draws immediately. */
  draw(): void {
    this.isStale = false;
    const { frame, overlay } = this.elements;
    const { sheet, sight, style, isPercent } = this;
    const { held } = this.history;
    const view = sight.shown(sheet.width) ?? NO_VIEW;
    const look = this.look(screenPixelRatio());
    fit(overlay, look.pixelRatio);
    const isWhole = sheet.show(view, sight.extent, look);
    if (sight.view !== null)
      drawOverlay(overlay, { view, held, pixelRatio: look.pixelRatio, style, isPercent });
    else overlay.getContext('2d')?.clearRect(0, 0, overlay.width, overlay.height);
    const { from, to, lnLow, lnHigh } = view;
    frame.dataset['view'] = [from, to, Math.exp(lnLow), Math.exp(lnHigh)].join(' ');
    if (sight.isMoving || !isWhole) this.redraw();
    this.report();
  }

  private look(pixelRatio: number): Look {
    const { scale, theme, style } = this;
    return { scale, theme, pixelRatio, textSize: style.size };
  }

  /** Draws what is in sight, cells and axes, at twice the screen's resolution. */
  photograph(): Photograph | null {
    const { scale, theme, style, isPercent } = this;
    const { view } = this.sight;
    const { overlay } = this.elements;
    const pixelRatio = Math.min(2 * screenPixelRatio(), MAX_CANVAS_PX / overlay.clientWidth);
    const [canvas, axes] = [overlay, overlay].map(({ clientWidth, clientHeight }) => {
      const made = document.createElement('canvas');
      made.width = Math.round(clientWidth * pixelRatio);
      made.height = Math.round(clientHeight * pixelRatio);
      return made;
    });
    const context = canvas.getContext('2d');
    if (view === null || context === null) return null;
    this.sheet.photograph(context, view, this.look(pixelRatio));
    drawOverlay(axes, { view, held: this.history.held, pixelRatio, style, isPercent });
    context.drawImage(axes, 0, 0);
    this.redraw();
    return { canvas, pixelRatio: pixelRatio * style.size, view, scale, theme, style };
  }

  private report(): void {
    const { scale, history, sight, sheet, style } = this;
    const { view } = sight;
    if (view === null) return;
    // A zoom, a drag, the page or new snapshots may have moved the view away from the cursor.
    if (this.cursor !== null && !isInView(view, this.cursor)) this.cursor = null;
    const labelRoom = (LABEL_ROOM_PX * style.size) / sheet.heightPx;
    this.onDrawn({
      view,
      zoom: sight.zoomInSight(),
      scale,
      baseUsd: (this.isPercent && lastInSight(history.held, view)?.priceUsd) || null,
      cursor: this.cursor && cursorAt(this.cursor, history, view, labelRoom),
    });
  }
}
