/** Loads what the picture shows, as finely as it needs it, and new snapshots as they arrive. */
import { FathomError, type Time } from '../../client/index.js';
import { changed } from '../state/live.js';
import { leastReloadMs } from '../state/load.js';
import { pause } from '../state/pause.js';
import { hasSmallRate, isTransient } from '../state/session.js';
import { enoughFor, EVERY_SNAPSHOT, HeldRanges, stepFor, type TimeWindow } from './detail.js';
import { fetchPages, fetchSince, plan, type Planned, pollMs, type Source } from './loader.js';
import type { Picture } from './picture.js';

/** How long the view rests before missing data is fetched. */
const REST_MS = 150;
/** Fetches reach beyond the view by this share of it. */
const AHEAD = 0.25;
/** Used until the interval of the data is known. */
const USUAL_INTERVAL_S = 60;

export interface Progress {
  /** Null if not known yet. */
  total: number | null;
  pages: number;
}

interface Target extends TimeWindow {
  stepS: number;
}

export class ViewLoader {
  private readonly ranges = new HeldRanges();
  private target: Target | null = null;
  private stopTarget = new AbortController();
  private intervalS = USUAL_INTERVAL_S;

  /** @param onProgress called as pages arrive, and with null once everything in sight is loaded */
  constructor(
    private readonly source: Source,
    private readonly picture: Picture,
    private readonly signal: AbortSignal,
    private readonly onProgress: (progress: Progress | null) => void,
  ) {
    signal.addEventListener('abort', () => this.stopTarget.abort());
  }

  /** Loads the initial view. @param spanS the length of the window as far as known */
  async start(window: { from: Time; to: Time }, spanS: number): Promise<void> {
    this.onProgress({ total: null, pages: 0 });
    const planned = await this.plan(window, this.stepOf(spanS), this.signal);
    this.picture.begin(planned.window, window);
    const zoom = this.picture.zoomTimes();
    if (zoom === null) {
      await this.fetch(planned.window, planned, this.signal);
      this.picture.trim();
    } else await this.load({ ...zoom, stepS: this.stepOf(zoom.to - zoom.from) }, this.signal);
    this.onProgress(null);
  }

  /** Loads what a view lacks once the view rests. @throws errors of the client */
  async show(view: TimeWindow): Promise<void> {
    const stepS = this.stepOf(view.to - view.from);
    const { target } = this;
    const inReach = this.picture.reachOf(view);
    const isLoading =
      target !== null &&
      target.stepS <= stepS &&
      target.from <= inReach.from &&
      target.to >= inReach.to;
    if (isLoading || this.ranges.missing(inReach, stepS).length === 0) return;
    this.stopTarget.abort();
    const stop = (this.stopTarget = new AbortController());
    const ahead = AHEAD * (view.to - view.from);
    const wide = this.picture.reachOf({ from: view.from - ahead, to: view.to + ahead });
    this.target = { ...wide, stepS };
    try {
      await pause(REST_MS, stop.signal);
      await this.load(this.target, stop.signal);
      this.onProgress(null);
    } catch (error) {
      if (!stop.signal.aborted && !isOutage(error)) throw error;
    } finally {
      if (this.stopTarget === stop) this.target = null;
    }
  }

  /** Fetches new snapshots, and the newest one again, because it may have been replaced. */
  async follow(reloadMs: () => number, signal: AbortSignal, onNew: () => void): Promise<void> {
    const { picture } = this;
    while (!signal.aborted) {
      await changed(leastReloadMs(), pollMs(picture.history.intervalS, reloadMs()), signal);
      const { window } = picture;
      if (document.hidden || !navigator.onLine || window === null) continue;
      const newest = this.ranges.list.at(-1);
      // If the end of the window is not in memory, there is nothing to continue from.
      if (newest === undefined || newest.to < window.to) continue;
      const since = picture.history.held.at(-1)?.t ?? window.from;
      const { stepS } = newest;
      const part = await fetchSince(this.source, since, stepS, signal).catch(ignoreOutage);
      if (part === null) continue;
      picture.add(part, true);
      this.hold({ ...part, from: newest.from, stepS });
      if (part.columns.length > 0) onNew();
    }
  }

  private stepOf(spanS: number): number {
    return stepFor(spanS, this.enough(), this.intervalS);
  }

  private enough(): number {
    return enoughFor(this.picture.widthPx());
  }

  private async plan(
    window: { from: Time; to: Time },
    stepS: number,
    signal: AbortSignal,
  ): Promise<Planned> {
    const planned = await plan(this.source, window, stepS, this.picture.maxSnapshots / 2, signal);
    if (planned.stepS > stepS && stepS === EVERY_SNAPSHOT) {
      // Snapshots are closer than assumed. Remember that, so that the next such window is planned only once.
      const { from, to } = planned.window;
      this.intervalS = Math.min(this.intervalS, (to - from) / (this.picture.maxSnapshots / 2));
    }
    return planned;
  }

  private async load({ stepS, ...window }: Target, signal: AbortSignal): Promise<void> {
    for (const gap of this.ranges.missing(window, stepS).reverse()) {
      this.onProgress({ total: null, pages: 0 });
      await this.fetch(gap, await this.plan(gap, stepS, signal), signal);
    }
  }

  private async fetch(window: TimeWindow, planned: Planned, signal: AbortSignal): Promise<void> {
    const { stepS, pages } = planned;
    const progress = { pages: 0, total: pages.length };
    this.makeRoom(planned);
    this.onProgress({ ...progress });
    // A key with few requests a minute fetches one page at a time, so the newest one arrives as early as possible.
    const ahead = hasSmallRate() ? 1 : undefined;
    for await (const part of fetchPages(this.source, planned, signal, ahead)) {
      signal.throwIfAborted();
      this.picture.add(part, false);
      this.hold({ from: part.from, to: part.to, stepS });
      progress.pages++;
      this.onProgress({ ...progress });
    }
    this.hold({ from: window.from, to: window.to, stepS });
  }

  private hold(range: Target): void {
    this.ranges.add(range);
    const { held } = this.picture.history;
    // Memory was full: the oldest were removed.
    if (held.length === this.picture.maxSnapshots) {
      this.ranges.remove({ from: -Infinity, to: held[0].t });
    }
  }

  /** Removes data that is finer than the picture needs, and then what is farthest from it. */
  private makeRoom({ window, snapshots, stepS }: Planned): void {
    const { history, maxSnapshots } = this.picture;
    const isOver = (): boolean => history.held.length + snapshots > maxSnapshots;
    for (const range of this.ranges.list) {
      if (!isOver() || range.stepS >= stepS) continue;
      history.thin(range, stepS);
      this.ranges.add({ ...range, stepS });
    }
    const { held } = history;
    const over = Math.min(held.length, held.length + snapshots - maxSnapshots);
    if (over <= 0) return;
    const [first, last] = [held[0], held[held.length - 1]];
    const isOldest = window.from - first.t > last.t - window.to;
    const cut = isOldest
      ? { from: -Infinity, to: held[over]?.t ?? Infinity }
      : { from: held[held.length - over].t, to: Infinity };
    history.replace(cut.from, cut.to, []);
    this.ranges.remove(cut);
  }
}

/** Whether the server is away or busy: the next attempt may succeed, and the picture stays as it is. */
function isOutage(error: unknown): boolean {
  return error instanceof FathomError && isTransient(error);
}

function ignoreOutage(error: unknown): null {
  if (isOutage(error)) return null;
  throw error;
}
