/** One token: its depth over time, its newest ladder, its score and its venues. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { FathomError } from '../../client/index.js';
import { Deferred } from '../frame/deferred.js';
import { Empty, Failure, Loading } from '../frame/states.js';
import { DepthHeatmap } from '../heatmap/depth-heatmap.js';
import type { Picture } from '../heatmap/picture.js';
import { shortAddress } from '../state/format.js';
import { onEscape } from '../state/keys.js';
import { isLate } from '../state/gaps.js';
import { followToken, hasOldData, lastChange, whileVisible } from '../state/live.js';
import { reloadMs, useDocument, useNowS } from '../state/load.js';
import { shortestWith, unpinned } from '../state/pin.js';
import { filterOf, MAX_HISTORY_S, replayRequest } from '../state/requests.js';
import {
  attempt,
  canSpare,
  currentClient,
  isLive,
  isTransient,
  key as keyValue,
  noteFailure,
  show,
  shownChoices,
  theme as themeValue,
  view as viewValue,
} from '../state/session.js';
import { setTitle } from '../state/title.js';
import {
  DEFAULT_VIEW,
  hashOf,
  type TokenView,
  tokenView,
  viewOf,
  type Zoom,
} from '../state/url.js';
import { useValue } from '../state/use-value.js';
import { Filters } from './filters.js';
import { MomentSide } from './moment-side.js';
import { RequestBar } from './request-bar.js';
import { TokenHead } from './token-head.js';
import { useHistory } from './use-history.js';
import { useMoment } from './use-moment.js';
import { usePlayed } from './use-played.js';

/** How many of the best tokens the page tries to find one with depth. */
const CANDIDATES = 20;
/** The address states what is in sight once the heatmap has rested this long. */
const SETTLED_MS = 250;
/** Shown for an invalid address, or a token without depth. */
const loadWrongAddress = async () => (await import('./wrong-address.js')).WrongAddress;
const loadNoDepth = async () => (await import('./wrong-address.js')).NoDepth;
const loadPoolVenue = async () => (await import('./pool-venue.js')).PoolVenue;
const loadExport = () => import('../export/token-data.js');

export function TokenPage({ view }: { view: TokenView }) {
  const { address, pool } = view;
  if (address === null) return <FirstToken />;
  if (pool !== null) return <Deferred load={loadPoolVenue} props={{ view, address, pool }} />;
  return <Token key={address} view={view} address={address} />;
}

/** Shows the best token with depth when the address names no token. */
function FirstToken() {
  const { document: found, error } = useDocument('first token', (client, signal) =>
    client.getTokens({ limit: CANDIDATES }, { signal }),
  );
  const first = found?.tokens.find((one) => one.last_snapshot_at !== null) ?? found?.tokens[0];
  useEffect(() => setTitle('Depth'), []);
  useEffect(() => {
    // The address may have changed already, before its event arrives.
    const isStillDefault = hashOf(viewOf(location.hash)) === hashOf(DEFAULT_VIEW);
    if (first !== undefined && isStillDefault) show(tokenView(first.address), 'replace');
  }, [first]);
  if (error !== null && found === null) return <Failure error={error} />;
  if (found?.count === 0) {
    return (
      <Empty title="No tokens yet">
        This server has no data. Load some with 'fathom import' or 'fathom ingest', or try the
        simulated market of 'fathom demo'.
      </Empty>
    );
  }
  return <Loading what="tokens" />;
}

function Token({ view: named, address }: { view: TokenView; address: string }) {
  const theme = useValue(themeValue);
  const live = useValue(isLive);
  const key = useValue(keyValue);
  const tries = useValue(attempt);
  const nowS = useNowS();
  const view = answerable(named, nowS);
  const { atS } = view;
  useEffect(
    () => (live ? whileVisible((signal) => followToken(address, signal)) : undefined),
    [live, address, key],
  );
  useEffect(() => onEscape(() => pin(null)), []);
  const requested = useMoment({ address, atS, filter: filterOf(view) });
  const { identity, score, scored, error, notFound, matchesNone } = requested;
  const { choices } = requested;
  useEffect(() => shownChoices.set(choices), [choices]);
  const history = useHistory(address, view, nowS);
  const { map, reach, coverage } = history;
  const historyFromS = reach?.from ?? null;
  const seenT = Math.max(useValue(lastChange)?.t ?? 0, score?.data_time ?? 0);
  const isOld = coverage !== null && isLate(coverage, seenT, nowS);
  useEffect(() => {
    hasOldData.set(isOld);
    return () => hasOldData.set(false);
  }, [isOld]);
  const symbol = identity?.symbol ?? null;
  useEffect(() => setTitle(`${symbol ?? shortAddress(address)} depth`), [symbol, address]);
  const [failure, setFailure] = useState<FathomError | null>(null);
  useEffect(() => setFailure(null), [map.name, tries]);
  // The server answers again.
  useEffect(() => {
    setFailure((last) => (last !== null && isTransient(last) ? null : last));
  }, [scored]);
  const picture = useRef<Picture | null>(null);
  const settle = useSettledZoom(map.name);
  const played = usePlayed(requested, atS);
  const client = currentClient();
  // With a pinned time, a 400 may be about the time alone: the address is wrong only if its coverage is refused, too.
  const isWrong = error?.status === 400 && (atS === null || history.error?.status === 400);
  if (isWrong) return <Deferred load={loadWrongAddress} props={{ address, error }} />;
  if (error !== null && identity === null && atS === null) return <Failure error={error} />;
  const head = { address, identity, score, nowS, isOld };
  if (history.isEmpty) {
    return (
      <article class="token" aria-label={symbol ?? address}>
        {symbol !== null && <TokenHead {...head} shown={null} />}
        <Deferred load={loadNoDepth} props={{ address, isKnown: symbol !== null }} />
      </article>
    );
  }
  const source = () => {
    const { current } = picture;
    return { client, address, symbol, view, historyFromS, choices, picture: current };
  };
  return (
    <article class="token" aria-label={symbol ?? address}>
      <TokenHead
        {...head}
        shown={played.isPlayed || atS !== null ? played.ladder : null}
        isMoving={played.isMoving}
      />
      <Filters
        view={view}
        choices={played.ladder?.choices ?? choices}
        historyS={history.lengthS}
        onChange={change}
      />
      {notFound.length > 0 && (
        <p class="note" role="status">
          The snapshot has no depth at {notFound.join(', ')}.
        </p>
      )}
      {matchesNone && (
        <p class="note" role="status">
          Nothing in the snapshot matches the chosen types and venues.
        </p>
      )}
      <div class="token-grid">
        <div class="card heat-card">
          {failure !== null ? (
            <Failure error={failure} />
          ) : (
            client !== null &&
            (view.window !== 'all' || history.isAnswered) && (
              <DepthHeatmap
                {...{ client, address, reach, theme, reloadMs, canSpare, coverage }}
                window={map.window}
                filter={map.filter}
                spanS={history.spanS}
                zoom={view.zoom}
                pinnedT={atS}
                vsT={view.vsS}
                marks={view.marks}
                moment={played.moment}
                colours={view.colours}
                axis={view.axis}
                onLook={(chosen) => change({ ...view, ...chosen })}
                isLive={live}
                pictureRef={picture}
                onPin={pin}
                windowAt={(t) => {
                  const window = shortestWith(t, nowS);
                  return { name: window, href: hashOf({ ...view, window, zoom: null }) };
                }}
                onPlay={played.onPlay}
                onZoom={settle}
                onFailure={(reason) => {
                  noteFailure(reason as FathomError);
                  setFailure(reason as FathomError);
                }}
              />
            )
          )}
        </div>
        <MomentSide
          {...{ address, view, requested, played, coverage }}
          onNow={() => pin(null)}
          onChange={change}
        />
      </div>
      <RequestBar
        requests={[replayRequest(view, historyFromS)]}
        href={`${location.origin}${location.pathname}${hashOf(view)}`}
        data={{
          name: async () => (await loadExport()).nameOf(source()),
          load: async () => (await loadExport()).columnsOf(source()),
          size: async () => (await loadExport()).sizeOf(source()),
          picture: async () => (await loadExport()).pictureOf(source()),
        }}
      />
    </article>
  );
}

const change = (next: TokenView, how?: 'replace'): void => show(next, how);

/** Pins a time of the token's page; null: returns to now. @param isSecond whether it is compared with the moment shown */
function pin(t: number | null, isSecond = false): void {
  const { value: shown } = viewValue;
  if (shown.name === 'token' && isSecond) return show({ ...shown, vsS: t }, 'replace');
  if (shown.name === 'token') show(t === null ? unpinned(shown) : { ...shown, atS: t }, 'replace');
}

/** A function that writes the map's zoom into the address once the map has rested. @param map which map it is */
function useSettledZoom(map: string): (zoom: Zoom | null) => void {
  const settling = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(settling.current), [map]);
  return (zoom) => {
    clearTimeout(settling.current);
    settling.current = setTimeout(() => {
      const { value: shown } = viewValue;
      if (shown.name === 'token') show({ ...shown, zoom }, 'replace');
    }, SETTLED_MS);
  };
}

/** The view without what no server could answer: a moment in the future, or a zoom that begins too long ago. */
function answerable(view: TokenView, nowS: number): TokenView {
  const { atS, zoom } = view;
  const oldestS = nowS - MAX_HISTORY_S;
  const isFuture = atS !== null && atS > nowS;
  const isTooOld = zoom !== null && zoom.fromS + (zoom.toS === null ? nowS : 0) < oldestS;
  if (!isFuture && !isTooOld) return view;
  return { ...view, atS: isFuture ? null : atS, zoom: isTooOld ? null : zoom };
}
