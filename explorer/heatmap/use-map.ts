/** A map on the page: a picture on its canvases, what it shows, and what loads it. */
import { type RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Time } from '../../client/index.js';
import type { Zoom } from '../state/url.js';
import { useValue } from '../state/use-value.js';
import { zone } from '../state/zone.js';
import type { Scale } from './amounts.js';
import type { TimeWindow } from './detail.js';
import type { Source } from './loader.js';
import type { Theme } from './palette.js';
import { type Drawn, Picture } from './picture.js';
import { type Progress, ViewLoader } from './view-loader.js';

export type MapState = 'loading' | 'ready' | 'empty' | 'failed' | 'unsupported';

/** Another source or window makes another picture. */
export interface MapProps {
  source: Source;
  /** As in the page's URL: `{ from: '-24h', to: 'now' }`, or fixed times. A window that ends now is kept up to date. */
  window: { from: Time; to: Time };
  /** The approximate length of the window in seconds. */
  spanS: number;
  /** Whether to show all of the window even if history begins later: maps side by side have one time axis. */
  showsWholeWindow?: boolean;
  /** The time range of the token's history; null if not known yet. */
  reach: TimeWindow | null;
  /** The part of the window in sight; null for all of it. */
  zoom: Zoom | null;
  theme: Theme;
  /** The scale of the colours; null or undefined: by the data, or as maps side by side agree. */
  colours?: Scale | null;
  axis?: 'usd' | 'pct';
  /** False while the user has paused the page: then it does not poll. */
  isLive: boolean;
  /** The least time between two polls. */
  reloadMs: () => number;
  /** Called with the moment that the page should show, or with the second one, with which it compares that. */
  onPin: (t: number | null, isSecond: boolean) => void;
  /** Called after zoom and pan. */
  onZoom: (zoom: Zoom | null) => void;
  /** Called with failures that end the loading. */
  onFailure: (error: unknown) => void;
}

interface Canvases {
  frame: RefObject<HTMLDivElement | null>;
  cells: RefObject<HTMLDivElement | null>;
  overlay: RefObject<HTMLCanvasElement | null>;
}

interface DepthMap {
  canvases: Canvases;
  /** Null before the canvases exist, and without WebGL 2. */
  picture: Picture | null;
  /** Null before the first snapshots. */
  drawn: Drawn | null;
  state: MapState;
  /** Null while nothing loads. */
  progress: Progress | null;
  /** Whether new snapshots are followed. */
  follows: boolean;
}

export function useMap(props: MapProps): DepthMap {
  const { source, theme, isLive, reach } = props;
  const { from, to } = props.window;
  const frame = useRef<HTMLDivElement>(null);
  const cells = useRef<HTMLDivElement>(null);
  const overlay = useRef<HTMLCanvasElement>(null);
  const [picture, setPicture] = useState<Picture | null>(null);
  const [drawn, setDrawn] = useState<Drawn | null>(null);
  const [state, setState] = useState<MapState>('loading');
  const [progress, setProgress] = useState<Progress | null>(null);
  const [loader, setLoader] = useState<ViewLoader | null>(null);
  const latest = useRef(props);
  latest.current = props;

  useEffect(() => {
    if (frame.current === null || cells.current === null || overlay.current === null) return;
    const elements = { frame: frame.current, cells: cells.current, overlay: overlay.current };
    try {
      const made = new Picture(elements, theme, setDrawn, (t, isSecond) =>
        latest.current.onPin(t, isSecond),
      );
      setPicture(made);
      return () => made.end();
    } catch {
      setState('unsupported');
    }
  }, []);
  // A new zone changes the ticks. A layout effect redraws the map in the same frame as the rest of the page.
  const shownZone = useValue(zone);
  useLayoutEffect(() => picture?.setTheme(theme), [picture, theme, shownZone]);

  /** Zooms that this map has reported to the page. */
  const reported = useRef(new WeakSet<Zoom>());

  useEffect(() => {
    if (picture === null) return;
    const stopped = new AbortController();
    const { zoom, spanS, showsWholeWindow = false } = latest.current;
    picture.clear(zoom, showsWholeWindow);
    setDrawn(null);
    setState('loading');
    const made = new ViewLoader(source, picture, stopped.signal, setProgress);
    made.start({ from, to }, spanS).then(
      () => {
        setLoader(made);
        // Draw before reporting 'ready', so that a ready map is never blank.
        picture.draw();
        setState(picture.history.held.length === 0 ? 'empty' : 'ready');
      },
      (error: unknown) => {
        if (stopped.signal.aborted) return;
        setState('failed');
        latest.current.onFailure(error);
      },
    );
    return () => {
      stopped.abort();
      setLoader(null);
    };
  }, [picture, source, String(from), String(to)]);

  useEffect(() => picture?.setReach(reach), [picture, reach?.from, reach?.to]);
  const { colours, axis = 'usd' } = props;
  useEffect(() => {
    if (colours !== undefined) picture?.setScale(colours);
  }, [picture, colours?.lowUsd, colours?.highUsd]);
  useEffect(() => picture?.setPercentAxis(axis === 'pct'), [picture, axis]);

  const follows = isLive && to === 'now' && loader !== null;
  useEffect(() => {
    if (!follows) return;
    const stopped = new AbortController();
    const fail = (error: unknown): void => {
      if (!stopped.signal.aborted) latest.current.onFailure(error);
    };
    const { reloadMs } = latest.current;
    loader.follow(reloadMs, stopped.signal, () => setState('ready')).catch(fail);
    return () => stopped.abort();
  }, [loader, follows]);

  const view = drawn?.view ?? null;
  useEffect(() => {
    if (loader === null || view === null) return;
    loader.show(view).catch((error: unknown) => latest.current.onFailure(error));
  }, [loader, view?.from, view?.to, reach?.from, picture?.widthPx()]);

  const zoom = drawn?.zoom ?? null;
  const zoomName = JSON.stringify(zoom);
  useEffect(() => {
    if (drawn === null) return;
    if (zoom !== null) reported.current.add(zoom);
    latest.current.onZoom(zoom);
  }, [zoomName]);
  const chosenName = JSON.stringify(props.zoom);
  useEffect(() => {
    const chosen = latest.current.zoom;
    // A zoom that this map reported is already in sight, or was a moment ago.
    if (chosen !== null && reported.current.has(chosen)) return;
    if (chosenName !== zoomName) picture?.setZoom(chosen);
  }, [picture, chosenName]);

  return { canvases: { frame, cells, overlay }, picture, drawn, state, progress, follows };
}
