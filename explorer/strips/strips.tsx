/** The strips below the map: depth by venue, type or market, and the score, over the time in sight. */
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Coverage } from '../../client/index.js';
import type { TimeWindow } from '../heatmap/detail.js';
import { fit } from '../heatmap/canvas.js';
import { type Style, styleOf } from '../heatmap/overlay.js';
import type { Theme } from '../heatmap/palette.js';
import { timeText } from '../heatmap/ticks.js';
import type { View } from '../heatmap/view.js';
import { coverNote, coverTitle, NEAR_PCT, perpsText } from '../ladder/ladder.js';
import { Icon } from '../frame/icon.js';
import { NONE, usd } from '../state/format.js';
import { gapsOf } from '../state/gaps.js';
import { useDocument } from '../state/load.js';
import { pause } from '../state/pause.js';
import { spared } from '../state/spare.js';
import {
  broken,
  type Course,
  type CourseRequest,
  layersAt,
  LINE_PCT,
  type Lines,
  linesOf,
  marketsOf,
} from './course.js';
import { drawDepth, drawLayers, drawScore } from './draw.js';
import { backgroundOf, huesOf } from './hues.js';
import {
  ladderAmounts,
  layerAmounts,
  layersIn,
  layersOf,
  layersPointedAt,
  linesAt,
  linesPointedAt,
  type Moment,
  momentAt,
  type Pointed,
} from './reading.js';
import { foldedItem, type StripName } from './room.js';
import './strips.css';

/** How long the view rests before the strips fetch missing data. */
const REST_MS = 300;
/** Fetches reach beyond the view by this share of it. */
const AHEAD = 0.25;

/** Says why an amount at the cursor is not exact. */
const ROUGH = 'Of the nearest point of the strip up to the cursor';

const GROUP_TEXTS = { venue: 'by venue', type: 'by type', market: 'by market', all: 'in all' };

interface StripsProps extends CourseRequest {
  group: keyof typeof GROUP_TEXTS;
  view: View;
  /** The part of a window with history. */
  reachOf: (window: TimeWindow) => TimeWindow;
  /** What the map's cursor points at, whose amounts are shown; null: those of the page's moment. */
  pointed: Pointed | null;
  /** The moment that the page shows; null: now. */
  shownT: number | null;
  /** Whether the view ends now. */
  endsNow: boolean;
  /** Whether that moment is pinned, not just passed in playback. */
  isPinned: boolean;
  /** What the page knows of that moment; null if nothing yet. */
  moment: Moment | null;
  /** The line at a pinned time. */
  pin: ComponentChildren;
  theme: Theme;
  canSpare: () => boolean;
  /** Names the gaps; null if it is not known. */
  coverage: Coverage | null;
  /** The address of the layers' maps, side by side; null if there are none. */
  mapsHref: string | null;
}

export function Strips(props: StripsProps) {
  const { group, view, theme, pointed, shownT, endsNow, coverage } = props;
  const gaps = useMemo(() => (coverage === null ? [] : gapsOf(coverage)), [coverage]);
  const { held: heldLines, isWaiting } = useCourse(props, linesOf);
  const { held: heldMarkets } = useCourse(group === 'market' ? props : null, marketsOf);
  const lines = useMemo(() => heldLines && broken(heldLines, gaps), [heldLines, gaps]);
  const markets = useMemo(() => heldMarkets && broken(heldMarkets, gaps), [heldMarkets, gaps]);
  const course: Course | null = group === 'market' ? markets : lines;
  const keys = (course?.layers ?? []).map(({ key }) => key);
  const hues = huesOf(keys, theme);
  const perps = props.moment?.ladder.perps ?? perpsText(props.parameters.types);
  const nowT = endsNow ? view.to - 1 : (props.moment?.ladder.t ?? null);
  const t = pointed?.t ?? shownT ?? nowT;
  const stack = useCanvas(
    theme,
    (canvas, style) => course !== null && drawLayers(canvas, { course, view, style, hues }),
  );
  const score = useCanvas(
    theme,
    (canvas, style) => lines !== null && drawScore(canvas, { lines, view, style }),
  );
  const depth = useCanvas(
    theme,
    (canvas, style) => lines !== null && drawDepth(canvas, { lines, view, style }),
  );
  const isMoment = pointed === null || pointed.t === props.moment?.ladder.t;
  const moment = isMoment && lines !== null && t !== null ? momentAt(props.moment, t, lines) : null;
  const exact = useLayers(props, moment);
  const ofLayers =
    course === null || t === null
      ? null
      : moment !== null && exact !== null
        ? layersOf(course, moment.ladder.t, exact)
        : pointed !== null
          ? layersPointedAt(course, pointed, endsNow)
          : layersIn(course, t, endsNow);
  const ofLines =
    lines === null || t === null
      ? null
      : pointed !== null && moment === null
        ? linesPointedAt(lines, pointed, endsNow)
        : linesAt(lines, t, moment, endsNow);
  return (
    <div class="strips" data-state={course === null || lines === null ? 'loading' : 'ready'}>
      <Strip
        name="layers"
        label={`Depth within ${NEAR_PCT}% ${GROUP_TEXTS[group]}`}
        head={
          <>
            <b>
              Within {NEAR_PCT}% {GROUP_TEXTS[group]}
            </b>
            <Scope {...{ perps }} t={ofLayers?.t} />
            {isWaiting && lines === null && (
              <span class="note">These have to wait: this key has few requests a minute</span>
            )}
            {props.mapsHref !== null && <a href={props.mapsHref}>Maps side by side</a>}
            <ul class="strip-legend of-layers">
              {course?.layers.map(({ key, label }, i) => (
                <li key={key} title={label}>
                  <i style={{ background: backgroundOf(hues[i]) }} />
                  <span>{label}</span>
                  {ofLayers !== null && (
                    <b title={ofLayers.isRough ? ROUGH : undefined}>
                      {ofLayers.isRough && '≈ '}
                      {usd(ofLayers.usd[i])}
                    </b>
                  )}
                </li>
              ))}
            </ul>
          </>
        }
      >
        <canvas ref={stack} role="img" aria-label="Resistance above, support below" />
        {props.pin}
      </Strip>
      <Strip
        name="lines"
        label={`Score, and depth within ${LINE_PCT}%`}
        head={
          <ul class="strip-legend">
            <li>
              <i class="strip-score" />
              Score{' '}
              <b title={ofLines?.isRough ? ROUGH : undefined}>
                {ofLines?.isRough && '≈ '}
                {ofLines?.score?.toFixed(1) ?? NONE}
              </b>
              {ofLines !== null && ofLines.scoreT !== null && (
                <span class="note">at {timeText(ofLines.scoreT)}</span>
              )}
            </li>
            <li>
              <i class="strip-support" />
              <span title={coverTitle(LINE_PCT)}>Support within {LINE_PCT}%</span>{' '}
              <b>{usd(ofLines?.supportUsd)}</b>
            </li>
            <li>
              <i class="strip-resistance" />
              <span title={coverTitle(LINE_PCT)}>Resistance</span>{' '}
              <b>{usd(ofLines?.resistanceUsd)}</b>
            </li>
            <li class="note" title={coverTitle(LINE_PCT)}>
              {coverNote(LINE_PCT)}
            </li>
            <li>
              <Scope {...{ perps }} t={ofLines?.t} />
            </li>
          </ul>
        }
      >
        <canvas ref={score} class="is-score" role="img" aria-label="The score over time" />
        <canvas
          ref={depth}
          class="is-depth"
          role="img"
          aria-label="Support and resistance near the price over time"
        />
        {props.pin}
      </Strip>
    </div>
  );
}

/** Says whether the amounts include perps, and which time they are of. */
function Scope({ perps, t }: { perps: string; t: number | undefined }) {
  return <span class="note">{t === undefined ? perps : `${perps}, at ${timeText(t)}`}</span>;
}

/**
 * The exact amounts of a moment by layer; null if unknown. Venues come from the moment's ladder. Types and markets are
 * fetched, but only for a pinned time.
 */
function useLayers(
  { group, isPinned, ...request }: StripsProps,
  moment: Moment | null,
): Map<string, number> | null {
  const isFetched = (group === 'type' || group === 'market') && isPinned && moment !== null;
  const snapshotT = moment?.ladder.t ?? 0;
  const { address, parameters } = request;
  const { document: layers } = useDocument(
    isFetched ? `layers ${address} ${snapshotT} ${JSON.stringify(parameters)}` : null,
    (_, signal) => layersAt(request, snapshotT, signal),
    'never',
  );
  if (group === 'venue' || group === 'all') return moment && ladderAmounts(moment.ladder, group);
  return isFetched && layers !== null ? layerAmounts(layers) : null;
}

interface StripProps {
  name: StripName;
  label: string;
  head: ComponentChildren;
  children: ComponentChildren;
}

/** A strip. Folded to its heading, it leaves its room to the map. */
function Strip({ name, label, head, children }: StripProps) {
  const item = foldedItem(name);
  const [isFolded, setFolded] = useState(() => localStorage.getItem(item) !== null);
  const fold = (): void => {
    if (isFolded) localStorage.removeItem(item);
    else localStorage.setItem(item, 'yes');
    setFolded(!isFolded);
  };
  return (
    <section class={`strip is-${name}`} aria-label={label}>
      <header>
        {head}
        <button
          type="button"
          class="disclose plain"
          aria-expanded={!isFolded}
          aria-label={`Chart of ${label}`}
          title={isFolded ? 'Show the chart' : 'Fold the chart'}
          onClick={fold}
        >
          <Icon name="down" />
        </button>
      </header>
      <div class="strip-plot" hidden={isFolded}>
        {children}
      </div>
    </section>
  );
}

/** Draws after each change of the data or of the size. */
function useCanvas(theme: Theme, draw: (canvas: HTMLCanvasElement, style: Style) => unknown) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const style = useRef<Style | null>(null);
  const latest = useRef(draw);
  latest.current = draw;
  const paint = (): void => {
    if (canvas.current === null) return;
    // Cached, like the size: reading either costs a layout of the page.
    if (style.current === null) {
      style.current = styleOf(canvas.current);
      fit(canvas.current);
    }
    latest.current(canvas.current, style.current);
  };
  useEffect(() => void (style.current = null), [theme]);
  useEffect(paint);
  useEffect(() => {
    if (canvas.current === null) return;
    const watch = new ResizeObserver(() => {
      // Larger screens have larger text.
      style.current = null;
      paint();
    });
    watch.observe(canvas.current);
    return () => watch.disconnect();
  }, []);
  return canvas;
}

/**
 * The course of the view, fetched again once the view has left it or shows more detail. `isWaiting`: the key has no
 * request to spare for it yet.
 * @param props null for none
 */
function useCourse<T extends Course | Lines>(
  props: StripsProps | null,
  fetchCourse: (request: CourseRequest, window: TimeWindow, signal: AbortSignal) => Promise<T>,
): { held: T | null; isWaiting: boolean } {
  const [isWaiting, setWaiting] = useState(false);
  const [course, setCourse] = useState<{ of: CourseRequest['parameters']; course: T } | null>(null);
  const held = course !== null && course.of === props?.parameters ? course.course : null;
  const window = props === null ? null : props.reachOf(props.view);
  const lacks = window !== null && (held === null || !isEnough(held, window));
  useEffect(() => {
    if (props === null || window === null || !lacks) return;
    const left = new AbortController();
    const load = async (): Promise<void> => {
      await pause(held === null ? 0 : REST_MS, left.signal);
      await spared(props.canSpare, left.signal, () => setWaiting(true));
      setWaiting(false);
      const ahead = AHEAD * (window.to - window.from);
      const wide = props.reachOf({ from: window.from - ahead, to: window.to + ahead });
      const fetched = await fetchCourse(props, wide, left.signal);
      setCourse({ of: props.parameters, course: fetched });
    };
    // If the request fails, the strips stay as they are; the map reports the failure.
    load().catch(() => undefined);
    return () => left.abort();
  }, [props?.parameters, props?.address, lacks, lacks && window.from, lacks && window.to]);
  return { held, isWaiting };
}

/** Whether the course covers the window, up to a step, and a new fetch would not add many points. */
function isEnough({ from, to, stepS }: Course, window: TimeWindow): boolean {
  const isInside = from <= window.from && window.to <= to + stepS;
  return isInside && (to - from) / (window.to - window.from) < 4;
}
