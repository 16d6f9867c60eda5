/** A token's depth over time. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { ReplayParameters } from '../../client/index.js';
import { NEAR_PCT } from '../ladder/ladder.js';
import type { Played } from '../playback/playback.js';
import { useModule } from '../state/use-module.js';
import { useValue } from '../state/use-value.js';
import { zone } from '../state/zone.js';
import { StripsRoom } from '../strips/room.js';
import { compareView, hashOf, PARTS, PRESETS } from '../state/url.js';
import './heatmap.css';
import type { Scale } from './amounts.js';
import { Legend } from './legend.js';
import type { Cursor } from './cursor.js';
import type { Source } from './loader.js';
import type { Held } from './history.js';
import type { MapOrders } from '../orders/map-orders.js';
import type { Picture } from './picture.js';
import type { DepthHeatmapProps } from './props.js';
import type { Split } from './readout.js';
import type { SplitAt } from './split.js';
import { priceText, timeText, usdText } from './ticks.js';
import { type View, xOf } from './view.js';
import { type MapState, useMap } from './use-map.js';
import type { Progress } from './view-loader.js';

const NONE_HELD: readonly Held[] = [];

export function DepthHeatmap(props: DepthHeatmapProps) {
  const { client, address, filter, theme, pinnedT } = props;
  const parameters = useMemo(() => parametersOf(filter), [JSON.stringify(filter)]);
  const grouped = useMemo(
    () => ({ ...parameters, group: filter.group }),
    [parameters, filter.group],
  );
  const summed: ReplayParameters = { ...parameters, group: 'all' };
  const playedFilter = useMemo(
    () => ({
      types: filter.types,
      venues: filter.venues,
      exclude_venues: filter.exclude_venues,
    }),
    [parameters],
  );
  const source = useMemo((): Source => {
    return { client, address, parameters: summed };
  }, [client, address, JSON.stringify(summed)]);
  const { canvases, picture, drawn, state, progress, follows } = useMap({ ...props, source });
  props.pictureRef.current = picture;
  useEffect(() => () => void (props.pictureRef.current = null), []);

  const view = drawn?.view ?? null;
  const isDrawn = view !== null;
  const lastPinnedT = useRef(pinnedT);
  useEffect(() => {
    if (!isDrawn) return;
    // A shared address with a zoom shows exactly that zoom, even if its pinned time is out of sight.
    const isZoomed = props.zoom !== null && pinnedT === lastPinnedT.current;
    // The map has nothing to show before the history begins.
    const isBefore = pinnedT !== null && pinnedT < (props.reach?.from ?? -Infinity);
    if (pinnedT !== null && !isZoomed && !isBefore) picture?.showTime(pinnedT);
    lastPinnedT.current = pinnedT;
  }, [picture, isDrawn, pinnedT]);

  const pinFirst = (t: number | null): void => props.onPin(t, false);
  const cursor = drawn?.cursor ?? null;
  const { split, known } = useSplit(props, parameters, cursor);
  const [played, setPlayed] = useState<Played | null>(null);
  const isMoving = played?.isMoving === true;
  const shownT = isMoving ? played.ladder.t : pinnedT;
  useEffect(() => {
    if (isMoving && shownT !== null) picture?.showTime(shownT);
  }, [picture, isMoving, shownT]);
  const Notes = useModule(() => import('./notes.js'))?.Notes ?? null;
  const readout = useModule(() => import('./readout.js'));
  const Playback = useModule(() => import('../playback/playback.js'))?.Playback ?? null;
  const TimeField = useModule(() => import('../playback/time-field.js'))?.TimeField ?? null;
  const MapTools = useModule(() => import('./map-tools.js'))?.MapTools ?? null;
  const Strips = useModule(() => import('../strips/strips.js'))?.Strips ?? null;
  const Orders = useModule(() => import('../orders/map-orders.js'));
  const [orders, setOrders] = useState<MapOrders | null>(null);
  const marked = props.marks.length > 0 && Orders !== null && view !== null ? Orders : null;
  const scale = drawn?.scale ?? null;
  const held = picture?.history.held ?? NONE_HELD;
  // Memoized, because making these would slow down every frame while the map moves.
  const summary = useMemo(() => summaryOf(held, scale), [held, scale, useValue(zone)]);
  const legend = useMemo(
    () => scale !== null && <Legend scale={scale} theme={theme} />,
    [scale, theme],
  );
  return (
    <section class="heatmap" data-state={state} aria-label="Depth over time">
      <div
        class="heatmap-frame"
        ref={canvases.frame}
        tabIndex={0}
        role="group"
        aria-label="Depth heatmap. Arrows move it, plus and minus zoom time, page up and down zoom prices, 0 shows all, shift and arrows move the cursor, enter pins its time, shift and enter a second time to compare with, escape goes back to now."
      >
        <div class="heatmap-cells" ref={canvases.cells} role="img" aria-label={summary} />
        <canvas class="heatmap-overlay" ref={canvases.overlay} aria-hidden="true" />
        {marked !== null && view !== null && (
          <marked.OrderLayer {...{ address, view }} kinds={props.marks} onLoaded={setOrders} />
        )}
        {view !== null && <Pin t={shownT} view={view} />}
        {view !== null && <Pin t={props.vsT} view={view} isSecond={true} />}
        {cursor !== null && readout !== null && (
          <readout.Readout cursor={cursor} split={split} baseUsd={drawn?.baseUsd ?? null}>
            {marked !== null && view !== null && orders !== null && (
              <marked.OrderReading
                {...{ orders, view }}
                t={cursor.t}
                lnPrice={cursor.lnPrice}
                priceUsd={cursor.priceUsd}
                heightPx={canvases.cells.current?.clientHeight ?? 1}
              />
            )}
          </readout.Readout>
        )}
        {progress !== null && state !== 'failed' && <Loading {...progress} />}
        {state !== 'ready' && (
          <Notice
            state={state}
            hasPicture={drawn !== null}
            lastT={lastBefore(picture, props.reach)}
            windowAt={props.windowAt}
          />
        )}
      </div>
      <div class="heatmap-foot">
        {legend}
        {MapTools !== null && scale !== null && (
          <MapTools
            {...{ scale, colours: props.colours ?? null, axis: props.axis ?? 'usd' }}
            onChange={props.onLook}
          />
        )}
        {TimeField !== null && <TimeField t={pinnedT} onPin={pinFirst} />}
        {Playback !== null && picture !== null && view !== null && state === 'ready' && (
          <Playback
            {...{ client, address, view, pinnedT }}
            filter={playedFilter}
            shotsInSight={() => picture.shotsIn(view)}
            endsLive={follows && drawn?.zoom === null}
            onPlay={(moment) => {
              setPlayed(moment);
              props.onPlay(moment);
            }}
            onPin={pinFirst}
            onFailure={props.onFailure}
          />
        )}
        {picture !== null && view !== null && Notes !== null && (
          <Notes picture={picture} view={view} spanS={props.spanS} />
        )}
      </div>
      {marked !== null && orders !== null && <marked.OrderNote {...{ orders, address }} />}
      {Strips !== null && picture !== null && view !== null && state === 'ready' ? (
        <Strips
          {...{ client, address, view, theme }}
          parameters={grouped}
          group={filter.group ?? 'venue'}
          reachOf={(window) => picture.reachOf(window)}
          {...{ shownT, isPinned: pinnedT !== null && !isMoving, moment: props.moment }}
          endsNow={props.window.to === 'now' && (drawn?.zoom?.toS ?? null) === null}
          pointed={
            cursor && { t: cursor.shownT, column: cursor.snapshot, nearUsd: nearOf(props, known) }
          }
          pin={
            <>
              <Pin t={shownT} view={view} />
              <Pin t={props.vsT} view={view} isSecond={true} />
            </>
          }
          canSpare={props.canSpare}
          coverage={props.coverage}
          mapsHref={mapsHref(props)}
        />
      ) : (
        (state === 'ready' || state === 'loading') && <StripsRoom />
      )}
      <p class="heatmap-live" aria-live="polite">
        {cursor !== null && split !== 'waiting' ? readout?.spokenText(cursor, split) : ''}
      </p>
    </section>
  );
}

function parametersOf({ group, ...rest }: DepthHeatmapProps['filter']): ReplayParameters {
  return { ...rest, group: group === 'all' ? 'venue' : group };
}

/** The address of the maps of a token's venues or types, side by side; null for other splits. */
function mapsHref({ address, filter: { group }, window }: DepthHeatmapProps): string | null {
  const parts = PARTS.find((one) => one === group);
  if (parts === undefined) return null;
  const view = compareView([address]);
  const preset = PRESETS.find((one) => window.from === `-${one}`) ?? view.window;
  return hashOf({ ...view, metric: 'maps', parts, window: preset });
}

/** The split under the cursor, fetched once the cursor rests. */
function useSplit(
  { client, address, canSpare }: DepthHeatmapProps,
  parameters: ReplayParameters,
  cursor: Cursor | null,
): { split: Split; known: SplitAt | null } {
  const [split, setSplit] = useState<SplitAt | Exclude<Split, unknown[]>>('waiting');
  const splits = useMemo(
    async () => new (await import('./split.js')).Splits(client, address, parameters),
    [client, address, parameters],
  );
  const t = cursor?.snapshot?.t;
  const bin = cursor?.bin ?? 0;
  useEffect(() => {
    setSplit('waiting');
    if (t === undefined) return;
    const left = new AbortController();
    splits
      .then((one) =>
        one.rested({ t, bin, canSpare, onDefer: () => setSplit('deferred') }, left.signal),
      )
      .then(setSplit, () => {
        if (!left.signal.aborted) setSplit('failed');
      });
    return () => left.abort();
  }, [splits, t, bin]);
  if (typeof split === 'string') return { split, known: null };
  return { split: split.shares, known: split.t === t ? split : null };
}

/** The amounts of the strips' layers at the cursor; null if they are unknown, or the band cuts them. */
function nearOf(
  { filter: { group, min_pct: min = -100, max_pct: max = Infinity } }: DepthHeatmapProps,
  known: SplitAt | null,
): ReadonlyMap<string, number> | null {
  if (known === null || min > -NEAR_PCT || max < NEAR_PCT) return null;
  if (group !== 'all') return known.nearUsd;
  return new Map([['all', [...known.nearUsd.values()].reduce((sum, usd) => sum + usd, 0)]]);
}

function summaryOf(held: readonly Held[], scale: Scale | null): string {
  const last = held.at(-1);
  if (scale === null || last === undefined) return 'Depth over time: nothing to see yet';
  const prices = held.map(({ priceUsd }) => priceUsd);
  const [low, high] = [
    prices.reduce((a, b) => Math.min(a, b)),
    prices.reduce((a, b) => Math.max(a, b)),
  ];
  return [
    `Depth from ${timeText(held[0].t)} to ${timeText(last.t)} in ${held.length} snapshots.`,
    `The price was between ${priceText(low)} and ${priceText(high)} USD, and is ${priceText(last.priceUsd)}.`,
    `Colours span ${usdText(scale.lowUsd)} to ${usdText(scale.highUsd)} in each 1% step.`,
  ].join(' ');
}

/** The time of the token's last snapshot if it is before the window; otherwise null. */
function lastBefore(picture: Picture | null, reach: DepthHeatmapProps['reach']): number | null {
  const window = picture?.window ?? null;
  return window !== null && reach !== null && reach.to <= window.from ? reach.to - 1 : null;
}

/** Keeps a press or key from the map around it, which would handle it as well. */
const keep = (event: Event): void => event.stopPropagation();

interface NoticeProps {
  state: MapState;
  hasPicture: boolean;
  lastT: number | null;
  windowAt?: DepthHeatmapProps['windowAt'];
}

export function Notice({ state, hasPicture, lastT, windowAt }: NoticeProps) {
  if (state === 'unsupported') {
    return (
      <div class="heatmap-notice">
        <b>This browser cannot draw the heatmap</b>
        <p>It needs WebGL 2. Turn on hardware acceleration, or use another browser.</p>
      </div>
    );
  }
  if (state === 'empty') {
    const longer = lastT === null ? undefined : windowAt?.(lastT);
    return (
      <div class="heatmap-notice">
        <b>No depth in this window</b>
        <p>
          {lastT === null
            ? 'Choose a longer one, or fewer filters.'
            : `The newest snapshot is of ${timeText(lastT)}.`}
        </p>
        {longer !== undefined && (
          <a class="tool" href={longer.href} onPointerDown={keep} onKeyDown={keep}>
            Show {longer.name}
          </a>
        )}
      </div>
    );
  }
  if (state !== 'loading' || hasPicture) return null;
  return (
    <div class="heatmap-skeleton">
      <span class="note">Loading depth</span>
    </div>
  );
}

/** The line at a pinned time, if it is in sight. */
export function Pin({
  t,
  view,
  isSecond = false,
}: {
  t: number | null;
  view: View;
  isSecond?: boolean;
}) {
  const share = t === null ? -1 : xOf(view, t);
  if (share < 0 || share > 1) return null;
  return (
    <div class="heatmap-pin" aria-hidden="true">
      <i class={isSecond ? 'second' : undefined} style={{ left: `${100 * share}%` }} />
    </div>
  );
}

function Loading({ pages, total }: Progress) {
  const isCounted = total !== null && pages > 0;
  return (
    <label class="heatmap-progress">
      <progress max={total ?? 1} value={isCounted ? pages : undefined} />
      <span>{isCounted ? `Page ${pages} of ${total}` : 'Loading'}</span>
    </label>
  );
}
