/** Depth maps side by side with one time axis, one colour scale, and one cursor. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { AddressClient } from '../../client/address-client.js';
import type { FathomError, ReplayParameters } from '../../client/index.js';
import { Failure } from '../frame/states.js';
import type { Scale } from '../heatmap/amounts.js';
import { Notice, Pin } from '../heatmap/depth-heatmap.js';
import { Legend } from '../heatmap/legend.js';
import { Crosshair, distanceText, spokenText } from '../heatmap/readout.js';
import { timeText } from '../heatmap/ticks.js';
import { useMap } from '../heatmap/use-map.js';
import { price, usd } from '../state/format.js';
import { reloadMs } from '../state/load.js';
import {
  attempt,
  isLive as isLiveValue,
  noteFailure,
  theme as themeValue,
} from '../state/session.js';
import { hashOf, type Preset, PRESET_S, tokenView, type Zoom } from '../state/url.js';
import { useValue } from '../state/use-value.js';

/** What a map shows: a token, or a part of one. */
export interface MapPart {
  key: string;
  label: string;
  address: string;
  parameters: Pick<ReplayParameters, 'types' | 'venues'>;
}

/** More maps are arranged in two rows if there is room. */
const MAX_IN_A_ROW = 3;

interface MapGridProps {
  client: AddressClient;
  parts: readonly MapPart[];
  window: Preset;
}

/** A zoom of one map (`by`) that the other maps follow. */
interface Shared {
  by: string;
  zoom: Zoom | null;
}
interface Pointed {
  by: string;
  t: number;
  /** Steps of 1% from the price at that moment. */
  bin: number;
}

export function MapGrid({ client, parts, window }: MapGridProps) {
  const theme = useValue(themeValue);
  const [shared, setShared] = useState<Shared>({ by: '', zoom: null });
  const [pointed, setPointed] = useState<Pointed | null>(null);
  const [scales, setScales] = useState<Readonly<Record<string, Scale>>>({});
  const [failures, setFailures] = useState<Readonly<Record<string, FathomError>>>({});
  const tries = useValue(attempt);
  // A small plan allows only a few maps per minute: a retry reloads only those that failed.
  useEffect(() => setFailures({}), [tries]);
  const scale = useMemo(
    () => commonScale(parts.flatMap(({ key }) => scales[key] ?? [])),
    [scales, parts],
  );
  // Maps of different tokens follow only the zoom in time, because their prices differ.
  const isOneToken = parts.every(({ address }) => address === parts[0].address);
  const others = useMemo(
    () => (isOneToken ? shared.zoom : shared.zoom && { ...shared.zoom, prices: null }),
    [shared, isOneToken],
  );
  const columns = parts.length <= MAX_IN_A_ROW ? parts.length : Math.ceil(parts.length / 2);
  return (
    <div class="map-grid-frame">
      {scale !== null && (
        <div class="map-grid-legend note">
          <Legend scale={scale} theme={theme} />
          <span>All maps share one colour scale, one time axis and the cursor.</span>
        </div>
      )}
      <div class="map-grid" style={{ '--columns': columns }}>
        {parts.map((part) => {
          const failure = failures[part.key];
          return failure === undefined ? (
            <PartMap
              key={part.key}
              {...{ client, part, window, scale, pointed }}
              zoom={shared.by === part.key ? shared.zoom : others}
              onZoom={(zoom) => setShared({ by: part.key, zoom })}
              onPoint={setPointed}
              onScale={(own) => setScales((was) => ({ ...was, [part.key]: own }))}
              onFailure={(reason) => {
                noteFailure(reason);
                setFailures((was) => ({ ...was, [part.key]: reason }));
              }}
            />
          ) : (
            <section key={part.key} class="part-map" aria-label={part.label}>
              <header>
                <h2>{part.label}</h2>
              </header>
              <Failure error={failure} />
            </section>
          );
        })}
      </div>
    </div>
  );
}

interface PartMapProps {
  client: AddressClient;
  part: MapPart;
  window: Preset;
  scale: Scale | null;
  zoom: Zoom | null;
  pointed: Pointed | null;
  onZoom: (zoom: Zoom | null) => void;
  onPoint: (pointed: Pointed | null) => void;
  onScale: (scale: Scale) => void;
  onFailure: (reason: FathomError) => void;
}

function PartMap(props: PartMapProps) {
  const { client, part, window, scale, zoom, pointed } = props;
  const { key, label, address, parameters } = part;
  const theme = useValue(themeValue);
  const isLive = useValue(isLiveValue);
  const [isUsed, setUsed] = useState(false);
  const source = useMemo(
    () => ({ client, address, parameters: { ...parameters, group: 'all' as const } }),
    [client, address, JSON.stringify(parameters)],
  );
  const { canvases, picture, drawn, state } = useMap({
    source,
    zoom,
    theme,
    isLive,
    reloadMs,
    window: { from: `-${window}`, to: 'now' },
    spanS: PRESET_S[window],
    showsWholeWindow: true,
    reach: null,
    onPin: () => undefined,
    onZoom: (chosen) => {
      if (isUsed) props.onZoom(chosen);
    },
    onFailure: (reason) => props.onFailure(reason as FathomError),
  });
  const held = picture?.history.held;
  useEffect(() => {
    if (picture !== null && picture.history.held.length > 0) props.onScale(picture.history.scale());
  }, [picture, held]);
  useEffect(() => picture?.setScale(scale), [picture, scale?.lowUsd, scale?.highUsd]);
  const cursor = drawn?.cursor ?? null;
  const bin = cursor?.snapshot ? cursor.bin : null;
  useEffect(() => {
    if (!isUsed) return;
    props.onPoint(cursor === null || bin === null ? null : { by: key, t: cursor.t, bin });
  }, [isUsed, cursor?.t, bin]);
  const leave = (): void => {
    setUsed(false);
    if (pointed?.by === key) props.onPoint(null);
  };
  const other = pointed?.by === key ? null : pointed;
  useEffect(() => {
    if (!isUsed) picture?.pointLike(other);
  }, [isUsed, picture, other?.t, other?.bin]);
  const last = held?.at(-1);
  const moment = cursor?.snapshot ?? last;
  return (
    <section class="part-map heatmap" data-state={state} aria-label={label}>
      <header>
        <h2>
          <a
            href={hashOf({
              ...tokenView(address),
              window,
              types: parameters.types ?? [],
              venues: parameters.venues ?? [],
            })}
          >
            {label}
          </a>
        </h2>
        {moment !== undefined && (
          <span class="note">
            {price(moment.priceUsd)}, {timeText(moment.t)}
          </span>
        )}
        {cursor?.snapshot && (
          <span>
            {distanceText(cursor.bin)}{' '}
            <b class="heatmap-support">{cursor.supportUsd > 0 && usd(cursor.supportUsd)}</b>{' '}
            <b class="heatmap-resistance">
              {cursor.resistanceUsd > 0 && usd(cursor.resistanceUsd)}
            </b>
            {cursor.supportUsd + cursor.resistanceUsd === 0 && 'no depth'}
          </span>
        )}
      </header>
      <div
        class="heatmap-frame"
        ref={canvases.frame}
        tabIndex={0}
        role="group"
        aria-label={`Depth of ${label}. Arrows move it, plus and minus zoom time, page up and down zoom prices, 0 shows all, shift and arrows move the cursor.`}
        onPointerEnter={() => setUsed(true)}
        onPointerLeave={leave}
        onFocus={() => setUsed(true)}
        onBlur={leave}
      >
        <div
          class="heatmap-cells"
          ref={canvases.cells}
          role="img"
          aria-label={`Depth of ${label} over time`}
        />
        <canvas class="heatmap-overlay" ref={canvases.overlay} aria-hidden="true" />
        {cursor !== null ? (
          <Crosshair cursor={cursor} />
        ) : (
          drawn !== null && other !== null && <Pin t={other.t} view={drawn.view} />
        )}
        {state !== 'ready' && <Notice state={state} hasPicture={drawn !== null} lastT={null} />}
      </div>
      <p class="heatmap-live" aria-live="polite">
        {isUsed && cursor !== null ? spokenText(cursor, []) : ''}
      </p>
    </section>
  );
}

/** From the least to the largest amount of all maps. */
function commonScale(scales: readonly Scale[]): Scale | null {
  if (scales.length === 0) return null;
  return {
    lowUsd: Math.min(...scales.map(({ lowUsd }) => lowUsd)),
    highUsd: Math.max(...scales.map(({ highUsd }) => highUsd)),
  };
}
