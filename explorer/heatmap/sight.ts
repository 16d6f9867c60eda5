/** What is in sight: the view, where it can move, and how it follows new snapshots. */
import type { Time } from '../../client/index.js';
import type { Zoom } from '../state/url.js';
import type { Place } from './cursor.js';
import type { TimeWindow } from './detail.js';
import type { Extent, History } from './history.js';
import { clamped, followed, panned, type Point, type View, xOf, yOf, zoomed } from './view.js';
import { pricesOf, timesOf, zoomOf } from './zoom.js';

/** Duration of the view's move when a new snapshot arrives. */
const MOVE_MS = 450;

export class Sight {
  /** The time range of the initial view; null before it is known. */
  window: TimeWindow | null = null;
  /** Null while nothing is loaded. */
  view: View | null = null;
  /** Where the view can move; null while nothing is loaded. */
  extent: Extent | null = null;
  private endsNow = false;
  private isSliding = false;
  private hasMoved = false;
  private haveMovedPrices = false;
  private moving: { by: number; sinceMs: number } | null = null;
  /** The fractions of a pixel that pans have not moved yet. */
  private rest: Point = { x: 0, y: 0 };

  /**
   * @param history what is loaded
   * @param reach the time range of the token's history; null if unknown
   * @param initialZoom the initial view; null for all
   * @param showsWholeWindow whether the window stays as requested, even if history begins later
   */
  constructor(
    private readonly history: History,
    public reach: TimeWindow | null = null,
    private initialZoom: Zoom | null = null,
    private readonly showsWholeWindow = false,
  ) {}

  /** Called once the window's times are known. @param requested the times as the page states them */
  begin(window: TimeWindow, requested: { from: Time; to: Time }): void {
    this.window = { ...window };
    this.startAt(this.reach?.from ?? -Infinity);
    this.endsNow = requested.to === 'now';
    this.isSliding =
      this.endsNow && typeof requested.from === 'string' && requested.from.startsWith('-');
  }

  /** Lets the view move over all of the token's history. */
  setReach(reach: TimeWindow | null): void {
    this.reach = reach;
    this.startAt(reach?.from ?? -Infinity);
  }

  /** Lets the window begin with the first snapshot. */
  startAt(t: number): void {
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

  /** The times of the initial view; null for all. */
  zoomTimes(): TimeWindow | null {
    const { initialZoom, window } = this;
    return initialZoom === null || window === null ? null : timesOf(initialZoom, window);
  }

  /** The part of the window in sight; null for all of it. */
  zoomInSight(): Zoom | null {
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

  /** Called when a part has been loaded. @param isNew whether it is newer than the window */
  grow(toS: number, isNew: boolean): void {
    const { window } = this;
    if (isNew && window !== null) {
      const by = Math.max(0, toS - window.to);
      this.window = { from: window.from + (this.isSliding ? by : 0), to: window.to + by };
    }
    this.fit(isNew);
  }

  private fit(isNew: boolean): void {
    const held = this.history.extent();
    if (this.window === null || held === null) return;
    const before = this.extent;
    const reach = this.wholeReach();
    const [from, to] = [Math.min(reach.from, held.from), Math.max(reach.to, held.to)];
    this.extent = { ...held, from, to };
    if (this.showsWholeWindow)
      this.extent = widened(this.extent, pricesOf(null, this.history.held));
    if (this.view === null || before === null || !this.hasMoved) this.view = this.homeView();
    else this.view = clamped(followed(this.view, before, this.extent), this.extent);
    if (isNew && before !== null) this.moveFrom(before);
  }

  /** Animates the view: it moves by as much as the end of the data did. */
  private moveFrom(before: Extent): void {
    if (this.view === null || this.extent === null) return;
    if (matchMedia('(prefers-reduced-motion: reduce)').matches || document.hidden) return;
    const by = this.extent.to - before.to;
    if (by <= 0 || by >= this.view.to - this.view.from || this.view.to !== this.extent.to) return;
    this.moving = { by, sinceMs: performance.now() };
  }

  get isMoving(): boolean {
    return this.moving !== null;
  }

  /** The view, or its current position while it moves. @param widthPx it moves by whole pixels */
  shown(widthPx: number): View | null {
    const { view, moving } = this;
    if (view === null || moving === null) return view;
    const share = Math.min(1, (performance.now() - moving.sinceMs) / MOVE_MS);
    if (share === 1) this.moving = null;
    const perPx = (view.to - view.from) / widthPx;
    const left = Math.round(((1 - share) ** 3 * moving.by) / perPx) * perPx;
    return { ...view, from: view.from - left, to: view.to - left };
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

  /** Returns to a part of the window; null for all of it. */
  home(zoom: Zoom | null): void {
    this.hasMoved = false;
    this.haveMovedPrices = false;
    this.initialZoom = zoom;
    this.moving = null;
    this.view = this.homeView();
  }

  all(): void {
    if (this.extent !== null) this.setView({ ...this.extent, ...this.drawnWindow() });
  }

  zoom(at: Point, factor: { time?: number; price?: number }): void {
    if (this.view !== null) this.setView(zoomed(this.view, at, factor));
  }

  /** Moves by shares of width and height, but by whole pixels: what is drawn then moves along. */
  pan(by: Point, size: { width: number; height: number }): void {
    if (this.view === null) return;
    const { rest } = this;
    const px = { x: by.x * size.width + rest.x, y: by.y * size.height + rest.y };
    const whole = { x: Math.round(px.x), y: Math.round(px.y) };
    this.rest = { x: px.x - whole.x, y: px.y - whole.y };
    this.setView(panned(this.view, { x: whole.x / size.width, y: whole.y / size.height }));
  }

  goTo(end: 'from' | 'to'): void {
    if (this.view === null || this.extent === null) return;
    const by = (this.extent[end] - this.view[end]) / (this.view.to - this.view.from);
    this.setView(panned(this.view, { x: by, y: 0 }));
  }

  /** Moves the view until a time is in it. */
  showTime(t: number): void {
    const { view } = this;
    if (view === null || (t >= view.from && t <= view.to)) return;
    this.setView(panned(view, { x: xOf(view, t) - 0.5, y: 0 }));
  }

  /** Moves the view until a place is in it. */
  reveal(place: Place): void {
    const { view } = this;
    if (view === null) return;
    const beyond = (share: number): number => Math.min(0, share) + Math.max(0, share - 0.999);
    const by = { x: beyond(xOf(view, place.t)), y: beyond(yOf(view, place.lnPrice)) };
    this.setView(panned(view, by));
  }

  private setView(view: View): void {
    if (this.extent === null) return;
    const before = this.view;
    this.hasMoved = true;
    this.moving = null;
    this.view = clamped(view, this.extent);
    this.haveMovedPrices ||=
      before !== null && (before.lnLow !== this.view.lnLow || before.lnHigh !== this.view.lnHigh);
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
