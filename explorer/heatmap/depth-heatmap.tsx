/** A token's depth over time. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { FathomError, type ReplayParameters } from '../../client/index.js';
import { changed } from '../state/live.js';
import { leastReloadMs } from '../state/load.js';
import { pause } from '../state/pause.js';
import { isTransient } from '../state/session.js';
import { useValue } from '../state/use-value.js';
import { zone } from '../state/zone.js';
import './heatmap.css';
import { Legend } from './legend.js';
import { fetchPages, fetchSince, plan, pollMs, type Source } from './loader.js';
import { type Cursor, type Drawn, Picture } from './picture.js';
import type { DepthHeatmapProps } from './props.js';
import { Readout, type Split, spokenText } from './readout.js';
import { Splits } from './split.js';
import { priceText, timeText, usdText } from './ticks.js';

/** How long the cursor rests before the split is fetched, which costs a request. */
const REST_MS = 350;
/** The pause between two checks whether the key can spare a request. */
const SPARED_MS = 1000;

interface Progress {
  pages: number;
  total: number;
  snapshots: number;
  /** True where memory has no room for the whole window. */
  isCut: boolean;
}

type State = 'loading' | 'ready' | 'empty' | 'failed' | 'unsupported';

export function DepthHeatmap(props: DepthHeatmapProps) {
  const { client, address, window: asked, filter, theme, isLive } = props;
  const frame = useRef<HTMLDivElement>(null);
  const cells = useRef<HTMLCanvasElement>(null);
  const overlay = useRef<HTMLCanvasElement>(null);
  const [picture, setPicture] = useState<Picture | null>(null);
  const [drawn, setDrawn] = useState<Drawn | null>(null);
  const [state, setState] = useState<State>('loading');
  const [progress, setProgress] = useState<Progress | null>(null);
  const latest = useRef(props);
  latest.current = props;

  useEffect(() => {
    if (frame.current === null || cells.current === null || overlay.current === null) return;
    const elements = { frame: frame.current, cells: cells.current, overlay: overlay.current };
    try {
      const made = new Picture(elements, theme, setDrawn);
      setPicture(made);
      return () => made.end();
    } catch {
      setState('unsupported');
    }
  }, []);
  // A zone draws other ticks.
  const shownZone = useValue(zone);
  useEffect(() => picture?.setTheme(theme), [picture, theme, shownZone]);

  const { from, to } = asked;
  const parameters = useMemo(() => parametersOf(filter), [JSON.stringify(filter)]);
  const source = useMemo((): Source => {
    return { client, address, parameters: { ...parameters, group: 'all', from, to } };
  }, [client, address, parameters, String(from), String(to)]);

  useEffect(() => {
    if (picture === null) return;
    const stopped = new AbortController();
    picture.clear();
    setState('loading');
    setProgress(null);
    load(picture, source, stopped.signal, setProgress).then(
      () => setState(picture.history.held.length === 0 ? 'empty' : 'ready'),
      (error: unknown) => {
        if (stopped.signal.aborted) return;
        setState('failed');
        latest.current.onFailure(error);
      },
    );
    return () => stopped.abort();
  }, [picture, source]);

  const follows = isLive && isNow(to) && (state === 'ready' || state === 'empty');
  useEffect(() => {
    if (picture === null || !follows) return;
    const stopped = new AbortController();
    const fail = (error: unknown): void => {
      if (!stopped.signal.aborted) latest.current.onFailure(error);
    };
    const { reloadMs } = latest.current;
    follow(picture, source, stopped.signal, reloadMs, () => setState('ready')).catch(fail);
    return () => stopped.abort();
  }, [picture, source, follows]);

  useViewReports(drawn, latest.current);
  const cursor = drawn?.cursor ?? null;
  const split = useSplit(props, parameters, cursor);
  const summary = summaryOf(picture, drawn);
  return (
    <section class="heatmap" data-state={state} aria-label="Depth over time">
      <div
        class="heatmap-frame"
        ref={frame}
        tabIndex={0}
        role="group"
        aria-label="Depth heatmap. Arrows move it, plus and minus zoom time, page up and down zoom prices, 0 shows all, shift and arrows move the cursor."
      >
        <canvas class="heatmap-cells" ref={cells} role="img" aria-label={summary} />
        <canvas class="heatmap-overlay" ref={overlay} aria-hidden="true" />
        {cursor !== null && <Readout cursor={cursor} split={split} />}
        {state !== 'ready' && <Notice state={state} hasPicture={drawn !== null} />}
      </div>
      <div class="heatmap-foot">
        {drawn !== null && <Legend scale={drawn.scale} theme={theme} />}
        <Loading state={state} progress={progress} />
      </div>
      <p class="heatmap-live" aria-live="polite">
        {cursor !== null && split !== 'waiting' ? spokenText(cursor, split) : ''}
      </p>
    </section>
  );
}

function parametersOf({ group, ...rest }: DepthHeatmapProps['filter']): ReplayParameters {
  return { ...rest, group: group === 'all' ? 'venue' : group };
}

function isNow(to: DepthHeatmapProps['window']['to']): boolean {
  return to === 'now';
}

async function load(
  picture: Picture,
  source: Source,
  signal: AbortSignal,
  onProgress: (progress: Progress) => void,
): Promise<void> {
  const planned = await plan(source, picture.maxSnapshots, signal);
  const progress = { pages: 0, total: planned.pages.length, snapshots: 0, isCut: planned.isCut };
  onProgress({ ...progress });
  for await (const part of fetchPages(source, planned, signal)) {
    picture.add(part, planned.window, false);
    progress.pages++;
    progress.snapshots += part.columns.length;
    onProgress({ ...progress });
  }
  picture.loaded();
}

/** Polls for new snapshots, and for the newest one again, which may have been replaced. */
async function follow(
  picture: Picture,
  source: Source,
  signal: AbortSignal,
  reloadMs: () => number,
  onNew: () => void,
): Promise<void> {
  while (!signal.aborted) {
    await changed(leastReloadMs(), pollMs(picture.history.intervalS, reloadMs()), signal);
    const { window } = picture;
    if (document.hidden || !navigator.onLine || window === null) continue;
    const since = picture.history.held.at(-1)?.t ?? window.from;
    const part = await fetchSince(source, since, signal).catch(ignoreTransient);
    if (part === null) continue;
    const from = window.from + Math.max(0, part.to - window.to);
    picture.add(part, { from, to: part.to }, true);
    if (part.columns.length > 0) onNew();
  }
}

/** Keeps the picture while the server is away or busy: the next poll may succeed. */
function ignoreTransient(error: unknown): null {
  if (error instanceof FathomError && isTransient(error)) return null;
  throw error;
}

/** Reports the visible time to the page. */
function useViewReports(drawn: Drawn | null, { onView }: DepthHeatmapProps): void {
  const { from: fromS = 0, to: toS = 0 } = drawn?.view ?? {};
  const isWhole = drawn?.isWhole ?? true;
  useEffect(() => onView(isWhole ? null : { fromS, toS }), [isWhole, fromS, toS]);
}

/** The split under the cursor, fetched once the cursor rests. */
function useSplit(
  { client, address, canSpare }: DepthHeatmapProps,
  parameters: ReplayParameters,
  cursor: Cursor | null,
): Split {
  const [split, setSplit] = useState<Split>('waiting');
  const splits = useMemo(
    () => new Splits(client, address, parameters),
    [client, address, parameters],
  );
  const t = cursor?.snapshot?.t;
  const bin = cursor?.bin ?? 0;
  useEffect(() => {
    setSplit('waiting');
    if (t === undefined) return;
    const left = new AbortController();
    const ask = async (): Promise<void> => {
      await pause(splits.has(t) ? 0 : REST_MS, left.signal);
      while (!splits.has(t) && !canSpare()) {
        setSplit('spared');
        await pause(SPARED_MS, left.signal);
      }
      setSplit(await splits.sharesAt(t, bin, left.signal));
    };
    ask().catch(() => {
      if (!left.signal.aborted) setSplit('failed');
    });
    return () => left.abort();
  }, [splits, t, bin]);
  return split;
}

function summaryOf(picture: Picture | null, drawn: Drawn | null): string {
  const { held = [] } = picture?.history ?? {};
  const last = held.at(-1);
  if (drawn === null || last === undefined) return 'Depth over time: nothing to see yet';
  const prices = held.map(({ priceUsd }) => priceUsd);
  const [low, high] = [
    prices.reduce((a, b) => Math.min(a, b)),
    prices.reduce((a, b) => Math.max(a, b)),
  ];
  return [
    `Depth from ${timeText(held[0].t)} to ${timeText(last.t)} in ${held.length} snapshots.`,
    `The price was between ${priceText(low)} and ${priceText(high)} USD, and is ${priceText(last.priceUsd)}.`,
    `Colours span ${usdText(drawn.scale.lowUsd)} to ${usdText(drawn.scale.highUsd)} in each 1% step.`,
  ].join(' ');
}

function Notice({ state, hasPicture }: { state: State; hasPicture: boolean }) {
  if (state === 'unsupported') {
    return (
      <div class="heatmap-notice">
        <b>This browser cannot draw the heatmap</b>
        <p>It needs WebGL 2. Turn on hardware acceleration, or use another browser.</p>
      </div>
    );
  }
  if (state === 'empty') {
    return (
      <div class="heatmap-notice">
        <b>No depth in this window</b>
        <p>Choose a longer one, or fewer filters.</p>
      </div>
    );
  }
  return state === 'loading' && !hasPicture ? <div class="heatmap-skeleton" /> : null;
}

function Loading({ state, progress }: { state: State; progress: Progress | null }) {
  if (state === 'loading') {
    const { pages = 0, total } = progress ?? {};
    return (
      <label class="heatmap-progress">
        <progress max={total ?? 1} value={total === undefined ? undefined : pages} />
        <span>{total === undefined ? 'Planning' : `Page ${pages} of ${total}`}</span>
      </label>
    );
  }
  if (state !== 'ready' || !progress?.isCut) return null;
  return (
    <span class="heatmap-progress">
      The newest {progress.snapshots.toLocaleString('en-US')} snapshots
    </span>
  );
}
